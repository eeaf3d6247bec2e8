package console

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

type conflictInfo struct {
	id, record              int64
	table                   string
	column, db, cloud, base *string
	at                      *time.Time
	resolved, by            *string
	other                   told // who was on the other side
}

type ruleInfo struct {
	id            int64
	table, column *string
	record        *int64
	mode, until   string
}

// mostOfValue is how much of a value the page of a record shows.
const mostOfValue = 20000

// recordData is what a record's page shows.
type recordData struct {
	t         *tableInfo
	id        int64
	columns   []*columnInfo
	values    []*string // NULL pointers where the record is gone: see found
	found     bool
	state     recordState
	cloud     map[string]*string // where a change is pending: what both sides last agreed on
	conflicts []conflictInfo
	history   []historyInfo
	more      bool
	mode      string
	rule      *ruleInfo
	columnSet []ruleInfo // rules for single columns
	graph     graph
	form      *formTable
	names     labels          // of what it refers to
	can       map[string]bool // functions that this installation has
	protected *bool
	guardedBy string // which rule says so: of the record or else of its table
	// configurations are those that have the record.
	configurations []string
	partOf         []instanceInfo
	parts          []partInfo // of an instance of a composition
	expires        string     // when it is deleted, and as whose word; "": it does not expire
}

func (c *Console) record(v *visit) {
	id, err := strconv.ParseInt(v.r.PathValue("id"), 10, 64)
	if err != nil {
		v.problem(http.StatusNotFound, "There is nothing here", "A record is named by its id, which is a number.")
		return
	}
	d := recordData{id: id}
	var own places
	if err := v.session.read(v.ctx(), func(tx pgx.Tx) (err error) {
		if err := d.load(v.ctx(), tx, v.r.PathValue("table")); err != nil || !d.found {
			return err
		}
		if err = own.load(v.ctx(), tx); err == nil {
			own.choose(d.state.batch)
		}
		return err
	}); err != nil {
		v.failed(err)
		return
	}
	if !d.found && len(d.history) == 0 && d.state.state == "Present" {
		v.failed(errNotThere("There is no record " + number(id) + " of " + d.t.name + ", or you may not see it."))
		return
	}
	v.live = true
	v.page(d.t.name+" "+number(id), d.title(),
		v.elsewhere(&d),
		v.changeCard(d.form, own, id),
		v.stateCard(&d),
		v.conflictCard(d.conflicts),
		d.instanceCard(),
		h.Div(h.Class("two wide"), d.valueCard(), v.sideCards(&d)),
		d.timeline(),
	)
}

func (d *recordData) load(ctx context.Context, tx pgx.Tx, name string) (err error) {
	if d.t, err = findTable(ctx, tx, name); err != nil {
		return err
	}
	if d.columns, err = loadColumns(ctx, tx, d.t); err != nil {
		return err
	}
	if find(d.columns, "id") == nil {
		return errNotThere("You may not read column id of " + d.t.name + ".")
	}
	steps := []func(context.Context, pgx.Tx) error{d.loadValues, d.loadState, d.loadPending, d.loadConflicts,
		d.loadHistory, d.loadModes, d.loadCan, d.loadProtection, d.loadConfigurations,
		d.loadInstance}
	for _, step := range steps {
		if err := step(ctx, tx); err != nil {
			return err
		}
	}
	if !d.found {
		return nil
	}
	references, err := loadReferences(ctx, tx)
	if err != nil {
		return err
	}
	if d.form, err = loadForm(ctx, tx, d.t.name); err != nil {
		return err
	}
	values := map[*target][]string{}
	for i, c := range d.columns {
		if to := d.form.refersTo(c.name); to != nil {
			values[to] = append(values[to], elements(d.values[i], mostOfValue)...)
		}
	}
	if d.names, err = loadLabels(ctx, tx, values); err != nil {
		return err
	}
	d.graph, err = neighbours(ctx, tx, references, d.t.name, d.id, 1, 8)
	return err
}

func (d *recordData) loadValues(ctx context.Context, tx pgx.Tx) error {
	list := make([]string, len(d.columns))
	d.values = make([]*string, len(d.columns))
	into := make([]any, len(d.columns))
	for i, c := range d.columns {
		list[i] = "left(t." + ident(c.name) + "::text, " + strconv.Itoa(mostOfValue) + ")"
		into[i] = &d.values[i]
	}
	err := tx.QueryRow(ctx, "SELECT "+strings.Join(list, ", ")+" FROM "+table(d.t.name)+" t WHERE t.id = $1",
		pgx.QueryExecModeExec, d.id).Scan(into...)
	d.found = err == nil
	if err == pgx.ErrNoRows {
		err = nil
	}
	return err
}

