package postgres

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"iasql/internal/modules"
	"iasql/internal/store"
)

// Match implements [store.Store].
func (d *Database) Match(ctx context.Context, t *modules.Table, scope modules.Scope,
	objects []modules.Row) ([]store.Match, error) {
	m := matching{db: d, table: t, scope: scope, matches: make([]store.Match, len(objects)),
		keys: make([]string, len(objects)), byKey: map[string][]int{}, byID: map[int64][]int{}}
	for i, o := range objects {
		m.keys[i], _ = t.Key(o)
		m.byKey[m.keys[i]] = append(m.byKey[m.keys[i]], i)
	}
	err := d.Pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		first := &pgx.Batch{}
		first.Queue(beginSnapshot)
		first.Queue(byIndex)
		m.queueRecords(first, objects)
		m.queueKeys(first)
		if err := conn.SendBatch(ctx, first).Close(); err != nil {
			return err
		}
		second := &pgx.Batch{}
		if len(m.byID) > 0 {
			m.queueIDs(second)
		}
		second.Queue(`COMMIT`)
		return conn.SendBatch(ctx, second).Close()
	})
	return m.matches, err
}

// byIndex has the transaction's statements look rows up by index. Each is prepared, and its plan kept once it has run
// five times (manual, PREPARE, Notes): one made while an import begins would read the table as a whole for every page
// until the table is analyzed, for then it has but a few rows.
const byIndex = `SET LOCAL enable_seqscan = off`

// matching gathers what the database has for objects of one table and scope.
type matching struct {
	db      *Database
	table   *modules.Table
	scope   modules.Scope
	matches []store.Match
	keys    []string         // of the objects
	byKey   map[string][]int // places in matches
	byID    map[int64][]int  // and those by record
}

// queueRecords queues the read of the records that have the objects' identities.
func (m *matching) queueRecords(batch *pgx.Batch, objects []modules.Row) {
	sh := shapeOf(m.table)
	list, lists := sh.columns, m.table.Lists()
	for _, c := range lists {
		list += ", " + m.db.namesOf(c)
	}
	args := []any{m.scope.Account}
	where := `t.account = $1`
	if m.table.Reach == modules.PerRegion {
		args = append(args, m.scope.Region)
		where += ` AND t.region = $2`
	}
	var unnest, names, joins []string
	for i, name := range m.table.Identity() {
		c := m.table.Column(name)
		args = append(args, column(objects, name))
		unnest = append(unnest, fmt.Sprintf("$%d::text[]", len(args)))
		alias := "k" + strconv.Itoa(i)
		names = append(names, alias)
		joins = append(joins, fmt.Sprintf("t.%s = %s", quote(name), fromText("k."+alias, c)))
	}
	// Each object is looked up by the index of its identity, whatever the planner knows of the table: what an import
	// fills looks empty until it is analyzed, and a join would read all of the account's rows for every page. OFFSET 0
	// keeps the subquery from becoming a join (manual, section 7.6; src/backend/optimizer/prep/prepjointree.c,
	// is_simple_subquery).
	query := fmt.Sprintf(`SELECT k.ord::text, t.id::text, t.xmin::text, %s FROM unnest(%s) WITH ORDINALITY k (%s, ord)
		CROSS JOIN LATERAL (SELECT t.xmin, t.* FROM %s t WHERE %s AND %s OFFSET 0) t`,
		list, strings.Join(unnest, ", "), strings.Join(names, ", "), sh.name, strings.Join(joins, " AND "), where)
	batch.Queue(query, args...).Query(func(rows pgx.Rows) error {
		defer rows.Close()
		for rows.Next() {
			raw := rows.RawValues()
			ord, err := strconv.Atoi(string(raw[0]))
			if err != nil {
				return err
			}
			record, err := sh.scanRow(raw[1:])
			if err != nil {
				return err
			}
			m.matches[ord-1].Record = record
			if err := readNames(&m.matches[ord-1].RefKeys, lists, raw[3+len(m.table.Columns):]); err != nil {
				return err
			}
			m.byID[record.ID] = append(m.byID[record.ID], ord-1)
		}
		return rows.Err()
	})
}

