package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"
)

// editRoutes are the pages by which records are changed.
func (c *Console) editRoutes(mux *http.ServeMux) {
	for pattern, page := range map[string]func(*visit){
		"GET /records/{table}/new":            c.newRecord,
		"POST /records/{table}/new":           c.saveRecord,
		"GET /records/{table}/{id}/edit":      c.editRecord,
		"POST /records/{table}/{id}/edit":     c.saveRecord,
		"GET /records/{table}/{id}/duplicate": c.newRecord,
		"POST /records/{table}/{id}/delete":   c.deleteRecord,
		"POST /records/{table}/many":          c.many,
		"GET /pick/{table}/{column}":          c.pick,
	} {
		mux.Handle(pattern, c.signedIn(page))
	}
}

// editForm is the form of a record: of a new one, or of one that there is.
type editForm struct {
	t       *formTable
	fresh   bool
	id      int64
	called  string
	values  []*string // of the fields, as they are now; of a new record none
	entries map[string]entry
	choices choices
	places  places
	said    complaint // what is wrong with the whole
	shown   []string  // the SQL that he asked for
}

// places are where a change may go: the batches of the visitor, and what he has chosen.
type places struct {
	own    []batchInfo
	stages bool   // he may open a batch
	chosen string // the number of a batch, "" for a new one
	given  bool
	// made is the snapshot that a list was made by: what was written since, the form has not shown.
	made string
}

// load reads what the form shows. A record's own values are read for one that there is,
// or that is to be copied.
func (d *editForm) load(ctx context.Context, tx pgx.Tx, name, id string) (err error) {
	if d.t, err = loadForm(ctx, tx, name); err != nil {
		return err
	}
	if err = d.places.load(ctx, tx); err != nil {
		return err
	}
	d.entries = map[string]entry{}
	if id != "" {
		if d.id, err = strconv.ParseInt(id, 10, 64); err != nil {
			return errNotThere("A record is named by its id, which is a number.")
		}
		if err := d.loadValues(ctx, tx); err != nil {
			return err
		}
	}
	return d.place(ctx, tx)
}

// loadValues reads the record, of arrays their elements too.
func (d *editForm) loadValues(ctx context.Context, tx pgx.Tx) error {
	if f := d.t.field("id"); f == nil || !f.readable {
		return errNotThere("You may not read column id of " + d.t.name + ".")
	}
	values, elements, err := d.t.valuesOf(ctx, tx, d.id, d.t.fields, "")
	if errors.Is(err, pgx.ErrNoRows) {
		return errNotThere("There is no record " + number(d.id) + " of " + d.t.name + ", or you may not see it.")
	}
	if err != nil {
		return err
	}
	d.values = values
	for i, f := range d.t.fields {
		if f.readable {
			d.entries[f.name] = f.entryOf(values[i], elements[i])
		}
	}
	names, err := tx.Query(ctx, `SELECT coalesce(left(l.name, 120), '') FROM iasql_internal.labels($1, ARRAY[$2::bigint]) l`, d.t.name, d.id)
	if err != nil {
		return err
	}
	d.called, err = pgx.CollectOneRow(names, pgx.RowTo[string])
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return err
}

// valuesOf reads columns of a record as text, and the elements of arrays as JSON.
func (t *formTable) valuesOf(ctx context.Context, tx pgx.Tx, id int64, fields []*field,
	lock string) (values, elements []*string, err error) {
	values, elements = make([]*string, len(fields)), make([]*string, len(fields))
	list, into := []string{"t.id::text"}, []any{new(string)}
	for i, f := range fields {
		if !f.readable {
			continue
		}
		list, into = append(list, "t."+f.quoted+"::text"), append(into, &values[i])
		if f.category == "A" {
			list, into = append(list, "to_jsonb(t."+f.quoted+"::text[])::text"), append(into, &elements[i])
		}
	}
	sql := "SELECT " + strings.Join(list, ", ") + " FROM " + table(t.name) + " t WHERE t.id = $1" + lock
	return values, elements, tx.QueryRow(ctx, sql, pgx.QueryExecModeExec, id).Scan(into...)
}

// place chooses the batch of a change: that in which the record is staged already, else
// the visitor's newest one.
func (d *editForm) place(ctx context.Context, tx pgx.Tx) error {
	if d.places.given {
		return nil
	}
	if d.id != 0 {
		states, err := loadRecordStates(ctx, tx, d.t.name, []int64{d.id})
		if err != nil {
			return err
		}
		d.places.choose(states[d.id].batch)
		return nil
	}
	d.places.choose(0)
	return nil
}

