package aws

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"iasql/internal/modules"
)

// Breadth is how many objects are read at the same time by APIs that read one
// object a call. The account's bound on calls holds besides.
const Breadth = 16

// Each calls fn for every item, at most limit at a time, and returns the first
// error, which ends the context of the others.
func Each[T any](ctx context.Context, limit int, items []T, fn func(ctx context.Context, item T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(limit)
	for _, item := range items {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err // the first error has been noted before
			}
			return fn(ctx, item)
		})
	}
	return group.Wait()
}

// Together runs calls that do not depend on each other at the same time and
// returns the first error, which ends the context of the others.
func Together(ctx context.Context, calls ...func(ctx context.Context) error) error {
	return Each(ctx, max(1, len(calls)), calls, func(ctx context.Context, call func(context.Context) error) error {
		return call(ctx)
	})
}

// Paginator is what the SDK's paginators have in common.
type Paginator[Output, Options any] interface {
	HasMorePages() bool
	NextPage(ctx context.Context, optFns ...func(*Options)) (*Output, error)
}

// Pages gives every page of a listing to page and returns the first error. A listing that
// does not end is one ([Paging]).
func Pages[Output, Options any](ctx context.Context, p Paginator[Output, Options], page func(*Output) error) error {
	asking := Paging(ctx)
	for p.HasMorePages() {
		out, err := p.NextPage(asking)
		if err != nil {
			return err
		}
		if err := page(out); err != nil {
			return err
		}
	}
	return nil
}

// Collector returns a page function that appends all rows to one list, and that
// list.
func Collector() (page func([]modules.Row) error, rows func() []modules.Row) {
	var (
		mu  sync.Mutex
		all []modules.Row
	)
	return func(some []modules.Row) error {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, some...)
			return nil
		}, func() []modules.Row {
			mu.Lock()
			defer mu.Unlock()
			return all
		}
}

// Column returns the non-NULL values that rows hold in a column.
func Column(rows []modules.Row, name string) []string {
	values := make([]string, 0, len(rows))
	for _, row := range rows {
		if v := row[name]; !v.IsNull() {
			values = append(values, v.String())
		}
	}
	return values
}

// IsNotFound reports whether the cloud has said that there is no such object.
func IsNotFound(err error) bool {
	return err != nil && modules.ClassOf(err) == modules.NotFound
}

// IfExists returns nil for an error that says that the object does not exist,
// which is what deleting it was to achieve.
func IfExists(err error) error {
	if IsNotFound(err) {
		return nil
	}
	return err
}

// Keep returns the error of a deletion that is refused because of why, which is
// what the resource's Protected says; nil if why is "". AWS would do some of
// these deletions, and the account would be broken by them.
func Keep(why string) error {
	if why == "" {
		return nil
	}
	return &modules.Error{Class: modules.Invalid, Code: "Protected", Message: "is not deleted from here: " + why}
}

// Wanted returns the rows with these identities, each once: for objects that
// are read together with others.
func Wanted(t *modules.Table, rows, identities []modules.Row) []modules.Row {
	wanted := make(map[string]bool, len(identities))
	for _, identity := range identities {
		if key, ok := t.Key(identity); ok {
			wanted[key] = true
		}
	}
	var found []modules.Row
	for _, row := range rows {
		if key, _ := t.Key(row); wanted[key] {
			wanted[key] = false
			found = append(found, row)
		}
	}
	return found
}
