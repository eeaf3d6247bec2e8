package declare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Listing says how the objects of a scope are listed: by an operation and where
// its answer has them.
type Listing struct {
	*Op
	items string
	pages func(client, in any) func(ctx context.Context) (out any, more bool, err error)
	names []name // of the columns by which Get reads what is listed

	by    func(ctx context.Context, s *Step, page func(items reflect.Value) error) error
	found reflect.Type // by by
	later bool         // by asks which parents are left to a later listing

	local map[string]string // by filter: the member of what is listed that it looks at

	parent *Listing // of what each listing is within
	key    string   // of a parent: what names it
	member string   // of the input: the parent it is within
}

// name is a column that a member of a listing tells.
type name struct{ column, path string }

// Pages lists by one of the SDK's paginators: items is where a page has the
// objects. Pages(sqs.NewListQueuesPaginator, "QueueUrls").
func Pages[API, In, PO, Out, O any, P aws.Paginator[Out, O]](paginator func(API, *In, ...func(*PO)) P, items string,
	options ...Option) *Listing {
	o := &Op{in: reflect.TypeFor[In](), out: reflect.TypeFor[Out](), from: map[string]string{}}
	for _, option := range options {
		option(o)
	}
	o.name = "listing by " + reflect.TypeFor[In]().Name()
	return &Listing{Op: o, items: items, pages: func(client, in any) func(ctx context.Context) (any, bool, error) {
		p := paginator(client.(API), in.(*In))
		return func(ctx context.Context) (any, bool, error) {
			if !p.HasMorePages() {
				return nil, false, nil
			}
			out, err := p.NextPage(ctx)
			return out, err == nil && p.HasMorePages(), err
		}
	}}
}

// Once lists by an operation whose answer has everything. Where it tells of a
// further page all the same, that is an error: a listing is complete or none.
func Once(op *Op, items string) *Listing {
	return &Listing{Op: op, items: items, pages: func(client, in any) func(ctx context.Context) (any, bool, error) {
		return func(ctx context.Context) (any, bool, error) {
			out, err := op.call(ctx, client, in)
			if err == nil {
				if token, _ := nextToken(reflect.ValueOf(out).Elem()); token != "" {
					err = fmt.Errorf("%s: the answer has a further page, %q, which is not read", op.name, token)
				}
			}
			return out, false, err
		}
	}}
}

// Follow lists by an operation that has pages, and for which the SDK has no
// paginator.
func Follow(op *Op, items string) *Listing {
	return &Listing{Op: op, items: items, pages: func(client, in any) func(ctx context.Context) (any, bool, error) {
		return func(ctx context.Context) (any, bool, error) {
			out, err := op.call(ctx, client, in)
			if err != nil {
				return nil, false, err
			}
			token, member := nextToken(reflect.ValueOf(out).Elem())
			if token == "" {
				return out, false, nil
			}
			p, err := resolve(op.in, member)
			if err == nil {
				p.set(reflect.ValueOf(in), reflect.ValueOf(&token))
			}
			return out, true, err
		}
	}}
}

// tokens are what the API calls the token of the next page, in answers and, by
// the same place, in inputs.
var tokens = []struct{ out, in string }{
	{"NextToken", "NextToken"}, {"NextMarker", "Marker"}, {"Marker", "Marker"}, {"NextPageToken", "PageToken"},
	{"Position", "Position"},
}

// nextToken returns the token of the page after an answer, and the member of the
// input that takes it.
func nextToken(out reflect.Value) (token, in string) {
	for _, t := range tokens {
		f := out.FieldByName(t.out)
		if f.IsValid() && f.Type() == reflect.TypeFor[*string]() {
			if f.IsNil() {
				return "", t.in
			}
			return f.Elem().String(), t.in
		}
	}
	return "", ""
}

// Paced says that a listing of [ListBy] makes calls for each parent, and asks
// [Step.Postponed] before it does.
func (l *Listing) Paced() *Listing { l.later = true; return l }

// ListBy lists objects in a way of the module's own.
func ListBy[T any](list func(ctx context.Context, s *Step, page func([]T) error) error) *Listing {
	return &Listing{Op: &Op{name: "listing", from: map[string]string{}}, found: reflect.TypeFor[T](),
		by: func(ctx context.Context, s *Step, page func(reflect.Value) error) error {
			return list(ctx, s, func(objects []T) error {
				s.sees(1) // that something has nothing is known by reading it
				return page(reflect.ValueOf(objects))
			})
		}}
}

// Names says that the listing tells names alone: the column is filled from each
// of its members, of which path is a member ("" where they are texts), and the
// objects are read by Get.
func (l *Listing) Names(column, path string) *Listing {
	l.names = append(l.names, name{column, path})
	return l
}

// FilterAt says at which path of what is listed a filter looks: where a cycle lists
// everything anyway, [Find] filters that and asks for nothing more.
func (l *Listing) FilterAt(filter, path string) *Listing {
	if l.local == nil {
		l.local = map[string]string{}
	}
	l.local[filter] = path
	return l
}

