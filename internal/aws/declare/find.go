package declare

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"iasql/internal/modules"
)

// Source is whom a listing asks.
type Source struct {
	Client any           // of the service
	Memo   *modules.Memo // of the listings of the cycle; nil: nothing is remembered
}

// Find returns what a listing finds that a filter with these values lets
// through, of any number of them; all there is where the filter is "". It is
// what the code beside a declaration lists by.
func Find[T any](ctx context.Context, from Source, l *Listing, filter string, values ...string) ([]T, error) {
	if all, ok, err := among[T](ctx, from, l, filter, values); ok || err != nil {
		return all, err
	}
	var (
		one sync.Mutex // page may be called by several at once
		all []T
	)
	for _, some := range batches(filter, values) {
		in := l.start()
		if filter != "" {
			addFilter(in, filter, some)
		}
		err := l.each(ctx, from.step(), in, func(_ string, items reflect.Value) error {
			one.Lock()
			defer one.Unlock()
			for _, object := range l.objects(items) {
				all = append(all, object.Interface().(T))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// among returns what a filter lets through of a whole listing, which other tables of
// the cycle need as well and which is remembered for them. It is false where nothing
// is remembered, and where the listing is too long for that.
func among[T any](ctx context.Context, from Source, l *Listing, filter string, values []string) (found []T, ok bool,
	err error) {
	memo, member := from.Memo, l.local[filter]
	if memo == nil || member == "" || from.Client == nil || l.parent != nil || l.by != nil || len(values) == 0 {
		return nil, false, nil
	}
	whole, ok := l.asked(from.Client, l.start())
	if !ok {
		return nil, false, nil
	}
	type tooLong struct{ call }
	if _, long := memo.Get(tooLong{whole}); long {
		return nil, false, nil
	}
	if _, known := memo.Get(whole); !known {
		if err := l.one(ctx, from.step(), l.start(), func(reflect.Value) error {
			return errOnePage
		}); err != nil && !errors.Is(err, errOnePage) {
			return nil, false, err
		}
		if _, known = memo.Get(whole); !known {
			memo.Put(tooLong{whole}, true, 0)
			return nil, false, nil
		}
	}
	err = l.one(ctx, from.step(), l.start(), func(items reflect.Value) error {
		for _, object := range l.objects(items) {
			if shows(object, member, values) {
				found = append(found, object.Interface().(T))
			}
		}
		return nil
	})
	return found, true, err
}

// step returns a step that asks it.
func (f Source) step() *Step { return &Step{client: f.Client, list: modules.ListRequest{Memo: f.Memo}} }

// errOnePage ends a listing after its first page.
var errOnePage = errors.New("one page is enough")

// shows reports whether an object has one of the values at a path.
func shows(object reflect.Value, member string, values []string) bool {
	p, err := resolve(object.Type(), member)
	if err != nil {
		return false
	}
	v, ok := p.get(object)
	if v, there := indirect(v); ok && there {
		if v.Kind() != reflect.Slice {
			return slices.Contains(values, fmt.Sprint(v.Interface()))
		}
		for i := range v.Len() {
			if one, there := indirect(v.Index(i)); there && slices.Contains(values, fmt.Sprint(one.Interface())) {
				return true
			}
		}
	}
	return false
}

// batches returns as many of the values a time as a filter may have.
func batches(filter string, values []string) [][]string {
	if filter == "" {
		return [][]string{nil}
	}
	return slices.Collect(slices.Chunk(distinct(values), filterValues))
}
