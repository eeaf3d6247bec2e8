package console

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"iasql/internal/modules"
)

// mostOfTable is how many records of a table the map reads. What it leaves out it says.
const mostOfTable = 3000

// tie is a reference of a table's records, by a foreign key or by a list of ids, and what
// it means to lose what it refers to.
type tie struct {
	reference
	list     bool
	part     bool   // those that refer go along
	partIf   string // a column: only if it is true
	contents bool   // the whole goes only when it has none
}

// loadTies reads what the visible managed tables refer to.
func loadTies(ctx context.Context, tx pgx.Tx) ([]tie, error) {
	references, err := loadReferences(ctx, tx)
	if err != nil {
		return nil, err
	}
	ties := make([]tie, 0, len(references))
	for _, r := range references {
		ties = append(ties, tie{reference: r})
	}
	rows, err := tx.Query(ctx, `
		SELECT a.args[1], a.args[2], c.relname, '', 'list'
		FROM pg_trigger g
		JOIN pg_proc f ON f.oid = g.tgfoid AND f.proname = 'leave_records' AND f.pronamespace = 'iasql_internal'::regnamespace
		JOIN pg_class c ON c.oid = g.tgrelid AND c.relnamespace = 'public'::regnamespace
		CROSS JOIN LATERAL (SELECT string_to_array(encode(g.tgargs, 'escape'), '\000') AS args) a
		JOIN pg_class d ON d.relname = a.args[1] AND d.relnamespace = 'public'::regnamespace
		JOIN pg_attribute x ON x.attrelid = d.oid AND x.attname = a.args[2] AND has_column_privilege(d.oid, x.attnum, 'SELECT')
		JOIN pg_attribute y ON y.attrelid = d.oid AND y.attname = 'id' AND has_column_privilege(d.oid, y.attnum, 'SELECT')
		JOIN pg_attribute z ON z.attrelid = c.oid AND z.attname = 'id' AND has_column_privilege(c.oid, z.attnum, 'SELECT')
		UNION ALL
		SELECT a.args[1], a.args[3], c.relname, a.args[2], CASE WHEN m.contents ? a.args[3] THEN 'contents' ELSE 'part' END
		FROM pg_trigger g
		JOIN pg_proc f ON f.oid = g.tgfoid AND f.proname = 'delete_parts' AND f.pronamespace = 'iasql_internal'::regnamespace
		JOIN pg_class c ON c.oid = g.tgrelid AND c.relnamespace = 'public'::regnamespace
		CROSS JOIN LATERAL (SELECT string_to_array(encode(g.tgargs, 'escape'), '\000') AS args) a
		JOIN iasql_internal.managed_table m ON m.name = a.args[1]
		LEFT JOIN pg_attribute y ON y.attrelid = to_regclass(format('public.%I', a.args[1])) AND y.attname = a.args[2]
		WHERE a.args[2] = '' OR has_column_privilege(y.attrelid, y.attnum, 'SELECT')
		ORDER BY 1, 2`)
	if err != nil {
		return nil, err
	}
	var from, column, target, condition, kind string
	_, err = pgx.ForEachRow(rows, []any{&from, &column, &target, &condition, &kind}, func() error {
		if kind == "list" {
			ties = append(ties, tie{list: true, reference: reference{from: from, column: column, to: target,
				columns: []string{column},
				keys:    []string{modules.ColumnID}}})
			return nil
		}
		for i := range ties {
			if t := &ties[i]; t.from == from && t.column == column && t.to == target && !t.list {
				t.part, t.partIf, t.contents = true, condition, kind == "contents"
			}
		}
		return nil
	})
	return ties, err
}

// mapTable is a table as the map reads it.
type mapTable struct {
	name            string
	columns         []string // that the visitor may read
	notNull         []string
	names, identity []string
	tagged          bool // its tags are an object of JSON
	catalogue       bool // nobody makes or deletes records: they tell what the provider has
	joins           bool // a record does nothing but join two others
	ties            []tie
	keys            []reference // by what others refer to its records, unless that is the id
	more            bool        // there are more records than were read
	big             bool        // not all records are looked at for a tag
}