// Within has the listing made for each object of another listing, its parent:
// member of the input is what that object has at key. A column that lives in no
// shape but is the parent's key says so ([Column.OfParent]).
func (l *Listing) Within(parent *Listing, key, member string) *Listing {
	l.parent, l.key, l.member = parent, key, member
	return l
}

// Walk gives all pages of a listing to page, for hooks: the listing need not be
// that of the table. What the step has is named in its input.
func Walk[T any](ctx context.Context, s *Step, l *Listing, page func([]T) error) error {
	var one sync.Mutex // page is not called by two at once
	in := l.start()
	if l.by == nil {
		if err := s.name(l.Op, in); err != nil {
			return err
		}
	}
	return l.each(ctx, s, in, func(_ string, items reflect.Value) error {
		list, ok := items.Interface().([]T)
		if !ok {
			return fmt.Errorf("%s: it lists %s, not %s", l.name, items.Type(), reflect.TypeFor[[]T]())
		}
		one.Lock()
		defer one.Unlock()
		return page(list)
	})
}

// All is [Walk] for what is needed as a whole.
func All[T any](ctx context.Context, s *Step, l *Listing) ([]T, error) {
	var all []T
	err := Walk(ctx, s, l, func(some []T) error {
		all = append(all, some...)
		return nil
	})
	return all, err
}

// each gives what the listing has to page: the members of each page, and the key
// of the parent they are within. It calls page from several goroutines at once
// where there are parents.
func (l *Listing) each(ctx context.Context, s *Step, in reflect.Value,
	page func(parent string, items reflect.Value) error) error {
	if l.by != nil {
		return l.by(ctx, s, func(items reflect.Value) error { return page("", items) })
	}
	if l.parent == nil {
		return l.one(ctx, s, in, func(items reflect.Value) error { return page("", items) })
	}
	member, err := resolve(l.in, l.member)
	if err != nil {
		return err
	}
	if given, ok := member.get(in); ok && !given.IsZero() { // one parent's is asked for
		given, _ = indirect(given)
		return l.one(ctx, s, in, func(items reflect.Value) error { return page(given.String(), items) })
	}
	return l.parent.each(ctx, s, l.parent.start(), func(_ string, parents reflect.Value) error {
		keys, err := l.keysOf(parents)
		if err != nil {
			return err
		}
		return aws.Each(ctx, aws.Breadth, keys, func(ctx context.Context, key string) error {
			one := clone(in)
			member.set(one, reflect.ValueOf(&key))
			err := l.one(ctx, s, one, func(items reflect.Value) error { return page(key, items) })
			// a parent has gone meanwhile, and all within it
			return s.Skip(modules.Row{"within": modules.Text(key)}, aws.IfExists(err))
		})
	})
}

// start returns the input of a listing of everything.
func (l *Listing) start() reflect.Value {
	if l.by != nil {
		return reflect.Value{}
	}
	return l.input()
}

func (l *Listing) keysOf(parents reflect.Value) ([]string, error) {
	var keys []string
	for _, parent := range l.parent.objects(parents) {
		p, err := resolve(parent.Type(), l.key)
		if err != nil {
			return nil, err
		}
		v, _ := p.get(parent)
		if v, ok := indirect(v); ok && v.IsValid() {
			keys = append(keys, v.String())
		}
	}
	return keys, nil
}

// one makes the listing once, for one parent if it has any.
func (l *Listing) one(ctx context.Context, s *Step, in reflect.Value, page func(items reflect.Value) error) error {
	for _, e := range l.edits {
		if err := e.do(ctx, s, in.Interface()); err != nil {
			return err
		}
	}
	items, err := resolve(l.out, l.items)
	if err != nil {
		return err
	}
	next := l.pages(s.client, in.Interface())
	if s.client != nil && s.list.Memo != nil {
		next = l.remembered(s, in, items, next)
	}
	asking := aws.Paging(ctx)
	for {
		out, more, err := next(asking)
		if err == nil && out != nil {
			err = l.look(out)
		}
		if err != nil {
			if l.failed != nil {
				err = l.failed(ctx, s, err)
			}
			return err
		}
		if out == nil {
			return nil
		}
		if list, ok := items.get(reflect.ValueOf(out)); ok && list.Len() > 0 {
			if err := page(list); err != nil {
				return err
			}
		}
		if !more {
			return nil
		}
	}
}

// remembered answers a call as the same call was answered for another table of the cycle,
// if that was all there is.
func (l *Listing) remembered(s *Step, in reflect.Value, items *path,
	next func(context.Context) (any, bool, error)) func(context.Context) (any, bool, error) {
	first := true
	return func(ctx context.Context) (any, bool, error) {
		asked := first
		first = false
		call, ok := l.asked(s.client, in)
		if !asked || !ok {
			return next(ctx)
		}
		memo := s.list.Memo
		answer, ok, done := memo.Claim(ctx, call)
		if ok {
			return answer, false, nil
		}
		defer done()
		out, more, err := next(ctx)
		if err == nil && out != nil && !more {
			objects := 0
			if list, ok := items.get(reflect.ValueOf(out)); ok {
				objects = list.Len()
			}
			memo.Put(call, out, objects)
		}
		return out, more, err
	}
}

