package declare

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"iasql/internal/modules"
)

// bind finds every column in the shapes of the calls, and returns all that is
// wrong.
func (b *binding) bind(updates []Update, token string) error {
	var defects []error
	note := func(format string, args ...any) { defects = append(defects, fmt.Errorf(format, args...)) }
	if b.service == nil || b.list == nil || b.get == nil {
		return errors.New("service, list and get are required")
	}
	for i := range b.columns {
		c := &b.columns[i]
		b.byName[c.Name] = c
		if c.tagging != nil {
			b.tags = c
			defects = append(defects, c.tagging.check(b.service.client, b.columns))
		}
		if c.ofParent {
			b.ofParent = c
		}
		if err := b.bindReading(c); err != nil {
			note("column %s: %w", c.Name, err)
		}
	}
	for i := range b.columns {
		c := &b.columns[i]
		if b.list.parent != nil && c.Column.Identity &&
			(c.ofParent || slices.Contains(append(slices.Clone(c.inputs), c.member), b.list.member)) {
			b.parentKey = c
		}
	}
	defects = append(defects, b.list.check(b.service.client, b.object, b.columns), b.bindGet())
	for _, reading := range b.apart {
		defects = append(defects, b.bindKeys(reading.op))
	}
	if b.tags != nil && b.tags.tagging.kind == "" && b.tags.tagging.set != nil {
		defects = append(defects, b.bindKeys(b.tags.tagging.set), b.bindKeys(b.tags.tagging.remove))
	}
	if token != "" {
		var err error
		if b.token, err = resolve(b.object, token); err != nil {
			note("token: %w", err)
		}
	}
	if b.home == nil && b.description.Reach == modules.PerAccount &&
		b.description.Column(modules.ColumnRegion) != nil && !b.description.DefinesRegions {
		note("it has regions, and no home")
	}
	if b.home != nil && b.description.Reach != modules.PerAccount {
		note("it has a home, and is not listed per account")
	}
	if b.description.Creation == modules.ByTag && b.token == nil && b.tags == nil {
		note("it is created ByTag and has no tags")
	}
	defects = append(defects, b.bindUpdates(updates), b.bindCreate())
	b.bindAlong()
	for _, o := range b.origins {
		defects = append(defects, b.bindOrigin(o))
	}
	if b.remove != nil {
		defects = append(defects, b.bindKeys(b.remove))
		if len(b.keys[b.remove]) == 0 && len(b.remove.edits) == 0 {
			note("call %s: no key of the table is in its input", b.remove.name)
		}
	}
	defects = append(defects, b.bindState("going", b.going), b.bindState("forming", b.forming))
	return errors.Join(defects...)
}

// bindState checks that there is such a column, and that the API has its states.
func (b *binding) bindState(what string, s State) error {
	if s.Column == "" {
		return nil
	}
	c := b.byName[s.Column]
	if c == nil {
		return fmt.Errorf("%s: there is no column %s", what, s.Column)
	}
	var defects []error
	if p, err := resolve(b.object, c.member); err == nil && c.member != "" && c.from == nil && c.codec == nil {
		known := enumeration(p.leaf)
		for _, value := range s.Values {
			if known != nil && !slices.Contains(known, value) {
				defects = append(defects, fmt.Errorf("%s: column %s: %s has no value %q", what, s.Column,
					deref(p.leaf).Name(), value))
			}
		}
	}
	return errors.Join(defects...)
}

// bindReading finds where a column is read.
func (b *binding) bindReading(c *Column) error {
	if c.member == "" {
		return nil
	}
	in := b.object
	if c.from != nil {
		in = c.from.out
	}
	p, err := resolve(in, c.member)
	if err != nil {
		return err
	}
	if c.tagging != nil && !isTags(p.leaf) {
		return fmt.Errorf("%s are no tags", p.leaf)
	}
	if err := decodable(c, p.leaf); err != nil {
		return fmt.Errorf("member %s: %w", c.member, err)
	}
	t := target{column: c, path: p}
	if c.first != "" {
		if t.first, err = resolve(in, c.first); err == nil {
			err = decodable(c, t.first.leaf)
		}
		if err != nil {
			return fmt.Errorf("member %s: %w", c.first, err)
		}
	}
	if c.from == nil {
		b.direct = append(b.direct, t)
		return nil
	}
	for _, r := range b.apart {
		if r.op == c.from {
			r.columns = append(r.columns, t)
			return nil
		}
	}
	b.apart = append(b.apart, &reading{c.from, []target{t}})
	return nil
}

// bindKeys finds where a call names the object.
func (b *binding) bindKeys(op *Op) error {
	for i := range b.columns {
		c := &b.columns[i]
		if _, told := columnOf(op, c.Name); !c.key && !told {
			continue
		}
		if p := op.bind(c); p != nil {
			b.keys[op] = append(b.keys[op], target{column: c, path: p})
		}
	}
	return op.check(b.service.client, b.columns)
}

