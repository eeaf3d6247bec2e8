package declare

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Update is a way in which some columns are changed.
type Update struct {
	columns []string
	op      *Op
	unset   *Op // makes the one column NULL
	whole   bool
	kept    bool // what a whole one sends that is not to change is as the object has it
	single  bool
	reverse func(want modules.Row) bool
	name    string // members that take an attribute's name and value
	value   string
	members bool // of the one column are what op adds and unset removes
	by      func(ctx context.Context, s *Step) error
	hold    func(s *Step) (release func())
}

// Modify changes columns by a call that leaves alone what its input leaves out:
// those that are to change, together. Without names it is about every column
// that lives in its input and that no other update names.
func Modify(op *Op, columns ...string) Update { return Update{op: op, columns: columns} }

// ModifyEach is [Modify] for calls that take one change at a time. The columns
// change in the order of their names here.
func ModifyEach(op *Op, columns ...string) Update {
	return Update{op: op, columns: columns, single: true}
}

// Reversed has the columns of [ModifyEach] changed in reverse order where that
// holds.
func (u Update) Reversed(when func(want modules.Row) bool) Update { u.reverse = when; return u }

// Holding has the update made, and its input edited, between hold and release:
// for what another table sets together with the columns.
func (u Update) Holding(hold func(s *Step) (release func())) Update { u.hold = hold; return u }

// Replace changes columns by a call that sets everything its input has, and so
// is sent every column that lives there: what does not change as the object has it, if that is known (R35).
func Replace(op *Op, columns ...string) Update { return Update{op: op, columns: columns, whole: true} }

// Restate is [Replace] that sends what is not to change and is not known of the object not at all,
// rather than as it is wanted: where NULL means that AWS has chosen, or a
// reference that there is no record here, it must not get lost.
func Restate(op *Op, columns ...string) Update {
	return Update{op: op, columns: columns, whole: true, kept: true}
}

// Put changes one column: by set, and to NULL by unset. That there is nothing to
// unset is no error.
func Put(column string, set, unset *Op) Update {
	return Update{op: set, unset: unset, columns: []string{column}}
}

// Attributes changes columns that live in a map of attributes, each by a call
// that takes its name and its value; for NULL, what Unset says or else "".
func Attributes(op *Op, name, value string, columns ...string) Update {
	return Update{op: op, name: name, value: value, columns: columns, single: true}
}

// Members changes a list, or an object, by a call for each member that is added
// or differs, and one for each that is removed, which need not be there any more.
// Their inputs take the member's name, and the value of an object's (""). It adds
// before it removes, so that what takes another's place leaves no gap.
func Members(column string, add, remove *Op, name, value string) Update {
	return Update{columns: []string{column}, op: add, unset: remove, name: name, value: value, members: true}
}

// By changes columns in a way of the module's own.
func By(by func(ctx context.Context, s *Step) error, columns ...string) Update {
	return Update{by: by, columns: columns}
}

// update is an update whose columns have been found in the input of its call.
type update struct {
	Update
	targets []target // that it changes
	others  []target // that a whole one sends besides
}

// Update implements [modules.Updater].
func (r *Resource) Update(ctx context.Context, m modules.Mutation) error {
	s, err := r.stepFor(ctx, &m)
	if err != nil {
		return err
	}
	if s, err = r.at(ctx, s, reflect.Value{}, m.Have); err != nil {
		return err
	}
	return s.update(ctx)
}

func (s *Step) update(ctx context.Context) error {
	for _, u := range s.resource.updates {
		if !s.Changes(u.columns...) {
			continue
		}
		if err := s.resource.change(ctx, s, u); err != nil {
			return err
		}
	}
	return nil
}

// Clear makes columns NULL of what the step has, as an update does.
func (s *Step) Clear(ctx context.Context, columns ...string) error {
	none := *s
	none.Want, none.Columns = modules.Row{}, columns
	return none.update(ctx)
}

// UpdateTags makes the tags what the step wants.
func (s *Step) UpdateTags(ctx context.Context) error {
	return s.resource.tags.tagging.update(ctx, s, &s.resource.binding)
}

func (r *Resource) change(ctx context.Context, s *Step, u *update) error {
	if u.hold != nil {
		defer u.hold(s)()
	}
	if u.by != nil {
		return u.by(ctx, s)
	}
	if u.members {
		return r.changeMembers(ctx, s, u)
	}
	changed := slices.DeleteFunc(slices.Clone(u.targets), func(t target) bool {
		return !u.whole && !s.Changes(t.column.Name)
	})
	if u.unset != nil && s.Want[u.columns[0]].IsNull() {
		return aws.IfExists(r.send(ctx, s, u.unset, nil, nil))
	}
	if !u.single {
		return r.send(ctx, s, u.op, u, changed)
	}
	if u.reverse != nil && u.reverse(s.Want) {
		slices.Reverse(changed)
	}
	for _, t := range changed {
		if err := r.send(ctx, s, u.op, u, []target{t}); err != nil {
			return err
		}
	}
	return nil
}

