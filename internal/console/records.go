package console

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// listQuery is a page of records as its address says.
type listQuery struct {
	conditions []condition
	columns    []string // those that are shown; none: as the console chooses
	problems   bool     // only those that are not settled
	made       bool     // also what the cloud has made by itself
	hide       string   // the column that says so, where it is hidden
	sort       string
	descending bool
	anyway     bool // sort by it, however long it takes
	after      *cursor
	said       []string // what is wrong with the address, where the page is shown all the same
}

// cursor is where the next page begins: the last row's value of the column that
// is sorted by, and its id.
type cursor struct {
	Value *string `json:"v,omitempty"`
	ID    int64   `json:"i"`
}

const pageSize = 50

// mostInCell is how much of a value a list reads.
const mostInCell = 160

// A page of a table with more records than this looks at as many of them at most, in
// the order of their ids, for conditions that no index answers; and does not sort by
// a column without an index unless it is told to.
const lookedAt = 50_000

// big reports whether a table has more records than a page may look at.
func (t *tableInfo) big() bool { return t.estimate > lookedAt }

// unindexed returns the column that the list would have to sort all records by, or nil.
func (q listQuery) unindexed(t *tableInfo, columns []*columnInfo) *columnInfo {
	if c := find(columns, q.sort); t.big() && q.sort != "id" && !c.indexed {
		return c
	}
	return nil
}

// bounded reports whether a page looks at some of the records only: it is in the order
// of ids, and may have to look at many before it has enough.
func (q listQuery) bounded(t *tableInfo, columns []*columnInfo) bool {
	indexed := func(c condition) bool { return c.operator == "eq" && find(columns, c.column).indexed }
	return t.big() && q.sort == "id" && len(q.conditions) > 0 && !q.problems &&
		!slices.ContainsFunc(q.conditions, indexed)
}

func (v *visit) listQuery(t *tableInfo, columns []*columnInfo) (q listQuery) {
	form := v.r.URL.Query()
	q.readConditions(form, t, columns)
	q.readColumns(form["columns"], t, columns)
	q.problems = form.Get("state") == "unsettled"
	q.made = form.Get("made") == "show"
	q.sort, q.descending = "id", form.Get("dir") == "desc"
	if name := form.Get("sort"); name != "" && name != "id" {
		switch column := find(columns, name); {
		case column == nil:
			q.said = append(q.said, "Not sorted: "+noColumn(t, name))
		case !column.sortable():
			q.said = append(q.said, "Not sorted: a "+column.kind+" such as "+name+
				" has no order. Choose another column.")
		default:
			q.sort = name
		}
	}
	q.anyway = form.Get("anyway") != ""
	if text, err := base64.RawURLEncoding.DecodeString(form.Get("after")); err == nil && len(text) > 0 {
		var at cursor
		if json.Unmarshal(text, &at) == nil {
			q.after = &at
		}
	}
	return q
}

// pairs are the names and values by which the address says what the list is.
func (q listQuery) pairs() (pairs []string) {
	for _, c := range q.conditions {
		value := c.value
		if value == "" {
			value = "-" // kept in step with its column and operator
		}
		pairs = append(pairs, "c", c.column, "o", c.operator, "v", value)
	}
	if slices.ContainsFunc(q.columns, func(c string) bool { return strings.Contains(c, ",") }) {
		for _, c := range q.columns {
			pairs = append(pairs, "columns", c)
		}
	} else if len(q.columns) > 0 {
		pairs = append(pairs, "columns", strings.Join(q.columns, ","))
	}
	if q.problems {
		pairs = append(pairs, "state", "unsettled")
	}
	if q.made {
		pairs = append(pairs, "made", "show")
	}
	if q.sort != "id" {
		pairs = append(pairs, "sort", q.sort)
	}
	if q.descending {
		pairs = append(pairs, "dir", "desc")
	}
	if q.anyway {
		pairs = append(pairs, "anyway", "1")
	}
	return pairs
}

// hidden are the inputs by which a form keeps what it does not change.
func (q listQuery) hidden(change func(*listQuery)) g.Node {
	change(&q)
	pairs := q.pairs()
	var inputs []g.Node
	for i := 0; i < len(pairs); i += 2 {
		inputs = append(inputs, h.Input(h.Type("hidden"), h.Name(pairs[i]), h.Value(pairs[i+1])))
	}
	return g.Group(inputs)
}

