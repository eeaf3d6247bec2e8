package declare

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Getting says how objects with known identities are read.
type Getting struct {
	*Op
	way    way
	member string
	size   int
	column string // whose values a filter or byBatch has; "" is the identity column
	answer string
	prefix string                        // of byNames, where the API takes no names
	each   string                        // column of which those of a call of byBatch have the same value
	told   func(created modules.Row) any // the object, as far as its creation has told, of byCall

	by    func(ctx context.Context, s *Step, identities []modules.Row) (reflect.Value, error)
	found reflect.Type // by by
}

type way int

const (
	byCall   way = iota // one call an object
	byNames             // the listing, asked for names
	byFilter            // the listing, by a filter
	byPrefix            // the listing, by what names begin with
	byList              // the listing, all of it
	byBatch             // one call for several
	byOwn               // the module's own
)

// GetBy reads objects in a way of the module's own. What it leaves out is proven
// not to exist. Those of identities have the identity columns, nothing else.
func GetBy[T any](get func(ctx context.Context, s *Step, identities []modules.Row) ([]T, error)) *Getting {
	return &Getting{way: byOwn, found: reflect.TypeFor[T](),
		by: func(ctx context.Context, s *Step, identities []modules.Row) (reflect.Value, error) {
			objects, err := get(ctx, s, identities)
			return reflect.ValueOf(objects), err
		}}
}

// GetEach is [GetBy] for what is read, or only named, one by one: of what is
// named, reading the columns tells whether it is there.
func GetEach[T any](get func(ctx context.Context, s *Step, identity modules.Row) (T, error)) *Getting {
	return GetBy(func(ctx context.Context, s *Step, identities []modules.Row) ([]T, error) {
		return ReadEach(ctx, s, identities, func(ctx context.Context, identity modules.Row) (one T, err error) {
			if one, err = get(ctx, s, identity); err != nil && s.Skip(identity, err) == nil {
				err = &modules.Error{Class: modules.NotFound, Err: err} // it is left out, and not proven absent
			}
			return one, err
		})
	})
}

// ReadEach reads one thing for each item, several at a time. What is not there is
// left out.
func ReadEach[X, T any](ctx context.Context, s *Step, items []X,
	read func(ctx context.Context, item X) (T, error)) ([]T, error) {
	found := make([]*T, len(items))
	err := aws.Each(ctx, aws.Breadth, indexes(len(items)), func(ctx context.Context, i int) error {
		one, err := read(ctx, items[i])
		if err == nil {
			found[i] = &one
			s.get.HalfRead()
		} else {
			s.get.Read()
		}
		return aws.IfExists(err)
	})
	if err != nil {
		return nil, err
	}
	all := make([]T, 0, len(items))
	for _, one := range found {
		if one != nil {
			all = append(all, *one)
		}
	}
	return all, nil
}

// One reads one object a call; answer is where the call's answer has it ("": it
// is the object).
func One(op *Op, answer string) *Getting { return &Getting{Op: op, way: byCall, answer: answer} }

// Told has [One] make no call for an object that has just been created: object returns what the call would answer, of
// what the creation was told and has answered, nil where that does not tell. Other calls for the object say whether it
// is to be seen yet.
func Told[T any](g *Getting, object func(created modules.Row) *T) *Getting {
	g.told = func(created modules.Row) any {
		if o := object(created); o != nil {
			return *o
		}
		return nil
	}
	return g
}

// Named reads by the listing's operation, whose input takes up to size names in
// member, and then no page size. One that is not there is left out of the
// answer, or has the call fail: then the others are asked for without it.
func Named(member string, size int) *Getting {
	return &Getting{way: byNames, member: member, size: size}
}

// OrPrefix has [Named] do as [Prefix] does where the API refuses names: endpoints and accounts
// differ. What is answered and was not asked for is left out, as what does not know the
// names' member answers all there is.
func (g *Getting) OrPrefix(member string) *Getting { g.prefix = member; return g }

