package declare

import (
	"context"
	"reflect"
	"slices"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// What is not read: of objects that have just been created what that tells, of objects in a listing what their turn has
// not come for, and before creations all but the names that are taken.

// born fills in the columns of a reading of an object that has just been created, if the creation tells them all.
func (r *Resource) born(f *found, reading *reading, sent modules.Row) bool {
	full := r.description.Creation == modules.ByTag && len(sent[modules.ColumnTags].StringMap()) >= aws.MostTags
	tags := !full && r.create != nil && r.tags != nil && r.tags.tagging.created(r.create.in)
	for _, t := range reading.columns {
		_, untouched := sent[t.column.Name]
		if !untouched || t.column.tagging != nil && !tags || t.column.tagging == nil && !t.column.hasBorn {
			return false
		}
	}
	for _, t := range reading.columns {
		if t.column.tagging != nil {
			f.tags = sent[modules.ColumnTags].StringMap()
			f.row[modules.ColumnTags] = aws.TagValue(f.tags)
		} else {
			f.row[t.column.Name] = t.column.born
		}
	}
	return true
}

// Enumerates implements [modules.Enumerator]: the listing tells the identity, and takes a call for many objects.
func (r *Resource) Enumerates() bool {
	if r.list.by != nil || r.list.parent != nil || r.home != nil || r.get.way != byCall && r.get.way != byOwn {
		return false
	}
	for _, column := range r.description.Identity() {
		told := func(t target) bool { return t.column.Name == column }
		named := func(n name) bool { return n.column == column }
		if column != modules.ColumnAccount && column != modules.ColumnRegion && !slices.ContainsFunc(r.direct, told) &&
			!slices.ContainsFunc(r.list.names, named) {
			return false
		}
	}
	return true
}

// Enumerate implements [modules.Enumerator].
func (r *Resource) Enumerate(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	s, err := r.step(ctx, scope)
	if err != nil {
		return err
	}
	return r.list.each(ctx, s, r.list.start(), func(_ string, items reflect.Value) error {
		var identities []modules.Row
		if len(r.list.names) > 0 {
			for i := range items.Len() {
				item, _ := indirect(items.Index(i))
				row, err := r.list.identify(r.byName, item)
				if err != nil {
					return err
				}
				identities = append(identities, row)
			}
			return page(identities)
		}
		for _, object := range r.list.objects(items) {
			f := &found{row: modules.Row{}}
			if err := r.fill(f, r.direct, object); err != nil {
				return err
			}
			identities = append(identities, r.identityOf(f.row))
		}
		return page(identities)
	})
}

// IsPaced implements [modules.Paced]: objects are read over several listings where each takes calls of its
// own, none of which tells whether it is being made, has failed or is on its way out; and tags
// that a further call reads of several.
func (r *Resource) IsPaced() bool {
	if r.list.later {
		return true
	}
	bulk := r.tags != nil && r.tags.tagging.bulk != nil
	if r.row != nil || r.rows != nil || r.failed != nil || r.unready != nil {
		return bulk && len(r.apart) == 0 && len(r.list.names) == 0
	}
	for _, reading := range r.apart {
		for _, name := range reading.names() {
			if name == r.going.Column || name == r.forming.Column {
				return false
			}
		}
	}
	if len(r.list.names) > 0 && r.get.way == byCall {
		return r.going.Column == "" && r.forming.Column == ""
	}
	return len(r.apart) > 0 || bulk
}

// turn reports whether what the listing does not tell of an object is to be read.
func (r *Resource) turn(s *Step, identity modules.Row) bool {
	return s.index == nil || r.list.later || !r.IsPaced() || s.list.IsDue(identity)
}
