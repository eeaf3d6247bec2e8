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
	// Published adds a column for each property of a resource type that Columns have none for.
	Published Published
	// AlsoPublished are further types that the table's objects are of.
	AlsoPublished []Published
	Checks        []string
	Uniques       [][]string
	// See [modules.Table].
	Optional, DestroyBeforeCreate, DefinesRegions, HoldsData bool
	Made                                                     string
	// EventMappings are calls that touch the table's objects besides those that the table makes
	// itself, or with another place where they are named.
	EventMappings []modules.EventMapping
	// Kind is what the objects' ARNs have after the account, such as "cluster/", where one
	// call tags objects of several tables.
	Kind string

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
	// HasToken reports whether an object was created with a token, for tables ByTag whose
	// objects may be created several by one call, and so with the same tag. They are looked
	// for among all.
	HasToken func(object *T, token string) bool

	// Create creates an object; CreateBy does where one call is not all there is
	// to it. A table with neither has none created.
	Create   *Op
	CreateBy func(ctx context.Context, s *Step) (modules.Row, error)
	// CreateFrom are other calls that create an object instead of Create, where a column says from what. What such a
	// call does not take, an update sets afterwards. Their answers have the object where Create's has it.
	CreateFrom []Origin
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
	// its way out: there is nothing to delete any more, and nothing more is asked
	// about it than its listing says.
	Going State
	// Forming are the states in which the object is being made: what AWS does not
	// say of it yet is unknown. They are states that AWS leaves by itself, and none
	// that waits for a person.
	Forming State
	// Unready reports whether an object that no state tells so is being made all the
	// same, because AWS does not say yet what others need of it.
	Unready func(have modules.Row) bool
	// Failed says why AWS could not make an object; see [modules.Failed] and
	// [State.Because].
	Failed func(have modules.Row) string
	// Refuses are the objects whose deletion AWS refuses for certain. Nobody is asked to try: a preview of the
	// deletion says so, and so does a commit before it begins.
	Refuses []Refusal
	// Protected says why another object must not be deleted, although AWS might do it; see [modules.Observation].
	Protected func(have modules.Row) string
	// Spared says why an object is not to be deleted or replaced unless a user deletes its record; see
	// [modules.Observation].
	Spared func(have modules.Row) string
}

// Origin is what an object can be created from, such as a snapshot.
type Origin struct {
	// Column has a value other than false where an object is to be created from it. It is the database's alone, or
	// fixed at creation.
	Column string
	Create *Op // creates it
}

// Refusal says of which objects AWS refuses the deletion, why, and where AWS documents it.
type Refusal struct {
	When   func(have modules.Row) bool
	Why    string                        // it is …
	By     func(have modules.Row) string // which says it instead of Why where the object tells more
	Source string                        // address of a page of AWS's documentation
}

// IsTrue is a condition for a [Refusal]: a column is true.
func IsTrue(column string) func(have modules.Row) bool {
	return func(have modules.Row) bool { return have[column].Bool() }
}

// IfTrue returns why an object is kept of which a column is true, for [Table].
func IfTrue(column, why string) func(have modules.Row) string {
	return func(have modules.Row) string {
		if have[column].Bool() {
			return why
		}
		return ""
	}
}

// IfSet returns why an object is kept of which a column is not NULL; %s in why stands for the column's value.
func IfSet(column, why string) func(have modules.Row) string {
	return func(have modules.Row) string {
		if have[column].IsNull() {
			return ""
		}
		return fmt.Sprintf(why, have[column])
	}
}

// State is a column and some of its values.
type State struct {
	Column string
	Values []string
}

// In names states of a column.
func In(column string, values ...string) State { return State{column, values} }

// Holds reports whether an object is in one of the states.
func (s State) Holds(row modules.Row) bool {
	return s.Column != "" && slices.Contains(s.Values, row[s.Column].String())
}