// Batch reads by an operation of its own, whose input takes up to size values of
// an identity column in member; items is where its answer has the objects. One
// that is not there is left out of the answer, or has the call fail: then the
// others are asked for without it.
func Batch(op *Op, member, column string, size int, items string) *Getting {
	return &Getting{Op: op, way: byBatch, member: member, column: column, size: size, answer: items}
}

// Each has [Batch] make calls for each value of another identity column, such as
// the cluster that services run in. Where that does not exist, none of them does.
func (g *Getting) Each(column string) *Getting { g.each = column; return g }

// Filter reads by the listing's operation, whose input takes filters: of that
// name and with up to size values.
func Filter(filter string, size int) *Getting {
	return &Getting{way: byFilter, member: filter, size: size}
}

// EC2Filter is [Filter] with the number of values that EC2 takes ("List and
// filter using the CLI and API", EC2 User Guide). A filter, unlike a list of
// ids, does not fail as a whole when one does not exist.
func EC2Filter(filter string) *Getting { return Filter(filter, filterValues) }

// Of says which of several identity columns has the values of a filter. What is
// found with them and not asked for is left out.
func (g *Getting) Of(column string) *Getting { g.column = column; return g }

// Prefix reads by the listing's operation, whose input takes what names begin
// with in member.
func Prefix(member string) *Getting { return &Getting{way: byPrefix, member: member} }

// Search reads by listing everything, where the API has no other way.
func Search() *Getting { return &Getting{way: byList} }

// read reads the objects with these identities, in the way that Get says.
func (r *Resource) read(ctx context.Context, s *Step, identities []modules.Row) ([]*found, error) {
	g := r.get
	if len(identities) == 0 {
		return nil, nil
	}
	switch g.way {
	case byOwn:
		objects, err := g.by(ctx, s, identities)
		if err != nil {
			return nil, err
		}
		// which are what the table is declared by
		return r.complete(ctx, s.half(), new(Op).objects(objects), func(int) string { return "" })
	case byCall:
		return r.readEach(ctx, s, identities)
	case byList:
		return r.search(ctx, s, identities)
	case byBatch:
		return r.readBatch(ctx, s, identities)
	}
	if g.way == byNames {
		return r.readNamed(ctx, s, identities)
	}
	column := r.description.Identity()[0]
	if g.column != "" {
		column = g.column
	}
	names := distinct(aws.Column(identities, column))
	var all []*found
	switch g.way {
	case byFilter:
		for some := range slices.Chunk(names, g.size) {
			in := r.list.input()
			addFilter(in, g.member, some)
			f, err := r.collect(ctx, s, in)
			if err != nil {
				return nil, err
			}
			all = append(all, f...)
		}
		return all, nil
	}
	return r.readPrefixed(ctx, s, g.member, names)
}

// readPrefixed asks the listing for what begins as each name.
func (r *Resource) readPrefixed(ctx context.Context, s *Step, member string, names []string) ([]*found, error) {
	each := make([][]*found, len(names))
	err := aws.Each(ctx, aws.Breadth, indexes(len(names)), func(ctx context.Context, i int) (err error) {
		in := r.list.input()
		p, _ := resolve(r.list.in, member)
		p.set(in, reflect.ValueOf(&names[i]))
		// What only begins alike is left out before more is read of it.
		each[i], err = r.collectOnly(ctx, s, in, names[i:i+1])
		return err
	})
	return slices.Concat(each...), err
}

// search reads objects by listing everything, or all that is within their
// parents.
func (r *Resource) search(ctx context.Context, s *Step, identities []modules.Row) ([]*found, error) {
	if r.parentKey == nil {
		return r.collect(ctx, s, r.list.start())
	}
	parents := distinct(aws.Column(identities, r.parentKey.Name))
	each := make([][]*found, len(parents))
	member, _ := resolve(r.list.in, r.list.member)
	err := aws.Each(ctx, aws.Breadth, indexes(len(parents)), func(ctx context.Context, i int) (err error) {
		in := r.list.input()
		member.set(in, reflect.ValueOf(&parents[i]))
		each[i], err = r.collect(ctx, s, in)
		return aws.IfExists(err)
	})
	return slices.Concat(each...), err
}