func (p *places) choose(staged int64) {
	for _, b := range p.own {
		if b.id == staged {
			p.chosen = number(staged)
			return
		}
	}
	for _, b := range p.own { // a declaration's batch is no place for other things
		if !strings.HasPrefix(b.name, "configuration ") {
			p.chosen = number(b.id)
			return
		}
	}
}

func (c *Console) newRecord(v *visit) {
	d := editForm{fresh: true}
	err := v.session.read(v.ctx(), func(tx pgx.Tx) error {
		if err := d.load(v.ctx(), tx, v.r.PathValue("table"), v.r.PathValue("id")); err != nil {
			return err
		}
		d.copy()
		return d.loadChoices(v.ctx(), tx)
	})
	switch {
	case err != nil:
		v.failed(err)
	case !d.t.canInsert:
		v.refuse(d.t, "inserted")
	default:
		v.showForm(&d, http.StatusOK)
	}
}

// refuse says that a table's records are not to be changed so.
func (v *visit) refuse(t *formTable, how string) {
	v.problem(http.StatusForbidden, "This cannot be done here",
		"Records of "+t.name+" cannot be "+how+" by you: you lack the right, or the engine only reads them.")
}

// copy makes the inputs of a new record: empty, or with what may be taken over of another.
// What tells the other from others is not.
func (d *editForm) copy() {
	taken := d.entries
	d.entries = map[string]entry{}
	for _, f := range d.t.fields {
		if !f.writable(true) {
			continue
		}
		e := entry{as: f.ways()[0]}
		if old, is := taken[f.name]; is && !f.identity && !f.naming && !f.secret && !old.large {
			e = old
			e.was = ""
		}
		d.entries[f.name] = e
	}
}

func (d *editForm) loadChoices(ctx context.Context, tx pgx.Tx) (err error) {
	if d.choices, err = loadChoices(ctx, tx, d.inputs()); err != nil {
		return err
	}
	return d.choices.name(ctx, tx, d.inputs(), d.entries)
}

// inputs are the fields that the form has inputs for.
func (d *editForm) inputs() (fields []*field) {
	for _, f := range d.t.fields {
		if f.writable(d.fresh) && !d.entries[f.name].large {
			fields = append(fields, f)
		}
	}
	return fields
}

func (c *Console) editRecord(v *visit) {
	var d editForm
	err := v.session.read(v.ctx(), func(tx pgx.Tx) error {
		if err := d.load(v.ctx(), tx, v.r.PathValue("table"), v.r.PathValue("id")); err != nil {
			return err
		}
		return d.loadChoices(v.ctx(), tx)
	})
	switch {
	case err != nil:
		v.failed(err)
	case !d.t.canUpdate():
		v.refuse(d.t, "changed")
	default:
		v.showForm(&d, http.StatusOK)
	}
}

// saveRecord takes a form that was sent. What is wrong is said at the form, with all that
// was typed but secrets.
func (c *Console) saveRecord(v *visit) {
	d := editForm{fresh: v.r.PathValue("id") == ""}
	to, err := d.places.read(v.r.PostForm)
	if err != nil {
		v.problem(http.StatusBadRequest, "This form is not of this page", err.Error())
		return
	}
	err = v.session.read(v.ctx(), func(tx pgx.Tx) error {
		if err := d.load(v.ctx(), tx, v.r.PathValue("table"), v.r.PathValue("id")); err != nil {
			return err
		}
		if err := d.read(v.r.PostForm); err != nil {
			return err
		}
		if err := d.loadChoices(v.ctx(), tx); err != nil {
			return err
		}
		return d.settle(v.ctx(), tx)
	})
	var strange errStrange
	switch {
	case errors.As(err, &strange):
		v.problem(http.StatusBadRequest, "This form is not of this page", strange.Error())
		return
	case err != nil:
		v.failed(err)
		return
	case d.fresh && !d.t.canInsert:
		v.refuse(d.t, "inserted")
		return
	}
	change, good := d.edit()
	switch {
	case !good:
		d.said = complaint{text: "Nothing was written.", see: d.wrong()}
		v.showForm(&d, http.StatusUnprocessableEntity)
		return
	case !d.fresh && len(change.sets) == 0:
		d.said = complaint{text: "Nothing was changed."}
		v.showForm(&d, http.StatusUnprocessableEntity)
		return
	case v.r.PostForm.Get("how") == "sql":
		d.shown = []string{change.String()}
		v.showForm(&d, http.StatusOK)
		return
	}
	done, err := v.session.carryOut(v.ctx(), change, to, func(tx pgx.Tx) error { return d.check(v.ctx(), tx, change) })
	if err != nil {
		v.showForm(&d, d.complain(v, change, err))
		return
	}
	v.carried(done, recordPath(d.t.name, max(done.id, d.id)), "/records/"+url.PathEscape(d.t.name))
}