func (t *mapTable) has(column string) bool { return slices.Contains(t.columns, column) }

// mapRecord is a record on the map.
type mapRecord struct {
	table           *mapTable
	id              int64
	account, region string
	label           string
	made            bool // by the provider, of its own accord
	chosen          bool // by the tag and the configuration asked for
	refs            []*string
	keys            []*string
	state           recordState
	targets         [][]*mapRecord // by tie
	container       *mapRecord     // in which it lies
}

// mapData is what the map knows of an installation.
type mapData struct {
	tables  []*mapTable
	of      map[string]*mapTable
	by      map[string]map[int64]*mapRecord
	records []*mapRecord
	// containers are the tables of containers that there are, from the outside in.
	containers []string
}

// loadMapTables reads which tables there are, and what they refer to.
func (c *Console) loadMapTables(ctx context.Context, tx pgx.Tx) (*mapData, error) {
	ties, err := loadTies(ctx, tx)
	if err != nil {
		return nil, err
	}
	references := make([]reference, len(ties))
	for i := range ties {
		references[i] = ties[i].reference
	}
	quiet := noise(references)
	rows, err := tx.Query(ctx, `
		WITH places AS MATERIALIZED ( -- such as regions: they are boxes themselves
			SELECT k.confrelid AS of FROM pg_constraint k
			JOIN pg_attribute y ON y.attrelid = k.conrelid AND y.attnum = ANY (k.conkey)
			WHERE k.contype = 'f' GROUP BY k.oid, k.confrelid HAVING bool_and(y.attname IN ('account', 'region'))
		)
		SELECT m.name, array_agg(a.attname::text ORDER BY a.attnum), coalesce(array_agg(a.attname::text) FILTER (WHERE a.attnotnull OR a.attname = ANY (m.required)), '{}'),
			CASE WHEN cardinality(m.names) > 0 THEN m.names ELSE coalesce(array_agg(a.attname::text ORDER BY a.attnum) FILTER (WHERE `+namesIt+`), '{}') END, m.identity, m.assigned,
			bool_or(a.attname = 'tags' AND a.atttypid = 'jsonb'::regtype), NOT m.can_insert AND NOT m.can_delete, max(c.reltuples) > $1
		FROM iasql_internal.managed_table m
		JOIN public.iasql_tables t ON t."table" = m.name
		JOIN pg_class c ON c.relname = m.name AND c.relnamespace = 'public'::regnamespace
		JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND has_column_privilege(a.attrelid, a.attnum, 'SELECT')
		WHERE NOT m.settings AND c.oid NOT IN (SELECT p.of FROM places p)
		GROUP BY m.name ORDER BY m.name`, lookedAt)
	if err != nil {
		return nil, err
	}
	d := &mapData{of: map[string]*mapTable{}, by: map[string]map[int64]*mapRecord{}}
	assigned := map[string][]string{}
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) {
		t := &mapTable{}
		var computed []string
		err := row.Scan(&t.name, &t.columns, &t.notNull, &t.names, &t.identity, &computed, &t.tagged, &t.catalogue,
			&t.big)
		if t.has(modules.ColumnID) && !quiet[t.name] {
			d.tables, d.of[t.name], assigned[t.name] = append(d.tables, t), t, computed
		}
		return struct{}{}, err
	})
	if err != nil {
		return nil, err
	}
	for _, name := range c.options.Places.Containers {
		if d.of[name] != nil {
			d.containers = append(d.containers, name)
		}
	}
	for _, k := range ties {
		from, to := d.of[k.from], d.of[k.to]
		if from == nil || to == nil || k.column == modules.ColumnAccount || k.column == modules.ColumnRegion {
			continue
		}
		from.ties = append(from.ties, k)
		if !k.byID() && to.keyOf(k.reference) < 0 {
			to.keys = append(to.keys, k.reference)
		}
	}
	for _, t := range d.tables {
		t.joins = len(t.ties) == 2 && !slices.Contains(c.options.Places.Containers, t.name)
		for _, k := range t.ties {
			t.joins = t.joins && !k.list
		}
		for _, column := range t.columns {
			own := column != modules.ColumnID && column != modules.ColumnAccount && column != modules.ColumnRegion
			t.joins = t.joins && (!own || slices.Contains(assigned[t.name], column) ||
				slices.ContainsFunc(t.ties, func(k tie) bool { return slices.Contains(k.columns, column) }))
		}
	}
	return d, nil
}

