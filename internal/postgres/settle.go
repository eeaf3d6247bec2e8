package postgres

import (
	"context"

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
	)
	for _, s := range settlements {
		sub := s.Subject
		if s.Settle && sub.Change != nil {
			audit = append(audit, sub.Change.AuditIDs...)
		}
		d.queueConflicts(batch, sub, s.Conflicts)
		switch {
		case sub.Deposed:
			queueDeposed(batch, s)
		case s.Forget && sub.State == nil: // there is nothing to forget
		case s.Forget, s.State != nil && sub.RecordID != 0:
			if _, again := states[sub.Ref()]; !again {
				order = append(order, sub.Ref())
			}
			states[sub.Ref()] = s
		}
		if s.Settle && sub.State != nil && sub.State.Name == decide.StateConflict {
			resolved.add(sub.Ref())
		}
	}
	if err := queueRemembered(batch, order, states); err != nil {
		return err
	}
	if len(resolved.ids) > 0 {
		batch.Queue(`
			UPDATE public.iasql_conflicts c SET resolved = 'pulled', resolved_at = clock_timestamp(), resolved_by = current_user
			FROM unnest($1::text[], $2::bigint[]) v (table_name, record_id)
			WHERE c.table_name = v.table_name AND c.record_id = v.record_id AND c.resolved IS NULL`, resolved.tables,
			resolved.ids)
	}
	if len(audit) > 0 {
		batch.Queue(settleQuery, audit)
	}
	return nil
}

