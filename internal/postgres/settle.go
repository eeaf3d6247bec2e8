package postgres

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/jackc/pgx/v5"

	"iasql/internal/auditlog"
	"iasql/internal/decide"
	"iasql/internal/store"
)

// Settle implements [store.Store].
func (d *Database) Settle(ctx context.Context, lease store.Lease, settlements []store.Settlement) error {
	return d.fencedBatch(ctx, lease, nil, func(batch *pgx.Batch) error {
		err := d.queueSettlements(batch, settlements)
		queueConflictActors(batch, lease, settlements)
		holdRules(batch, lease)
		return err
	})
}

// queueSettlements queues settlements, all of a kind in one statement. Of two
// about one record the later counts.
func (d *Database) queueSettlements(batch *pgx.Batch, settlements []store.Settlement) error {
	var (
		audit    []int64
		states   = map[decide.RecordRef]store.Settlement{}
		order    []decide.RecordRef // of states
		resolved refs
		how      []string // they were
		fought   []conflictRow
		deposed  deposedRows
	)
	for _, s := range settlements {
		sub := s.Subject
		if s.Settle && sub.Change != nil {
			audit = append(audit, sub.Change.AuditIDs...)
		}
		fought = appendConflicts(fought, sub, s.Conflicts)
		switch {
		case sub.Deposed:
			deposed.add(s)
		case s.Forget && sub.State == nil: // there is nothing to forget
		case s.Forget, s.State != nil && sub.RecordID != 0:
			if _, again := states[sub.Ref()]; !again {
				order = append(order, sub.Ref())
			}
			states[sub.Ref()] = s
		}
		if closes := sub.Closes(); s.Settle && closes != "" {
			resolved.add(sub.Ref())
			how = append(how, closes)
		}
	}
	queueConflicts(batch, fought)
	deposed.queue(batch)
	if err := queueRemembered(batch, order, states); err != nil {
		return err
	}
	if len(resolved.ids) > 0 {
		batch.Queue(`
			UPDATE public.iasql_conflicts c SET resolved = v.how, resolved_at = clock_timestamp(), resolved_by = current_user
			FROM unnest($1::text[], $2::bigint[], $3::text[]) v (table_name, record_id, how)
			WHERE c.table_name = v.table_name AND c.record_id = v.record_id AND c.resolved IS NULL`, resolved.tables,
			resolved.ids, how)
	}
	if len(audit) > 0 {
		batch.Queue(settleQuery, audit)
	}
	return nil
}

// deposedRow is what is remembered of a deposed object.
type deposedRow struct {
	Table     string  `json:"table_name"`
	Account   string  `json:"account"`
	Region    string  `json:"region"`
	Key       string  `json:"key"`
	State     string  `json:"state"`
	Message   string  `json:"message"`
	Code      string  `json:"code"`
	Review    bool    `json:"review"`
	Attempts  int     `json:"attempts"`
	Backoff   float64 `json:"backoff"` // seconds
	SeenGoing bool    `json:"seen_going"`
}

// deposedRows are deposed objects of which something new is remembered, and those that are gone.
// Of two about one object the later counts.
type deposedRows struct{ remember, forget []deposedRow }

func (r *deposedRows) add(s store.Settlement) {
	sub := s.Subject
	row := deposedRow{Table: sub.Table.Name, Account: sub.Scope.Account, Region: sub.Scope.Region}
	row.Key, _ = sub.Table.Key(sub.State.Identity)
	same := func(other deposedRow) bool {
		return other.Table == row.Table && other.Account == row.Account && other.Region == row.Region &&
			other.Key == row.Key
	}
	switch {
	case s.Forget:
		r.forget = append(r.forget, row)
	case s.State != nil:
		row.State, row.Message, row.Code = string(s.State.Name), s.State.Message, s.State.Code
		row.Review, row.Attempts = s.State.Review, s.State.Attempts
		row.Backoff, row.SeenGoing = s.State.Backoff.Seconds(), s.State.SeenGoing
		r.remember = append(slices.DeleteFunc(r.remember, same), row)
	}
}

func (r *deposedRows) queue(batch *pgx.Batch) {
	if len(r.remember) > 0 {
		batch.Queue(`
			UPDATE iasql_internal.garbage g SET state = v.state, message = v.message, code = v.code, review = v.review,
				attempts = v.attempts, seen_going = v.seen_going, next_attempt_at = `+nextAttempt("v.backoff", "v.review")+`
			FROM jsonb_to_recordset($1) v (table_name text, account text, region text, key text, state text, message text, code text,
				review boolean, attempts integer, backoff double precision, seen_going boolean)
			WHERE g.table_name = v.table_name AND g.account = v.account AND g.region = v.region AND g.key = v.key`, r.remember)
	}
	if len(r.forget) > 0 {
		batch.Queue(`
			DELETE FROM iasql_internal.garbage g USING jsonb_to_recordset($1) v (table_name text, account text, region text, key text)
			WHERE g.table_name = v.table_name AND g.account = v.account AND g.region = v.region AND g.key = v.key`, r.forget)
	}
}