// changeMembers adds, changes and removes members of a column.
func (r *Resource) changeMembers(ctx context.Context, s *Step, u *update) error {
	c := r.byName[u.columns[0]]
	old, wanted := membersOf(c, s.Have[c.Name]), membersOf(c, s.Want[c.Name])
	call := func(op *Op, name string, value modules.Value) error {
		texts := map[string]string{u.name: name}
		if !value.IsNull() && u.value != "" {
			texts[u.value] = value.String()
		}
		_, err := s.Ask(ctx, op, texts)
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if had, ok := old[name]; !ok || !c.sameMember(name, had, wanted[name]) {
			if err := call(u.op, name, wanted[name]); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if _, keep := wanted[name]; !keep {
			if err := aws.IfExists(call(u.unset, name, modules.Null)); err != nil {
				return err
			}
		}
	}
	return nil
}

// membersOf returns the members of a list, or of an object with their values, by
// name.
func membersOf(c *Column, v modules.Value) map[string]modules.Value {
	members := map[string]modules.Value{}
	if c.Type == modules.TypeTexts {
		for _, name := range v.Strings() {
			members[name] = modules.Null
		}
		return members
	}
	var object map[string]json.RawMessage
	_ = json.Unmarshal([]byte(v.String()), &object) // "" is none; all else the column's CHECK has seen
	for name, raw := range object {
		members[name] = modules.Text(string(raw))
	}
	return members
}

// sameMember reports whether a member is the same, as the column has it.
func (c *Column) sameMember(name string, a, b modules.Value) bool {
	if c.Type == modules.TypeTexts {
		return true
	}
	x, _ := modules.JSON(map[string]json.RawMessage{name: json.RawMessage(a.String())}) // they have been parsed
	y, _ := modules.JSON(map[string]json.RawMessage{name: json.RawMessage(b.String())})
	return c.Column.Same(x, y)
}

// send makes one call that changes the columns; none if there is nothing to
// send, because NULL lets AWS choose.
func (r *Resource) send(ctx context.Context, s *Step, op *Op, u *update, changed []target) error {
	in := op.input()
	if err := r.name(op, in, s.Have); err != nil {
		return err
	}
	sent := u == nil
	for _, t := range changed {
		v := s.Want[t.column.Name]
		if u.whole && !s.Changes(t.column.Name) {
			if t.asFound(s, in) {
				sent = true
				continue
			}
			if had, known := s.Have[t.column.Name]; known || u.kept {
				v = had
			}
		}
		if u.name != "" {
			_, key, _, _, _ := cutLast(t.column.member)
			in.Elem().FieldByName(u.name).Set(reflect.ValueOf(&key))
			if v.IsNull() {
				v = t.column.unset
			}
			text := v.String()
			in.Elem().FieldByName(u.value).Set(reflect.ValueOf(&text))
			sent = true
			continue
		}
		if v.IsNull() && u.whole && t.column.hasUnset {
			v = t.column.unset
		}
		if v.IsNull() && !u.whole {
			if t.column.Column.OptionalComputed || t.column.Column.WriteOnly {
				continue
			}
			v = t.column.null()
		}
		sent = true
		if v.IsNull() || t.path == nil {
			continue
		}
		if err := t.send(ctx, s, in, v); err != nil {
			return err
		}
	}
	if !sent {
		return nil
	}
	if u != nil {
		for _, t := range u.others {
			v := s.Want[t.column.Name]
			if t.column.Column.Identity || u.kept {
				v = s.Have[t.column.Name]
			}
			if v.IsNull() {
				continue
			}
			if err := t.send(ctx, s, in, v); err != nil {
				return err
			}
		}
	}
	if err := s.along(ctx, op, in); err != nil {
		return err
	}
	_, err := op.run(ctx, s, in)
	return err
}

// along puts what tells a call what to do into its input.
func (s *Step) along(ctx context.Context, op *Op, in reflect.Value) error {
	for _, t := range s.resource.along[op] {
		v := s.Want[t.column.Name]
		if v.IsNull() {
			v = s.Have[t.column.Name] // of a deletion
		}
		if v.IsNull() {
			continue
		}
		if err := t.send(ctx, s, in, v); err != nil {
			return err
		}
	}
	return nil
}

// asFound sends what a reference names as AWS has it, and reports whether that is known: asked for by the name
// in the column it may not be there any more (a role).
func (t target) asFound(s *Step, in reflect.Value) bool {
	if t.column.companion == nil || t.path == nil || t.path.leaf != reflect.TypeFor[*string]() {
		return false
	}
	name := s.Have[t.column.companion.Name]
	if name.IsNull() {
		return false
	}
	t.path.set(in, reflect.ValueOf(name.Ptr()))
	return true
}

// null returns what a change to NULL sends.
func (c *Column) null() modules.Value {
	switch {
	case c.hasUnset:
		return c.unset
	case c.hasUsual:
		return c.usual
	case c.Type == modules.TypeTexts:
		return modules.Strings([]string{})
	case c.Column.EmptyIsNull:
		return modules.Text("{}")
	}
	return modules.Null
}