// queueDeposed queues what is remembered of a deposed object, or that it is gone.
func queueDeposed(batch *pgx.Batch, s store.Settlement) {
	sub := s.Subject
	key, _ := sub.Table.Key(sub.State.Identity)
	switch {
	case s.Forget:
		batch.Queue(`DELETE FROM iasql_internal.garbage WHERE table_name = $1 AND account = $2 AND region = $3 AND key = $4`,
			sub.Table.Name, sub.Scope.Account, sub.Scope.Region, key)
	case s.State != nil:
		batch.Queue(`
			UPDATE iasql_internal.garbage SET state = $5, message = $6, code = $7, review = $8, attempts = $9, seen_going = $11,
				next_attempt_at = `+nextAttempt("$10::double precision", "$8")+`
			WHERE table_name = $1 AND account = $2 AND region = $3 AND key = $4`,
			sub.Table.Name, sub.Scope.Account, sub.Scope.Region, key, s.State.Name, s.State.Message, s.State.Code,
			s.State.Review,
			s.State.Attempts, s.State.Backoff.Seconds(), s.State.SeenGoing)
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

// stateRows are rows of record_state, as parallel parameters.
type stateRows struct {
	refs
	accounts, regions, names, messages, codes []string
	reviews, replacing, going                 []bool
	attempts, unconfirmed                     []int
	backoffs                                  []float64
	failedAt                                  []int64
	identities, keys                          []*string
}

func (r *stateRows) add(s *decide.Subject, st *decide.State) error {
	identity, err := identityJSON(s.Table, st.Identity)
	if err != nil {
		return err
	}
	var image, key *string
	if identity != nil {
		text := string(identity)
		image = &text
	}
	if k, ok := s.Table.Key(st.Identity); ok {
		key = &k
	}
	r.refs.add(s.Ref())
	r.accounts, r.regions = append(r.accounts, s.Scope.Account), append(r.regions, s.Scope.Region)
	r.names, r.messages, r.codes = append(r.names, string(st.Name)), append(r.messages, st.Message),
		append(r.codes, st.Code)
	r.reviews, r.attempts, r.backoffs = append(r.reviews, st.Review), append(r.attempts, st.Attempts),
		append(r.backoffs, st.Backoff.Seconds())
	r.failedAt, r.identities, r.keys = append(r.failedAt, st.FailedAt), append(r.identities, image), append(r.keys, key)
	r.replacing, r.unconfirmed = append(r.replacing, st.Replacing), append(r.unconfirmed, st.Unconfirmed)
	r.going = append(r.going, st.SeenGoing)
	return nil
}

// queue queues that the states are remembered. Those of records that the guard has
// stopped by limits that hold no longer are due, and in a second if somebody is about
// to change them.
func (r *stateRows) queue(batch *pgx.Batch, limits *decide.DeleteLimits) {
	if len(r.ids) == 0 {
		return
	}
	args := []any{r.tables, r.ids, r.accounts, r.regions, r.names, r.messages, r.codes, r.reviews, r.attempts,
		r.backoffs, r.failedAt, r.identities, r.keys, r.replacing, r.unconfirmed, r.going}
	next, with, from := nextAttempt("backoff", "review"), "", ""
	if limits != nil {
		args = append(args, limits.Max, limits.Ratio, limits.Floor)
		with = `WITH limits AS MATERIALIZED (SELECT iasql_internal.hold_limits($17, $18, $19) AS held)`
		next = `CASE WHEN held THEN ` + next +
			` WHEN NOT held THEN now() ELSE clock_timestamp() + interval '1 second' END`
		from = ` CROSS JOIN limits`
	}
	// "since" is when the state began, not when it was last written.
	batch.Queue(with+`
		INSERT INTO iasql_internal.record_state AS r
			(table_name, record_id, account, region, state, message, code, review, attempts, next_attempt_at, failed_at, identity, key, replacing, unconfirmed, seen_going)
		SELECT table_name, record_id, account, region, state, message, code, review, attempts, `+next+`,
			failed_at, identity::jsonb, key, replacing, unconfirmed, seen_going
		FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::boolean[], $9::integer[],
			$10::double precision[], $11::bigint[], $12::text[], $13::text[], $14::boolean[], $15::integer[], $16::boolean[])
			v (table_name, record_id, account, region, state, message, code, review, attempts, backoff, failed_at, identity, key, replacing, unconfirmed, seen_going)`+from+`
		ON CONFLICT (table_name, record_id) DO UPDATE SET
			account = excluded.account, region = excluded.region, state = excluded.state, message = excluded.message, code = excluded.code,
			review = excluded.review, attempts = excluded.attempts, next_attempt_at = excluded.next_attempt_at, failed_at = excluded.failed_at,
			identity = excluded.identity, key = excluded.key, replacing = excluded.replacing, unconfirmed = excluded.unconfirmed,
			seen_going = excluded.seen_going, since = CASE WHEN r.state = excluded.state THEN r.since ELSE excluded.since END`, args...)
}

func (d *Database) queueConflicts(batch *pgx.Batch, s *decide.Subject, conflicts []decide.Conflict) {
	for _, c := range conflicts {
		var name *string
		var have, cloud, base []byte
		if c.Column != "" {
			col := s.Table.Column(c.Column)
			name = &c.Column
			have, cloud, base = auditlog.ToJSON(col, c.Database), auditlog.ToJSON(col, c.Cloud),
				auditlog.ToJSON(col, c.Base)
		}
		var resolved *string
		if !c.Open {
			how := "pushed"
			if c.PulledAnyway {
				how = "pulled"
			}
			resolved = &how
		}
		batch.Queue(`
			INSERT INTO public.iasql_conflicts (table_name, record_id, column_name, database_value, cloud_value, base, audit_id, resolved, resolved_at, resolved_by)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, CASE WHEN $8::text IS NOT NULL THEN now() END, CASE WHEN $8::text IS NOT NULL THEN current_user END)
			ON CONFLICT (table_name, record_id, column_name, audit_id, cloud_value) DO UPDATE
				SET database_value = excluded.database_value, base = excluded.base, at = now(),
				    resolved = excluded.resolved, resolved_at = excluded.resolved_at, resolved_by = excluded.resolved_by, closed = false,
				    since = NULL, actor = NULL, actor_session = NULL, source_address = NULL, user_agent = NULL, event_id = NULL, event_time = NULL
				WHERE iasql_conflicts.audit_id = 0 AND iasql_conflicts.closed`,
			s.Table.Name, s.RecordID, name, have, cloud, base, c.Audit(s.Change), resolved)
	}
}