// queueRemembered queues what is remembered of records, and what is forgotten.
func queueRemembered(batch *pgx.Batch, order []decide.RecordRef, states map[decide.RecordRef]store.Settlement) error {
	var forget refs
	var remember stateRows
	stopped := map[decide.DeleteLimits]*stateRows{}
	for _, ref := range order {
		s, rows := states[ref], &remember
		if s.Forget {
			forget.add(ref)
			continue
		}
		if s.Limits != nil {
			if rows = stopped[*s.Limits]; rows == nil {
				rows = &stateRows{}
				stopped[*s.Limits] = rows
			}
		}
		if err := rows.add(s.Subject, s.State); err != nil {
			return err
		}
	}
	if len(forget.ids) > 0 {
		// What was asked without a change of anybody's is answered, and is asked anew
		// when it comes again.
		batch.Queue(`UPDATE public.iasql_conflicts c SET closed = true FROM unnest($1::text[], $2::bigint[]) v (table_name, record_id)
			WHERE c.audit_id = 0 AND NOT c.closed AND c.table_name = v.table_name AND c.record_id = v.record_id`,
			forget.tables, forget.ids)
		batch.Queue(`DELETE FROM iasql_internal.record_state r USING unnest($1::text[], $2::bigint[]) v (table_name, record_id)
			WHERE r.table_name = v.table_name AND r.record_id = v.record_id`, forget.tables, forget.ids)
	}
	remember.queue(batch, nil)
	for limits, rows := range stopped {
		rows.queue(batch, &limits)
	}
	return nil
}

// refs are records as two parallel parameters.
type refs struct {
	tables []string
	ids    []int64
}

func (r *refs) add(ref decide.RecordRef) {
	r.tables, r.ids = append(r.tables, ref.Table), append(r.ids, ref.ID)
}

// stateRow is a row of record_state.
type stateRow struct {
	Table       string          `json:"table_name"`
	Record      int64           `json:"record_id"`
	Account     string          `json:"account"`
	Region      string          `json:"region"`
	State       string          `json:"state"`
	Message     string          `json:"message"`
	Code        string          `json:"code"`
	Review      bool            `json:"review"`
	Attempts    int             `json:"attempts"`
	Backoff     float64         `json:"backoff"` // seconds
	FailedAt    int64           `json:"failed_at"`
	Identity    json.RawMessage `json:"identity,omitempty"`
	Key         *string         `json:"key"`
	Replacing   bool            `json:"replacing"`
	Unconfirmed int             `json:"unconfirmed"`
	SeenGoing   bool            `json:"seen_going"`
}

type stateRows []stateRow

func (r *stateRows) add(s *decide.Subject, st *decide.State) error {
	identity, err := identityJSON(s.Table, st.Identity)
	if err != nil {
		return err
	}
	var key *string
	if k, ok := s.Table.Key(st.Identity); ok {
		key = &k
	}
	ref := s.Ref()
	*r = append(*r, stateRow{Table: ref.Table, Record: ref.ID, Account: s.Scope.Account, Region: s.Scope.Region,
		State: string(st.Name), Message: st.Message, Code: st.Code, Review: st.Review, Attempts: st.Attempts,
		Backoff: st.Backoff.Seconds(), FailedAt: st.FailedAt, Identity: identity, Key: key, Replacing: st.Replacing,
		Unconfirmed: st.Unconfirmed, SeenGoing: st.SeenGoing})
	return nil
}

