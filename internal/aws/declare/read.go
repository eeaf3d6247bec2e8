package declare

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// found is an object that has been read.
type found struct {
	object reflect.Value
	row    modules.Row
	tags   map[string]string // those that users do not see included
}

// List implements [modules.Resource].
func (r *Resource) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	s, err := r.step(ctx, scope)
	if err != nil {
		return err
	}
	var one sync.Mutex // page is not called by two at once
	return r.listing(ctx, s, r.list.start(), func(all []*found) error {
		one.Lock()
		defer one.Unlock()
		return page(rows(all))
	})
}

// Get implements [modules.Resource].
func (r *Resource) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	s, err := r.step(ctx, scope)
	if err != nil {
		return nil, err
	}
	all, err := r.read(ctx, s, identities)
	if err != nil {
		return nil, err
	}
	return aws.Wanted(r.description, rows(all), identities), nil
}

// FindCreated implements [modules.Finder].
func (r *Resource) FindCreated(ctx context.Context, scope modules.Scope, tokens []string) (map[string]modules.Row, error) {
	s, err := r.step(ctx, scope)
	if err != nil {
		return nil, err
	}
	var one sync.Mutex
	byToken := map[string]modules.Row{}
	page := func(all []*found) error {
		for _, f := range all {
			token := r.tokenOf(f)
			if token == "" || !slices.Contains(tokens, token) {
				continue
			}
			complete, err := r.complete(ctx, s, []reflect.Value{f.object}, func(int) string {
				if r.ofParent == nil {
					return ""
				}
				return f.row[r.ofParent.Name].String()
			})
			if err != nil {
				return err
			}
			one.Lock()
			for _, f := range complete {
				byToken[token] = f.row
			}
			one.Unlock()
		}
		return nil
	}
	bare := r.bare(r.token == nil) // what else there is of an object is read of those that are found
	if r.token != nil || r.tags == nil || r.tags.tagging.kind == "" || r.list.names != nil {
		return byToken, bare.listing(ctx, s, r.list.start(), page)
	}
	for some := range slices.Chunk(tokens, filterValues) { // EC2 finds by tags
		in := r.list.input()
		addFilter(in, "tag:"+aws.TokenTag, some)
		if err := bare.listing(ctx, s, in, page); err != nil {
			return nil, err
		}
	}
	return byToken, nil
}

// tokenOf returns the token that an object was created with, "" if it has none.
func (r *Resource) tokenOf(f *found) string {
	if r.token == nil {
		return f.tags[aws.TokenTag]
	}
	v, ok := r.token.get(f.object)
	if !ok {
		return ""
	}
	if v, ok = indirect(v); !ok {
		return ""
	}
	return v.String()
}

// bare returns a resource that reads of objects what their listing, or Get, has,
// and their tags if they are asked for.
func (r *Resource) bare(tags bool) *Resource {
	bare := *r
	bare.row, bare.rows, bare.apart = nil, nil, nil
	for _, reading := range r.apart {
		if tags && slices.ContainsFunc(reading.columns, func(t target) bool { return t.column.tagging != nil }) {
			bare.apart = append(bare.apart, reading)
		}
	}
	if !tags {
		bare.tags = nil
	}
	return &bare
}

// filterValues is how many values a filter of EC2 may have ("List and filter
// using the CLI and API", EC2 User Guide).
const filterValues = 200

func rows(all []*found) []modules.Row {
	rows := make([]modules.Row, len(all))
	for i, f := range all {
		rows[i] = f.row
	}
	return rows
}

