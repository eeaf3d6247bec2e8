package console

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// mostTicked bounds how many records a form changes at once; more are changed by SQL.
const mostTicked = 500

// manyForm is a change of many records at once.
type manyForm struct {
	editForm
	ids    []int64
	do     string // tag, untag, column or delete
	key    string
	text   string // what the tag is to say
	column *field
	ticked []option // what the records are called
	clash  []clashing
}

var deeds = []struct{ name, text string }{
	{"tag", "Set a tag"}, {"untag", "Remove a tag"}, {"column", "Set a column"}, {"delete", "Delete"},
}

// read takes the ticked rows, and what is to be done with them.
func (d *manyForm) read(v *visit) error {
	form := v.r.PostForm
	if len(form["row"]) > mostTicked {
		return errStrange(grouped(int64(len(form["row"]))) + " rows are ticked, and a form changes at most " +
			number(mostTicked) + ". Change more by SQL: one UPDATE does.")
	}
	for _, row := range form["row"] {
		id, err := strconv.ParseInt(row, 10, 64)
		if err != nil {
			return errStrange("“" + shorten(row, 60) + "” is no id.")
		}
		d.ids = append(d.ids, id)
	}
	slices.Sort(d.ids)
	d.ids = slices.Compact(d.ids)
	if len(d.ids) == 0 {
		return errStrange("No row is ticked: go back, and tick those that you mean.")
	}
	if d.places.made = form.Get("made"); !snapshot.MatchString(d.places.made) {
		return errStrange("The form does not say when its list was made: load the list anew.")
	}
	d.do, d.key, d.text = form.Get("do"), strings.TrimSpace(form.Get("key")), form.Get("text")
	return nil
}

// manyNames are what the form has besides the value of a column.
var manyNames = []string{"csrf", "how", "batch", "row", "do", "key", "text", "column", "sure", "made"}

// check refuses what the table has no such thing of, or not for the visitor.
func (d *manyForm) check(form map[string][]string) error {
	switch d.do {
	case "tag", "untag":
		if d.t.tags() == nil {
			return errStrange("Records of " + d.t.name + " have no tags that you may change.")
		}
	case "column":
		name := ""
		if len(form["column"]) > 0 {
			name = form["column"][0]
		}
		if d.column = d.t.field(name); d.column == nil || !d.column.writable(false) {
			return errStrange("Table " + d.t.name + " has no column " + shorten(name, 63) + " that you may change.")
		}
	case "delete":
		if !d.t.canDelete {
			return errStrange("Records of " + d.t.name +
				" cannot be deleted by you: you lack the right, or the engine only reads them.")
		}
	default:
		return errStrange("“" + shorten(d.do, 60) + "” is nothing that can be done with rows.")
	}
	for name := range form {
		column := columnOf(name)
		if column == "" && !slices.Contains(manyNames, name) {
			return errStrange("The form has no field " + shorten(name, 60) + ".")
		}
		if column != "" && (d.column == nil || column != d.column.name) {
			return errStrange("Table " + d.t.name + " has no column " + shorten(column, 63) + " that this form writes.")
		}
	}
	return nil
}

// many changes the ticked records. For a column it asks for the value first.
func (c *Console) many(v *visit) {
	var d manyForm
	to, err := d.places.read(v.r.PostForm)
	if err == nil {
		err = d.read(v)
	}
	asked := false
	if err == nil {
		err = v.session.read(v.ctx(), func(tx pgx.Tx) (err error) {
			if err := d.load(v.ctx(), tx, v.r.PathValue("table"), ""); err != nil {
				return err
			}
			if err := d.check(v.r.PostForm); err != nil {
				return err
			}
			if asked, err = d.prepare(v.ctx(), tx, v.r.PostForm); err != nil {
				return err
			}
			return d.name(v.ctx(), tx)
		})
	}
	var strange errStrange
	switch {
	case errors.As(err, &strange):
		v.problem(http.StatusBadRequest, "This cannot be done", strange.Error())
		return
	case err != nil:
		v.failed(err)
		return
	case asked:
		v.showMany(&d, http.StatusOK)
		return
	}
	change, good := d.change()
	switch {
	case !good:
		v.showMany(&d, http.StatusUnprocessableEntity)
		return
	case v.r.PostForm.Get("how") == "sql":
		d.shown = []string{change.String()}
		v.showMany(&d, http.StatusOK)
		return
	}
	done, err := v.session.carryOut(v.ctx(), change, to, func(tx pgx.Tx) error { return d.compare(v.ctx(), tx) })
	if err != nil {
		if errors.Is(err, errClash) {
			d.said = complaint{text: "Nothing was written: somebody else has changed the same meanwhile. Below is " +
				"what it is now; press again to write it all the same."}
			if d.do == "delete" {
				d.said.text = "Nothing was deleted: somebody else has changed these records meanwhile. Press again " +
					"to delete them all the same."
			}
			v.showMany(&d, http.StatusConflict)
			return
		}
		v.showMany(&d, d.complain(v, change, err))
		return
	}
	list := "/records/" + d.t.name
	v.carried(done, list, list)
}

