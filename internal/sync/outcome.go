package sync

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"iasql/internal/modules"
)

// unsuccessful fills in the outcome of an operation that failed, as far as is
// known.
func (c *cycle) unsuccessful(r *running, out *Outcome, err error) {
	out.Result, out.Err = ResultFailed, err
	if len(out.Calls) > 0 && inDoubt(r.Op, err) {
		out.Result = ResultUnknown
	}
	out.State = c.failed(r.Subject, stateOf(r.Op), err)
}

// inDoubt reports whether a failed operation may have had its effect: its answer
// was lost, or it asked for a name that exists, which may be the work of its own
// first delivery.
func inDoubt(op *Op, err error) bool {
	switch modules.ClassOf(err) {
	case modules.MayHaveHappened:
		return true
	case modules.Exists:
		return op.Kind == OpCreate && !op.Replaces && op.Subject.Table.Creation == modules.ByName
	}
	return false
}

// succeed fills in the outcome of an operation that was answered with success;
// what a creation made is described later.
func (c *cycle) succeed(r *running, out *Outcome, scope modules.Scope, object modules.Row) {
	s := r.Subject
	st := s.remember(State{Name: stateOf(r.Op), Due: true})
	switch r.Kind {
	case OpCreate:
		fillScope(s.Table, scope, object)
		r.created = object
		st.Replacing = false
		if r.Replaces { // a successor that is no more as it should be must not be replaced without end
			st.Unconfirmed++
		}
	case OpUpdate:
		st.Unconfirmed++
	case OpDelete:
		if r.Replaces {
			st.Identity, st.Replacing = nil, true
		}
	}
	out.State = st
}

// describe says in database terms what creations made, all of one table and scope
// at once. An object that cannot be described exists nevertheless: it is looked
// for again.
func (c *cycle) describe(ctx context.Context, ended []finished) {
	groups := map[objectRef][]finished{}
	for _, f := range ended {
		if f.outcome != nil && f.run.Kind == OpCreate && f.outcome.Result == ResultOK {
			s := f.run.Subject
			at := objectRef{table: s.Table.Name, scope: s.Table.Scope(s.Record.Row)}
			groups[at] = append(groups[at], f)
		}
	}
	for at, made := range groups {
		c.describeAll(ctx, at.scope, made)
	}
}

// describeAll describes what creations of one table and scope made.
func (c *cycle) describeAll(ctx context.Context, scope modules.Scope, made []finished) {
	t := made[0].run.Subject.Table
	rows := make([]modules.Row, len(made))
	for i, f := range made {
		rows[i] = f.run.created.Clone()
	}
	_, failure := c.Database.ToDatabase(ctx, t, scope, rows)
	if failure != nil && len(made) > 1 { // which may be the fault of one of them (R8)
		for i := range made {
			c.describeAll(ctx, scope, made[i:i+1])
		}
		return
	}
	for i, f := range made {
		err := failure
		if err != nil {
			err = fmt.Errorf("translate the created object: %w", err)
		} else if _, ok := t.Key(rows[i]); !ok {
			err = errors.New("the creation was answered without an identity")
		}
		if err != nil {
			c.unsuccessful(f.run, f.outcome, &modules.Error{Class: modules.MayHaveHappened, Message: err.Error(), Err: err})
			continue
		}
		f.outcome.Object, f.outcome.State.Identity = rows[i], identityOf(t, rows[i])
	}
}

// identityOf returns the identity columns of a row, with account and region.
func identityOf(t *modules.Table, row modules.Row) modules.Row {
	id := modules.Row{}
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Identity || c.Name == modules.ColumnAccount || c.Name == modules.ColumnRegion {
			id[c.Name] = row[c.Name]
		}
	}
	return id
}

func stateOf(op *Op) StateName {
	switch {
	case op.Replaces:
		return StateReplacing
	case op.Kind == OpCreate:
		return StateCreating
	case op.Kind == OpUpdate:
		return StateUpdating
	}
	return StateRemoving
}

// failed returns what to remember of a record whose operation failed: healing
// errors back off, others wait for a person (design.md §6).
func (c *cycle) failed(s *Subject, name StateName, err error) *State {
	class := modules.ClassOf(err)
	st := State{Name: name, Message: message(err), Code: class.String()}
	if s.State != nil {
		st.Attempts = s.State.Attempts
	}
	st.Attempts++
	if class.Heals() && !(class == modules.NotFound && name != StateRemoving && st.Attempts >= maxNotFound) {
		st.Backoff = c.backoff(st.Attempts, err)
		return s.remember(st)
	}
	st.Review = true
	if class == modules.Exists && name == StateCreating {
		// Once it can be read it is adopted.
		st.Backoff = c.backoff(st.Attempts, err)
	}
	switch name {
	case StateCreating:
		st.Name = StateCreatingFailed
	case StateUpdating:
		st.Name = StateUpdatingFailed
	case StateRemoving:
		st.Name = StateRemovingFailed
	}
	return s.remember(st)
}

// maxNotFound is how often a creation or a change is tried that names something
// that is not there. The pauses between add up to three to four minutes: what has
// just been made is seen by then (Amazon EC2 API Reference, "Eventual
// consistency"), and what is still missing was mistyped, or is gone.
const maxNotFound = 9

// The limits of a record's backoff.
const (
	backoffBase = time.Second
	backoffCap  = 5 * time.Minute
)

// backoff returns how long to wait after the n-th failure: exponential with
// full jitter on its upper half, capped, and never less than the API asked for.
func (c *cycle) backoff(n int, err error) time.Duration {
	d := backoffCap
	if n < 10 {
		d = min(backoffBase<<(n-1), backoffCap)
	}
	d = d/2 + time.Duration(c.random()*float64(d/2))
	var e *modules.Error
	if errors.As(err, &e) && e.RetryAfter > d {
		d = e.RetryAfter
	}
	return d
}

// maxMessage bounds the error texts that are kept, in bytes.
const maxMessage = 2000

// message returns an error's text, fit for a column.
func message(err error) string {
	text := strings.ToValidUTF8(strings.ReplaceAll(err.Error(), "\x00", "\uFFFD"), "\uFFFD")
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + " … (cut)"
	}
	return text
}
