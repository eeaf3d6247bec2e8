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
	silent modules.Row       // the columns of which AWS says nothing, with what that usually means
}

// List implements [modules.Resource].
func (r *Resource) List(ctx context.Context, request modules.ListRequest,
	page func([]modules.Observation) error) error {
	s, err := r.stepOf(ctx, request.Scope, request.Waited)
	if err != nil {
		return err
	}
	s.list = request
	s.unread, s.index = &unread{}, &tagIndex{}
	var one sync.Mutex // page is not called by two at once
	err = r.listing(ctx, s, r.list.start(), func(all []*found) error {
		one.Lock()
		defer one.Unlock()
		s.sees(len(all))
		return page(r.observations(rows(all)))
	})
	if err != nil {
		return err
	}
	return s.unread.err()
}

// Get implements [modules.Resource].
func (r *Resource) Get(ctx context.Context, request modules.GetRequest) ([]modules.Observation, error) {
	s, err := r.stepOf(ctx, request.Scope, request.Waited)
	if err != nil {
		return nil, err
	}
	s.get, s.unread = request, &unread{}
	identities := request.Identities
	all, err := r.read(ctx, s, identities)
	if err != nil {
		return nil, err
	}
	s.sees(len(identities) - len(s.unread.objects)) // or proved not to be there
	return r.observations(aws.Wanted(r.description, rows(all), identities)), s.unread.err()
}

