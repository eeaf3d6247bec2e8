package declare

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// service makes the clients of a service.
type service struct {
	client reflect.Type
	of     func(ctx context.Context, c *aws.Clients, scope modules.Scope) (any, error)
}

// Service names the service that a table's calls go to, by the function of the
// SDK that makes its client.
func Service[C, O any](build func(awssdk.Config, ...func(*O)) C,
	options ...func(*O)) *service { //nolint:revive // only ever passed on
	return &service{reflect.TypeFor[C](), func(ctx context.Context, c *aws.Clients, scope modules.Scope) (any, error) {
		return aws.Client(ctx, c, scope, func(cfg awssdk.Config) C { return build(cfg, options...) })
	}}
}

// InRegion has all calls go to one region, where a service has one for the world.
func (s *service) InRegion(region string) *service {
	return &service{s.client, func(ctx context.Context, c *aws.Clients, scope modules.Scope) (any, error) {
		scope.Region = region
		return s.of(ctx, c, scope)
	}}
}

// Client returns the client of a service in a scope, for what is no part of a
// table: Client(ctx, clients, scope, sqs.NewFromConfig).
func Client[C, O any](ctx context.Context, c *aws.Clients, scope modules.Scope,
	build func(awssdk.Config, ...func(*O)) C) (C, error) {
	return aws.Client(ctx, c, scope, func(cfg awssdk.Config) C { return build(cfg) })
}

// Op is an operation of the API and how its input is filled: by the columns
// that live there.
type Op struct {
	name    string
	client  reflect.Type
	in, out reflect.Type
	call    func(ctx context.Context, client, in any) (any, error)
	jointly func(ctx context.Context, s *Step, in any) (any, error) // instead of call, where it changes something

	template any               // *In
	from     map[string]string // column by member of the input
	edits    []edit
	none     []string
	answer   string
	convert  *conversion
	only     func(modules.Row) bool
	rarely   bool
	allowed  bool
	proves   bool
	failed   func(ctx context.Context, s *Step, err error) error
	checks   []check
	defects  []error
}

type edit struct {
	in reflect.Type
	do func(ctx context.Context, s *Step, in any) error
}

type check struct {
	out reflect.Type
	do  func(out any) error
}

type conversion struct {
	from, to reflect.Type
	do       func(any) any
	several  func(any) reflect.Value // instead of do: a list
}

// Option says something more of a call.
type Option func(*Op)

// Call declares an operation by the method of the SDK's client:
// Call((*sqs.Client).CreateQueue).
func Call[C, In, Out, O any](op func(C, context.Context, *In, ...func(*O)) (*Out, error), options ...Option) *Op {
	o := &Op{
		client: reflect.TypeFor[C](), in: reflect.TypeFor[In](), out: reflect.TypeFor[Out](),
		call: func(ctx context.Context, client, in any) (any, error) { return op(client.(C), ctx, in.(*In)) },
		from: map[string]string{},
	}
	o.name = strings.TrimSuffix(o.in.Name(), "Input")
	for _, option := range options {
		option(o)
	}
	return o
}

// With says what an input has besides the columns.
func With[In any](template *In) Option {
	return func(o *Op) {
		if t := reflect.TypeFor[In](); t != o.in {
			o.defect("its input is %s, not %s", o.in, t)
		}
		o.template = template
	}
}

// pageSizes are what the API calls the most results that a page is to have.
var pageSizes = []string{"MaxResults", "MaxRecords", "MaxItems", "PageSize", "Limit"}

// PageSize says how many results a page of a listing has at most.
func PageSize(size int32) Option {
	return func(o *Op) {
		if o.template == nil {
			o.template = reflect.New(o.in).Interface()
		}
		for _, name := range pageSizes {
			f := reflect.ValueOf(o.template).Elem().FieldByName(name)
			if f.IsValid() && f.Type() == reflect.TypeFor[*int32]() {
				f.Set(reflect.ValueOf(&size))
				return
			}
		}
		o.defect("its input takes no size of pages")
	}
}

// Jointly has a call that changes something made in a way of its own: together with others
// ([Joint]).
func Jointly[In, Out any](do func(ctx context.Context, s *Step, in *In) (*Out, error)) Option {
	return func(o *Op) {
		if t := reflect.TypeFor[In](); t != o.in {
			o.defect("its input is %s, and is sent as %s", o.in, t)
		}
		o.jointly = func(ctx context.Context, s *Step, in any) (any, error) { return do(ctx, s, in.(*In)) }
	}
}

