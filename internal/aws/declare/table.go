package declare

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Table declares a table and the calls by which its objects live. T is what the
// API answers of an object.
type Table[T any] struct {
	Name    string
	Doc     string
	Service *service
	// PerAccount: there is one listing for an account, not one for each region.
	PerAccount bool
	// Home says for such a table in which region an object is, to which all calls
	// about one then go: an object that has been read, or nil and a row with at
	// least its identity. HasRegion gives the table the column region all the same.
	Home      func(ctx context.Context, s *Step, object *T, row modules.Row) (region string, err error)
	HasRegion bool
	Creation  modules.Creation
	Columns   []Column // without account and region
	Checks    []string
	Uniques   [][]string
	// See [modules.Table].
	Optional, DestroyBeforeCreate, DefinesRegions bool

	// List lists all objects, Get reads those with known identities.
	List *Listing
	Get  *Getting
	// Gone reports whether an object that is still shown is none: a gateway that
	// has been deleted within the hour.
	Gone func(*T) bool
	// Row adds to a row what the columns do not say; Rows does for all objects of a
	// page, by calls about many. A row that it makes nil is left out.
	Row  func(ctx context.Context, s *Step, object *T, row modules.Row) error
	Rows func(ctx context.Context, s *Step, objects []*T, rows []modules.Row) error
	// Token is where an object has the token of its creation, for tables ByTag
	// that do not have it in a tag.
	Token string

	// Create creates an object; CreateBy does where one call is not all there is
	// to it. A table with neither has none created.
	Create   *Op
	CreateBy func(ctx context.Context, s *Step) (modules.Row, error)
	// Updates change objects, in this order; tags come last unless one of them
	// names the column.
	Updates []Update
	// Delete deletes an object; DeleteBy does where that is not all there is to it.
	Delete   *Op
	DeleteBy func(ctx context.Context, s *Step) error
	// Reread has a deletion read the object first, so that Protected and DeleteBy
	// judge it as it is now.
	Reread bool
	// Going is a column with an object's state, and the states in which it is on
	// its way out: there is nothing to delete any more.
	Going State
	// Protected says why an object must not be deleted; see [modules.Protector].
	Protected func(have modules.Row) string
}

// State is a column and some of its values.
type State struct {
	Column string
	Values []string
}

// In names states of a column.
func In(column string, values ...string) State { return State{column, values} }

func (s State) holds(row modules.Row) bool {
	return s.Column != "" && slices.Contains(s.Values, row[s.Column].String())
}

// Resource is a declared table as the engine uses it.
type Resource struct {
	binding
	clients *aws.Clients
	defects error
}

// binding is a declaration with its columns found in the calls' shapes.
type binding struct {
	description *modules.Table
	columns     []Column
	byName      map[string]*Column
	object      reflect.Type
	service     *service
	list        *Listing
	get         *Getting
	gone        func(reflect.Value) bool
	row         func(context.Context, *Step, reflect.Value, modules.Row) error
	rows        func(context.Context, *Step, []*found) error
	home        func(context.Context, *Step, reflect.Value, modules.Row) (string, error)
	token       *path
	direct      []target         // columns that are read with the object
	apart       []*reading       // columns that are read by calls of their own
	tags        *Column          // nil if the table has none
	ofParent    *Column          // the key of what the objects are within; nil if none is
	parentKey   *Column          // the identity column that says what an object is within; nil if none does
	keys        map[*Op][]target // where each call names the object
	create      *Op
	createBy    func(context.Context, *Step) (modules.Row, error)
	created     []target // columns that a creation sends
	updates     []*update
	remove      *Op
	removeBy    func(context.Context, *Step) error
	reread      bool
	going       State
	protected   func(modules.Row) string
}

// reading is a call that reads some of the columns.
type reading struct {
	op      *Op
	columns []target
}

// New binds a declaration to the clients that its calls go through. What is
// wrong with it, such as a member that the API does not have, Validate tells.
func New[T any](c *aws.Clients, t Table[T]) *Resource {
	columns := aws.Regional
	reach := modules.PerRegion
	if t.PerAccount {
		reach = modules.PerAccount
		if !t.HasRegion {
			columns = aws.PerAccount
		}
	}
	plain := make([]modules.Column, len(t.Columns))
	for i := range t.Columns {
		plain[i] = t.Columns[i].Column
	}
	r := &Resource{clients: c, binding: binding{
		description: &modules.Table{
			Name: t.Name, Doc: t.Doc, Provider: aws.Provider, Reach: reach, Columns: columns(plain...), Checks: t.Checks, Uniques: t.Uniques,
			Creation: t.Creation, Optional: t.Optional, DefinesRegions: t.DefinesRegions, DestroyBeforeCreate: t.DestroyBeforeCreate,
		},
		columns: t.Columns, byName: map[string]*Column{}, object: reflect.TypeFor[T](), service: t.Service,
		list: t.List, get: t.Get, keys: map[*Op][]target{},
		create: t.Create, createBy: t.CreateBy, remove: t.Delete, removeBy: t.DeleteBy, reread: t.Reread, going: t.Going, protected: t.Protected,
	}}
	if t.Gone != nil {
		r.gone = func(v reflect.Value) bool { return t.Gone(pointer[T](v)) }
	}
	if t.Row != nil {
		r.row = func(ctx context.Context, s *Step, v reflect.Value, row modules.Row) error {
			return t.Row(ctx, s, pointer[T](v), row)
		}
	}
	if t.Rows != nil {
		r.rows = func(ctx context.Context, s *Step, all []*found) error { return each(ctx, s, all, t.Rows) }
	}
	if t.Home != nil {
		r.home = func(ctx context.Context, s *Step, v reflect.Value, row modules.Row) (string, error) {
			if !v.IsValid() {
				return t.Home(ctx, s, nil, row)
			}
			return t.Home(ctx, s, pointer[T](v), row)
		}
	}
	r.defects = r.bind(t.Updates, t.Token)
	return r
}

