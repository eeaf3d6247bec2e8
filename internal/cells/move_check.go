package cells

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
)

// facts are what has to be the same in both cells, or an account would mean something else in the target.
type facts struct {
	Version  string                       `json:"version"`
	Modules  map[string]int               `json:"modules"`  // installed, by name
	Columns  map[string]map[string]string `json:"columns"`  // types of columns, by table
	Rules    []string                     `json:"rules"`    // those that are not about one record
	Settings map[string]string            `json:"settings"` // those by which it is decided what is done
	Restored *string                      `json:"restored"` // why the database may have gone back in time
}

// factsQuery reads them. A table with a column of a type of somebody's own has that type's name, as any other.
const factsQuery = `
SELECT jsonb_build_object(
	'version', (SELECT i.version FROM iasql_internal.installation i),
	'modules', (SELECT coalesce(jsonb_object_agg(m.name, m.installed), '{}') FROM iasql_internal.module m WHERE m.installed IS NOT NULL),
	'columns', (SELECT coalesce(jsonb_object_agg(c.name, c.columns), '{}') FROM (
		SELECT c.relname AS name, jsonb_object_agg(a.attname, format_type(a.atttypid, a.atttypmod)) AS columns
		FROM iasql_internal.managed_table m JOIN pg_class c ON c.relname = m.name AND c.relnamespace = 'public'::regnamespace
		JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped GROUP BY c.relname) c),
	'rules', (SELECT coalesce(jsonb_agg(r.rule ORDER BY r.rule), '[]') FROM (
		SELECT concat('iasql_mode ', jsonb_strip_nulls(to_jsonb(t) - '{id,since}'::text[])) AS rule FROM public.iasql_mode t WHERE t.record_id IS NULL
		UNION ALL SELECT concat('iasql_ignore ', jsonb_strip_nulls(to_jsonb(t) - 'id')) FROM public.iasql_ignore t
		UNION ALL SELECT concat('iasql_protection ', jsonb_strip_nulls(to_jsonb(t) - '{by,at}'::text[])) FROM public.iasql_protection t WHERE t.record_id IS NULL) r),
	'settings', (SELECT jsonb_object_agg(s.name, s.value) FROM public.iasql_settings s WHERE s.name IN ('conflict_policy', 'drift',
		'consistency_window', 'max_deletes', 'max_delete_ratio', 'delete_ratio_floor')),
	'restored', (SELECT i.restored_why FROM iasql_internal.server_seen i WHERE i.restored_at IS NOT NULL))`

func (e *end) facts(ctx context.Context) (*facts, error) {
	var raw []byte
	if err := e.conn.QueryRow(ctx, factsQuery).Scan(&raw); err != nil {
		return nil, e.explain(err)
	}
	f := &facts{}
	return f, json.Unmarshal(raw, f)
}