// errStrange says of a form that it has what the page does not have.
type errStrange string

func (e errStrange) Error() string { return string(e) }

// read takes where a change is to go.
func (p *places) read(form url.Values) (to where, err error) {
	p.given, p.chosen = true, form.Get("batch")
	if _, err := strconv.ParseInt(p.chosen, 10, 64); p.chosen != "" && err != nil {
		return to, errStrange("“" + shorten(p.chosen, 60) + "” is no batch.")
	}
	how := form.Get("how")
	if !slices.Contains([]string{"stage", "now", "sql"}, how) {
		return to, errStrange("“" + shorten(how, 60) + "” is none of stage, now and sql, which the form has.")
	}
	return where{now: how == "now", batch: p.chosen}, nil
}

// read takes what was typed. A name that is no column's, or of one that the form has no
// input for, is refused.
func (d *editForm) read(form url.Values) error {
	for name := range form {
		column := columnOf(name)
		if column == "" {
			if !slices.Contains([]string{"csrf", "how", "batch"}, name) {
				return errStrange("The form has no field " + shorten(name, 60) + ".")
			}
		} else if f := d.t.field(column); f == nil || !f.writable(d.fresh) {
			return errStrange("Table " + d.t.name + " has no column " + shorten(column, 63) + " that a form may write.")
		}
	}
	for _, f := range d.t.fields {
		if !f.writable(d.fresh) {
			continue
		}
		e, sent, err := f.entryIn(form)
		if err != nil {
			return errStrange(err.Error())
		}
		if !sent {
			if !d.fresh {
				continue // as it is
			}
			e = entry{as: f.ways()[0]}
		}
		d.entries[f.name] = e
	}
	return nil
}

// settle makes values of references that were typed by name.
func (d *editForm) settle(ctx context.Context, tx pgx.Tx) error {
	for _, f := range d.inputs() {
		e := d.entries[f.name]
		if f.refers == nil || !d.choices.many[f.refers.name()] || !d.fresh && !e.touched() {
			continue
		}
		err := f.settle(ctx, tx, &e)
		var wrong fault
		if err != nil && !errors.As(err, &wrong) {
			return err
		}
		e.failed = string(wrong)
		d.entries[f.name] = e
	}
	return nil
}

func (f *field) settle(ctx context.Context, tx pgx.Tx, e *entry) (err error) {
	if e.as == asRef {
		e.text, err = f.refers.settle(ctx, tx, e.text)
		return err
	}
	for i := range e.items {
		if e.items[i], err = f.refers.settle(ctx, tx, e.items[i]); err != nil {
			return err
		}
	}
	return nil
}

// wrong are the columns whose inputs something is said against.
func (d *editForm) wrong() (columns []string) {
	for _, f := range d.t.fields {
		if e := d.entries[f.name]; e.failed != "" || e.clash {
			columns = append(columns, f.name)
		}
	}
	return columns
}

// edit is what the form comes to: only what was changed. good is false if an input has
// what cannot be written.
func (d *editForm) edit() (change edit, good bool) {
	change, good = edit{verb: "UPDATE", table: d.t, ids: []int64{d.id}}, true
	if d.fresh {
		change = edit{verb: "INSERT", table: d.t}
	}
	for _, f := range d.inputs() {
		e := d.entries[f.name]
		if e.failed != "" {
			good = false
			continue
		}
		if !d.fresh && !e.touched() {
			continue
		}
		value, given, err := f.value(e, d.fresh)
		switch {
		case err != nil:
			e.failed, good = err.Error(), false
			d.entries[f.name] = e
		case given:
			change.sets = append(change.sets, assignment{field: f, value: value})
		}
	}
	return change, good
}