// FindCreated implements [modules.Finder].
func (r *Resource) FindCreated(ctx context.Context, scope modules.Scope, tokens []string) (map[string]modules.Row,
	error) {
	s, err := r.step(ctx, scope)
	if err != nil {
		return nil, err
	}
	var one sync.Mutex
	byToken := map[string]modules.Row{}
	page := func(all []*found) error {
		for _, f := range all {
			token := r.tokenOf(f, tokens)
			if token == "" {
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
	if r.token != nil || r.bears != nil || r.tags == nil || r.tags.tagging.kind == "" || r.list.names != nil {
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

// tokenOf returns which of the tokens an object was created with, "" if with none.
func (r *Resource) tokenOf(f *found, tokens []string) string {
	token := ""
	switch {
	case r.bears != nil:
		if i := slices.IndexFunc(tokens, func(token string) bool { return r.bears(f.object, token) }); i >= 0 {
			return tokens[i]
		}
	case r.token == nil:
		token = f.tags[aws.TokenTag]
	default:
		if v, ok := r.token.get(f.object); ok {
			if v, ok = indirect(v); ok {
				token = v.String()
			}
		}
	}
	if token == "" || !slices.Contains(tokens, token) {
		return ""
	}
	return token
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
			objects := r.list.objects(items)
			for some := range slices.Chunk(objects, r.atOnce(len(objects))) {
				all, err := r.complete(ctx, s, some, func(int) string { return parent })
				if err == nil {
					err = page(all)
				}
				if err != nil {
					return err
				}
			}
			return nil
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
		// What is read by one call for many is read always.
		later := func(identity modules.Row) bool { return r.get.way == byCall && !r.turn(s, identity) }
		for some := range slices.Chunk(identities, finished) {
			all, err := r.read(ctx, s, slices.DeleteFunc(slices.Clone(some), later))
			for _, identity := range some {
				if err == nil && later(identity) {
					all = append(all, &found{row: identity})
					s.get.Read()
				}
			}
			if err == nil {
				err = page(all)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// finished is how many objects of a listing are read before they are given on: what is
// finished is not lost when the listing is interrupted later, for one call an object takes
// minutes of thousands.
const finished = 100

// few is up to how many objects are read so that the answer is there soonest; of more, so that
// the calls are fewest.
const few = 4

// atOnce returns how many of a page's objects are completed together: all that there are
// if no call of an object's own has to be made.
func (r *Resource) atOnce(objects int) int {
	if len(r.apart) == 0 && r.row == nil || r.rows != nil {
		return max(1, objects)
	}
	return finished
}

// complete returns objects as rows. What the listing does not have of them is
// read; one that turns out to have gone since is left out.
// parent returns the key of what the object of that index is within.
func (r *Resource) complete(ctx context.Context, s *Step, objects []reflect.Value,
	parent func(i int) string) ([]*found, error) {
	all := make([]*found, 0, len(objects))
	for i, object := range objects {
		if r.gone != nil && r.gone(object) {
			continue
		}
		f := &found{object: object, row: make(modules.Row, len(r.columns))}
		if err := r.fill(f, r.direct, object); err != nil {
			return nil, err
		}
		if r.ofParent != nil {
			f.row[r.ofParent.Name] = modules.Text(parent(i))
		}
		all = append(all, f)
	}
	if len(r.apart) > 0 || r.row != nil {
		index, err := r.indexed(ctx, s, all)
		if err != nil {
			return nil, err
		}
		// What may not be read is left out, and said.
		err = aws.Each(ctx, aws.Breadth, indexes(len(all)), func(ctx context.Context, i int) error {
			if s.halfway {
				defer s.get.HalfRead()
			} else {
				defer s.get.Read()
			}
			one, err := r.at(ctx, s, all[i].object, all[i].row)
			if err == nil {
				one.Have = all[i].row
				switch {
				case r.going.Holds(all[i].row): // of which many calls say that it is in no state for them
				case !r.turn(s, all[i].row):
					r.fromIndex(s, all[i], index)
				default:
					err = r.readApart(ctx, one, all[i], index, len(objects) <= few)
				}
			}
			if err == nil && r.row != nil {
				err = r.row(ctx, one, all[i].object, all[i].row)
			}
			switch {
			case err == nil:
				return nil
			case aws.IsNotFound(err):
				s.sees(1)
				err = nil
			default:
				err = s.skip(r.identityOf(all[i].row), nil, err)
			}
			all[i] = nil
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
	for _, f := range all {
		r.untold(f)
	}
	if r.tags != nil && r.tags.tagging.bulk != nil && s.get.Extent.Has(true) {
		var now, later []*found
		for _, f := range all {
			if r.turn(s, f.row) {
				now = append(now, f)
			} else {
				later = append(later, f)
			}
		}
		tagged, err := r.readTags(ctx, s, now, r.tags.tagging.bulk.size)
		return append(tagged, later...), err
	}
	return all, nil
}

// untold leaves out of a row what an object that is being made does not say yet:
// that it is NULL, or what AWS means by leaving it out once the object is made.
func (r *Resource) untold(f *found) {
	if !r.forming.Holds(f.row) {
		return
	}
	maps.DeleteFunc(f.row, func(column string, v modules.Value) bool {
		c := r.byName[column]
		usual, silent := f.silent[column]
		return (v.IsNull() || silent && v == usual) && c != nil && !c.Column.Computed && !c.Column.Identity
	})
}

// ifGone returns the error of a further call which says that something does not
// exist if it is the object, which has gone since it was listed; nil if the object
// is there, and it is a part of it that the declaration takes for certain. What
// that part says is unknown then: an object is left out of a listing only if it
// is proven not to exist.
func (r *Resource) ifGone(ctx context.Context, s *Step, row modules.Row, err error) error {
	exactly := *s
	exactly.unread = nil // not permitted is no proof
	all, failed := r.bare(false).read(ctx, &exactly, []modules.Row{row})
	switch {
	case failed != nil:
		return failed
	case len(aws.Wanted(r.description, rows(all), []modules.Row{row})) == 0:
		return err
	}
	return nil
}

// fill reads columns from what a call has answered.
func (r *Resource) fill(f *found, columns []target, from reflect.Value) error {
	for _, t := range columns {
		v, ok := t.get(from)
		if t.column.tagging != nil {
			f.tags = map[string]string{}
			if ok {
				f.tags = readTags(v)
			}
			f.row[modules.ColumnTags] = aws.TagValue(f.tags)
			aws.Mark(f.row, f.tags)
			continue
		}
		value, err := decode(t.column, v, ok)
		if err != nil {
			return fmt.Errorf("column %s: %w", t.column.Name, err)
		}
		f.row[t.column.Name] = value
		if _, told := said(t.column, v, ok); !told && r.forming.Column != "" {
			if f.silent == nil {
				f.silent = modules.Row{}
			}
			f.silent[t.column.Name] = value
		}
	}
	return nil
}

// readApart reads the columns that have calls of their own. Where there is an index of
// tags, it has those of what there is a record of. What is not asked for ([modules.GetRequest])
// is unknown. All calls are made at once only where that is worth it: otherwise the one that
// proves that the object is there comes before the others.
func (r *Resource) readApart(ctx context.Context, s *Step, f *found, index map[string]map[string]string,
	atOnce bool) error {
	known, portion := index != nil && s.Recorded(f.row), s.get.Extent
	answers := make([]reflect.Value, len(r.apart))
	told := make([]bool, len(r.apart)) // by the object's creation
	if sent, created := s.get.WasCreated(f.row); created {
		for i, reading := range r.apart {
			told[i] = r.born(f, reading, sent)
		}
	}
	ask := func(ctx context.Context, i int) (err error) {
		op := r.apart[i].op
		if told[i] || op.rarely && !s.list.IsRarelyDue(f.row) {
			return nil
		}
		if op.only != nil && !op.only(f.row) || known && r.apart[i].ofTags() || !portion.Has(r.apart[i].ofTags()) {
			return nil
		}
		answers[i], err = r.ask(ctx, s, op)
		switch {
		case op.allowed && err != nil && modules.ClassOf(err) == modules.Denied:
			_ = s.skip(r.identityOf(f.row), r.apart[i].names(), err) // which may do without it anyway
			answers[i], err = reflect.Value{}, nil
		case aws.IsNotFound(err) && !op.proves:
			answers[i] = reflect.Value{}
			err = r.ifGone(ctx, s, f.row, err)
		}
		return err
	}
	rest := indexes(len(r.apart))
	if !atOnce {
		if i := slices.IndexFunc(r.apart, func(reading *reading) bool { return reading.op.proves }); i >= 0 {
			if err := ask(ctx, i); err != nil {
				return err
			}
			rest = slices.Delete(rest, i, i+1)
		}
	}
	if err := aws.Each(ctx, max(1, len(rest)), rest, ask); err != nil {
		return err
	}
	for i, reading := range r.apart {
		if answers[i].IsValid() {
			if err := r.fill(f, reading.columns, answers[i].Elem()); err != nil {
				return err
			}
		}
	}
	r.fromIndex(s, f, index)
	return nil
}

// fromIndex reads the tags of an object there is a record of from the index of tags, if there is one.
func (r *Resource) fromIndex(s *Step, f *found, index map[string]map[string]string) {
	if index == nil || !s.Recorded(f.row) {
		return
	}
	for _, reading := range r.apart {
		if !reading.ofTags() || reading.op.only != nil && !reading.op.only(f.row) {
			continue
		}
		arn := f.row[r.tags.tagging.together.arn]
		if arn.IsNull() {
			continue // it is not read this time
		}
		f.tags = index[arn.String()]
		f.row[modules.ColumnTags] = aws.TagValue(f.tags)
		aws.Mark(f.row, f.tags)
	}
}

// names returns the names of the columns that a reading is for.
func (reading *reading) names() []string {
	var names []string
	for _, t := range reading.columns {
		names = append(names, t.column.Name)
	}
	return names
}

// identityOf returns the columns of a row that the object is known by.
func (r *Resource) identityOf(row modules.Row) modules.Row {
	identity := modules.Row{}
	for _, column := range r.description.Identity() {
		identity[column] = row[column]
	}
	return identity
}

// ask makes a reading call of an object, for all pages that it has. Where AWS
// says that the object has nothing of the kind, the answer is an empty one.
func (r *Resource) ask(ctx context.Context, s *Step, op *Op) (reflect.Value, error) {
	in := op.input()
	if err := r.name(op, in, s.Have); err != nil {
		return reflect.Value{}, err
	}
	asking := aws.Paging(ctx)
	out, err := op.run(asking, s, in)
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
		if last, err = op.run(asking, s, in); err != nil {
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
				switch err := r.ifGone(ctx, s, some[0].row, err); {
				case err == nil:
					tagged = append(tagged, some[0]) // whose tags are unknown
				case !aws.IsNotFound(err):
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
			aws.Mark(f.row, f.tags)
			tagged = append(tagged, f)
		}
	}
	return tagged, nil
}

func indexes(n int) []int {
	index := make([]int, n)
	for i := range index {
		index[i] = i
	}
	return index
}