// address is the address of this list with something changed.
func (q listQuery) address(t string, change func(*listQuery)) string {
	q.conditions = slices.Clone(q.conditions)
	q.after = nil
	change(&q)
	pairs := q.pairs()
	if q.after != nil {
		text, err := json.Marshal(q.after)
		if err == nil {
			pairs = append(pairs, "after", base64.RawURLEncoding.EncodeToString(text))
		}
	}
	return to("/records/"+t, pairs...)
}

// build makes the query: names are identifiers of the catalog, values parameters.
func (q listQuery) build(t *tableInfo, columns []*columnInfo, shown []*columnInfo) (sql string, args []any) {
	add := func(value any) string {
		args = append(args, value)
		return "$" + strconv.Itoa(len(args))
	}
	where := q.where(t, columns, add)
	if q.hide != "" {
		where = append(where, "t."+ident(q.hide)+" IS NOT TRUE")
	}
	direction, beyond := "ASC", ">"
	if q.descending {
		direction, beyond = "DESC", "<"
	}
	col, kind := "t."+ident(q.sort), find(columns, q.sort).kind
	if q.after != nil {
		id := "t.id " + beyond + " " + add(q.after.ID)
		switch {
		case q.sort == "id":
			where = append(where, id)
		case q.after.Value == nil:
			where = append(where, col+" IS NULL AND "+id)
		default:
			value := add(*q.after.Value) + "::text::" + kind
			where = append(where, "("+col+" "+beyond+" "+value+" OR "+col+" = "+value+" AND "+id+" OR "+col+" IS NULL)")
		}
	}
	list := []string{"t.id", col + "::text"}
	for _, c := range shown {
		list = append(list, fmt.Sprintf("left(t.%s::text, %d)", ident(c.name), mostInCell+1))
	}
	from := table(t.name)
	if q.bounded(t, columns) {
		some := ""
		if q.after != nil { // the condition that is on all of them is on these
			some = " WHERE s.id " + beyond + " " + add(q.after.ID)
		}
		readable := make([]string, len(columns)) // the visitor may not read others
		for i, c := range columns {
			readable[i] = "s." + ident(c.name)
		}
		from = fmt.Sprintf("(SELECT %s FROM %s s%s ORDER BY s.id %s LIMIT %d)", strings.Join(readable, ", "), from,
			some, direction, lookedAt)
	}
	sql = "SELECT " + strings.Join(list, ", ") + " FROM " + from + " t"
	if len(where) > 0 {
		sql += " WHERE " + strings.Join(where, " AND ")
	}
	sql += " ORDER BY "
	if q.sort != "id" {
		sql += col + " " + direction + " NULLS LAST, "
	}
	return sql + "t.id " + direction + " LIMIT " + strconv.Itoa(pageSize+1), args
}

type listed struct {
	id     int64
	sorted *string
	cells  []*string
}

