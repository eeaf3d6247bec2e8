package declare

import (
	"context"
	"reflect"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Delete implements [modules.Deleter].
func (r *Resource) Delete(ctx context.Context, m modules.Mutation) error {
	if err := aws.Keep(r.Protected(m.Have)); err != nil {
		return err
	}
	if r.going.Holds(m.Have) {
		return nil
	}
	s, err := r.stepFor(ctx, &m)
	if err != nil {
		return err
	}
	if s.Have, err = r.named(ctx, s, m.Have); err != nil || s.Have == nil {
		return err
	}
	if err := aws.Keep(r.Protected(s.Have)); err != nil { // it may have been read only now
		return err
	}
	if r.going.Holds(s.Have) {
		return nil
	}
	if s, err = r.at(ctx, s, reflect.Value{}, s.Have); err != nil {
		return aws.IfExists(err)
	}
	if r.removeBy != nil {
		return aws.IfExists(r.removeBy(ctx, s))
	}
	return aws.IfExists(s.Delete(ctx))
}

// named returns have with what the deletion names the object by: where only the
// identity is known of it, and that is not what the call takes, the object is
// read, and so it is where the table wants it. It returns nil if there is none.
func (r *Resource) named(ctx context.Context, s *Step, have modules.Row) (modules.Row, error) {
	known := !r.reread
	for _, t := range r.keys[r.remove] {
		known = known && !have[t.column.Name].IsNull()
	}
	if known {
		return have, nil
	}
	all, err := r.read(ctx, s, []modules.Row{have})
	if err != nil {
		return nil, err
	}
	wanted := aws.Wanted(r.description, rows(all), []modules.Row{have}) // others may be read along
	if len(wanted) == 0 {
		return nil, nil
	}
	read := wanted[0].Clone()
	for i := range r.columns {
		if c := &r.columns[i]; c.Column.Local { // which only the database knows
			if v, told := have[c.Name]; told {
				read[c.Name] = v
			}
		}
	}
	return read, nil
}

// Delete deletes the object that the step has by the table's call. One that is
// on its way out already, for which AWS refuses it, is let go.
func (s *Step) Delete(ctx context.Context) error {
	r := s.resource
	err := r.send(ctx, s, r.remove, nil, nil)
	if r.going.Column == "" || err == nil || modules.ClassOf(err) != modules.Dependency {
		return err
	}
	all, failed := r.Get(ctx, modules.GetRequest{Scope: s.Scope, Identities: []modules.Row{s.Have}})
	if failed == nil && (len(all) == 0 || all[0].Phase == modules.Going) {
		return nil
	}
	return err
}
