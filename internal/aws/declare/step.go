package declare

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Step is what one step of an object's life is about.
type Step struct {
	Clients *aws.Clients
	Scope   modules.Scope
	Have    modules.Row // as last read; nil for a creation
	Want    modules.Row
	Columns []string // that an update is to change
	Token   string   // of a creation
	client  any
	permit  *modules.Permit

	resource *Resource
	list     modules.ListRequest // that the step is part of, if any
	get      modules.GetRequest  // that the step is part of, if any
	index    *tagIndex           // of a listing: tags that were read together
	unread   *unread             // what a reading has to do without; nil: it does without nothing
	halfway  bool                // of the objects that are completed a call of their own has told something
}

// Recorded reports, within a listing, whether there is a record of an object: see
// [modules.ListRequest].
func (s *Step) Recorded(object modules.Row) bool { return s.list.IsRecorded(object) }

// RarelyDue reports whether what seldom changes of an object is to be read now; see [modules.ListRequest] and [Rarely].
func (s *Step) RarelyDue(object modules.Row) bool { return s.list.IsRarelyDue(object) }

// Postponed reports, within a listing, whether what is within a parent is left to a later one:
// see [modules.ListRequest].
func (s *Step) Postponed(parent string) bool { return s.list.IsPostponed(parent) }

// Selected reports, within a listing, whether it is to look for what is within a parent: see
// [modules.ListRequest].
func (s *Step) Selected(parent string) bool { return s.list.IsSelected(parent) }

// Source returns whom the step asks.
func (s *Step) Source() Source { return Source{s.client, s.list.Memo} }

// half returns the step for completing objects of which half is read.
func (s *Step) half() *Step {
	half := *s
	half.halfway = true
	return &half
}

// unread gathers the objects that a reading is not permitted to read.
type unread struct {
	lock    sync.Mutex
	read    bool // something was
	objects []modules.UnreadObject
}

// Skip has a listing go on without objects that the cloud does not permit to be read, by
// that error; identity has the columns that they are known by. Any other error it
// returns.
func (s *Step) Skip(identity modules.Row, err error) error { return s.skip(identity, nil, err) }

func (s *Step) skip(identity modules.Row, parts []string, err error) error {
	if s.unread == nil || !modules.NotPermitted(err) {
		return err
	}
	s.unread.lock.Lock()
	defer s.unread.lock.Unlock()
	s.unread.objects = append(s.unread.objects, modules.UnreadObject{Identity: identity, Parts: parts, Err: err})
	return nil
}

// sees notes that objects were read, or found not to be there.
func (s *Step) sees(n int) {
	if s.unread == nil {
		return
	}
	s.unread.lock.Lock()
	defer s.unread.lock.Unlock()
	s.unread.read = s.unread.read || n > 0
}

// err returns what was not permitted: one error for all where nothing was.
func (u *unread) err() error {
	u.lock.Lock()
	defer u.lock.Unlock()
	switch {
	case len(u.objects) == 0:
		return nil
	case !u.read:
		return u.objects[0].Err
	}
	slices.SortFunc(u.objects, func(a, b modules.UnreadObject) int { return strings.Compare(a.String(), b.String()) })
	return &modules.Unread{Objects: u.objects}
}

// Changes reports whether the step is to change one of the columns.
func (s *Step) Changes(columns ...string) bool {
	return slices.ContainsFunc(columns, func(c string) bool { return slices.Contains(s.Columns, c) })
}

// ClientOf returns the client of the step's service and region.
func ClientOf[C any](s *Step) C { return s.client.(C) }

// In returns the step with its calls going to a region.
func (s *Step) In(ctx context.Context, region string) (*Step, error) {
	there := *s
	there.Scope.Region = region
	client, err := s.resource.service.of(ctx, s.Clients, there.Scope)
	there.client = client
	return &there, err
}

// permitted returns the step with its calls permitted by another permit.
func (s *Step) permitted(ctx context.Context, p *modules.Permit) (*Step, error) {
	other := *s
	other.permit, other.Clients = p, s.Clients.Permitted(p)
	client, err := s.resource.service.of(ctx, other.Clients, other.Scope)
	other.client = client
	return &other, err
}

// Ask makes a call of the module's own that names what the step has by its keys,
// with texts in members of its input besides. It returns what its answer has
// where the call says.
func (s *Step) Ask(ctx context.Context, op *Op, members map[string]string) (any, error) {
	in := op.input()
	if err := s.name(op, in); err != nil {
		return nil, err
	}
	for member, text := range members {
		if err := putText(op, in, member, text); err != nil {
			return nil, err
		}
	}
	answer, err := resolve(op.out, op.answer)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", op.name, err)
	}
	out, err := op.run(ctx, s, in)
	if err != nil {
		return nil, err
	}
	v, ok := answer.get(out)
	if !ok {
		return nil, nil
	}
	return v.Interface(), nil
}

func putText(op *Op, in reflect.Value, member, text string) error {
	p, err := resolve(op.in, member)
	if err == nil {
		var x reflect.Value
		if x, err = conform(reflect.ValueOf(text), p.leaf); err == nil {
			p.set(in, x)
			return nil
		}
	}
	return fmt.Errorf("call %s: %w", op.name, err)
}

// name has the input of a call that is no part of the table name what the step
// has.
func (s *Step) name(op *Op, in reflect.Value) error {
	for i := range s.resource.columns {
		c := &s.resource.columns[i]
		v := s.Have[c.Name]
		if p := op.bind(c); c.key && !v.IsNull() && p != nil {
			if err := (target{column: c, path: p}).put(in, v); err != nil {
				return err
			}
		}
	}
	return nil
}