func (c *Console) records(v *visit) {
	var t *tableInfo
	var columns, ordered, shown []*columnInfo
	var q listQuery
	var rows []listed
	states := map[int64]recordState{}
	var slow *columnInfo // what is not sorted by
	var rest *int64      // where the search goes on
	var form *formTable
	var own places
	var names labels
	var madeByCloud int64 // what is hidden for that reason, or may be
	err := v.session.read(v.ctx(), func(tx pgx.Tx) (err error) {
		if t, err = findTable(v.ctx(), tx, v.r.PathValue("table")); err != nil {
			return err
		}
		if columns, err = loadColumns(v.ctx(), tx, t); err != nil {
			return err
		}
		if find(columns, "id") == nil {
			return errNotThere("You may not read column id of " + t.name + ".")
		}
		if form, err = loadForm(v.ctx(), tx, t.name); err != nil {
			return err
		}
		if err = own.loadMade(v.ctx(), tx); err != nil {
			return err
		}
		where, err := loadScopes(v.ctx(), tx)
		if err != nil {
			return err
		}
		usual := 0
		ordered, usual = where.order(form, columns)
		q = v.listQuery(t, columns)
		shown = q.chosen(ordered, usual)
		if err = q.check(v.ctx(), tx, columns); err != nil || len(q.faults()) > 0 {
			return err
		}
		if madeByCloud, err = c.hideMade(v.ctx(), tx, t, columns, &q); err != nil {
			return err
		}
		if slow = q.unindexed(t, columns); slow != nil && !q.anyway {
			q.sort, q.after = "id", nil
		} else {
			slow = nil
		}
		if rows, err = q.load(v.ctx(), tx, t, columns, shown); err != nil {
			return err
		}
		if len(rows) <= pageSize && q.bounded(t, columns) {
			if rest, err = q.rest(v.ctx(), tx, t); err != nil {
				return err
			}
		}
		var ids []int64
		for _, r := range rows {
			ids = append(ids, r.id)
		}
		if states, err = loadRecordStates(v.ctx(), tx, t.name, ids); err != nil {
			return err
		}
		if names, err = loadLabels(v.ctx(), tx, referred(form, shown, rows)); err != nil {
			return err
		}
		if err = own.load(v.ctx(), tx); err != nil {
			return err
		}
		own.choose(0)
		return nil
	})
	if err != nil {
		v.failed(err)
		return
	}
	v.live = true
	next := ""
	if len(rows) > pageSize {
		rows = rows[:pageSize]
		last := rows[pageSize-1]
		at := &cursor{Value: last.sorted, ID: last.id}
		if q.sort == "id" {
			at.Value = nil
		}
		if at.Value == nil || len(*at.Value) <= 2000 {
			next = q.address(t.name, func(q *listQuery) { q.after = at })
		}
	}
	further := ""
	if rest != nil {
		further = q.address(t.name, func(q *listQuery) { q.after = &cursor{ID: *rest} })
	}
	status, wrong := http.StatusOK, len(q.faults()) > 0
	if wrong {
		status = http.StatusUnprocessableEntity
	}
	v.write(status, t.name, "",
		h.P(h.Class("muted"), g.Text("Module "), h.A(h.Href(to("/records", "module", t.module)), g.Text(t.module)),
			g.Text(" · last look at the cloud "), ago(t.lastSeen)),
		g.If(form.canInsert, h.Div(h.Class("tools"),
			h.A(h.Class("button primary"), h.ID("new"), h.Href("/records/"+t.name+"/new"), g.Text("New")))),
		v.filterForm(t, columns, q),
		v.columnForm(t, ordered, shown, q),
		unsorted(t, q, slow),
		v.foldMade(t, q, madeByCloud),
		g.Iff(!wrong, func() g.Node {
			return v.recordTable(form, shown, q, rows, states, names, madeByCloud > 0)
		}),
		g.Iff(len(rows) > 0, func() g.Node { return v.manyBar(form, own) }),
		h.Nav(h.Class("pager"), g.Attr("aria-label", "Pages of the list"),
			g.If(q.after != nil, h.A(h.Href(q.address(t.name, func(*listQuery) {})), g.Text("« First page"))),
			g.If(further != "", h.Span(h.Class("muted"), g.Text("Looked at "+grouped(lookedAt)+" records. "),
				h.A(h.Rel("next"), h.ID("next"), h.Href(further), g.Text("Search on ›")))),
			g.If(next != "", h.A(h.Rel("next"), h.ID("next"), h.Href(next), g.Text("Next page ›")))),
		v.button(syncNow(t.name), "table", t.name),
		meanings(columns),
	)
}

func (q listQuery) load(ctx context.Context, tx pgx.Tx, t *tableInfo, columns, shown []*columnInfo) ([]listed, error) {
	sql, args := q.build(t, columns, shown)
	// Exec: the text differs with the table, so that keeping its plan does not pay.
	rows, err := tx.Query(ctx, sql, append([]any{pgx.QueryExecModeExec}, args...)...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (listed, error) {
		l := listed{cells: make([]*string, len(shown))}
		into := []any{&l.id, &l.sorted}
		for i := range l.cells {
			into = append(into, &l.cells[i])
		}
		return l, row.Scan(into...)
	})
}

// rest returns the id after which a bounded search goes on; nil if it has seen all.
func (q listQuery) rest(ctx context.Context, tx pgx.Tx, t *tableInfo) (*int64, error) {
	direction, condition, args := "ASC", "", []any{pgx.QueryExecModeExec}
	if q.descending {
		direction = "DESC"
	}
	if q.after != nil {
		condition, args = " WHERE s.id > $1", append(args, q.after.ID)
		if q.descending {
			condition = " WHERE s.id < $1"
		}
	}
	var ids []int64
	rows, err := tx.Query(ctx, fmt.Sprintf("SELECT s.id FROM %s s%s ORDER BY s.id %s OFFSET %d LIMIT 2", table(t.name),
		condition, direction, lookedAt-1), args...)
	if err == nil {
		ids, err = pgx.CollectRows(rows, pgx.RowTo[int64])
	}
	if err != nil || len(ids) < 2 { // 1: that was the last one
		return nil, err
	}
	return &ids[0], nil
}

// referred are the values of the references that a page shows, by what they refer to.
func referred(form *formTable, shown []*columnInfo, rows []listed) map[*target][]string {
	values := map[*target][]string{}
	for i, c := range shown {
		to := form.refersTo(c.name)
		if to == nil {
			continue
		}
		for _, r := range rows {
			values[to] = append(values[to], elements(r.cells[i], mostInCell)...)
		}
	}
	return values
}