func each[T any](ctx context.Context, s *Step, all []*found, fill func(context.Context, *Step, []*T, []modules.Row) error) error {
	objects := make([]*T, len(all))
	for i, f := range all {
		objects[i] = pointer[T](f.object)
	}
	filled := rows(all)
	if err := fill(ctx, s, objects, filled); err != nil {
		return err
	}
	for i, row := range filled {
		all[i].row = row
	}
	return nil
}

func pointer[T any](v reflect.Value) *T {
	if v.CanAddr() {
		return v.Addr().Interface().(*T)
	}
	object := v.Interface().(T)
	return &object
}

// Table returns the description.
func (r *Resource) Table() *modules.Table { return r.description }

// Validate reports everything that is wrong with the declaration.
func (r *Resource) Validate() error {
	if r.defects == nil {
		return nil
	}
	return fmt.Errorf("table %s: %w", r.description.Name, r.defects)
}

// Can says what can be done with the table's objects.
func (r *Resource) Can() modules.Abilities {
	return modules.Abilities{
		Create: r.create != nil || r.createBy != nil,
		Update: len(r.updates) > 0,
		Delete: r.remove != nil || r.removeBy != nil,
	}
}

// Protected implements [modules.Protector].
func (r *Resource) Protected(have modules.Row) string {
	if r.protected == nil {
		return ""
	}
	return r.protected(have)
}

func (r *Resource) step(ctx context.Context, scope modules.Scope) (*Step, error) {
	if r.home != nil {
		scope.Region = ""
	}
	client, err := r.service.of(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	return &Step{Clients: r.clients, Scope: scope, client: client, resource: r}, nil
}

// In returns the step with its calls going to a region.
func (s *Step) In(ctx context.Context, region string) (*Step, error) {
	there := *s
	there.Scope.Region = region
	client, err := s.resource.service.of(ctx, s.Clients, there.Scope)
	there.client = client
	return &there, err
}

// at returns a copy of the step for an object: with its calls going where the
// object is. The object is invalid where only its row is known.
func (r *Resource) at(ctx context.Context, s *Step, object reflect.Value, row modules.Row) (*Step, error) {
	one := *s
	if r.home == nil {
		return &one, nil
	}
	region, err := r.home(ctx, s, object, row)
	if err != nil {
		return nil, err
	}
	return one.In(ctx, region)
}

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
		if b.list.parent != nil && c.Column.Identity && (c.ofParent || slices.Contains(append(slices.Clone(c.inputs), c.member), b.list.member)) {
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
	if b.home == nil && b.description.Reach == modules.PerAccount && b.description.Column(modules.ColumnRegion) != nil && !b.description.DefinesRegions {
		note("it has regions, and no home")
	}
	if b.home != nil && b.description.Reach != modules.PerAccount {
		note("it has a home, and is not listed per account")
	}
	if b.description.Creation == modules.ByTag && b.token == nil && b.tags == nil {
		note("it is created ByTag and has no tags")
	}
	defects = append(defects, b.bindUpdates(updates), b.bindCreate())
	if b.remove != nil {
		defects = append(defects, b.bindKeys(b.remove))
		if len(b.keys[b.remove]) == 0 && len(b.remove.edits) == 0 {
			note("call %s: no key of the table is in its input", b.remove.name)
		}
	}
	if b.going.Column != "" && b.byName[b.going.Column] == nil {
		note("going: there is no column %s", b.going.Column)
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
	if g.way != byCall && g.way != byOwn && g.way != byList && g.column == "" && len(identity) != 1 && !(g.way == byNames && b.parentKey != nil && len(identity) == 2) {
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
		return err
	case byPrefix:
		p, err := resolve(b.list.in, g.member)
		if err == nil && p.leaf != reflect.TypeFor[*string]() {
			err = fmt.Errorf("get: %s is no text", g.member)
		}
		return err
	case byFilter:
		if filters(b.list.in) == nil {
			return errors.New("get: the listing's input takes no filters")
		}
	}
	return nil
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