// check locks the record, and compares what was changed with what the form was made of.
func (d *editForm) check(ctx context.Context, tx pgx.Tx, change edit) error {
	if d.fresh {
		return nil
	}
	fields := make([]*field, len(change.sets))
	for i, a := range change.sets {
		fields[i] = a.field
	}
	values, elements, err := d.t.valuesOf(ctx, tx, d.id, fields, " FOR NO KEY UPDATE OF t")
	if errors.Is(err, pgx.ErrNoRows) {
		return errGone{1, 0}
	}
	if err != nil {
		return err
	}
	clash := false
	for i, f := range fields {
		e := d.entries[f.name]
		if f.secret || e.seen(values[i]) {
			continue
		}
		clash = true
		e.clash, e.now, e.was = true, values[i], f.entryOf(values[i], elements[i]).was
		d.entries[f.name] = e
	}
	if clash {
		return errClash
	}
	return nil
}

// complain says at the form why a change was not made, and returns the page's status.
func (d *editForm) complain(v *visit, change edit, err error) int {
	if errors.Is(err, errClash) {
		d.said = complaint{text: "Nothing was written: somebody else has changed the same meanwhile.", see: d.wrong()}
		return http.StatusConflict
	}
	said := d.t.complaintOf(err)
	if said.column == "" {
		said.column = v.session.misfit(v.ctx(), change, err)
	}
	if e, is := d.entries[said.column]; is && slices.Contains(d.inputs(), d.t.field(said.column)) {
		e.failed = strings.TrimSpace(said.text + "\n" + said.hint)
		d.entries[said.column] = e
		said = complaint{text: "Nothing was written.", see: d.wrong()}
	}
	d.said = said
	return http.StatusUnprocessableEntity
}

// carried says what was done, on the page that comes next: a batch's review, or the record.
func (v *visit) carried(done carried, record, list string) {
	f := &flash{good: true, text: "Saved.", details: done.shown}
	next := record
	switch {
	case done.batch != 0:
		f.text = "Staged in batch " + number(done.batch) + ". Nothing of it reaches the cloud before you commit."
		next = "/batches/" + number(done.batch)
	case strings.HasSuffix(record, "/0"):
		next = list
	}
	v.log.Info("console runs", "role", v.session.role, "statement", strings.Join(done.shown, " "))
	v.session.say(f)
	http.Redirect(v.w, v.r, next, http.StatusSeeOther)
}

func (c *Console) deleteRecord(v *visit) {
	var d editForm
	to, err := d.places.read(v.r.PostForm)
	if err == nil {
		err = v.session.read(v.ctx(), func(tx pgx.Tx) error {
			return d.load(v.ctx(), tx, v.r.PathValue("table"), v.r.PathValue("id"))
		})
	}
	var strange errStrange
	switch {
	case errors.As(err, &strange):
		v.problem(http.StatusBadRequest, "This form is not of this page", strange.Error())
		return
	case err != nil:
		v.failed(err)
		return
	case !d.t.canDelete:
		v.refuse(d.t, "deleted")
		return
	}
	list := "/records/" + url.PathEscape(d.t.name)
	done, err := v.session.carryOut(v.ctx(), edit{verb: "DELETE", table: d.t, ids: []int64{d.id}}, to, nil)
	if err != nil {
		said := d.t.complaintOf(err)
		v.session.say(&flash{text: said.text, details: hints(said.hint)})
		http.Redirect(v.w, v.r, recordPath(d.t.name, d.id), http.StatusSeeOther)
		return
	}
	v.carried(done, list, list)
}

func hints(hint string) []string {
	if hint == "" {
		return nil
	}
	return strings.Split(hint, "\n")
}

// changeCard is how a record's page leads to changing it.
func (v *visit) changeCard(t *formTable, own places, id int64) g.Node {
	if t == nil || !t.canUpdate() && !t.canInsert && !t.canDelete {
		return nil
	}
	path := recordPath(t.name, id)
	gone := edit{verb: "DELETE", table: t, ids: []int64{id}}
	return h.Div(h.Class("tools"),
		g.If(t.canUpdate(), h.A(h.Class("button primary"), h.ID("edit"), h.Href(path+"/edit"), g.Text("Edit"))),
		g.If(t.canInsert, h.A(h.Class("button"), h.Href(path+"/duplicate"), g.Text("Duplicate"))),
		g.If(t.canDelete, h.Details(h.Class("danger"), h.Summary(h.Class("button"), g.Text("Delete…")),
			h.Form(h.Method("post"), h.Action(path+"/delete"), h.Class("card"),
				h.Input(h.Type("hidden"), h.Name("csrf"), h.Value(v.session.csrf)),
				h.P(g.Text("The object goes from the cloud, too. It runs "), h.Code(g.Text(gone.String()))),
				own.draw("Delete now", false)))))
}
