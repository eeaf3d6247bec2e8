package declare

import (
	"context"
	"reflect"
	"slices"
	"sync"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// RowOf returns the row of an object as the API answers it, with what takes no
// further call.
func RowOf[T any](ctx context.Context, r *Resource, object T) (modules.Row, error) {
	bare := r.bare(false)
	bare.row = r.row
	all, err := bare.complete(ctx, &Step{Clients: r.clients, resource: r},
		[]reflect.Value{reflect.ValueOf(&object).Elem()}, func(int) string { return "" })
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0].row, nil
}

// Objects gives the objects of a table to page, as their listing has them; of a
// listing of names, and where owners are asked for, as Get has them. Nothing is read of
// them besides. identity names the object of each owner, nil where that does not
// tell: then all are given. All are where no owners are asked for. Calls of page wait
// for each other.
func Objects[T any](ctx context.Context, r *Resource, asked aws.MembersRequest, identity func(key string) modules.Row,
	page func([]*T) error) error {
	s, err := r.stepOf(ctx, asked.Scope, asked.Waited)
	if err != nil {
		return err
	}
	s.list.Memo = asked.Memo
	keys := asked.Owners
	bare := r.bare(false)
	var one sync.Mutex
	give := func(all []*found) error {
		objects := make([]*T, len(all))
		for i, f := range all {
			objects[i] = pointer[T](f.object)
		}
		one.Lock()
		defer one.Unlock()
		return page(objects)
	}
	identities := make([]modules.Row, len(keys))
	for i, key := range keys {
		identities[i] = identity(key)
	}
	if keys == nil || slices.ContainsFunc(identities, func(row modules.Row) bool { return row == nil }) {
		if items, err := resolve(r.list.out, r.list.items); r.list.by == nil && err == nil &&
			r.list.yields(items.leaf.Elem(), r.object) == nil {
			list := *r.list // which tells more than names
			list.names = nil
			bare.list = &list
		}
		return bare.listing(ctx, s, bare.list.start(), give)
	}
	all, err := bare.read(ctx, s, identities)
	if err != nil {
		return err
	}
	return give(all)
}

// Lists is what [aws.Memberships] asks for where the owners of the lists are the
// objects of a table: list returns that of an object, and identity names the
// object of an owner, see [Objects].
func Lists[T any](r *Resource, identity func(owner string) modules.Row,
	list func(*T) aws.MemberList) func(context.Context, aws.MembersRequest, func([]aws.MemberList) error) error {
	return func(ctx context.Context, asked aws.MembersRequest, page func([]aws.MemberList) error) error {
		return Objects(ctx, r, asked, identity, func(objects []*T) error {
			var lists []aws.MemberList
			for _, object := range objects {
				if l := list(object); asked.Owners == nil || slices.Contains(asked.Owners, l.Owner) {
					lists = append(lists, l)
				}
			}
			return page(lists)
		})
	}
}

// Identity has keys be the values of the one identity column.
func Identity(column string) func(key string) modules.Row {
	return func(key string) modules.Row { return modules.Row{column: modules.Text(key)} }
}
