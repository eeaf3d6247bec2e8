package console

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// condition is one filter of the records of a table.
type condition struct {
	column, operator, value string
	wrong                   string // why it cannot be asked for
}

// operator is how a filter compares. Its SQL stands between the column and the value;
// where there is none, the condition is made in another way.
type operator struct{ name, text, sql string }

var operators = []operator{
	{"eq", "is", "="}, {"ne", "is not", "IS DISTINCT FROM"}, {"has", "contains", ""}, {"begins", "begins with", ""},
	{"gt", ">", ">"}, {"lt", "<", "<"}, {"null", "is NULL", ""}, {"some", "is not NULL", ""}, {"tag", "has tag", ""},
}

// mostConditions bounds how many filters a list has at once.
const mostConditions = 10

// valued reports whether the operator compares with a value.
func (c condition) valued() bool { return c.operator != "null" && c.operator != "some" }

// text is what a chip says.
func (c condition) text() string {
	name := c.operator
	for _, o := range operators {
		if o.name == c.operator {
			name = o.text
		}
	}
	text := shorten(c.column, 63) + " " + shorten(name, 20)
	if c.valued() {
		text += " " + shorten(c.value, 60)
	}
	return text
}

func noColumn(t *tableInfo, name string) string {
	return "There is no column " + shorten(name, 63) + " of " + t.name + ", or you may not read it."
}

// readConditions takes the filters of an address: columns, operators and values, which
// belong together by their order. One without a value is a form that was left blank.
func (q *listQuery) readConditions(form url.Values, t *tableInfo, columns []*columnInfo) {
	for i, name := range form["c"] {
		if i >= len(form["o"]) || i >= len(form["v"]) {
			q.said = append(q.said, "The address has more columns to filter by than operators and values: those "+
				"without were left out.")
			break
		}
		c := condition{column: name, operator: form["o"][i], value: form["v"][i]}
		if c.value == "" && c.valued() {
			continue
		}
		if len(q.conditions) == mostConditions {
			q.said = append(q.said, "A list has at most "+number(mostConditions)+" filters: the others were left out.")
			break
		}
		column := find(columns, name)
		known := slices.ContainsFunc(operators, func(o operator) bool { return o.name == c.operator })
		if column != nil && c.operator == "eq" && column.name == "tags" && column.kind == "jsonb" &&
			!strings.HasPrefix(c.value, "{") {
			c.operator = "tag"
		}
		switch {
		case column == nil:
			c.wrong = noColumn(t, name)
		case !known:
			c.wrong = "There is no operator “" + shorten(c.operator, 20) + "”. Choose one of the form's."
		case strings.ContainsRune(c.value, 0) || !utf8.ValidString(c.value):
			c.wrong = "The value for " + name + " is no text. Type it again."
		case c.operator == "tag" && column.kind != "jsonb":
			c.wrong = "“has tag” is for tags, and " + name + " is " + column.kind + ". Choose another operator."
		case c.operator == "tag" && strings.HasPrefix(c.value, "="):
			c.wrong = "A tag is written key=value, or key alone. “" + shorten(c.value, 60) + "” has no key."
		}
		q.conditions = append(q.conditions, c)
	}
}

// check asks the database whether the values are such as the columns have: all at once,
// and one by one where something is wrong.
func (q *listQuery) check(ctx context.Context, tx pgx.Tx, columns []*columnInfo) error {
	var casts []string
	var args []any
	var at []int
	for i, c := range q.conditions {
		if column := find(columns, c.column); c.wrong == "" && c.compares() {
			args, at = append(args, c.value), append(at, i)
			casts = append(casts, fmt.Sprintf("$%d::text::%s IS NULL", len(args), column.compared()))
		}
	}
	if len(casts) == 0 {
		return nil
	}
	bad, err := tried(ctx, tx, strings.Join(casts, " OR "), args)
	if err != nil || bad == "" {
		return err
	}
	for n, i := range at {
		c := &q.conditions[i]
		column := find(columns, c.column)
		if bad, err = tried(ctx, tx, "$1::text::"+column.compared()+" IS NULL", args[n:n+1]); err != nil {
			return err
		}
		if bad != "" {
			c.wrong = "“" + shorten(c.value, 60) + "” is no " + column.kind + ", as " + c.column + " is: " + bad + "."
		}
	}
	return nil
}