// queue queues that the states are remembered. Those of records that the guard has
// stopped by limits that hold no longer are due, and in a second if somebody is about
// to change them.
func (r stateRows) queue(batch *pgx.Batch, limits *decide.DeleteLimits) {
	if len(r) == 0 {
		return
	}
	args := []any{[]stateRow(r)}
	next, with, from := nextAttempt("backoff", "review"), "", ""
	if limits != nil {
		args = append(args, limits.Max, limits.Ratio, limits.Floor)
		with = `WITH limits AS MATERIALIZED (SELECT iasql_internal.hold_limits($2, $3, $4) AS held)`
		next = `CASE WHEN held THEN ` + next +
			` WHEN NOT held THEN now() ELSE clock_timestamp() + interval '1 second' END`
		from = ` CROSS JOIN limits`
	}
	// "since" is when the state began, not when it was last written.
	batch.Queue(with+`
		INSERT INTO iasql_internal.record_state AS r
			(table_name, record_id, account, region, state, message, code, review, attempts, next_attempt_at, failed_at, identity, key, replacing, unconfirmed, seen_going)
		SELECT table_name, record_id, account, region, state, message, code, review, attempts, `+next+`,
			failed_at, identity, key, replacing, unconfirmed, seen_going
		FROM jsonb_to_recordset($1) v (table_name text, record_id bigint, account text, region text, state text, message text, code text, review boolean,
			attempts integer, backoff double precision, failed_at bigint, identity jsonb, key text, replacing boolean, unconfirmed integer, seen_going boolean)`+from+`
		ON CONFLICT (table_name, record_id) DO UPDATE SET
			account = excluded.account, region = excluded.region, state = excluded.state, message = excluded.message, code = excluded.code,
			review = excluded.review, attempts = excluded.attempts, next_attempt_at = excluded.next_attempt_at, failed_at = excluded.failed_at,
			identity = excluded.identity, key = excluded.key, replacing = excluded.replacing, unconfirmed = excluded.unconfirmed,
			seen_going = excluded.seen_going, since = CASE WHEN r.state = excluded.state THEN r.since ELSE excluded.since END`, args...)
}

// conflictRow is a row of iasql_conflicts. Values is NULL where the record as a whole is meant.
type conflictRow struct {
	Table    string          `json:"table_name"`
	Record   int64           `json:"record_id"`
	Column   *string         `json:"column_name"`
	Values   *conflictValues `json:"values"`
	Audit    int64           `json:"audit_id"`
	Resolved *string         `json:"resolved"`
}

type conflictValues struct {
	Database json.RawMessage `json:"database"`
	Cloud    json.RawMessage `json:"cloud"`
	Base     json.RawMessage `json:"base"`
}

func appendConflicts(rows []conflictRow, s *decide.Subject, conflicts []decide.Conflict) []conflictRow {
	for _, c := range conflicts {
		row := conflictRow{Table: s.Table.Name, Record: s.RecordID, Audit: c.Audit(s.Change)}
		if c.Column != "" {
			col := s.Table.Column(c.Column)
			row.Column = &c.Column
			row.Values = &conflictValues{auditlog.ToJSON(col, c.Database), auditlog.ToJSON(col, c.Cloud),
				auditlog.ToJSON(col, c.Base)}
		}
		if !c.Open {
			how := "pushed"
			if c.PulledAnyway {
				how = "pulled"
			}
			row.Resolved = &how
		}
		rows = append(rows, row)
	}
	return rows
}

// queueConflicts queues conflicts, of two that are the same the first. The cloud's null is a value: it is taken
// out of an object, which keeps it, and not by jsonb_to_recordset, which makes it NULL (PostgreSQL manual,
// section 9.16.1).
func queueConflicts(batch *pgx.Batch, conflicts []conflictRow) {
	if len(conflicts) == 0 {
		return
	}
	batch.Queue(`
		INSERT INTO public.iasql_conflicts (table_name, record_id, column_name, database_value, cloud_value, base, audit_id, resolved, resolved_at, resolved_by)
		SELECT table_name, record_id, column_name, v."values" -> 'database', v."values" -> 'cloud', v."values" -> 'base', audit_id, resolved,
			CASE WHEN resolved IS NOT NULL THEN now() END, CASE WHEN resolved IS NOT NULL THEN current_user END
		FROM (
			SELECT DISTINCT ON (table_name, record_id, column_name, audit_id, r."values" -> 'cloud') r.*
			FROM ROWS FROM (jsonb_to_recordset($1) AS (table_name text, record_id bigint, column_name text, "values" jsonb, audit_id bigint, resolved text))
				WITH ORDINALITY r (table_name, record_id, column_name, "values", audit_id, resolved, n)
			ORDER BY table_name, record_id, column_name, audit_id, r."values" -> 'cloud', n) v
		ORDER BY n
		ON CONFLICT (table_name, record_id, column_name, audit_id, cloud_value) DO UPDATE
			SET database_value = excluded.database_value, base = excluded.base, at = now(),
			    resolved = excluded.resolved, resolved_at = excluded.resolved_at, resolved_by = excluded.resolved_by, closed = false,
			    since = NULL, actor = NULL, actor_session = NULL, source_address = NULL, user_agent = NULL, event_id = NULL, event_time = NULL
			WHERE iasql_conflicts.audit_id = 0 AND iasql_conflicts.closed`, conflicts)
}