// queueKeys queues the read of what else speaks of the objects' keys. It comes
// after [matching.queueRecords]: what another record once was, or is to be, does not
// matter to an object that has a record.
func (m *matching) queueKeys(batch *pgx.Batch) {
	logged, staged, remembered := "", "", ""
	if m.table.Reach == modules.PerRegion {
		logged, staged, remembered = " AND "+regionBefore(m.table, "l")+" = $4", " AND region = $4",
			" AND identity ->> 'region' = $4"
	}
	// The keys of a page are sent once, for all of these. Most of the time some of the
	// tables are empty, and then they are not looked up one by one: EXISTS is asked once
	// (a One-Time Filter in EXPLAIN).
	batch.Queue(`
		SELECT 'logged', l.key, 0 AS "by" FROM public.iasql_audit_log l WHERE NOT l.settled AND l.table_name = $1 AND l.key = ANY ($2) AND l.account = $3`+logged+`
		UNION ALL
		SELECT 'staged', key, min(batch) FROM iasql_internal.staged_key
		WHERE EXISTS (SELECT FROM iasql_internal.staged_key) AND table_name = $1 AND key = ANY ($2) AND account = $3`+
		staged+` GROUP BY key
		UNION ALL
		SELECT 'remembered', key, record_id FROM iasql_internal.record_state
		WHERE EXISTS (SELECT FROM iasql_internal.record_state) AND table_name = $1 AND key = ANY ($2) AND account = $3`+
		remembered+`
		UNION ALL
		SELECT 'deposed', key, 0 FROM iasql_internal.garbage
		WHERE EXISTS (SELECT FROM iasql_internal.garbage) AND table_name = $1 AND key = ANY ($2) AND account = $3 AND region = $4
		ORDER BY 3`,
		m.table.Name, m.keys, m.scope.Account, m.scope.Region).Query(func(rows pgx.Rows) error {
		var what, key string
		var by int64
		_, err := pgx.ForEachRow(rows, []any{&what, &key, &by}, func() error {
			for _, i := range m.byKey[key] {
				match := &m.matches[i]
				switch {
				case what == "deposed":
					match.Deposed = true
				case match.Record != nil:
				case what == "remembered":
					match.Remembered, match.RememberedBy = true, append(match.RememberedBy, by)
				case what == "staged":
					match.Pending, match.Batch = true, by
				default:
					match.Pending = true
				}
			}
			return nil
		})
		return err
	})
}

// queueIDs queues the read of what is pending and remembered of the records.
func (m *matching) queueIDs(batch *pgx.Batch) {
	ids := make([]int64, 0, len(m.byID))
	for id := range m.byID {
		ids = append(ids, id)
	}
	batch.Queue(`
		SELECT 'logged', record_id FROM public.iasql_audit_log WHERE NOT settled AND table_name = $1 AND record_id = ANY ($2)
		UNION ALL
		SELECT 'staged', record_id FROM iasql_internal.staged
		WHERE EXISTS (SELECT FROM iasql_internal.staged) AND table_name = $1 AND record_id = ANY ($2)
		UNION ALL
		SELECT 'remembered', record_id FROM iasql_internal.record_state
		WHERE EXISTS (SELECT FROM iasql_internal.record_state) AND table_name = $1 AND record_id = ANY ($2)`,
		m.table.Name, ids).Query(func(rows pgx.Rows) error {
		var what string
		var id int64
		_, err := pgx.ForEachRow(rows, []any{&what, &id}, func() error {
			for _, i := range m.byID[id] {
				match := &m.matches[i]
				if what == "remembered" {
					match.Remembered = true
				} else {
					match.Pending = true
				}
			}
			return nil
		})
		return err
	})
}