// obstacles returns what stands in the way of the move, each with what to do about it.
func (m *mover) obstacles(ctx context.Context) ([]string, error) {
	there, err := m.source.exists(ctx)
	if err != nil {
		return nil, err
	}
	if !there {
		return []string{fmt.Sprintf("cell %s has no such account: engine cells list shows which cell has it",
			m.From)}, nil
	}
	from, err := m.source.facts(ctx)
	if err != nil {
		return nil, err
	}
	to, err := m.target.facts(ctx)
	if err != nil {
		return nil, err
	}
	list := differences(m.From, m.To, from, to)
	for _, look := range []func(context.Context) ([]string, error){m.taken, m.unfinished, m.tied} {
		found, err := look(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}

// differences says what the cells do not have in common.
func differences(source, target string, from, to *facts) []string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if from.Version != to.Version {
		add("cell %s has version %s, and cell %s version %s: upgrade the older one", source, from.Version, target,
			to.Version)
	}
	for _, name := range slices.Sorted(maps.Keys(from.Modules)) {
		version, there := to.Modules[name]
		switch {
		case !there:
			add("cell %s has no module %s: SELECT * FROM iasql_install('%[2]s') there", target, name)
		case version != from.Modules[name]:
			add("module %s has version %d in cell %s, and %d in cell %s: engine migrate upgrades the older one", name,
				from.Modules[name], source, version, target)
		}
	}
	for _, table := range slices.Sorted(maps.Keys(from.Columns)) {
		if to.Columns[table] == nil {
			continue // its module is missing
		}
		names := maps.Clone(from.Columns[table])
		maps.Copy(names, to.Columns[table])
		for _, name := range slices.Sorted(maps.Keys(names)) {
			a, b := from.Columns[table][name], to.Columns[table][name]
			switch {
			case b == "":
				add("table %s has no column %s in cell %s: ALTER TABLE %[1]s ADD COLUMN %[2]s %[4]s there", table, name,
					target, a)
			case a == "":
				// The target's default fills it.
			case a != b:
				add("column %s of table %s is %s in cell %s, and %s in cell %s: give it one type", name, table, a,
					source, b, target)
			}
		}
	}
	oneSided := func(has, lacks string, rules, others []string) {
		for _, rule := range rules {
			if !slices.Contains(others, rule) {
				add("cell %s has the rule %s, and cell %s has not: insert it there, or delete it here", has, rule,
					lacks)
			}
		}
	}
	oneSided(source, target, from.Rules, to.Rules)
	oneSided(target, source, to.Rules, from.Rules)
	for _, name := range slices.Sorted(maps.Keys(from.Settings)) {
		if a, b := from.Settings[name], to.Settings[name]; a != b {
			add("setting %s is %s in cell %s, and %s in cell %s: make them the same", name, a, source, b, target)
		}
	}
	for _, cell := range []struct {
		name string
		why  *string
	}{{source, from.Restored}, {target, to.Restored}} {
		if cell.why != nil {
			add("cell %s: %s: SELECT iasql_confirm('restored') there first", cell.name, *cell.why)
		}
	}
	return list
}

// lines collects the texts that a query returns.
func (e *end) lines(ctx context.Context, query string, args ...any) ([]string, error) {
	rows, _ := e.conn.Query(ctx, query, args...)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return list, e.explain(err)
}

// taken says whether the target has an account of that name, or the same account.
func (m *mover) taken(ctx context.Context) ([]string, error) {
	there, err := m.target.exists(ctx)
	if err != nil {
		return nil, err
	}
	var list []string
	if there {
		list = append(list, fmt.Sprintf("cell %s has an account %s already: choose another name (--as NAME)", m.To,
			m.As))
	}
	pinned, err := m.source.lines(ctx, `SELECT identity FROM iasql_internal.world WHERE account = $1 AND identity IS NOT NULL`,
		m.Account)
	if err != nil || len(pinned) == 0 {
		return list, err
	}
	same, err := m.target.lines(ctx, `SELECT format('cell %s has the same account (%s), as %s: delete it there, which leaves '
			'its objects as they are', $2::text, w.identity, w.account)
		FROM iasql_internal.world w WHERE w.identity = $1 ORDER BY w.account`, pinned[0], m.To)
	return append(list, same...), err
}

// unfinished says what of the account is about to end in the source.
func (m *mover) unfinished(ctx context.Context) ([]string, error) {
	return m.source.lines(ctx, `
		SELECT format('%s has staged records of it: commit it or roll it back (SELECT * FROM iasql_batches)', iasql_internal.batch_text(s.batch))
		FROM (SELECT DISTINCT s.batch FROM iasql_internal.staged s WHERE s.account = $1) s
		UNION ALL
		SELECT format('configuration %s mentions records of it: DELETE FROM iasql_configurations WHERE name = %L, which leaves the records, '
			'and declare it anew in cell %s', d.configuration, d.configuration, $2::text)
		FROM (SELECT DISTINCT d.configuration FROM iasql_internal.mention n JOIN iasql_internal.declaration d ON d.id = n.declaration
			WHERE EXISTS (SELECT FROM iasql_internal.records r WHERE r.table_name = n.table_name AND r.record_id = n.record_id AND r.account = $1)) d
		UNION ALL
		SELECT format('what is pending of it is from before the database went back in time: wait until it is settled '
			'(SELECT * FROM iasql_status)')
		FROM iasql_internal.server_seen i
		WHERE EXISTS (SELECT FROM public.iasql_audit_log l WHERE l.account = $1 AND NOT l.settled AND l.id <= i.went_back_audit)
			OR EXISTS (SELECT FROM public.iasql_operations o WHERE o.account = $1 AND o.ended IS NULL AND o.id <= i.went_back_operation)
		ORDER BY 1`, m.Account, m.To)
}

// tied says what joins the account's records to what stays.
func (m *mover) tied(ctx context.Context) (list []string, err error) {
	err = m.source.within(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
		tables, err := m.source.managedTables(ctx, tx)
		if err != nil {
			return err
		}
		for _, look := range []func(context.Context, pgx.Tx, []managedTable) ([]string, error){m.referring, m.foreign,
			m.composed} {
			found, err := look(ctx, tx, tables)
			if err != nil {
				return err
			}
			list = append(list, found...)
		}
		return nil
	})
	return list, m.source.explain(err)
}

// reference is a column by which records refer to records.
type reference struct {
	Table, Column, Target string
	List                  bool
}