func (r reference) byID() bool { return len(r.keys) == 1 && r.keys[0] == modules.ColumnID }

// keyOf returns which of the table's keys a reference leads to.
func (t *mapTable) keyOf(r reference) int {
	return slices.IndexFunc(t.keys, func(k reference) bool { return slices.Equal(k.keys, r.keys) })
}

// referenceText is the SQL of a reference's value, as one text.
func referenceText(columns []string) string {
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = "t." + ident(c) + "::text"
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return "array_to_string(CASE WHEN num_nulls(" + strings.Join(parts, ", ") + ") = 0 THEN ARRAY[" +
		strings.Join(parts, ", ") + "] END, E'\\x1f')"
}

// called is the SQL of what people call a record.
func (t *mapTable) called() string {
	var parts []string
	if t.tagged {
		parts = append(parts, "nullif(t.tags ->> 'Name', '')", "nullif(t.tags ->> 'name', '')")
	}
	for _, c := range append(slices.Clone(t.names), t.identity...) {
		if t.has(c) {
			parts = append(parts, "t."+ident(c)+"::text")
		}
	}
	return "left(coalesce(" + strings.Join(append(parts, "''"), ", ") + "), 120)"
}

// loadMap reads the records that a choice is about, those of all tables with one statement.
func (c *Console) loadMap(ctx context.Context, tx pgx.Tx, choice mapChoice) (*mapData, error) {
	d, err := c.loadMapTables(ctx, tx)
	if err != nil {
		return nil, err
	}
	mentioned := map[string][]int64{}
	if choice.configuration != "" {
		rows, err := tx.Query(ctx, `SELECT m.table_name, array_agg(m.record_id) FROM iasql_internal.mentioned m
			WHERE m.configuration = $1 GROUP BY 1`, choice.configuration)
		if err != nil {
			return nil, err
		}
		var name string
		var ids []int64
		if _, err := pgx.ForEachRow(rows, []any{&name, &ids}, func() error {
			mentioned[name] = slices.Clone(ids)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	args := []any{pgx.QueryExecModeExec}
	arg := func(value any) string {
		args = append(args, value)
		return "$" + strconv.Itoa(len(args)-1)
	}
	var parts []string
	for i, t := range d.tables {
		parts = append(parts, c.selectRecords(i, t, d, choice, mentioned[t.name], arg))
	}
	if len(parts) == 0 {
		return d, nil
	}
	rows, err := tx.Query(ctx, strings.Join(parts, " UNION ALL "), args...)
	if err != nil {
		return nil, err
	}
	var i int
	var r mapRecord
	counts := make([]int, len(d.tables))
	_, err = pgx.ForEachRow(rows, []any{&i, &r.id, &r.account, &r.region, &r.label, &r.made, &r.chosen, &r.refs,
		&r.keys}, func() error {
		t := d.tables[i]
		if counts[i]++; counts[i] > mostOfTable {
			t.more = true
			return nil
		}
		n := r
		n.table, n.refs, n.keys, n.label = t, slices.Clone(r.refs), slices.Clone(r.keys), printable(r.label)
		d.records = append(d.records, &n)
		if d.by[t.name] == nil {
			d.by[t.name] = map[int64]*mapRecord{}
		}
		d.by[t.name][n.id] = &n
		return nil
	})
	if err != nil {
		return nil, err
	}
	d.resolve()
	d.place(c.options.Places)
	return d, nil
}

// selectRecords is the part of the statement that reads a table.
func (c *Console) selectRecords(i int, t *mapTable, d *mapData, choice mapChoice, mentioned []int64,
	arg func(any) string) string {
	column := func(name string) string {
		if t.has(name) {
			return "coalesce(t." + ident(name) + "::text, '')"
		}
		return "''"
	}
	where, order := []string{"true"}, "t.id"
	if choice.account != "" && t.has(modules.ColumnAccount) {
		where = append(where, "t.account = "+arg(choice.account))
	}
	chosen := []string{"true"}
	if choice.configuration != "" {
		chosen = append(chosen, "t.id = ANY ("+arg(append([]int64{}, mentioned...))+"::bigint[])")
	}
	if key, value, both := strings.Cut(choice.tag, "="); choice.tag != "" {
		switch {
		case !t.tagged:
			chosen = append(chosen, "false")
		case both:
			chosen = append(chosen, "coalesce(t.tags ->> "+arg(key)+"::text = "+arg(value)+"::text, false)")
		default:
			chosen = append(chosen, "coalesce(t.tags ? "+arg(key)+"::text, false)")
		}
	}
	if len(chosen) > 1 {
		order = "(" + strings.Join(chosen, " AND ") + ") DESC, t.id"
		if t.big {
			first := fmt.Sprintf("t.id <= (SELECT max(x.id) FROM (SELECT y.id FROM %s y ORDER BY y.id LIMIT %d) x)",
				table(t.name), lookedAt)
			if choice.configuration != "" {
				first = "(" + first + " OR " + chosen[1] + ")"
			}
			where = append(where, first)
		}
	}
	if inside := d.inside(t, choice); inside != "" {
		where = append(where, inside)
	}
	made := "false"
	if t.has(c.options.Made[t.name]) {
		made = "coalesce(t." + ident(c.options.Made[t.name]) + ", false)"
	}
	var refs, keys []string
	for _, k := range t.ties {
		refs = append(refs, referenceText(k.columns))
	}
	for _, k := range t.keys {
		keys = append(keys, referenceText(k.keys))
	}
	return fmt.Sprintf(`(SELECT %d, t.id, %s, %s, %s, %s, %s, ARRAY[%s]::text[], ARRAY[%s]::text[] FROM %s t WHERE %s ORDER BY %s LIMIT %d)`,
		i, column(modules.ColumnAccount), column(modules.ColumnRegion), t.called(), made, strings.Join(chosen, " AND "),
		strings.Join(refs, ", "), strings.Join(keys, ", "), table(t.name), strings.Join(where, " AND "), order,
		mostOfTable+1)
}

// inside is the condition for records of a table that refers to a container, or to what it
// contains, by their ids; "" for other tables, whose records are looked through.
func (d *mapData) inside(t *mapTable, choice mapChoice) string {
	if choice.within == "" || !slices.Contains(d.containers, choice.within) {
		return ""
	}
	id := number(choice.withinID)
	if t.name == choice.within {
		return "t.id = " + id
	}
	var either []string
	for _, k := range t.ties {
		if k.list {
			if k.to == choice.within || slices.Contains(d.containers, k.to) {
				return ""
			}
			continue
		}
		if !k.byID() || !slices.Contains(d.containers, k.to) {
			continue
		}
		if k.to == choice.within {
			either = append(either, "t."+ident(k.column)+" = "+id)
			continue
		}
		inner := d.of[k.to]
		for _, up := range inner.ties {
			if up.to == choice.within && up.byID() && !up.list {
				either = append(either, "t."+ident(k.column)+" IN (SELECT i.id FROM "+table(k.to)+" i WHERE i."+
					ident(up.column)+" = "+id+")")
			}
		}
	}
	// What refers to no container by itself may lie in one all the same.
	if len(either) == 0 {
		return ""
	}
	return "(" + strings.Join(either, " OR ") + ")"
}

// printable leaves out what a document of XML may not have (XML 1.0, section 2.2).
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			return ' '
		case r < 0x20 || r == 0xFFFE || r == 0xFFFF || r == 0xFFFD:
			return -1
		}
		return r
	}, text)
}
