package declare

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"iasql/internal/modules"
)

// sample returns a value of a type with something in every member: another for another n. A structure has nothing where
// it is within one of its own kind.
func sample(t reflect.Type, n int, within ...reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	if t == timeType {
		v.Set(reflect.ValueOf(time.Date(2026, 1, 1+n, 0, 0, 0, 0, time.UTC)))
		return v
	}
	if of := deref(t); of.Kind() == reflect.Struct && slices.Contains(within, of) {
		return v
	}
	switch t.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(sample(t.Elem(), n, within...))
	case reflect.Bool:
		v.SetBool(n%2 == 1)
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(10 + n))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(0.5 + float64(n))
	case reflect.String:
		v.SetString(fmt.Sprintf("sample-%d", n))
		if values := enumeration(t); len(values) > 0 {
			v.SetString(values[n%len(values)])
		}
	case reflect.Slice:
		if slices.Contains(within, deref(t.Elem())) {
			return v
		}
		v.Set(reflect.MakeSlice(t, 1, 1))
		v.Index(0).Set(sample(t.Elem(), n, within...))
	case reflect.Map:
		if slices.Contains(within, deref(t.Elem())) {
			return v
		}
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(reflect.ValueOf("Key").Convert(t.Key()), sample(t.Elem(), n, within...))
	case reflect.Struct:
		within = append(slices.Clone(within), t)
		for i := range t.NumField() {
			if f := v.Field(i); f.CanSet() && !strings.HasPrefix(t.Field(i).Name, "Delet") {
				f.Set(sample(f.Type(), n, within...))
			}
		}
	}
	return v
}

// rich returns an object that has something of every column that is read with it, and its row.
func (r *Resource) rich(t *testing.T, n int) modules.Row {
	t.Helper()
	object := reflect.New(r.object).Elem()
	for _, target := range r.direct {
		target.path.set(object, sample(target.path.leaf, n))
	}
	row := modules.Row{}
	for _, target := range r.direct {
		c := target.column
		v, ok := target.get(object)
		value, err := decode(c, v, ok)
		switch {
		case !c.made && err != nil: // a codec of the module's own, which wants a certain text
			continue
		case err != nil:
			t.Errorf("column %s does not read %v: %v", c.Name, v, err)
		case c.made && (value.IsNull() || c.Column.Same(value, modules.Null)):
			t.Errorf("column %s reads nothing of %s", c.Name, target.path.text)
		}
		row[c.Name] = value
	}
	return row
}

// Rehearse takes the richest object that the columns can tell of through what is done with it, by calls that are
// caught: it is read, made anew from its row, and each column that is made of what AWS publishes is changed alone. It
// returns how many columns it has changed.
func (r *Resource) Rehearse(t *testing.T) (changed int) {
	t.Helper()
	row, other := r.rich(t, 1), r.rich(t, 2)
	for i := range r.columns {
		if c := &r.columns[i]; c.key && row[c.Name].IsNull() {
			row[c.Name] = modules.Text("key")
		}
	}
	if r.create != nil {
		r.made(t, row)
	}
	for i := range r.columns {
		c := &r.columns[i]
		if !c.made || !c.changeable() {
			continue
		}
		value := other[c.Name]
		if c.Column.Same(value, row[c.Name]) {
			continue // an enumeration of one value
		}
		r.changes(t, c, row, value)
		changed++
	}
	return changed
}

// caught returns the inputs that a call is made with while do runs.
func (o *Op) caught(do func()) (inputs []reflect.Value) {
	was := *o
	defer func() { *o = was }()
	o.edits, o.checks, o.jointly, o.failed = nil, nil, nil, nil
	o.call = func(_ context.Context, _, in any) (any, error) {
		inputs = append(inputs, reflect.ValueOf(in).Elem())
		return reflect.New(o.out).Interface(), nil
	}
	do()
	return inputs
}

// made checks that an object that is made of a row has in each member what the row says.
func (r *Resource) made(t *testing.T, row modules.Row) {
	t.Helper()
	want := row.Clone()
	for i := range r.columns { // what cannot be sent here: it is looked for in the cloud first
		if c := &r.columns[i]; c.sent != nil {
			delete(want, c.Name)
		}
	}
	for _, o := range r.origins { // of which another call makes it
		delete(want, o.Column)
	}
	s := &Step{Want: want, resource: r, Token: "token"}
	var failed error
	inputs := r.create.caught(func() { _, failed = s.Create(t.Context()) })
	if len(inputs) != 1 {
		t.Fatalf("%s was called %d times: %v", r.create.name, len(inputs), failed)
	}
	for _, target := range r.created {
		if c := target.column; c.made {
			v, ok := target.path.get(inputs[0])
			if value, err := decode(c, v, ok); err != nil || !c.Column.Same(value, row[c.Name]) {
				t.Errorf("%s of column %s has %s, want %s (%v)", r.create.name, c.Name, value, row[c.Name], err)
			}
		}
	}
}

// changes checks that a change of one column is one call, which has that column and nothing else that is to change.
func (r *Resource) changes(t *testing.T, c *Column, have modules.Row, value modules.Value) {
	t.Helper()
	at := slices.IndexFunc(r.updates, func(u *update) bool { return slices.Contains(u.columns, c.Name) })
	if at < 0 {
		t.Errorf("no update changes column %s", c.Name)
		return
	}
	u := r.updates[at]
	want := have.Clone()
	want[c.Name] = value
	s := &Step{Have: have, Want: want, Columns: []string{c.Name}, resource: r}
	if u.by != nil || u.hold != nil || u.members {
		return // a way of the module's own, or a call for each member
	}
	var failed error
	inputs := u.op.caught(func() { failed = r.change(t.Context(), s, u) })
	if len(inputs) != 1 || failed != nil {
		t.Errorf("a change of column %s made %d calls of %s: %v", c.Name, len(inputs), u.op.name, failed)
		return
	}
	in := inputs[0]
	plain := u.op.input()
	if err := r.name(u.op, plain, have); err != nil {
		t.Fatal(err)
	}
	for _, target := range append(slices.Clone(u.targets), u.others...) {
		if target.path == nil {
			continue
		}
		v, ok := target.path.get(in)
		found, err := decode(target.column, v, ok)
		switch {
		case target.column == c:
			if err != nil || !c.Column.Same(found, value) {
				t.Errorf("%s of column %s has %s, want %s (%v)", u.op.name, c.Name, found, value, err)
			}
		case u.whole && target.column.made:
			if err != nil || !target.column.Column.Same(found, have[target.column.Name]) {
				t.Errorf("a change of column %s leaves %s of %s as %s, want %s (%v)", c.Name, target.column.Name,
					u.op.name, found, have[target.column.Name], err)
			}
		case !u.whole:
			if w, there := target.path.get(plain.Elem()); ok != there || ok && !reflect.DeepEqual(v.Interface(),
				w.Interface()) && !shares(target.path, c, u) {
				t.Errorf("a change of column %s also sends %s", c.Name, target.column.Name)
			}
		}
	}
}

// shares reports whether a column lives within the member that another column changes.
func shares(p *path, c *Column, u *update) bool {
	mine := u.op.bind(c)
	return mine != nil && len(mine.steps) > 0 && len(p.steps) > 0 && slices.Equal(mine.steps[0].field, p.steps[0].field)
}