// readEach reads one object a call. One that is not there is left out.
func (r *Resource) readEach(ctx context.Context, s *Step, identities []modules.Row) ([]*found, error) {
	objects := make([]reflect.Value, len(identities))
	answer, _ := resolve(r.get.out, r.get.answer)
	alone := len(r.apart) == 0 && r.row == nil // nothing more is read of what is there
	err := aws.Each(ctx, aws.Breadth, indexes(len(identities)), func(ctx context.Context, i int) error {
		defer func() {
			if alone || !objects[i].IsValid() {
				s.get.Read()
			} else {
				s.get.HalfRead()
			}
		}()
		if created, ok := s.get.WasCreated(identities[i]); ok && r.get.told != nil {
			if object := r.get.told(created); object != nil {
				objects[i] = reflect.ValueOf(object)
				return nil
			}
		}
		in := r.get.input()
		if err := r.name(r.get.Op, in, identities[i]); err != nil {
			return err
		}
		one, err := r.at(ctx, s, reflect.Value{}, identities[i])
		if err != nil {
			return s.skip(identities[i], nil, aws.IfExists(err))
		}
		one.Have = identities[i]
		out, err := r.get.run(ctx, one, in)
		if err != nil {
			return s.skip(identities[i], nil, aws.IfExists(err))
		}
		if object, ok := answer.get(out.Elem()); ok {
			if object, ok = r.get.object(object); ok {
				objects[i] = object
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var there []int
	for i, object := range objects {
		if object.IsValid() {
			there = append(there, i)
			objects[len(there)-1] = object
		}
	}
	return r.complete(ctx, s.half(), objects[:len(there)], func(i int) string {
		if r.ofParent == nil {
			return ""
		}
		return identities[there[i]][r.ofParent.Name].String()
	})
}

// readNamed asks the listing for names: those within a parent together.
func (r *Resource) readNamed(ctx context.Context, s *Step, identities []modules.Row) ([]*found, error) {
	if r.parentKey == nil {
		names := distinct(aws.Column(identities, r.description.Identity()[0]))
		all, err := r.readBatches(ctx, s, reflect.New(r.list.in), names, r.get.size)
		if r.get.prefix != "" && modules.ClassOf(err) == modules.Invalid {
			return r.readPrefixed(ctx, s, r.get.prefix, names)
		}
		return all, err
	}
	within := map[string][]string{}
	for _, identity := range identities {
		for _, column := range r.description.Identity() {
			if column != r.parentKey.Name {
				parent := identity[r.parentKey.Name].String()
				within[parent] = append(within[parent], identity[column].String())
			}
		}
	}
	parents := slices.Sorted(maps.Keys(within))
	each := make([][]*found, len(parents))
	err := aws.Each(ctx, aws.Breadth, indexes(len(parents)), func(ctx context.Context, i int) (err error) {
		in := reflect.New(r.list.in)
		member, _ := resolve(r.list.in, r.list.member)
		member.set(in, reflect.ValueOf(&parents[i]))
		each[i], err = r.readBatches(ctx, s, in, distinct(within[parents[i]]), r.get.size)
		return err
	})
	return slices.Concat(each...), err
}

// readBatches asks the listing for names. Where it fails because of one that is
// not there, it is asked for halves.
func (r *Resource) readBatches(ctx context.Context, s *Step, template reflect.Value, names []string,
	size int) ([]*found, error) {
	var all []*found
	p, _ := resolve(r.list.in, r.get.member)
	for some := range slices.Chunk(names, size) {
		list := reflect.MakeSlice(p.leaf, len(some), len(some))
		for i := range some {
			if list.Index(i).Kind() == reflect.Pointer {
				list.Index(i).Set(reflect.ValueOf(&some[i]))
			} else {
				list.Index(i).SetString(some[i])
			}
		}
		in := clone(template)
		p.set(in, list)
		var f []*found
		var err error
		if r.get.prefix != "" {
			f, err = r.collectOnly(ctx, s, in, some)
		} else {
			f, err = r.collect(ctx, s, in)
		}
		if aws.IsNotFound(err) {
			if len(some) == 1 {
				continue
			}
			f, err = r.readBatches(ctx, s, template, some, (len(some)+1)/2)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, f...)
	}
	return all, nil
}

// readBatch reads several objects a call.
func (r *Resource) readBatch(ctx context.Context, s *Step, identities []modules.Row) ([]*found, error) {
	g := r.get
	byEach := map[string][]modules.Row{}
	for _, identity := range identities {
		key := identity[g.each].String()
		byEach[key] = append(byEach[key], identity)
	}
	var batches [][]modules.Row
	for _, key := range slices.Sorted(maps.Keys(byEach)) {
		batches = slices.AppendSeq(batches, slices.Chunk(byEach[key], g.size))
	}
	each := make([][]reflect.Value, len(batches))
	err := aws.Each(ctx, aws.Breadth, indexes(len(batches)), func(ctx context.Context, i int) (err error) {
		each[i], err = r.askBatch(ctx, s, batches[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	return r.complete(ctx, s, slices.Concat(each...), func(int) string { return "" })
}

// askBatch asks for several objects by one call. Where it fails because of one
// that is not there, it is made for halves.
func (r *Resource) askBatch(ctx context.Context, s *Step, some []modules.Row) ([]reflect.Value, error) {
	g := r.get
	in := g.input()
	if g.each != "" {
		if err := r.name(g.Op, in, modules.Row{g.each: some[0][g.each]}); err != nil {
			return nil, err
		}
	}
	member, _ := resolve(g.in, g.member)
	member.set(in, reflect.ValueOf(distinct(aws.Column(some, g.column))))
	out, err := g.run(ctx, s, in)
	switch {
	case aws.IsNotFound(err) && len(some) > 1:
		var all []reflect.Value
		for half := range slices.Chunk(some, (len(some)+1)/2) {
			objects, err := r.askBatch(ctx, s, half)
			if err != nil {
				return nil, err
			}
			all = append(all, objects...)
		}
		return all, nil
	case aws.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	items, _ := resolve(g.out, g.answer)
	var objects []reflect.Value
	if list, ok := items.get(out.Elem()); ok {
		for i := range list.Len() {
			if object, ok := g.object(list.Index(i)); ok {
				objects = append(objects, object)
			}
		}
	}
	return objects, nil
}

func (r *Resource) collect(ctx context.Context, s *Step, in reflect.Value) ([]*found, error) {
	var (
		one sync.Mutex
		all []*found
	)
	err := r.listing(ctx, s, in, func(some []*found) error {
		one.Lock()
		defer one.Unlock()
		all = append(all, some...)
		return nil
	})
	return all, err
}

// collectOnly reads the objects of those names alone of those that are listed.
func (r *Resource) collectOnly(ctx context.Context, s *Step, in reflect.Value, names []string) ([]*found, error) {
	identity := r.byName[r.description.Identity()[0]]
	var objects []reflect.Value
	err := r.list.each(ctx, s, in, func(_ string, items reflect.Value) error {
		for _, object := range r.list.objects(items) {
			for _, t := range r.direct {
				if t.column != identity {
					continue
				}
				v, ok := t.path.get(object)
				if value, err := decode(identity, v, ok); err == nil && slices.Contains(names, value.String()) {
					objects = append(objects, object)
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r.complete(ctx, s, objects, func(int) string { return "" })
}

func distinct(texts []string) []string { return slices.Compact(slices.Sorted(slices.Values(texts))) }

// filterValues is how many values a filter of EC2 may have ("List and filter
// using the CLI and API", EC2 User Guide).
const filterValues = 200

// addFilter adds a filter to the input of a listing.
func addFilter(in reflect.Value, name string, values []string) {
	p := filters(in.Type().Elem())
	one := reflect.New(p.leaf.Elem()).Elem()
	one.FieldByName("Name").Set(reflect.ValueOf(&name))
	one.FieldByName("Values").Set(reflect.ValueOf(values))
	list, _ := p.get(in)
	p.set(in, reflect.Append(list, one))
}