// compares reports whether the value has to be one of the column's type.
func (c condition) compares() bool {
	return slices.ContainsFunc(operators, func(o operator) bool { return o.name == c.operator && o.sql != "" })
}

// tried returns what PostgreSQL says against a value; the transaction goes on.
func tried(ctx context.Context, tx pgx.Tx, expression string, args []any) (bad string, err error) {
	inner, err := tx.Begin(ctx)
	if err != nil {
		return "", err
	}
	var is *bool
	err = inner.QueryRow(ctx, "SELECT "+expression, append([]any{pgx.QueryExecModeExec}, args...)...).Scan(&is)
	if rolled := inner.Rollback(ctx); rolled != nil {
		return "", rolled
	}
	if strings.HasPrefix(sqlState(err), "22") {
		text, _ := explain(err)
		return strings.TrimSuffix(strings.TrimSuffix(text, " ("+sqlState(err)+")"), "."), nil
	}
	return "", err
}

// faults are what is wrong with the filters: nothing is asked for then.
func (q listQuery) faults() (all []string) {
	for _, c := range q.conditions {
		if c.wrong != "" {
			all = append(all, c.wrong)
		}
	}
	return all
}

// where are the conditions on t: names are identifiers of the catalog, values parameters.
func (q listQuery) where(t *tableInfo, columns []*columnInfo, add func(any) string) (where []string) {
	for _, c := range q.conditions {
		column := find(columns, c.column)
		col := "t." + ident(c.column)
		switch c.operator {
		case "null":
			where = append(where, col+" IS NULL")
		case "some":
			where = append(where, col+" IS NOT NULL")
		case "has":
			switch {
			case column.category != "A":
				where = append(where, "strpos(lower("+col+"::text), lower("+add(c.value)+"::text)) > 0")
			case slices.Contains([]string{"bigint[]", "integer[]", "smallint[]"}, column.kind):
				where = append(where, add(c.value)+"::text = ANY ("+col+"::text[])")
			default:
				where = append(where, "EXISTS (SELECT FROM unnest("+col+"::text[]) e WHERE strpos(lower(e), lower("+
					add(c.value)+"::text)) > 0)")
			}
		case "begins":
			where = append(where, "starts_with(lower("+col+"::text), lower("+add(c.value)+"::text))")
		case "tag":
			key, value, both := strings.Cut(c.value, "=")
			if !both {
				where = append(where, col+" ? "+add(key)+"::text")
				break
			}
			where = append(where, col+" @> jsonb_build_object("+add(key)+"::text, "+add(value)+"::text)")
		default:
			for _, o := range operators {
				if o.name == c.operator && column.kind == column.compared() {
					where = append(where, col+" "+o.sql+" "+add(c.value)+"::text::"+column.kind)
				} else if o.name == c.operator {
					where = append(where, col+"::text "+o.sql+" "+add(c.value)+"::text")
				}
			}
		}
	}
	if q.problems {
		name := add(t.name)
		where = append(where, "t.id IN (SELECT s.record_id FROM iasql_internal.record_state s WHERE s.table_name = "+
			name+
			" UNION SELECT l.record_id FROM public.iasql_audit_log l WHERE NOT l.settled AND l.table_name = "+name+")")
	}
	return where
}