func columnOf(op *Op, column string) (member string, told bool) {
	for member, c := range op.from {
		if c == column {
			return member, true
		}
	}
	return "", false
}

// name has an input name the object.
func (b *binding) name(op *Op, in reflect.Value, have modules.Row) error {
	for _, t := range b.keys[op] {
		if v := have[t.column.Name]; !v.IsNull() {
			if err := t.put(in, v); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *binding) bindGet() error {
	g := b.get
	identity := b.description.Identity()
	if g.way == byBatch {
		return b.bindBatch()
	}
	if g.way != byCall && g.way != byOwn && (len(b.list.names) > 0 || b.list.by != nil) {
		return errors.New("get: a listing of names is no way to read objects")
	}
	if g.column != "" && (g.way != byFilter || !slices.Contains(identity, g.column)) {
		return fmt.Errorf("get: %s is no identity column that a filter is of", g.column)
	}
	if g.way != byCall && g.way != byOwn && g.way != byList && g.column == "" && len(identity) != 1 &&
		!(g.way == byNames && b.parentKey != nil && len(identity) == 2) {
		return errors.New("get: there is more than one identity column")
	}
	switch g.way {
	case byOwn:
		if g.found != b.object {
			return fmt.Errorf("get: it reads %s, and the table is declared by %s", g.found, b.object)
		}
		return nil
	case byCall:
		answer, err := resolve(g.out, g.answer)
		if err != nil {
			return fmt.Errorf("get: %w", err)
		}
		if err := b.bindKeys(g.Op); err != nil {
			return err
		}
		if len(b.keys[g.Op]) == 0 && len(g.edits) == 0 {
			return fmt.Errorf("call %s: no key of the table is in its input", g.name)
		}
		if g.convert != nil && g.convert.several != nil {
			return fmt.Errorf("call %s: it reads one object, and is expanded to several", g.name)
		}
		return g.yields(answer.leaf, b.object)
	case byNames:
		p, err := resolve(b.list.in, g.member)
		if err == nil && (p.leaf.Kind() != reflect.Slice || deref(p.leaf.Elem()).Kind() != reflect.String) {
			err = fmt.Errorf("get: %s is no list of texts", g.member)
		}
		if err == nil && g.prefix != "" {
			err = b.bindPrefix(g.prefix)
		}
		return err
	case byPrefix:
		return b.bindPrefix(g.member)
	case byFilter:
		if filters(b.list.in) == nil {
			return errors.New("get: the listing's input takes no filters")
		}
	}
	return nil
}

func (b *binding) bindPrefix(member string) error {
	p, err := resolve(b.list.in, member)
	if err == nil && p.leaf != reflect.TypeFor[*string]() {
		err = fmt.Errorf("get: %s is no text", member)
	}
	return err
}

func (b *binding) bindBatch() error {
	g := b.get
	defects := []error{b.bindKeys(g.Op)}
	for _, column := range []string{g.column, g.each} {
		if column != "" && !slices.Contains(b.description.Identity(), column) {
			defects = append(defects, fmt.Errorf("get: %s is no identity column", column))
		}
	}
	if b.ofParent != nil {
		defects = append(defects, fmt.Errorf("get: column %s is not in the answer of %s", b.ofParent.Name, g.name))
	}
	if p, err := resolve(g.in, g.member); err != nil {
		defects = append(defects, fmt.Errorf("get: %w", err))
	} else if p.leaf != reflect.TypeFor[[]string]() {
		defects = append(defects, fmt.Errorf("get: %s is no list of texts", g.member))
	}
	switch items, err := resolve(g.out, g.answer); {
	case err != nil:
		defects = append(defects, fmt.Errorf("get: %w", err))
	case items.leaf.Kind() != reflect.Slice:
		defects = append(defects, fmt.Errorf("get: %s is no list", g.answer))
	default:
		defects = append(defects, g.yields(items.leaf.Elem(), b.object))
	}
	return errors.Join(defects...)
}

// filters finds where an input takes filters: structures of a Name and Values.
func filters(in reflect.Type) *path {
	for _, name := range []string{"Filters", "Filter"} {
		p, err := resolve(in, name)
		if err != nil || p.leaf.Kind() != reflect.Slice || p.leaf.Elem().Kind() != reflect.Struct {
			continue
		}
		values, ok := p.leaf.Elem().FieldByName("Values")
		if ok && values.Type == reflect.TypeFor[[]string]() {
			return p
		}
	}
	return nil
}

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
		if c.Column.Computed || c.Column.Local || c.tagging != nil {
			continue
		}
		if p := b.create.bind(c); p != nil {
			b.created = append(b.created, target{column: c, path: p})
		}
	}
	b.deferred()
	answer, err := resolve(b.create.out, b.create.answer)
	if err != nil {
		return errors.Join(append(defects, fmt.Errorf("call %s: %w", b.create.name, err))...)
	}
	for i := range b.columns {
		if c := &b.columns[i]; c.Column.Identity && c.Column.Computed && b.answered(c, answer.leaf) == nil {
			defects = append(defects, fmt.Errorf("call %s: its answer does not have the identity column %s",
				b.create.name, c.Name))
		}
	}
	switch {
	case b.description.Creation == modules.ByToken && tokenMember(b.create.in) == nil,
		b.description.Creation == modules.ByTag && b.token != nil && tokenMember(b.create.in) == nil:
		defects = append(defects, fmt.Errorf("call %s: its input takes no client token", b.create.name))
	case b.description.Creation == modules.ByTag && b.token == nil && b.tags != nil &&
		!b.tags.tagging.created(b.create.in):
		defects = append(defects, fmt.Errorf("call %s: its input takes no tags", b.create.name))
	}
	return errors.Join(append(defects, b.reachable(b.created))...)
}