// call is what a memo knows an answer by: what was asked, and whom. There is one client
// for each account, region and service, as long as the credentials stay the same.
type call struct {
	client      any
	name, input string
}

// asked returns what a memo knows the answer to an input by.
func (l *Listing) asked(client any, in reflect.Value) (call, bool) {
	text, err := json.Marshal(in.Interface())
	return call{client, fmt.Sprintf("%s %v", l.name, in.Type()), string(text)}, err == nil
}

// identify returns the identity that a member of the listing tells.
func (l *Listing) identify(columns map[string]*Column, item reflect.Value) (modules.Row, error) {
	row := modules.Row{}
	for _, n := range l.names {
		p, err := resolve(item.Type(), n.path)
		if err != nil {
			return nil, err
		}
		v, ok := p.get(item)
		if row[n.column], err = decode(columns[n.column], v, ok); err != nil {
			return nil, err
		}
	}
	return row, nil
}

// check notes what is wrong with a listing of objects of type t.
func (l *Listing) check(client, t reflect.Type, columns []Column) error {
	if l.by != nil {
		if l.found != t {
			return fmt.Errorf("listing: it lists %s, and the table is declared by %s", l.found, t)
		}
		return nil
	}
	defects := slices.Clone(l.defects)
	if l.client != nil {
		defects = append(defects, l.Op.check(client, columns))
	}
	if l.parent != nil {
		defects = append(defects, l.checkParent())
	}
	items, err := resolve(l.out, l.items)
	switch {
	case err != nil:
		return errors.Join(append(defects, fmt.Errorf("%s: %w", l.name, err))...)
	case items.leaf.Kind() != reflect.Slice:
		return errors.Join(append(defects, fmt.Errorf("%s: %s is no list", l.name, l.items))...)
	}
	item := items.leaf.Elem()
	if len(l.names) == 0 {
		defects = append(defects, l.yields(item, t))
	}
	for _, n := range l.names {
		if !slices.ContainsFunc(columns, func(c Column) bool { return c.Name == n.column }) {
			defects = append(defects, fmt.Errorf("%s: there is no column %s", l.name, n.column))
		}
		if _, err := resolve(item, n.path); err != nil {
			defects = append(defects, fmt.Errorf("%s: %w", l.name, err))
		}
	}
	return errors.Join(defects...)
}

func (l *Listing) checkParent() error {
	member, err := resolve(l.in, l.member)
	if err == nil && member.leaf != reflect.TypeFor[*string]() {
		err = fmt.Errorf("%s: %s is no text", l.name, l.member)
	}
	item := l.parent.found
	if l.parent.by == nil {
		items, failed := resolve(l.parent.out, l.parent.items)
		if failed != nil {
			return errors.Join(err, failed)
		}
		item = items.leaf.Elem()
		if l.parent.convert != nil {
			item = l.parent.convert.to
		}
	}
	if err != nil {
		return err
	}
	key, err := resolve(item, l.key)
	if err == nil && deref(key.leaf).Kind() != reflect.String {
		err = fmt.Errorf("%s: the parent's %s is no text", l.name, l.key)
	}
	return err
}

// yields checks that what a call has found is, or is converted to, what the
// table is declared by.
func (o *Op) yields(found, t reflect.Type) error {
	if o.convert != nil {
		if o.convert.from != found && o.convert.from != deref(found) {
			return fmt.Errorf("%s: it answers %s, and is converted from %s", o.name, found, o.convert.from)
		}
		found = o.convert.to
	}
	if deref(found) != t {
		return fmt.Errorf("%s: it answers %s, and the table is declared by %s", o.name, found, t)
	}
	return nil
}

// objects returns what a call has found as what the table is declared by.
func (o *Op) objects(items reflect.Value) []reflect.Value {
	objects := make([]reflect.Value, 0, items.Len())
	for i := range items.Len() {
		if o.convert != nil && o.convert.several != nil {
			item := items.Index(i)
			if o.convert.from != item.Type() {
				item, _ = indirect(item)
			}
			several := o.convert.several(item.Interface())
			for i := range several.Len() {
				objects = append(objects, several.Index(i))
			}
			continue
		}
		if object, ok := o.object(items.Index(i)); ok {
			objects = append(objects, object)
		}
	}
	return objects
}

// object is objects for one.
func (o *Op) object(found reflect.Value) (reflect.Value, bool) {
	if o.convert != nil {
		if o.convert.from != found.Type() {
			var ok bool
			if found, ok = indirect(found); !ok {
				return found, false
			}
		}
		found = reflect.ValueOf(o.convert.do(found.Interface()))
	}
	return indirect(found)
}