func (d *recordData) loadState(ctx context.Context, tx pgx.Tx) error {
	states, err := loadRecordStates(ctx, tx, d.t.name, []int64{d.id})
	d.state = states[d.id]
	return err
}

// loadPending reads what both sides last agreed on, of the columns with changes
// that are not settled: of each the oldest original (design.md §3).
func (d *recordData) loadPending(ctx context.Context, tx pgx.Tx) error {
	d.cloud = map[string]*string{}
	rows, err := tx.Query(ctx, `
		SELECT DISTINCT ON (e.key) e.key, left(e.value, 20000)
		FROM public.iasql_audit_log l CROSS JOIN LATERAL jsonb_each_text(l.change -> 'original') e
		WHERE NOT l.settled AND l.table_name = $1 AND l.record_id = $2 AND l.change_type = 'UPDATE' AND jsonb_typeof(l.change -> 'original') = 'object'
		ORDER BY e.key, l.id`, d.t.name, d.id)
	if err != nil {
		return err
	}
	var key string
	var original *string
	_, err = pgx.ForEachRow(rows, []any{&key, &original}, func() error {
		d.cloud[key] = original
		return nil
	})
	return err
}

const conflictColumns = `SELECT c.id, c.table_name, c.record_id, c.column_name, left(c.database_value::text, 4000), left(c.cloud_value::text, 4000), left(c.base::text, 4000), c.at, c.resolved, c.resolved_by, c.actor, c.actor_session, c.source_address, c.user_agent FROM public.iasql_conflicts c `

func scanConflict(row pgx.CollectableRow) (conflictInfo, error) {
	var c conflictInfo
	return c, row.Scan(&c.id, &c.table, &c.record, &c.column, &c.db, &c.cloud, &c.base, &c.at, &c.resolved, &c.by,
		&c.other.actor, &c.other.session, &c.other.address, &c.other.agent)
}

func (d *recordData) loadConflicts(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, conflictColumns+
		`WHERE c.table_name = $1 AND c.record_id = $2 AND c.resolved IS NULL AND NOT c.closed ORDER BY c.id DESC LIMIT 20`, d.t.name, d.id)
	if err != nil {
		return err
	}
	d.conflicts, err = pgx.CollectRows(rows, scanConflict)
	return err
}

func (d *recordData) loadModes(ctx context.Context, tx pgx.Tx) error {
	if err := tx.QueryRow(ctx, `SELECT public.iasql_mode_of($1::text, $2::bigint, NULL::text)`, d.t.name,
		d.id).Scan(&d.mode); err != nil {
		return err
	}
	scan := func(row pgx.CollectableRow) (ruleInfo, error) {
		var r ruleInfo
		return r, row.Scan(&r.id, &r.table, &r.record, &r.column, &r.mode, &r.until)
	}
	rows, err := tx.Query(ctx, `SELECT m.id, m.table_name, m.record_id, m.column_name, m.mode, coalesce(to_char(m.until AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') || ' UTC', '') FROM public.iasql_mode_explain($1::text, $2::bigint, NULL::text) m`, d.t.name, d.id)
	if err != nil {
		return err
	}
	rules, err := pgx.CollectRows(rows, scan)
	if err != nil {
		return err
	}
	if len(rules) > 0 {
		d.rule = &rules[0]
	}
	rows, err = tx.Query(ctx, `SELECT m.id, m.table_name, m.record_id, m.column_name, m.mode, '' FROM public.iasql_mode m
		WHERE m.table_name = $1 AND (m.record_id IS NULL OR m.record_id = $2) AND m.column_name IS NOT NULL ORDER BY m.column_name, m.record_id NULLS LAST LIMIT 200`, d.t.name, d.id)
	if err != nil {
		return err
	}
	d.columnSet, err = pgx.CollectRows(rows, scan)
	return err
}