// unsorted says why a list is not sorted as it was asked to be.
func unsorted(t *tableInfo, q listQuery, by *columnInfo) g.Node {
	if by == nil {
		return nil
	}
	return h.Div(h.Class("alert busy"),
		h.P(g.Text("Not sorted by "+by.name+
			": no index has it, and the whole table would have to be sorted for each page. With one it takes "+
			"no time:")),
		h.Pre(h.Class("sql"), g.Text("CREATE INDEX CONCURRENTLY ON "+ident(t.name)+" ("+ident(by.name)+");")),
		h.P(h.A(h.Href(q.address(t.name, func(q *listQuery) {
			q.sort, q.anyway = by.name, true
		})), g.Text("Sort anyway"))))
}

// filterForm has the filters as chips, each with a link that takes it away, and a form
// that adds one.
func (v *visit) filterForm(t *tableInfo, columns []*columnInfo, q listQuery) g.Node {
	var chips []g.Node
	for i, c := range q.conditions {
		text := c.text()
		chips = append(chips, h.Span(g.If(c.wrong == "", h.Class("chip on")),
			g.If(c.wrong != "", h.Class("chip on wrong")), g.Text(text+" "),
			h.A(h.Class("away"), h.Aria("label", "Remove the filter "+text),
				h.Href(q.address(t.name, func(q *listQuery) {
					q.conditions = slices.Delete(q.conditions, i, i+1)
				})), g.Text("×"))))
	}
	if len(q.conditions) > 1 {
		chips = append(chips, h.A(h.Class("chip"), h.Href(q.address(t.name, func(q *listQuery) { q.conditions = nil })),
			g.Text("remove all filters")))
	}
	toggle := h.A(h.Class("chip"), h.Href(q.address(t.name, func(q *listQuery) {
		q.problems = true
	})), g.Text("only what is not settled"))
	if q.problems {
		toggle = h.Span(h.Class("chip on"), g.Text("only what is not settled "), h.A(h.Class("away"),
			h.Aria("label", "Remove the filter only what is not settled"), h.Href(q.address(t.name, func(q *listQuery) {
				q.problems = false
			})), g.Text("×")))
	}
	said := append(q.faults(), q.said...)
	return h.Div(h.Class("filters"),
		h.Form(h.Class("filter"), h.Method("get"), h.Action("/records/"+t.name), h.Role("search"),
			q.hidden(func(*listQuery) {}),
			h.Label(h.Class("hidden"), h.For("column"), g.Text("Column")),
			h.Select(h.ID("column"), h.Name("c"), g.Map(columns, func(c *columnInfo) g.Node {
				return h.Option(h.Value(c.name), g.Text(c.name))
			})),
			h.Label(h.Class("hidden"), h.For("operator"), g.Text("Operator")),
			h.Select(h.ID("operator"), h.Name("o"), g.Map(operators, func(o operator) g.Node {
				return h.Option(h.Value(o.name), g.Text(o.text))
			})),
			h.Label(h.Class("hidden"), h.For("value"), g.Text("Value")),
			h.Input(h.ID("value"), h.Name("v"), h.Type("search"), h.Placeholder("value or key=value"),
				g.Attr("data-search", ""), h.MaxLength("1000")),
			h.Button(h.Type("submit"), g.Text("Add filter"))),
		h.Div(h.Class("chips"), g.Group(chips), toggle),
		g.If(len(said) > 0, h.Div(h.Class("alert bad"), h.Role("alert"), g.Map(said, func(text string) g.Node {
			return h.P(g.Text(text))
		}))))
}

// meanings says what the columns are, as the module documents them.
func meanings(columns []*columnInfo) g.Node {
	return h.Details(h.Class("card"), h.Summary(g.Text("What the columns mean")),
		rowsOf([]string{"Column", "Type", ""}, g.Map(columns, func(c *columnInfo) g.Node {
			return h.Tr(h.Th(h.Scope("row"), g.Text(c.name)), h.Td(h.Class("muted"), g.Text(c.kind)),
				h.Td(g.Text(c.doc)))
		})))
}