// listing gives all that a listing finds to page.
func (r *Resource) listing(ctx context.Context, s *Step, in reflect.Value, page func([]*found) error) error {
	return r.list.each(ctx, s, in, func(parent string, items reflect.Value) error {
		if len(r.list.names) == 0 {
			all, err := r.complete(ctx, s, r.list.objects(items), func(int) string { return parent })
			if err != nil {
				return err
			}
			return page(all)
		}
		identities := make([]modules.Row, items.Len())
		for i := range identities {
			item, _ := indirect(items.Index(i))
			row, err := r.list.identify(r.byName, item)
			if err != nil {
				return err
			}
			if r.ofParent != nil {
				row[r.ofParent.Name] = modules.Text(parent)
			} else if r.parentKey != nil && row[r.parentKey.Name].IsNull() {
				if row[r.parentKey.Name], err = decode(r.parentKey, reflect.ValueOf(parent), true); err != nil {
					return err
				}
			}
			identities[i] = row
		}
		all, err := r.read(ctx, s, identities)
		if err != nil {
			return err
		}
		return page(all)
	})
}

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
		return r.complete(ctx, s, new(Op).objects(objects), func(int) string { return "" }) // which are what the table is declared by
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
	each := make([][]*found, len(names))
	err := aws.Each(ctx, aws.Breadth, indexes(len(names)), func(ctx context.Context, i int) (err error) {
		in := r.list.input()
		p, _ := resolve(r.list.in, g.member)
		p.set(in, reflect.ValueOf(&names[i]))
		// What only begins alike is left out before more is read of it.
		each[i], err = r.collectOnly(ctx, s, in, names[i])
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
	err := aws.Each(ctx, aws.Breadth, indexes(len(identities)), func(ctx context.Context, i int) error {
		in := r.get.input()
		if err := r.name(r.get.Op, in, identities[i]); err != nil {
			return err
		}
		one, err := r.at(ctx, s, reflect.Value{}, identities[i])
		if err != nil {
			return aws.IfExists(err)
		}
		one.Have = identities[i]
		out, err := r.get.run(ctx, one, in)
		if err != nil {
			return aws.IfExists(err)
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
	return r.complete(ctx, s, objects[:len(there)], func(i int) string {
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
		return r.readBatches(ctx, s, reflect.New(r.list.in), names, r.get.size)
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
func (r *Resource) readBatches(ctx context.Context, s *Step, template reflect.Value, names []string, size int) ([]*found, error) {
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
		f, err := r.collect(ctx, s, in)
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

func distinct(texts []string) []string { return slices.Compact(slices.Sorted(slices.Values(texts))) }

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

// collectOnly reads the object of that name alone of those that are listed.
func (r *Resource) collectOnly(ctx context.Context, s *Step, in reflect.Value, name string) ([]*found, error) {
	identity := r.byName[r.description.Identity()[0]]
	var objects []reflect.Value
	err := r.list.each(ctx, s, in, func(_ string, items reflect.Value) error {
		for _, object := range r.list.objects(items) {
			for _, t := range r.direct {
				if t.column != identity {
					continue
				}
				v, ok := t.path.get(object)
				if value, err := decode(identity, v, ok); err == nil && value.String() == name {
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

// complete returns objects as rows. What the listing does not have of them is
// read; one that turns out to have gone since is left out.
// parent returns the key of what the object of that index is within.
func (r *Resource) complete(ctx context.Context, s *Step, objects []reflect.Value, parent func(i int) string) ([]*found, error) {
	all := make([]*found, 0, len(objects))
	for i, object := range objects {
		if r.gone != nil && r.gone(object) {
			continue
		}
		f := &found{object: object, row: make(modules.Row, len(r.columns))}
		if err := fill(f, r.direct, object); err != nil {
			return nil, err
		}
		if r.ofParent != nil {
			f.row[r.ofParent.Name] = modules.Text(parent(i))
		}
		all = append(all, f)
	}
	if len(r.apart) > 0 || r.row != nil {
		err := aws.Each(ctx, aws.Breadth, indexes(len(all)), func(ctx context.Context, i int) error {
			one, err := r.at(ctx, s, all[i].object, all[i].row)
			if err == nil {
				one.Have = all[i].row
				err = r.readApart(ctx, one, all[i])
			}
			if err == nil && r.row != nil {
				err = r.row(ctx, one, all[i].object, all[i].row)
			}
			if aws.IsNotFound(err) {
				all[i], err = nil, nil
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(f *found) bool { return f == nil })
	}
	if r.rows != nil && len(all) > 0 {
		if err := r.rows(ctx, s, all); err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(f *found) bool { return f.row == nil })
	}
	if r.tags != nil && r.tags.tagging.bulk != nil {
		return r.readTags(ctx, s, all, r.tags.tagging.bulk.size)
	}
	return all, nil
}

// orGone returns the error of a further call which says that something does not
// exist. It may be the object, which has gone since it was listed, or a part of
// it that the declaration takes for certain. Only the one may be left out of a
// listing; that the other is not found hides nothing.
func (r *Resource) orGone(ctx context.Context, s *Step, row modules.Row, err error) error {
	all, failed := r.bare(false).read(ctx, s, []modules.Row{row})
	if failed != nil {
		return failed
	}
	if len(aws.Wanted(r.description, rows(all), []modules.Row{row})) == 0 {
		return err
	}
	return fmt.Errorf("a part of an object that is there was not found: %w", opaque{err})
}

// opaque is an error whose class is hidden: that something was not found does not
// say that the object was not.
type opaque struct{ err error }

// Error returns the error's text.
func (o opaque) Error() string { return o.err.Error() }

// fill reads columns from what a call has answered.
func fill(f *found, columns []target, from reflect.Value) error {
	for _, t := range columns {
		v, ok := t.get(from)
		if t.column.tagging != nil {
			f.tags = map[string]string{}
			if ok {
				f.tags = readTags(v)
			}
			f.row[modules.ColumnTags] = aws.TagValue(f.tags)
			continue
		}
		value, err := decode(t.column, v, ok)
		if err != nil {
			return fmt.Errorf("column %s: %w", t.column.Name, err)
		}
		f.row[t.column.Name] = value
	}
	return nil
}

// readApart reads the columns that have calls of their own.
func (r *Resource) readApart(ctx context.Context, s *Step, f *found) error {
	answers := make([]reflect.Value, len(r.apart))
	err := aws.Each(ctx, max(1, len(r.apart)), indexes(len(r.apart)), func(ctx context.Context, i int) (err error) {
		op := r.apart[i].op
		if op.only != nil && !op.only(f.row) {
			return nil
		}
		answers[i], err = r.ask(ctx, s, op)
		switch {
		case op.allowed && err != nil && modules.ClassOf(err) == modules.Denied:
			answers[i], err = reflect.Value{}, nil
		case aws.IsNotFound(err) && !op.proves:
			err = r.orGone(ctx, s, f.row, err)
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, reading := range r.apart {
		if answers[i].IsValid() {
			if err := fill(f, reading.columns, answers[i].Elem()); err != nil {
				return err
			}
		}
	}
	return nil
}

// ask makes a reading call of an object, for all pages that it has. Where AWS
// says that the object has nothing of the kind, the answer is an empty one.
func (r *Resource) ask(ctx context.Context, s *Step, op *Op) (reflect.Value, error) {
	in := op.input()
	if err := r.name(op, in, s.Have); err != nil {
		return reflect.Value{}, err
	}
	out, err := op.run(ctx, s, in)
	if op.saysNone(err) {
		return reflect.New(op.out), nil
	}
	if err != nil {
		return reflect.Value{}, err
	}
	for last := out; ; {
		token, member := nextToken(last.Elem())
		p, unknown := resolve(op.in, member)
		if token == "" || unknown != nil || p.leaf != reflect.TypeFor[*string]() {
			return out, nil
		}
		p.set(in, reflect.ValueOf(awssdk.String(token)))
		if last, err = op.run(ctx, s, in); err != nil {
			return reflect.Value{}, err
		}
		merge(out.Elem(), last.Elem())
	}
}

// merge appends the lists of a further page.
func merge(all, more reflect.Value) {
	for i := range all.NumField() {
		if f := all.Field(i); f.CanSet() && f.Kind() == reflect.Slice {
			f.Set(reflect.AppendSlice(f, more.Field(i)))
		}
	}
}

// readTags reads the tags of many objects a call. One that has gone since, for
// which the call fails as a whole, is left out.
func (r *Resource) readTags(ctx context.Context, s *Step, all []*found, size int) ([]*found, error) {
	b := r.tags.tagging.bulk
	var tagged []*found
	for some := range slices.Chunk(all, size) {
		keys := make([]string, len(some))
		for i, f := range some {
			keys[i] = f.row[b.key].String()
		}
		tags, err := b.read(ctx, s, keys)
		if aws.IsNotFound(err) {
			if len(some) == 1 {
				if err := r.orGone(ctx, s, some[0].row, err); !aws.IsNotFound(err) {
					return nil, err
				}
				continue
			}
			half, err := r.readTags(ctx, s, some, (len(some)+1)/2)
			if err != nil {
				return nil, err
			}
			tagged = append(tagged, half...)
			continue
		}
		if err != nil {
			return nil, err
		}
		for i, f := range some {
			f.tags = tags[keys[i]]
			f.row[modules.ColumnTags] = aws.TagValue(f.tags)
			tagged = append(tagged, f)
		}
	}
	return tagged, nil
}

// addFilter adds a filter to the input of a listing.
func addFilter(in reflect.Value, name string, values []string) {
	p := filters(in.Type().Elem())
	one := reflect.New(p.leaf.Elem()).Elem()
	one.FieldByName("Name").Set(reflect.ValueOf(&name))
	one.FieldByName("Values").Set(reflect.ValueOf(values))
	list, _ := p.get(in)
	p.set(in, reflect.Append(list, one))
}

func indexes(n int) []int {
	index := make([]int, n)
	for i := range index {
		index[i] = i
	}
	return index
}
