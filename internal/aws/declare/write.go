package declare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
// is sent every column that lives there.
func Replace(op *Op, columns ...string) Update { return Update{op: op, columns: columns, whole: true} }

// Restate is [Replace] that sends what is not to change as the object has it,
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

// ClientOf returns the client of the step's service and region.
func ClientOf[C any](s *Step) C { return s.client.(C) }

// Create implements [modules.Creator].
func (r *Resource) Create(ctx context.Context, scope modules.Scope, want modules.Row, token string) (modules.Row, error) {
	s, err := r.step(ctx, scope)
	if err != nil {
		return nil, err
	}
	if s, err = r.at(ctx, s, reflect.Value{}, want); err != nil {
		return nil, err
	}
	s.Want, s.Token = want, token
	if r.createBy != nil {
		return r.createBy(ctx, s)
	}
	return s.Create(ctx)
}

// Create creates the object that the step wants by the table's call.
func (s *Step) Create(ctx context.Context) (modules.Row, error) {
	r := s.resource
	in := r.create.input()
	for _, t := range r.created {
		v := s.Want[t.column.Name]
		if t.column.Column.Same(v, modules.Null) || t.column.hasUsual && t.column.Column.Same(v, t.column.usual) {
			continue // AWS refuses many an empty list
		}
		if err := t.send(ctx, s, in, v); err != nil {
			return nil, err
		}
	}
	token := ""
	switch r.description.Creation {
	case modules.ByToken:
		tokenMember(r.create.in).set(in, reflect.ValueOf(&s.Token))
	case modules.ByTag:
		if r.token != nil {
			r.createToken().set(in, reflect.ValueOf(&s.Token))
		} else {
			token = s.Token
		}
	}
	if r.tags != nil {
		r.tags.tagging.addTags(in, s.Want, token)
	}
	out, err := r.create.run(ctx, s, in)
	if err != nil {
		return nil, err
	}
	return r.identify(s.Want, out.Elem())
}

// identify returns what names an object that was created: what users choose, and
// what AWS has answered.
func (b *binding) identify(want modules.Row, out reflect.Value) (modules.Row, error) {
	row := modules.Row{}
	answer, _ := resolve(out.Type(), b.create.answer)
	object, there := answer.get(out)
	for i := range b.columns {
		c := &b.columns[i]
		switch {
		case !c.key:
		case !c.Column.Assigned:
			row[c.Name] = want[c.Name]
		case there:
			p := b.answered(c, answer.leaf)
			if p == nil {
				continue
			}
			v, ok := p.get(object)
			value, err := decode(c, v, ok)
			if err != nil {
				return nil, err
			}
			if !value.IsNull() {
				row[c.Name] = value
			}
		}
	}
	if _, ok := b.description.Key(row); !ok {
		return nil, fmt.Errorf("the answer of %s does not say what it has created", b.create.name)
	}
	return row, nil
}

// answered finds a column in the answer of the creation.
func (b *binding) answered(c *Column, t reflect.Type) *path {
	for _, text := range append([]string{c.member}, c.inputs...) {
		if p, err := resolve(t, text); err == nil && text != "" && decodable(c, p.leaf) == nil {
			return p
		}
	}
	return nil
}

// tokenMember finds where an input takes a client token.
func tokenMember(in reflect.Type) *path {
	for _, name := range []string{"ClientToken", "ClientRequestToken", "IdempotencyToken", "CreationToken", "CallerReference", "CreatorRequestId"} {
		if p, err := resolve(in, name); err == nil && p.leaf == reflect.TypeFor[*string]() {
			return p
		}
	}
	return nil
}

func (b *binding) createToken() *path { return tokenMember(b.create.in) }

func (b *binding) bindCreate() error {
	if b.create == nil {
		if b.createBy == nil {
			return nil
		}
		return b.reachable(nil)
	}
	defects := []error{b.create.check(b.service.client, b.columns)}
	for i := range b.columns {
		c := &b.columns[i]
		if c.Column.Assigned || c.Column.Local || c.tagging != nil {
			continue
		}
		if p := b.create.bind(c); p != nil {
			b.created = append(b.created, target{column: c, path: p})
		}
	}
	answer, err := resolve(b.create.out, b.create.answer)
	if err != nil {
		return errors.Join(append(defects, fmt.Errorf("call %s: %w", b.create.name, err))...)
	}
	for i := range b.columns {
		if c := &b.columns[i]; c.Column.Identity && c.Column.Assigned && b.answered(c, answer.leaf) == nil {
			defects = append(defects, fmt.Errorf("call %s: its answer does not have the identity column %s", b.create.name, c.Name))
		}
	}
	switch {
	case b.description.Creation == modules.ByToken && tokenMember(b.create.in) == nil,
		b.description.Creation == modules.ByTag && b.token != nil && tokenMember(b.create.in) == nil:
		defects = append(defects, fmt.Errorf("call %s: its input takes no client token", b.create.name))
	case b.description.Creation == modules.ByTag && b.token == nil && b.tags != nil && !b.tags.tagging.created(b.create.in):
		defects = append(defects, fmt.Errorf("call %s: its input takes no tags", b.create.name))
	}
	return errors.Join(append(defects, b.reachable(b.created))...)
}