// From has a member of the input filled from a column that does not say so
// itself.
func From(member, column string) Option { return func(o *Op) { o.from[member] = column } }

// Edit has an input edited after the columns have filled it.
func Edit[In any](do func(ctx context.Context, s *Step, in *In) error) Option {
	return func(o *Op) {
		o.edits = append(o.edits, edit{reflect.TypeFor[In](), func(ctx context.Context, s *Step, in any) error {
			return do(ctx, s, in.(*In))
		}})
	}
}

// Fill is [Edit] for what takes no look at AWS and cannot go wrong.
func Fill[In any](do func(s *Step, in *In)) Option {
	return Edit(func(_ context.Context, s *Step, in *In) error {
		do(s, in)
		return nil
	})
}

// None are the codes of errors that say, of a reading call, that the object has
// nothing of the kind: the columns it reads are NULL then.
func None(codes ...string) Option { return func(o *Op) { o.none = codes } }

// Answer says at which path of its answer a call has the object.
func Answer(path string) Option { return func(o *Op) { o.answer = path } }

// Convert has an answer, or a member of a listing, converted to what the table
// is declared by.
func Convert[X, T any](do func(X) T) Option {
	return func(o *Op) {
		o.convert = &conversion{from: reflect.TypeFor[X](), to: reflect.TypeFor[T](), do: func(x any) any {
			return do(x.(X))
		}}
	}
}

// Expand has each member of a listing converted to what the table is declared
// by where it holds any number of that: the routes of a route table, or of all
// volumes those of one kind.
func Expand[X, T any](do func(X) []T) Option {
	return func(o *Op) {
		o.convert = &conversion{from: reflect.TypeFor[X](), to: reflect.TypeFor[T](),
			several: func(x any) reflect.Value { return reflect.ValueOf(do(x.(X))) }}
	}
}

// Only has a reading call made for objects of which that holds; of others its
// columns are unknown.
func Only(when func(row modules.Row) bool) Option { return func(o *Op) { o.only = when } }

// Rarely says of a reading call that what it tells seldom changes: a listing that nobody waits for makes it of each
// object once in a time that is many times that within which everything is looked at ([modules.ListRequest]). Until
// then its columns are unknown to the listing. What an event names, or somebody changes, is read at once.
func Rarely() Option { return func(o *Op) { o.rarely = true } }

// Proves says of a reading call that what it does not find is the object: that
// there is none is proven then. Of any other call it may be a part of an object,
// whose columns are unknown while the object is there.
func Proves() Option { return func(o *Op) { o.proves = true } }

// IfAllowed leaves the columns of a reading call unknown where AWS denies it:
// an object that keeps the engine out is not to hide all others.
func IfAllowed() Option { return func(o *Op) { o.allowed = true } }

// Failed has an error of the call looked at before the engine sees it.
func Failed(look func(ctx context.Context, s *Step, err error) error) Option {
	return func(o *Op) { o.failed = look }
}

// Heals has errors whose message holds the text wait and be tried again: what AWS
// refuses as wrong and takes a little later, such as a role that it cannot assume
// yet.
func Heals(text string) Option {
	return Failed(func(_ context.Context, _ *Step, err error) error {
		var e *modules.Error
		if errors.As(err, &e) && e.Class == modules.Invalid && strings.Contains(e.Message, text) {
			return &modules.Error{Class: modules.Dependency, Code: e.Code, Message: e.Message,
				RetryAfter: e.RetryAfter, Err: err}
		}
		return err
	})
}

// Checked has an answer looked at, for failures that it tells as a success.
func Checked[Out any](look func(out *Out) error) Option {
	return func(o *Op) {
		o.checks = append(o.checks, check{reflect.TypeFor[Out](), func(out any) error { return look(out.(*Out)) }})
	}
}

func (o *Op) defect(format string, args ...any) {
	o.defects = append(o.defects, fmt.Errorf("call %s: %s", o.name, fmt.Sprintf(format, args...)))
}

// input returns a new input, as the template has it.
func (o *Op) input() reflect.Value {
	in := reflect.New(o.in)
	if o.template != nil {
		in.Elem().Set(clone(reflect.ValueOf(o.template).Elem()))
	}
	return in
}