// prepare takes the value of a column. asked is true while the form has none yet.
func (d *manyForm) prepare(ctx context.Context, tx pgx.Tx, form map[string][]string) (asked bool, err error) {
	if d.column == nil { // a deletion that nobody reviews is asked for twice
		return d.do == "delete" && len(form["sure"]) == 0 && slices.Equal(form["how"], []string{"now"}), nil
	}
	e, sent, err := d.column.entryIn(form)
	if err != nil {
		return false, errStrange(err.Error())
	}
	if !sent {
		e = entry{as: d.column.ways()[0]}
	}
	if d.choices, err = loadChoices(ctx, tx, []*field{d.column}); err != nil {
		return false, err
	}
	if d.column.refers != nil && d.choices.many[d.column.refers.name()] && sent {
		var wrong fault
		if err := d.column.settle(ctx, tx, &e); err != nil && !errors.As(err, &wrong) {
			return false, err
		}
		e.failed = string(wrong)
	}
	d.entries[d.column.name] = e
	return !sent, d.choices.name(ctx, tx, []*field{d.column}, d.entries)
}

// name reads what the ticked records are called.
func (d *manyForm) name(ctx context.Context, tx pgx.Tx) (err error) {
	var names, identity []string
	if err := tx.QueryRow(ctx, `SELECT m.names, m.identity FROM iasql_internal.managed_table m WHERE m.name = $1`, d.t.name).
		Scan(&names, &identity); err != nil {
		return err
	}
	t := target{table: d.t.name, key: "id", kind: "bigint", names: names, identity: identity}
	d.ticked, err = t.options(ctx, tx, "t.id = ANY ($3::bigint[])", mostTicked, d.ids)
	return err
}

// change is the statement; good is false if something is missing.
func (d *manyForm) change() (change edit, good bool) {
	change = edit{verb: "UPDATE", table: d.t, ids: d.ids}
	switch {
	case d.do == "delete":
		change.verb = "DELETE"
	case d.column != nil:
		e := d.entries[d.column.name]
		if e.failed != "" {
			return change, false
		}
		value, given, err := d.column.value(e, false)
		if err == nil && !given {
			err = errEmpty
		}
		if err != nil {
			e.failed = err.Error()
			d.entries[d.column.name] = e
			return change, false
		}
		change.sets = []assignment{{field: d.column, value: value}}
	case d.key == "":
		d.said = complaint{text: "Say which tag: its key is empty."}
		return change, false
	case d.do == "untag":
		change.sets = []assignment{{field: d.t.tags(), value: &d.key, expression: "%[1]s - %[2]s"}}
	default:
		text, err := jsonText(map[string]string{d.key: d.text})
		if err != nil {
			d.said = complaint{text: "This tag cannot be written: " + err.Error()}
			return change, false
		}
		change.sets = []assignment{{field: d.t.tags(), value: &text, expression: "coalesce(%[1]s, '{}') || %[2]s"}}
	}
	return change, true
}