// bindAlong finds what the calls that create, change and delete an object take besides its state.
func (b *binding) bindAlong() {
	ops := []*Op{b.create, b.remove}
	for _, o := range b.origins {
		ops = append(ops, o.Create)
	}
	for _, u := range b.updates {
		ops = append(ops, u.op, u.unset)
	}
	for i := range b.columns {
		c := &b.columns[i]
		for _, op := range ops {
			if op == nil || !c.along {
				continue
			}
			if p := op.bind(c); p != nil {
				b.along[op] = append(b.along[op], target{column: c, path: p})
			}
		}
	}
}

// deferred marks the columns that are left to an update because the creation does
// not take them.
func (b *binding) deferred() {
	if b.createBy != nil || len(b.create.edits) > 0 {
		return // which may send anything
	}
	for i := range b.columns {
		c := &b.columns[i]
		sent := slices.ContainsFunc(b.created, func(t target) bool { return t.column == c })
		if !sent && c.tagging == nil && b.updated(c.Name) {
			b.description.Column(c.Name).Deferred = true
		}
	}
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
	for _, name := range []string{"ClientToken", "ClientRequestToken", "IdempotencyToken", "CreationToken",
		"CallerReference", "CreatorRequestId"} {
		if p, err := resolve(in, name); err == nil && p.leaf == reflect.TypeFor[*string]() {
			return p
		}
	}
	return nil
}

// reachable checks that whatever users can write gets to the cloud somehow.
func (b *binding) reachable(created []target) error {
	if b.createBy != nil || len(b.create.edits) > 0 {
		return nil // which may do anything
	}
	var defects []error
	for i := range b.columns {
		c := &b.columns[i]
		if c.Column.Computed || c.Column.Local || c.tagging != nil {
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
		b.updates = append(b.updates, &update{Update: By(func(ctx context.Context, s *Step) error {
			return s.UpdateTags(ctx)
		}, modules.ColumnTags)})
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
		if c.changeable() && c.tagging == nil &&
			(named && slices.Contains(u.columns, c.Name) || !named && !b.updated(c.Name)) {
			defects = append(defects, u.bind(c, named))
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
			if c.Column.Computed || c.Column.Local || c.tagging != nil || slices.Contains(u.columns, c.Name) {
				continue
			}
			if p := u.op.bind(c); p != nil {
				u.others = append(u.others, target{column: c, path: p})
			}
		}
	}
	return errors.Join(defects...)
}

// bind finds a column in the input of the update's call. One that the update does
// not name is none of its columns if it is not there.
func (u *update) bind(c *Column, named bool) error {
	p := u.op.bind(c)
	switch {
	case u.name != "":
		if _, key, ok, _, err := cutLast(c.member); err != nil || !ok || key == "" {
			return fmt.Errorf("column %s: %q is no attribute", c.Name, c.member)
		}
	case p == nil && !named:
		return nil
	case p == nil && len(u.op.edits) == 0:
		return fmt.Errorf("column %s: the input of %s does not have it", c.Name, u.op.name)
	}
	if !named {
		u.columns = append(u.columns, c.Name)
	}
	u.targets = append(u.targets, target{column: c, path: p})
	if !u.whole && u.unset == nil && u.name == "" && !c.settlesNull() && len(u.op.edits) == 0 {
		return fmt.Errorf("column %s: nothing says how %s makes it NULL (Unset, OptionalComputed, Required, "+
			"EmptyIsNull)", c.Name, u.op.name)
	}
	return nil
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
	return c.hasUnset || c.hasUsual || c.Column.OptionalComputed || c.Column.Required || c.Column.EmptyIsNull ||
		c.Column.WriteOnly
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