// reachable checks that whatever users can write gets to the cloud somehow.
func (b *binding) reachable(created []target) error {
	if b.createBy != nil || len(b.create.edits) > 0 {
		return nil // which may do anything
	}
	var defects []error
	for i := range b.columns {
		c := &b.columns[i]
		if c.Column.Assigned || c.Column.Local || c.tagging != nil {
			continue
		}
		sent := slices.ContainsFunc(created, func(t target) bool { return t.column == c })
		if !sent && !b.updated(c.Name) {
			defects = append(defects, fmt.Errorf("column %s: no call sends it", c.Name))
		}
	}
	return errors.Join(defects...)
}

func (b *binding) updated(column string) bool {
	return slices.ContainsFunc(b.updates, func(u *update) bool { return slices.Contains(u.columns, column) })
}

// bindUpdates finds the columns in the updates' calls, and checks that every
// column that can be changed has one.
func (b *binding) bindUpdates(updates []Update) error {
	if len(updates) == 0 && b.tags == nil {
		return nil
	}
	var defects []error
	for _, u := range updates {
		b.updates = append(b.updates, &update{Update: u})
	}
	for _, u := range b.updates {
		defects = append(defects, b.bindUpdate(u))
	}
	if b.tags != nil && !b.updated(modules.ColumnTags) {
		b.updates = append(b.updates, &update{Update: By(func(ctx context.Context, s *Step) error { return s.UpdateTags(ctx) }, modules.ColumnTags)})
	}
	for i := range b.columns {
		if c := &b.columns[i]; c.changeable() && !b.updated(c.Name) {
			defects = append(defects, fmt.Errorf("column %s: it can be changed, and no update does", c.Name))
		}
	}
	return errors.Join(defects...)
}

func (b *binding) bindUpdate(u *update) error {
	var defects []error
	for _, name := range u.columns {
		if b.byName[name] == nil {
			defects = append(defects, fmt.Errorf("update: there is no column %s", name))
		}
	}
	if u.by != nil || len(defects) > 0 {
		return errors.Join(defects...)
	}
	defects = append(defects, b.bindKeys(u.op))
	if u.members {
		return errors.Join(append(defects, b.bindKeys(u.unset), b.bindMembers(u))...)
	}
	if u.unset != nil {
		defects = append(defects, b.bindKeys(u.unset))
	}
	named := len(u.columns) > 0
	for i := range b.columns {
		c := &b.columns[i]
		if !c.changeable() || c.tagging != nil || named && !slices.Contains(u.columns, c.Name) || !named && b.updated(c.Name) {
			continue
		}
		p := u.op.bind(c)
		switch {
		case u.name != "":
			if _, key, ok, _, err := cutLast(c.member); err != nil || !ok || key == "" {
				defects = append(defects, fmt.Errorf("column %s: %q is no attribute", c.Name, c.member))
			}
		case p == nil && named && !(len(u.op.edits) > 0):
			defects = append(defects, fmt.Errorf("column %s: the input of %s does not have it", c.Name, u.op.name))
			continue
		case p == nil && !named:
			continue
		}
		if !named {
			u.columns = append(u.columns, c.Name)
		}
		u.targets = append(u.targets, target{column: c, path: p})
		if !u.whole && u.unset == nil && u.name == "" && !c.settlesNull() && len(u.op.edits) == 0 {
			defects = append(defects, fmt.Errorf("column %s: nothing says how %s makes it NULL (Unset, Chosen, Required, EmptyIsNull)", c.Name, u.op.name))
		}
	}
	if u.single { // in the order they are named in
		slices.SortStableFunc(u.targets, func(x, y target) int {
			return slices.Index(u.columns, x.column.Name) - slices.Index(u.columns, y.column.Name)
		})
	}
	if u.whole {
		for i := range b.columns {
			c := &b.columns[i]
			if c.Column.Assigned || c.Column.Local || c.tagging != nil || slices.Contains(u.columns, c.Name) {
				continue
			}
			if p := u.op.bind(c); p != nil {
				u.others = append(u.others, target{column: c, path: p})
			}
		}
	}
	return errors.Join(defects...)
}

// bindMembers checks that the calls of an update take its members.
func (b *binding) bindMembers(u *update) error {
	var defects []error
	for _, at := range []struct {
		op     *Op
		member string
	}{{u.op, u.name}, {u.unset, u.name}, {u.op, u.value}} {
		if at.member != "" {
			defects = append(defects, putText(at.op, at.op.input(), at.member, ""))
		}
	}
	return errors.Join(defects...)
}