// showMany writes the page of a change of many records.
func (v *visit) showMany(d *manyForm, status int) {
	var list []g.Node
	for _, o := range d.ticked[:min(len(d.ticked), 20)] {
		list = append(list, h.Li(g.Text(o.text("id"))))
	}
	if len(d.ticked) > 20 {
		list = append(list, h.Li(h.Class("muted"), g.Text("and "+number(int64(len(d.ticked)-20))+" more")))
	}
	hidden := []g.Node{h.Input(h.Type("hidden"), h.Name("csrf"), h.Value(v.session.csrf)),
		h.Input(h.Type("hidden"), h.Name("do"), h.Value(d.do))}
	hidden = append(hidden, d.places.madeInput())
	for _, id := range d.ids {
		hidden = append(hidden, h.Input(h.Type("hidden"), h.Name("row"), h.Value(number(id))))
	}
	text := ""
	for _, deed := range deeds {
		if deed.name == d.do {
			text = deed.text
		}
	}
	var body g.Node
	switch {
	case d.column != nil:
		text = "Set " + d.column.name
		hidden = append(hidden, h.Input(h.Type("hidden"), h.Name("column"), h.Value(d.column.name)))
		body = d.column.draw(d.t, d.entries[d.column.name], d.choices, false)
	case d.do == "delete":
		hidden = append(hidden, h.Input(h.Type("hidden"), h.Name("sure"), h.Value("1")))
		body = h.P(g.Text("The objects go from the cloud, too."))
	default:
		body = tagInputs(d.key, d.text, d.do == "untag")
	}
	records := grouped(int64(len(d.ids))) + " records"
	if len(d.ids) == 1 {
		records = "1 record"
	}
	v.write(status, text+" on "+records+" of "+d.t.name, "", d.said.draw(), drawClash(d.t, d.clash), showSQL(d.shown),
		h.Form(h.Class("edit"), h.Method("post"), h.Action("/records/"+d.t.name+"/many"), g.Group(hidden),
			h.Div(h.Class("card"), body), d.places.draw("Save now", true)),
		section("The records", h.Ul(h.Class("named"), g.Group(list))),
		h.P(h.A(h.Href("/records/"+d.t.name), g.Text("← Back without saving"))))
}

func tagInputs(key, text string, only bool) g.Node {
	return h.Div(h.Class("pair"),
		h.Input(h.Name("key"), h.Value(key), h.Placeholder("tag"), h.Aria("label", "the tag's key"),
			h.AutoComplete("off")),
		g.If(!only, h.Input(h.Name("text"), h.Value(text), h.Placeholder("value"), h.Aria("label", "the tag's value"),
			h.AutoComplete("off"))))
}

// manyBar is below a list of records: what to do with those that are ticked.
func (v *visit) manyBar(t *formTable, own places) g.Node {
	if t == nil || !t.canUpdate() && !t.canDelete {
		return nil
	}
	var options, columns []g.Node
	for _, deed := range deeds {
		if deed.name == "delete" && !t.canDelete || strings.HasSuffix(deed.name, "tag") && t.tags() == nil ||
			deed.name == "column" && !t.canUpdate() {
			continue
		}
		options = append(options, h.Option(h.Value(deed.name), g.Text(deed.text)))
	}
	for _, f := range t.fields {
		if f.writable(false) {
			columns = append(columns, h.Option(h.Value(f.name), g.Text(f.name)))
		}
	}
	return h.Form(h.Class("card many"), h.ID("many"), h.Method("post"), h.Action("/records/"+t.name+"/many"),
		h.Input(h.Type("hidden"), h.Name("csrf"), h.Value(v.session.csrf)), own.madeInput(),
		h.Div(h.Class("what"), h.Label(h.For("many-do"), g.Text("With the ticked rows")),
			h.Select(h.ID("many-do"), h.Name("do"), g.Group(options)),
			g.If(t.tags() != nil, h.Div(h.Class("of-tag"), tagInputs("", "", false))),
			g.If(len(columns) > 0, h.Label(h.Class("of-column"), h.Span(g.Text("Column")),
				h.Select(h.Name("column"), g.Group(columns)),
				h.Span(h.Class("muted small"), g.Text("the next page asks for the value"))))),
		own.draw("Save now", true))
}

// tick is the box of a row in a list.
func tick(id int64) g.Node {
	return h.Td(h.Class("tick"), h.Input(h.Type("checkbox"), h.Name("row"), h.Value(number(id)), h.FormAttr("many"),
		h.Aria("label", "tick record "+number(id))))
}