// referring says which records refer to records of other accounts, or the other way round.
func (m *mover) referring(ctx context.Context, tx pgx.Tx, tables []managedTable) ([]string, error) {
	owner := map[string]string{}
	for _, t := range tables {
		owner[t.Name] = t.Owner
	}
	rows, _ := tx.Query(ctx, `
		SELECT c.relname::text, a.attname::text, r.relname::text, false
		FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid AND c.relnamespace = 'public'::regnamespace
		JOIN iasql_internal.managed_table m ON m.name = c.relname
		JOIN pg_class r ON r.oid = k.confrelid AND r.relnamespace = 'public'::regnamespace
		JOIN iasql_internal.managed_table n ON n.name = r.relname
		JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[1]
		JOIN pg_attribute f ON f.attrelid = k.confrelid AND f.attnum = k.confkey[1] AND f.attname = 'id'
		WHERE k.contype = 'f' AND cardinality(k.conkey) = 1
		UNION SELECT m.name, l."column", l.target, true FROM iasql_internal.managed_table m, iasql_internal.lists_in(m.name) l
		ORDER BY 1, 2`)
	references, err := pgx.CollectRows(rows, pgx.RowToStructByPos[reference])
	if err != nil {
		return nil, err
	}
	var list []string
	for _, r := range references {
		if owner[r.Table] == "" || owner[r.Target] == "" {
			continue
		}
		join := "x." + ident(r.Column) + " = y.id"
		if r.List {
			join = "y.id = ANY (x." + ident(r.Column) + ")"
		}
		var example *string
		if err := tx.QueryRow(ctx, fmt.Sprintf(`SELECT min(format('record %%s of %%s, of account %%s, refers to record %%s of %%s, of account %%s, by %%s',
				x.id, $2::text, x.%[1]s, y.id, $3::text, y.%[2]s, $4::text))
			FROM public.%[3]s x JOIN public.%[4]s y ON %[5]s WHERE (x.%[1]s = $1) <> (y.%[2]s = $1)`, ident(owner[r.Table]),
			ident(owner[r.Target]), ident(r.Table), ident(r.Target), join), m.Account, r.Table, r.Target,
			r.Column).Scan(&example); err != nil {
			return nil, err
		}
		if example != nil {
			list = append(list, *example+": take the reference away")
		}
	}
	return list, nil
}

// foreign says which tables that are not managed refer to the account's records, or are referred to by columns of
// theirs that somebody has added.
func (m *mover) foreign(ctx context.Context, tx pgx.Tx, tables []managedTable) ([]string, error) {
	owner := map[string]string{}
	for _, t := range tables {
		owner[t.Name] = t.Owner
	}
	rows, _ := tx.Query(ctx, `
		SELECT k.conname::text, k.conrelid::regclass::text, c.relname::text, r.relname::text, k.confrelid::regclass::text,
			string_agg(format('x.%I = y.%I', a.attname, f.attname), ' AND ' ORDER BY u.n), m.name IS NOT NULL
		FROM pg_constraint k CROSS JOIN LATERAL unnest(k.conkey, k.confkey) WITH ORDINALITY u (ours, theirs, n)
		JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.ours
		JOIN pg_attribute f ON f.attrelid = k.confrelid AND f.attnum = u.theirs
		JOIN pg_class c ON c.oid = k.conrelid JOIN pg_class r ON r.oid = k.confrelid
		LEFT JOIN iasql_internal.managed_table m ON m.name = c.relname AND c.relnamespace = 'public'::regnamespace
		LEFT JOIN iasql_internal.managed_table n ON n.name = r.relname AND r.relnamespace = 'public'::regnamespace
		WHERE k.contype = 'f' AND (m.name IS NULL) <> (n.name IS NULL)
		GROUP BY k.oid, k.conname, k.conrelid, k.confrelid, c.relname, r.relname, m.name ORDER BY 1`)
	type tie struct {
		Name, Table, Plain, TargetPlain, Target, Join string
		Ours                                          bool
	}
	ties, err := pgx.CollectRows(rows, pgx.RowToStructByPos[tie])
	if err != nil {
		return nil, err
	}
	var list []string
	for _, t := range ties {
		side, of := "y", owner[t.TargetPlain]
		if t.Ours {
			side, of = "x", owner[t.Plain]
		}
		if of == "" {
			continue
		}
		var count int64
		if err := tx.QueryRow(ctx, fmt.Sprintf(`SELECT count(*) FROM %s x JOIN %s y ON %s WHERE %s.%s = $1`, t.Table, t.Target,
			t.Join, side, ident(of)), m.Account).Scan(&count); err != nil {
			return nil, err
		}
		if count > 0 {
			list = append(list, fmt.Sprintf("%d rows of %s refer to %s by %s, and one of the two tables does not "+
				"move: delete these rows or the foreign key, and make them anew in cell %s", count, t.Table, t.Target,
				t.Name, m.To))
		}
	}
	return list, nil
}

// composed says which compositions the account has instances of: their columns may hold ids of records that nothing
// marks as such.
func (m *mover) composed(ctx context.Context, tx pgx.Tx, tables []managedTable) ([]string, error) {
	rows, _ := tx.Query(ctx, `SELECT m.name FROM iasql_internal.managed_table m WHERE m.composition ORDER BY m.name`)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	var list []string
	for _, t := range tables {
		if !slices.Contains(names, t.Name) {
			continue
		}
		var count int64
		if err := tx.QueryRow(ctx, numbering{account: m.Account}.bind(`SELECT count(*) FROM `+t.qualified()+` t WHERE `+
			t.where())).Scan(&count); err != nil {
			return nil, err
		}
		if count > 0 {
			list = append(list, fmt.Sprintf("it has %d instances of the composition %s, which do not move: "+
				"SELECT * FROM iasql_uninstall('%[2]s') leaves their parts as they are", count, t.Name))
		}
	}
	return list, nil
}
