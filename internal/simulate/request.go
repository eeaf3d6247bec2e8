package simulate

import (
	"context"
	"fmt"
	"time"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// Jobs are made as AWS Cloud Control API makes what it is asked for: the answer to a creation
// names a request, which goes on. How it ends is asked by that name, and by the client token
// nothing is begun twice. The object is there before the request has ended, as that of most
// services is; one that was refused may be refused when it is asked how far it is, only.

// request is a creation that goes on after its answer.
type request struct {
	ends time.Duration
	made *object
	err  error
}

// mostRequest is how long a request takes at most: longer than a cycle waits for it, and
// than the consistency window.
const mostRequest = 2 * window

// begin begins the request to make an object, and returns its name.
func (c *cloud) begin(t *modules.Table, scope modules.Scope, want modules.Row, token string, who decide.RecordRef,
	takes time.Duration) string {
	name := "request-" + token
	if c.requests[name] == nil {
		made, err := c.create(t, scope, want, token, who)
		c.requests[name] = &request{ends: c.w.now + takes, made: made, err: err}
	}
	return name
}

// createRequested makes an object by a request.
func (r resource) createRequested(ctx context.Context, m modules.Mutation) (modules.Row, error) {
	run := runOf(ctx)
	name := m.Pending
	if name == "" {
		err := run.mutate(ctx, &m, "Create", r.table, func(call *decide.Intent) error {
			destroys := run.w.check.creating(run, call, m.Want)
			takes := time.Duration(run.rng.Float64() * run.rng.Float64() * float64(mostRequest))
			name = run.w.cloud.begin(r.table, m.Scope, m.Want, m.Token, call.Record, takes)
			began := run.w.cloud.requests[name]
			run.w.check.madeOnce(call, began.made)
			if began.err == nil && destroys {
				run.deletes++
			}
			if began.err != nil && run.chance(0.5) { // said at once
				return began.err
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if err := m.Permit.Note(ctx, name); err != nil {
			return nil, &modules.Error{Class: modules.MayHaveHappened, Message: err.Error(), Err: err}
		}
	}
	return r.await(run, name)
}

// await asks how far a request is, and gives up after a while.
func (r resource) await(run *run, name string) (modules.Row, error) {
	for range 3 {
		if err := run.call("Status " + r.table.Name); err != nil {
			return nil, err
		}
		if run.chance(run.spec.Faults) {
			break
		}
		asked := run.w.cloud.requests[name]
		switch {
		case asked == nil:
			return nil, failure(modules.MayHaveHappened, "RequestForgotten")
		case run.w.now < asked.ends:
			continue
		case asked.err != nil:
			return nil, &modules.Error{Class: modules.ClassOf(asked.err), Code: "Failed", Message: asked.err.Error(),
				Ended: true}
		}
		run.w.trace("      %s has made %s", name, asked.made.key)
		return modules.Row{r.table.Identity()[0]: modules.Text(asked.made.key)}, nil
	}
	return nil, failure(modules.MayHaveHappened, "InProgress")
}

// Note implements [store.Noter].
func (r *run) Note(_ context.Context, lease store.Lease, id int64, request string) error {
	return r.write("Note", func() error { return r.w.db.note(lease, id, request) })
}

// note adds the request to an entry of the intent log.
func (db *database) note(lease store.Lease, id int64, request string) error {
	if lease.Fence != db.fence || id < 1 || id > int64(len(db.ops)) {
		return fmt.Errorf("note request %s of operation %d: %w", request, id, store.ErrLeaseLost)
	}
	db.ops[id-1].Request = request
	db.wrote("request")
	return nil
}
