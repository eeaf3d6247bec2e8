package aws

import (
	"context"
	"slices"

	"iasql/internal/modules"
)

// InBatches reads items, at most size a call, by a call that fails as a whole
// when one of its items does not exist. Such a batch is read again in halves,
// down to the items that are not there, which are left out.
func InBatches[T any](ctx context.Context, size int, items []T, call func(ctx context.Context, some []T) ([]modules.Row, error)) ([]modules.Row, error) {
	page, rows := Collector()
	err := Each(ctx, Breadth, slices.Collect(slices.Chunk(items, size)), func(ctx context.Context, some []T) error {
		found, err := call(ctx, some)
		switch {
		case IsNotFound(err) && len(some) > 1:
			found, err = InBatches(ctx, (len(some)+1)/2, some, call)
		case IsNotFound(err):
			return nil
		}
		if err != nil {
			return err
		}
		return page(found)
	})
	if err != nil {
		return nil, err
	}
	return rows(), nil
}