func (d *recordData) loadCan(ctx context.Context, tx pgx.Tx) error {
	d.can = map[string]bool{}
	for _, name := range []string{"protect", "unprotect", "forget"} {
		there, err := exists(ctx, tx, "procedure", "public.iasql_"+name+"(text,bigint)")
		if err != nil {
			return err
		}
		d.can[name] = there
	}
	return tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_constraint k WHERE k.conrelid = 'public.iasql_mode'::regclass AND pg_get_constraintdef(k.oid) LIKE '%PAUSE%')`).Scan(ptr(d.can, "pause"))
}

// loadProtection reads which rule of iasql_protection holds: the record's own beats
// its table's.
func (d *recordData) loadProtection(ctx context.Context, tx pgx.Tx) error {
	err := tx.QueryRow(ctx, `SELECT p.protected, CASE WHEN p.record_id IS NULL THEN 'all of ' || p.table_name ELSE 'this record' END || ', by ' || p."by"
			|| coalesce(', until ' || to_char(p.until AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') || ' UTC', '')
		FROM public.iasql_protection p WHERE p.table_name = $1 AND (p.record_id = $2 OR p.record_id IS NULL) ORDER BY p.record_id NULLS LAST LIMIT 1`, d.t.name, d.id).Scan(&d.protected, &d.guardedBy)
	if err == pgx.ErrNoRows {
		err = nil
	}
	return err
}

func (d *recordData) loadConfigurations(ctx context.Context, tx pgx.Tx) error {
	err := tx.QueryRow(ctx, `SELECT to_char(x.until AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') || ' UTC, as ' || x.by || ' has set it'
			|| coalesce(': ' || x.message, '')
		FROM public.iasql_expiring x WHERE x.what = 'record' AND x.table_name = $1 AND x.record_id = $2`, d.t.name, d.id).Scan(&d.expires)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	rows, err := tx.Query(ctx, `SELECT m.configuration FROM iasql_internal.mentioned m
		WHERE m.table_name = $1 AND m.record_id = $2 ORDER BY 1`, d.t.name, d.id)
	if err != nil {
		return err
	}
	d.configurations, err = pgx.CollectRows(rows, pgx.RowTo[string])
	return err
}

// ptr scans a boolean into a map.
func ptr(m map[string]bool, key string) *mapBool { return &mapBool{m, key} }

type mapBool struct {
	m   map[string]bool
	key string
}

// Scan implements sql.Scanner.
func (b *mapBool) Scan(src any) error {
	is, _ := src.(bool)
	b.m[b.key] = is
	return nil
}

// title is what people call the record.
// elsewhere leads to the cloud's own page of the record's object, in a tab of its own.
func (v *visit) elsewhere(d *recordData) g.Node {
	if v.options.Elsewhere == nil || !d.found || strings.HasPrefix(d.state.state, "Creating") {
		return nil
	}
	columns := map[string]string{}
	for i, c := range d.columns {
		columns[c.name] = deref(d.values[i])
	}
	address := v.options.Elsewhere(d.t.name, columns)
	if address == "" {
		return nil
	}
	return h.P(h.Class("elsewhere"), h.A(h.Href(address), h.Target("_blank"), h.Rel("noopener noreferrer"),
		g.Text("Open in the cloud's own console ↗"), h.Span(h.Class("hidden"), g.Text(" (in a new tab)"))))
}

func (d *recordData) title() string {
	for i, c := range d.columns {
		if c.name == "tags" && d.values[i] != nil {
			var tags map[string]string
			if json.Unmarshal([]byte(*d.values[i]), &tags) == nil && tags["Name"] != "" {
				return shorten(tags["Name"], 120)
			}
		}
	}
	for i, c := range d.columns {
		if c.identity && d.values[i] != nil {
			return shorten(*d.values[i], 120)
		}
	}
	return ""
}

func (v *visit) stateCard(d *recordData) g.Node {
	s := d.state
	if !d.found && s.state == "Present" {
		s.state = "Gone"
	}
	class := "card"
	if s.review {
		class += " urgent"
	}
	var text []g.Node
	switch {
	case s.review:
		text = append(text, h.P(g.Text(
			"It needs you: it will not heal by itself. Change the record, or mend the cause and try again.")))
	case s.state == "Present":
		text = append(text, h.P(h.Class("muted"),
			g.Text("The database and the cloud agree, as far as they have been compared.")))
	case s.batch != 0:
		text = append(text, h.P(h.Class("muted"), g.Text("Staged in "),
			h.A(h.Href("/batches/"+number(s.batch)), g.Text("batch "+number(s.batch))),
			g.Text(": nothing of it reaches the cloud before that is committed, and nobody else can change it.")))
	case s.state == "Gone":
		text = append(text, h.P(h.Class("muted"), g.Text("The record was deleted. Its history is below.")))
	case s.next != nil && s.next.After(time.Now()):
		text = append(text, h.P(h.Class("muted"), g.Text("Tried "+number(int64(s.attempts))+" times; again at "),
			when(s.next), g.Text(".")))
	default:
		text = append(text, h.P(h.Class("muted"), g.Text("Under way, or waiting for its turn.")))
	}
	return h.Section(h.Class(class),
		h.Div(h.Class("row"), state(s.state, s.review),
			g.If(s.since != nil, h.Span(h.Class("muted"), g.Text("since "), ago(s.since)))),
		g.If(s.message != "", h.Pre(h.Class("message"), g.Text(shorten(s.message, 5000)))),
		g.Group(text),
		g.If(d.found && d.expires != "",
			h.P(h.Class("muted"), g.Text("It expires: the engine deletes it at "+d.expires+"."))),
		g.Map(d.partOf, func(i instanceInfo) g.Node {
			return h.P(h.Class("muted"), g.Text("Part of "), recordLink(i.composition, i.id), g.Text("."))
		}),
		g.If(d.found && len(d.configurations) > 0, h.P(h.Class("muted"), g.Text("Of configuration "),
			h.Strong(g.Text(strings.Join(d.configurations, ", "))),
			g.Text(": it is deleted once no configuration names it any more."))),
		g.If(s.review || strings.HasSuffix(s.state, "Failed") || s.next != nil && s.attempts > 0,
			v.button(retry(d.t.name, d.id), "table", d.t.name, "id", number(d.id))),
	)
}

func (v *visit) conflictCard(conflicts []conflictInfo) g.Node {
	if len(conflicts) == 0 {
		return nil
	}
	return h.Section(h.Class("card urgent"), h.H2(g.Text("Changed on both sides")), g.Map(conflicts, v.conflict))
}

func (v *visit) conflict(c conflictInfo) g.Node {
	column := "The record was changed here and deleted in the cloud"
	if c.column != nil {
		column = *c.column
	}
	return h.Div(h.Class("conflict"),
		h.H3(recordLink(c.table, c.record), g.Text(" "+column), h.Span(h.Class("muted small"), g.Text(" "), ago(c.at))),
		h.Dl(h.Class("sides"),
			h.Div(h.Dt(g.Text("Both agreed on")), h.Dd(orNull(c.base))),
			h.Div(h.Dt(g.Text("In the database")), h.Dd(orNull(c.db))),
			h.Div(h.Dt(g.Text("In the cloud")), h.Dd(orNull(c.cloud), g.Iff(c.other.actor != nil, func() g.Node {
				return h.P(h.Class("muted small message"), g.Text("by "+c.other.all()))
			})))),
		g.If(c.resolved == nil, g.Group([]g.Node{
			v.button(resolve(c.id, "database"), "id", number(c.id)),
			v.button(resolve(c.id, "cloud"), "id", number(c.id))})),
		g.If(c.resolved != nil, h.P(h.Class("muted"), g.Text("Resolved: "+deref(c.resolved)+" "+deref(c.by)))))
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func orNull(s *string) g.Node {
	if s == nil {
		return h.Span(h.Class("null"), g.Text("NULL"))
	}
	return h.Code(g.Text(shorten(*s, 4000)))
}

func (d *recordData) valueCard() g.Node {
	if !d.found {
		return section("Values", empty("The row is not there any more. “As of” shows it as it was."),
			h.P(h.A(h.Href(to("/as-of", "table", d.t.name)), g.Text("As of →"))))
	}
	conflicted := map[string]*conflictInfo{}
	for i := range d.conflicts {
		if c := &d.conflicts[i]; c.column != nil && conflicted[*c.column] == nil {
			conflicted[*c.column] = c
		}
	}
	differ := len(d.cloud)+len(conflicted) > 0
	var rows []g.Node
	for i, c := range d.columns {
		cells := []g.Node{h.Th(h.Scope("row"), g.Attr("title", c.doc), g.Text(c.name), d.columnMarks(c)),
			h.Td(d.shown(c, d.values[i]))}
		if differ {
			theirs, is := d.cloud[c.name]
			if k := conflicted[c.name]; k != nil {
				theirs, is = k.cloud, true
			}
			if is {
				cells = append(cells, h.Td(h.Class("differs"), fullValue(c, theirs)))
			} else {
				cells = append(cells, h.Td(h.Class("muted same"), g.Text("same")))
			}
		}
		rows = append(rows, h.Tr(cells...))
	}
	header := []string{"Column", "Database"}
	if differ {
		header = append(header, "Cloud, as last known")
	}
	return section("Values", h.Div(h.Class("values"), rowsOf(header, rows)))
}

func (d *recordData) columnMarks(c *columnInfo) g.Node {
	var marks []g.Node
	mark := func(text, why string) {
		marks = append(marks, h.Span(h.Class("mark"), g.Attr("title", why), g.Text(text)))
	}
	if c.assigned {
		mark("cloud", "The cloud assigns it.")
	}
	if c.own {
		mark("own", "A column of your own: it is never pushed.")
	}
	i := slices.IndexFunc(d.columnSet, func(r ruleInfo) bool { return r.column != nil && *r.column == c.name })
	if i >= 0 {
		mark(d.columnSet[i].mode, "Rule "+number(d.columnSet[i].id)+" of iasql_mode.")
	}
	return g.Group(marks)
}

// shown is a value, or the record that it names.
func (d *recordData) shown(c *columnInfo, text *string) g.Node {
	if to := d.form.refersTo(c.name); to != nil && text != nil {
		return d.names.show(to, *text, mostOfValue, mostOfValue)
	}
	return fullValue(c, text)
}

func fullValue(c *columnInfo, text *string) g.Node {
	if text != nil && c.document() && c.name != "tags" {
		return h.Pre(h.Class("doc"), g.Text(pretty(*text)))
	}
	return value(c, text, mostOfValue)
}

func pretty(text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return text
	}
	return string(b)
}

func (v *visit) sideCards(d *recordData) g.Node {
	which := "No rule is about it: NORMAL holds."
	if d.rule != nil {
		which = "Rule " + number(d.rule.id) + " of iasql_mode won: for " + scopeOf(d.rule) + "."
		if d.rule.until != "" {
			which += " It ends at " + d.rule.until + "."
		}
	}
	modes := []string{"NORMAL", "ENFORCE", "TRACK"}
	if d.can["pause"] {
		modes = append(modes, "PAUSE")
	}
	var buttons []g.Node
	for _, mode := range modes {
		if mode != d.mode {
			buttons = append(buttons, v.button(setMode(d.t.name, d.id, "", mode), "table", d.t.name, "id",
				number(d.id)))
		}
	}
	if d.rule != nil && d.rule.record != nil {
		buttons = append(buttons, v.button(dropMode(d.rule.id), "id", number(d.rule.id)))
	}
	var guards []g.Node
	is := d.protected != nil && *d.protected
	text := "No rule protects it. What holds data is protected from being replaced all the same."
	if is {
		text = "It is protected from being deleted or replaced (" + d.guardedBy + ")."
	}
	guards = append(guards, h.P(h.Class("muted"), g.Text(text)))
	for _, name := range []string{"protect", "unprotect", "forget"} {
		if d.can[name] && !(name == "protect" && is) && !(name == "unprotect" && !is) && d.found {
			guards = append(guards, v.button(guardRecord(name, d.t.name, d.id), "table", d.t.name, "id", number(d.id)))
		}
	}
	return h.Div(h.Class("stack"),
		section("What it hangs on", g.If(len(d.graph.nodes) > 1, d.graph.draw()),
			g.If(len(d.graph.nodes) <= 1, empty("It refers to no record, and none refers to it.")),
			g.If(len(d.graph.nodes) > 1, h.P(h.A(h.Href("/map/"+d.t.name+"/"+number(d.id)), g.Text("Larger map →")))),
			g.If(d.found && slices.Contains(v.options.Places.Containers, d.t.name),
				h.P(h.A(h.Href(mapChoice{within: d.t.name, withinID: d.id}.address("/map", nil)),
					g.Text("What lies in it →")))),
			g.If(d.found, h.P(h.A(h.Href(deletesPath(d.t.name, d.id)), g.Text("What breaks if I delete this →"))))),
		section("Mode", h.P(h.Span(h.Class("state mode"), g.Text(d.mode)), g.Text(" "+which)),
			h.Details(h.Summary(g.Text("Change it for this record")), g.Group(buttons))),
		g.If(len(guards) > 0, section("Protect or let go", g.Group(guards))),
	)
}

func scopeOf(r *ruleInfo) string {
	switch {
	case r.table == nil:
		return "everything"
	case r.record != nil:
		return "this record"
	}
	return "table " + *r.table
}