// run edits an input and makes the call. It returns the answer, a pointer.
func (o *Op) run(ctx context.Context, s *Step, in reflect.Value) (reflect.Value, error) {
	for _, e := range o.edits {
		if err := e.do(ctx, s, in.Interface()); err != nil {
			return reflect.Value{}, err
		}
	}
	out, err := o.send(ctx, s, in.Interface())
	if err != nil {
		if o.failed != nil {
			err = o.failed(ctx, s, err)
		}
		return reflect.Value{}, err
	}
	return reflect.ValueOf(out), o.look(out)
}

func (o *Op) send(ctx context.Context, s *Step, in any) (any, error) {
	if o.jointly != nil {
		return o.jointly(ctx, s, in)
	}
	return o.call(ctx, s.client, in)
}

// look returns the failure that an answer tells.
func (o *Op) look(out any) error {
	for _, c := range o.checks {
		if err := c.do(out); err != nil {
			return err
		}
	}
	return nil
}

// saysNone reports whether an error says that there is nothing of the kind.
func (o *Op) saysNone(err error) bool {
	return slices.ContainsFunc(o.none, func(code string) bool { return aws.HasCode(err, code) })
}

// bind finds where a column lives in the input. It returns nil where it does
// not.
func (o *Op) bind(c *Column) *path {
	for member, column := range o.from {
		if column == c.Name {
			if p, err := resolve(o.in, member); err == nil {
				return p
			}
		}
	}
	members := c.inputs
	if len(members) == 0 && c.member != "" {
		members = []string{c.member}
	}
	for _, text := range members {
		if p, err := resolve(o.in, text); err == nil && encodable(c, p.leaf) == nil {
			return p
		}
	}
	return nil
}

// check notes what is wrong with the declaration itself.
func (o *Op) check(client reflect.Type, columns []Column) error {
	defects := slices.Clone(o.defects)
	note := func(format string, args ...any) {
		defects = append(defects, fmt.Errorf("call %s: %s", o.name, fmt.Sprintf(format, args...)))
	}
	if o.client != client {
		note("it is of %s, and the table's service is %s", o.client, client)
	}
	for _, e := range o.edits {
		if e.in != o.in {
			note("its input is %s, and is edited as %s", o.in, e.in)
		}
	}
	for _, c := range o.checks {
		if c.out != o.out {
			note("its answer is %s, and is checked as %s", o.out, c.out)
		}
	}
	for member, column := range o.from {
		at := slices.IndexFunc(columns, func(c Column) bool { return c.Name == column })
		if at < 0 {
			note("there is no column %s", column)
			continue
		}
		p, err := resolve(o.in, member)
		if err != nil {
			note("%v", err)
		} else if err := encodable(&columns[at], p.leaf); err != nil {
			note("member %s: column %s: %v", member, column, err)
		}
	}
	return errors.Join(defects...)
}

// target is a column and where it lives in an input.
type target struct {
	column *Column
	path   *path
	first  *path // where it is read first; nil if nowhere else
}

// get returns what the column is read from.
func (t target) get(from reflect.Value) (reflect.Value, bool) {
	if t.first != nil {
		if v, ok := t.first.get(from); ok {
			if v, ok = indirect(v); ok && !saysNothing(v) {
				return v, true
			}
		}
	}
	return t.path.get(from)
}

// saysNothing reports whether a member that is no pointer was left out: a text, a list or a map without anything.
func saysNothing(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String, reflect.Slice, reflect.Map:
		return v.Len() == 0
	}
	return false
}

// put puts a value that is not NULL into an input.
func (t target) put(in reflect.Value, v modules.Value) error {
	x, err := encode(t.column, v, t.path.leaf)
	if err != nil {
		return err
	}
	t.path.set(in, x)
	return nil
}

// send puts what a call sends for a value that is not NULL into its input.
func (t target) send(ctx context.Context, s *Step, in reflect.Value, v modules.Value) error {
	if t.column.sent != nil {
		var err error
		if v, err = t.column.sent(ctx, s, v); err != nil {
			return err
		}
	}
	return t.put(in, v)
}

// clone copies a value so that nothing of it is shared: inputs are filled in
// place.
func clone(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(clone(v.Elem()))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if out.Field(i).CanSet() {
				out.Field(i).Set(clone(v.Field(i)))
			}
		}
	case reflect.Slice:
		if !v.IsNil() {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			for i := range v.Len() {
				out.Index(i).Set(clone(v.Index(i)))
			}
		}
	case reflect.Map:
		if !v.IsNil() {
			out.Set(reflect.MakeMapWithSize(v.Type(), v.Len()))
			for _, key := range v.MapKeys() {
				out.SetMapIndex(key, clone(v.MapIndex(key)))
			}
		}
	}
	return out
}