// Because returns why an object is in one of the states, for [Table]: what a
// column has about it, or else the state itself. column is "" where none has.
func (s State) Because(column string) func(have modules.Row) string {
	return func(have modules.Row) string {
		switch {
		case !s.Holds(have):
			return ""
		case column != "" && !have[column].IsNull():
			return have[column].String()
		}
		return "its " + s.Column + " is " + have[s.Column].String()
	}
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
	bears       func(object reflect.Value, token string) bool
	direct      []target         // columns that are read with the object
	apart       []*reading       // columns that are read by calls of their own
	tags        *Column          // nil if the table has none
	ofParent    *Column          // the key of what the objects are within; nil if none is
	parentKey   *Column          // the identity column that says what an object is within; nil if none does
	keys        map[*Op][]target // where each call names the object
	create      *Op
	createBy    func(context.Context, *Step) (modules.Row, error)
	created     []target // columns that a creation sends
	origins     []*origin
	along       map[*Op][]target // columns that are sent along with a call
	updates     []*update
	remove      *Op
	removeBy    func(context.Context, *Step) error
	reread      bool
	going       State
	forming     State
	unready     func(have modules.Row) bool
	failed      func(have modules.Row) string
	protected   func(modules.Row) string
	spared      func(have modules.Row) string
	refuses     []Refusal
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
	t.Columns = withCompanions(t.Columns)
	properties, made, unpublished := t.Published.properties(t.Name, t.Columns, reflect.TypeFor[T](), t.calls(),
		slices.DeleteFunc([]*Op{t.Delete}, func(op *Op) bool { return op == nil }))
	t.Columns = withMade(t.Columns, made)
	for _, p := range t.AlsoPublished {
		more, made, err := p.properties(t.Name, t.Columns, reflect.TypeFor[T](), t.calls(), nil)
		t.Columns, properties, unpublished = withMade(t.Columns, made), append(properties, more...),
			errors.Join(unpublished, err)
	}
	plain := make([]modules.Column, len(t.Columns))
	for i := range t.Columns {
		plain[i] = t.Columns[i].Column
	}
	r := &Resource{clients: c, binding: binding{
		description: &modules.Table{
			Name: t.Name, Doc: t.Doc, Provider: aws.Provider, Reach: reach, Columns: columns(plain...),
			Checks: t.Checks, Uniques: t.Uniques,
			Creation: t.Creation, Optional: t.Optional, DefinesRegions: t.DefinesRegions,
			DestroyBeforeCreate: t.DestroyBeforeCreate, HoldsData: t.HoldsData, Made: t.Made,
			Properties: properties,
		},
		columns: t.Columns, byName: map[string]*Column{}, object: reflect.TypeFor[T](), service: t.Service,
		list: t.List, get: t.Get, keys: map[*Op][]target{}, along: map[*Op][]target{},
		create: t.Create, createBy: t.CreateBy, remove: t.Delete, removeBy: t.DeleteBy, reread: t.Reread,
		going: t.Going, forming: t.Forming, unready: t.Unready, failed: t.Failed, refuses: t.Refuses,
		protected: t.Protected, spared: t.Spared,
	}}
	if t.Gone != nil {
		r.gone = func(v reflect.Value) bool { return t.Gone(pointer[T](v)) }
	}
	if t.HasToken != nil {
		r.bears = func(v reflect.Value, token string) bool { return t.HasToken(pointer[T](v), token) }
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
	for _, o := range t.CreateFrom {
		r.origins = append(r.origins, &origin{Origin: o})
	}
	if r.defects = errors.Join(unpublished, r.bind(t.Updates, t.Token)); r.defects == nil {
		r.description.EventMappings, r.description.GlobalName = r.mappings(t.EventMappings, t.Kind),
			aws.ARNColumn(r.description)
	}
	return r
}

// calls are the calls that create and change an object.
func (t *Table[T]) calls() []*Op {
	var calls []*Op
	if t.Create != nil {
		calls = append(calls, t.Create)
	}
	for _, o := range t.CreateFrom {
		calls = append(calls, o.Create)
	}
	for _, u := range t.Updates {
		if u.op != nil {
			calls = append(calls, u.op)
		}
	}
	return calls
}

func each[T any](ctx context.Context, s *Step, all []*found,
	fill func(context.Context, *Step, []*T, []modules.Row) error) error {
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

// Protected returns why the object of a row must not be deleted by the engine on its own
// account, or "".
func (r *Resource) Protected(have modules.Row) string {
	for _, refusal := range r.refuses {
		if refusal.When(have) {
			why := refusal.Why
			if refusal.By != nil {
				why = refusal.By(have)
			}
			return why + "; AWS refuses to delete it (" + refusal.Source + ")"
		}
	}
	if r.protected == nil {
		return ""
	}
	return r.protected(have)
}

// ManagedBy returns whose machinery looks after the object of a row, or "".
func (r *Resource) ManagedBy(have modules.Row) string {
	if who := aws.ManagedBy(have); who != "" || r.spared == nil {
		return who
	}
	return r.spared(have)
}

func (r *Resource) step(ctx context.Context, scope modules.Scope) (*Step, error) {
	return r.stepBy(ctx, scope, r.clients)
}

// stepOf returns a step in a scope, which somebody waits for or not.
func (r *Resource) stepOf(ctx context.Context, scope modules.Scope, waited bool) (*Step, error) {
	return r.stepBy(ctx, scope, r.clients.Waited(waited))
}

// stepFor returns the step of a mutation.
func (r *Resource) stepFor(ctx context.Context, m *modules.Mutation) (*Step, error) {
	s, err := r.stepBy(ctx, m.Scope, r.clients.Permitted(m.Permit))
	if err != nil {
		return nil, err
	}
	s.permit, s.Have, s.Want, s.Columns, s.Token = m.Permit, m.Have, m.Want, m.Columns, m.Token
	return s, nil
}

func (r *Resource) stepBy(ctx context.Context, scope modules.Scope, clients *aws.Clients) (*Step, error) {
	if r.home != nil {
		scope.Region = ""
	}
	client, err := r.service.of(ctx, clients, scope)
	if err != nil {
		return nil, err
	}
	return &Step{Clients: clients, Scope: scope, client: client, resource: r}, nil
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