func (v *visit) recordTable(form *formTable, shown []*columnInfo, q listQuery, rows []listed,
	states map[int64]recordState, names labels, folded bool) g.Node {
	t, ticks := form.tableInfo, form.canUpdate() || form.canDelete
	if len(rows) == 0 {
		if len(q.conditions) > 0 || q.problems || q.after != nil || folded {
			return h.Div(h.Class("card"), empty("No record matches."))
		}
		return h.Div(h.Class("card"), empty(
			"The table is empty: the cloud has nothing of it, or you see nothing of it. A row that you insert is "+
				"created in the cloud.", "INSERT INTO "+t.name+" (…) VALUES (…);"))
	}
	head := func(c *columnInfo, name, text string) g.Node {
		if c != nil && !c.sortable() {
			return h.Th(h.Scope("col"), g.Text(text))
		}
		arrow, order := "", ""
		if q.sort == name {
			arrow, order = " ↑", "ascending"
			if q.descending {
				arrow, order = " ↓", "descending"
			}
		}
		return h.Th(h.Scope("col"), g.If(order != "", g.Attr("aria-sort", order)),
			h.A(h.Href(q.address(t.name, func(q *listQuery) {
				q.descending = q.sort == name && !q.descending
				q.sort = name
			})), g.Text(text+arrow)))
	}
	header := []g.Node{head(nil, "id", "id"), h.Th(h.Scope("col"), g.Text("State"))}
	if ticks {
		header = append([]g.Node{h.Th(h.Class("tick"), h.Scope("col"), h.Input(h.Type("checkbox"), g.Attr("data-all"),
			g.Attr("hidden"), h.Aria("label", "tick all rows of this page")))}, header...)
	}
	fold := len(shown) > mostFaced
	for i, c := range shown {
		if fold && i == mostFaced { // on a wide page it is not shown
			header = append(header, h.Th(h.Class("unfold"), h.Scope("col"), g.Text("More")))
		}
		header = append(header, head(c, c.name, c.name))
	}
	body := g.Map(rows, func(r listed) g.Node {
		s := states[r.id]
		cells := []g.Node{h.Td(h.Class("key"), h.A(h.Href(recordPath(t.name, r.id)), g.Text(number(r.id)))),
			h.Td(h.Class("is"), state(s.state, s.review))}
		if ticks {
			cells = append([]g.Node{tick(r.id)}, cells...)
		}
		for i, cell := range r.cells {
			if fold && i == mostFaced {
				cells = append(cells, h.Td(h.Class("unfold"), h.Details(
					h.Summary(g.Textf("%d more", len(shown)-mostFaced)))))
			}
			content := value(shown[i], cell, 80)
			if to := form.refersTo(shown[i].name); to != nil && cell != nil {
				content = names.show(to, *cell, mostInCell, mostNamed)
			}
			cells = append(cells, h.Td(g.If(i >= mostFaced, h.Class("more")), content))
		}
		return h.Tr(cells...)
	})
	return h.Div(h.Class("card"), h.Div(h.Class("scroll list"), g.Attr("tabindex", "0"),
		h.Table(h.THead(h.Tr(header...)), h.TBody(body))))
}

// value shows a value of a column, shortened.
func value(c *columnInfo, text *string, most int) g.Node {
	if text == nil {
		return h.Span(h.Class("null"), g.Text("NULL"))
	}
	if c.name == "tags" {
		var tags map[string]string
		if json.Unmarshal([]byte(*text), &tags) == nil && len(tags) > 0 {
			names := make([]string, 0, len(tags))
			for name := range tags {
				names = append(names, name)
			}
			slices.SortFunc(names, func(a, b string) int {
				if (a == "Name") != (b == "Name") {
					if a == "Name" {
						return -1
					}
					return 1
				}
				return strings.Compare(a, b)
			})
			var chips []g.Node
			for i, name := range names {
				if i == 3 && most < 1000 {
					chips = append(chips, h.Span(h.Class("muted"), g.Text(fmt.Sprintf("+%d", len(names)-3))))
					break
				}
				label := name + "=" + tags[name]
				if name == "Name" {
					label = tags[name]
				}
				chips = append(chips, h.Span(h.Class("tag"), g.Text(shorten(label, most))))
			}
			return g.Group(chips)
		}
	}
	class := "value"
	if c.category == "N" || c.identity || c.document() {
		class += " mono"
	}
	return h.Span(h.Class(class), g.Text(shorten(*text, most)))
}