// settlesNull reports whether it is clear what a change to NULL sends.
func (c *Column) settlesNull() bool {
	return c.hasUnset || c.hasUsual || c.Column.Chosen || c.Column.Required || c.Column.EmptyIsNull || c.Column.WriteOnly
}

// cutLast takes a path's last name with its index.
func cutLast(text string) (name, index string, indexed bool, rest string, err error) {
	for {
		name, index, indexed, rest, err = cut(text)
		if err != nil || rest == "" {
			return name, index, indexed, rest, err
		}
		text = rest
	}
}

// Update implements [modules.Updater].
func (r *Resource) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	s, err := r.step(ctx, scope)
	if err != nil {
		return err
	}
	if s, err = r.at(ctx, s, reflect.Value{}, have); err != nil {
		return err
	}
	s.Have, s.Want, s.Columns = have, want, columns
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

// Ask makes a call of the module's own that names what the step has by its keys,
// with texts in members of its input besides. It returns what its answer has
// where the call says.
func (s *Step) Ask(ctx context.Context, op *Op, members map[string]string) (any, error) {
	in := op.input()
	if err := s.name(op, in); err != nil {
		return nil, err
	}
	for member, text := range members {
		if err := putText(op, in, member, text); err != nil {
			return nil, err
		}
	}
	answer, err := resolve(op.out, op.answer)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", op.name, err)
	}
	out, err := op.run(ctx, s, in)
	if err != nil {
		return nil, err
	}
	v, ok := answer.get(out)
	if !ok {
		return nil, nil
	}
	return v.Interface(), nil
}

func putText(op *Op, in reflect.Value, member, text string) error {
	p, err := resolve(op.in, member)
	if err == nil {
		var x reflect.Value
		if x, err = conform(reflect.ValueOf(text), p.leaf); err == nil {
			p.set(in, x)
			return nil
		}
	}
	return fmt.Errorf("call %s: %w", op.name, err)
}

// name has the input of a call that is no part of the table name what the step
// has.
func (s *Step) name(op *Op, in reflect.Value) error {
	for i := range s.resource.columns {
		c := &s.resource.columns[i]
		v := s.Have[c.Name]
		if p := op.bind(c); c.key && !v.IsNull() && p != nil {
			if err := (target{column: c, path: p}).put(in, v); err != nil {
				return err
			}
		}
	}
	return nil
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
	changed := slices.DeleteFunc(slices.Clone(u.targets), func(t target) bool { return !u.whole && !s.Changes(t.column.Name) })
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
		if u.kept && !s.Changes(t.column.Name) {
			v = s.Have[t.column.Name]
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
			if t.column.Column.Chosen || t.column.Column.WriteOnly {
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
	_, err := op.run(ctx, s, in)
	return err
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

// Delete implements [modules.Deleter].
func (r *Resource) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	if err := aws.Keep(r.Protected(have)); err != nil {
		return err
	}
	if r.going.holds(have) {
		return nil
	}
	s, err := r.step(ctx, scope)
	if err != nil {
		return err
	}
	if s.Have, err = r.named(ctx, s, have); err != nil || s.Have == nil {
		return err
	}
	if err := aws.Keep(r.Protected(s.Have)); err != nil { // it may have been read only now
		return err
	}
	if s, err = r.at(ctx, s, reflect.Value{}, s.Have); err != nil {
		return aws.IfExists(err)
	}
	if r.removeBy != nil {
		return aws.IfExists(r.removeBy(ctx, s))
	}
	return aws.IfExists(s.Delete(ctx))
}

// named returns have with what the deletion names the object by: where only the
// identity is known of it, and that is not what the call takes, the object is
// read, and so it is where the table wants it. It returns nil if there is none.
func (r *Resource) named(ctx context.Context, s *Step, have modules.Row) (modules.Row, error) {
	known := !r.reread
	for _, t := range r.keys[r.remove] {
		known = known && !have[t.column.Name].IsNull()
	}
	if known {
		return have, nil
	}
	all, err := r.read(ctx, s, []modules.Row{have})
	if err != nil {
		return nil, err
	}
	wanted := aws.Wanted(r.description, rows(all), []modules.Row{have}) // others may be read along
	if len(wanted) == 0 {
		return nil, nil
	}
	return wanted[0], nil
}

// Delete deletes the object that the step has by the table's call. One that is
// on its way out already, for which AWS refuses it, is let go.
func (s *Step) Delete(ctx context.Context) error {
	r := s.resource
	err := r.send(ctx, s, r.remove, nil, nil)
	if r.going.Column == "" || err == nil || modules.ClassOf(err) != modules.Dependency {
		return err
	}
	rows, failed := r.Get(ctx, s.Scope, []modules.Row{s.Have})
	if failed == nil && (len(rows) == 0 || r.going.holds(rows[0])) {
		return nil
	}
	return err
}
