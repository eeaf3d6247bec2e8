package sync

import (
	"context"
	"errors"
	"fmt"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// running is an operation under way.
type running struct {
	*decide.Op
	made    int64  // how many creations for its record have ended
	token   string // to make a creation again with; "" for one that is made for the first time
	request string // that an earlier call has begun; "" for none that is known
	// accompanied: other operations of the plan are made at the same time.
	accompanied bool
	done        chan struct{} // closed when the outcome is in the database
	ending      ending
	outcome     store.Outcome  // of what was called
	waiting     decide.Waiting // of what is blocked or postponed
	created     modules.Row    // what a creation returned, in cloud terms
	// unlogged: whether the intent log has the operation is not known.
	unlogged bool
}

// ending is how far an operation came.
type ending int

const (
	underWay  ending = iota
	called           // its calls were made, or tried: it has an outcome
	postponed        // what it depends on was created, and is completed first: the next pass looks again
	blocked          // what it depends on did not succeed: it waits
	refused          // the intent log did not take it, so that nothing was called: the next cycle looks again
)

// succeeded reports whether those that depend on the operation may go on.
func (r *running) succeeded() bool {
	return r.ending == called && r.outcome.Result == decide.ResultOK
}

// succeed fills in the outcome of an operation that was answered with success;
// what a creation made is described later.
func (c *cycle) succeed(r *running, object modules.Row) {
	if r.Kind == decide.OpCreate {
		fillScope(r.Subject.Table, r.outcome.Scope, object)
		r.created = object
	}
	r.outcome.Result, r.outcome.State = decide.ResultOK, r.Succeeded()
}

// fail fills in the outcome of an operation that failed, as far as is known.
func (c *cycle) fail(r *running, err error) {
	r.outcome.Result, r.outcome.Err = decide.ResultFailed, err
	if len(r.outcome.IDs) > 0 && r.InDoubt(err) {
		r.outcome.Result = decide.ResultUnknown
	}
	r.Subject.Mistyped = r.Subject.Misnames(err, c.recent)
	r.outcome.State = r.Subject.Failed(r.State(), err, c.jitter)
}

// describe says in database terms what creations made, all of one table and scope
// at once. An object that cannot be described exists nevertheless: it is looked
// for again.
func (c *cycle) describe(ctx context.Context, ended []*running) {
	groups := map[place][]*running{}
	for _, r := range ended {
		if r.Kind == decide.OpCreate && r.succeeded() {
			at := place{r.Subject.Table.Name, r.outcome.Scope}
			groups[at] = append(groups[at], r)
		}
	}
	for at, made := range groups {
		c.describeAll(ctx, at.scope, made)
	}
}

// describeAll describes what creations of one table and scope made.
func (c *cycle) describeAll(ctx context.Context, scope modules.Scope, made []*running) {
	t := made[0].Subject.Table
	rows := make([]modules.Row, len(made))
	for i, r := range made {
		rows[i] = r.created.Clone()
	}
	failure := c.Store.ToDatabase(ctx, t, scope, rows)
	if failure != nil && len(made) > 1 { // which may be the fault of one of them (R8)
		for i := range made {
			c.describeAll(ctx, scope, made[i:i+1])
		}
		return
	}
	for i, r := range made {
		err := failure
		if err != nil {
			err = fmt.Errorf("translate the created object: %w", err)
		} else if _, ok := t.Key(rows[i]); !ok {
			err = errors.New("the creation was answered without an identity")
		}
		if err != nil {
			c.fail(r, &modules.Error{Class: modules.MayHaveHappened, Message: err.Error(), Err: err})
			continue
		}
		r.outcome.Object, r.outcome.State.Identity = rows[i], decide.IdentityOf(t, rows[i])
	}
}
