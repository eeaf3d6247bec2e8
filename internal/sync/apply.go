package sync

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	gosync "sync"
	"time"

	"github.com/google/uuid"

	"iasql/internal/modules"
)

// running is an operation under way.
type running struct {
	*Op
	done    chan struct{} // closed when the outcome is in the database
	ok      bool
	created modules.Row // what a creation returned, in cloud terms
	doubt   bool        // whether the journal has the operation is not known
}

// apply runs a plan: every operation after those it depends on, independent
// ones side by side. Outcomes are written in batches, and an operation counts
// as done only when its outcome is in the database. One that fails leaves
// those that depend on it waiting (R8).
//
// It reports whether any call was made; without one, another pass would only
// meet the same refusals.
func (c *cycle) apply(ctx context.Context, plan Plan) (called bool, err error) {
	ops := make(map[*Op]*running, len(plan.Ops))
	for _, op := range plan.Ops {
		ops[op] = &running{Op: op, done: make(chan struct{})}
	}
	if c.Serial {
		for _, op := range plan.Ops {
			r := ops[op]
			out, waiting := c.runOp(ctx, r, ops)
			called = called || out != nil
			if err := c.finish(ctx, []finished{{r, out, waiting}}); err != nil {
				return called, err
			}
		}
		return called, nil
	}
	var (
		results = make(chan finished)
		slots   = make(chan struct{}, c.concurrency())
		wg      gosync.WaitGroup
	)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, op := range plan.Ops {
		r := ops[op]
		wg.Go(func() {
			for _, before := range r.After {
				select {
				case <-ops[before].done:
				case <-ctx.Done():
					return
				}
			}
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			out, waiting := c.runOp(ctx, r, ops)
			<-slots
			select {
			case results <- finished{r, out, waiting}:
			case <-ctx.Done():
			}
		})
	}
	go func() {
		wg.Wait()
		close(results)
	}()
	var failure error
	for first := range results {
		batch := []finished{first}
		runtime.Gosched() // to those that have just ended, too
		for more := true; more && len(batch) < 256; {
			select {
			case next, open := <-results:
				if open {
					batch = append(batch, next)
				}
				more = open
			default:
				more = false
			}
		}
		for _, f := range batch {
			called = called || f.outcome != nil
		}
		if failure != nil {
			continue
		}
		if failure = c.finish(ctx, batch); failure != nil {
			cancel(failure)
		}
	}
	if failure == nil {
		failure = context.Cause(ctx)
	}
	return called, failure
}

type finished struct {
	run     *running
	outcome *Outcome // nil: nothing was called
	waiting *Waiting
}

// finish writes a batch of outcomes and lets the operations that wait for them
// go on.
func (c *cycle) finish(ctx context.Context, batch []finished) error {
	c.describe(ctx, batch)
	var outcomes []Outcome
	var waiting []Waiting
	for _, f := range batch {
		if f.outcome != nil {
			outcomes = append(outcomes, *f.outcome)
		}
		if f.waiting != nil {
			waiting = append(waiting, *f.waiting)
		}
	}
	if len(outcomes) > 0 {
		if err := c.Database.Finish(ctx, c.lease, outcomes); err != nil {
			return fmt.Errorf("record outcomes: %w", err)
		}
	}
	if err := c.settleWaiting(ctx, waiting); err != nil {
		return err
	}
	for _, f := range batch {
		if f.outcome == nil && f.waiting == nil {
			c.refused[f.run.Subject.Ref()] = true
		}
		if f.outcome != nil {
			switch f.outcome.Result {
			case ResultOK:
				c.report.count(func(r *Report) { r.Pushed++ })
			default:
				c.report.fail(f.run.Subject.Ref(), f.run.Subject.Scope, f.outcome.Err)
			}
			if f.outcome.Result == ResultOK || f.outcome.Result == ResultUnknown {
				c.noteOwn(f.run, f.outcome)
			}
			if f.outcome.Result != ResultFailed && f.run.destroys() {
				d := c.destroyed[f.run.Subject.Table.Name]
				d.add(f.run.Op)
				c.destroyed[f.run.Subject.Table.Name] = d
			}
			if f.run.Kind == OpCreate && (f.outcome.Result == ResultUnknown || f.run.doubt) {
				// A later pass of this cycle must not create again (R6); the next
				// cycle looks for what this call did.
				s := f.run.Subject
				c.undecide(s.Ref(), s.Table.Scope(s.Record.Row))
			}
			f.run.ok = f.outcome.Result == ResultOK
		}
		close(f.run.done)
	}
	return nil
}

// noteOwn adds a write of this very cycle to the own writes, so that the next
// pass knows it.
func (c *cycle) noteOwn(r *running, out *Outcome) {
	w := LoggedWrite{
		OwnWrite: OwnWrite{Kind: r.Kind, Unsure: out.Result == ResultUnknown, Columns: r.changes(), UpTo: r.Subject.Change.Latest()},
		Record:   r.Subject.Ref(), Scope: r.Subject.Scope,
	}
	if out.Result == ResultUnknown && r.Kind == OpCreate {
		return // recovery finds out
	}
	for _, id := range out.Calls {
		w.ID = max(w.ID, id)
	}
	identity := r.Subject.Object
	if r.Kind == OpCreate {
		identity = out.Object
	}
	w.Key, _ = r.Subject.Table.Key(identity)
	if r.Kind == OpCreate {
		w.Scope = r.Subject.Table.Scope(identity)
	}
	if w.Record.ID != 0 {
		c.own.byRecord[w.Record] = append(c.own.byRecord[w.Record], w)
	}
	if w.Key != "" {
		ref := objectRef{w.Record.Table, w.Scope, w.Key}
		c.own.byObject[ref] = append(c.own.byObject[ref], w)
	}
}

// changes returns the columns the operation writes, without the values of
// secrets (R16).
func (op *Op) changes() map[string]ValueChange {
	changes := map[string]ValueChange{}
	s := op.Subject
	for i := range s.Table.Columns {
		col := &s.Table.Columns[i]
		var v ValueChange
		switch op.Kind {
		case OpUpdate:
			if !contains(op.Columns, col.Name) {
				continue
			}
			v = ValueChange{From: s.Object[col.Name], To: s.Record.Row[col.Name]}
			if _, recorded := s.Object[col.Name]; col.References != nil && !col.References.ByKey && (!recorded || s.Stranded[col.Name]) {
				v.Named = s.Cloud[col.Name]
			}
		case OpCreate:
			if col.Assigned || col.Local || contains(op.Omit, col.Name) || s.Record.Row[col.Name].IsNull() {
				continue
			}
			v = ValueChange{To: s.Record.Row[col.Name]}
		default:
			// An object of a chosen name may be followed by another of that name:
			// how this one looked tells them apart (see showsPredecessor).
			if op.Kind != OpDelete || s.Table.AssignedIdentity() || col.Assigned || col.WriteOnly || s.Stranded[col.Name] || col.Name == modules.ColumnAccount {
				continue
			}
			v = ValueChange{From: s.Object[col.Name]}
		}
		if col.WriteOnly {
			v = ValueChange{}
		}
		changes[col.Name] = v
	}
	return changes
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// opJournal journals the calls of one operation.
type opJournal struct {
	c     *cycle
	call  LoggedCall
	lock  gosync.Mutex
	calls []int64
	err   error // a refusal or a failure of the journal itself
}

// Begin implements [modules.Journal].
func (j *opJournal) Begin(ctx context.Context, call modules.Call) (func(error), error) {
	entry := j.call
	entry.Call = call
	id, err := j.c.Database.Begin(ctx, j.c.lease, entry)
	j.lock.Lock()
	defer j.lock.Unlock()
	if err != nil {
		j.err = err
		return nil, err
	}
	j.calls = append(j.calls, id)
	j.c.report.count(func(r *Report) { r.Calls++ })
	return func(error) {}, nil
}

// leastToSend is how long a call may always wait for its turn. A window that is
// shorter than twice that is for clouds that are not loaded.
const leastToSend = 5 * time.Second

// runOp makes the calls of one operation and says how it ended. It returns a
// Waiting instead when something it depends on did not succeed.
func (c *cycle) runOp(ctx context.Context, r *running, ops map[*Op]*running) (*Outcome, *Waiting) {
	s := r.Subject
	for _, before := range r.After {
		if b := ops[before]; !b.ok {
			on := b.Subject.Ref()
			return nil, &Waiting{Subject: s, On: on, Reason: fmt.Sprintf("waits for %s %d, which failed", on.Table, on.ID)}
		}
	}
	scope := s.Scope
	if r.Kind == OpCreate {
		scope = s.Table.Scope(s.Record.Row)
	}
	key := ""
	if r.Kind != OpCreate { // what it makes is not known yet
		identity, _ := s.Identity()
		key, _ = s.Table.Key(identity)
	}
	j := &opJournal{c: c, call: LoggedCall{
		Record: s.Ref(), Kind: r.Kind, Scope: scope, Key: key, Columns: r.changes(),
		UpTo: s.Change.Latest(), Replaces: r.Replaces,
	}}
	if r.Kind == OpCreate {
		j.call.Token = c.token(s.Ref())
	}
	// Half of the window in which it is to have its effect (see LoggedOp.Settled)
	// is for sending it.
	ctx = modules.SendWithin(modules.WithMutations(ctx, j), max(c.settings.ConsistencyWindow/2, leastToSend))
	object, err := c.call(ctx, r, ops, scope, j.call.Token)
	out := &Outcome{Calls: j.calls, Subject: s, Kind: r.Kind, Replaces: r.Replaces, Result: ResultOK, Err: err}
	if err == nil {
		c.succeed(r, out, scope, object)
		return out, nil
	}
	if j.err != nil && len(j.calls) == 0 && (errors.Is(j.err, ErrRefused) || errors.Is(j.err, ErrLeaseLost)) {
		return nil, nil // nothing was called: the next cycle looks again
	}
	r.doubt = j.err != nil
	c.unsuccessful(r, out, err)
	return out, nil
}

// call makes the operation's calls.
func (c *cycle) call(ctx context.Context, r *running, ops map[*Op]*running, scope modules.Scope, token string) (modules.Row, error) {
	s := r.Subject
	res := c.Registry.Resource(s.Table.Name)
	switch r.Kind {
	case OpCreate:
		want, err := c.want(ctx, r, ops)
		if err != nil {
			return nil, err
		}
		return res.(modules.Creator).Create(ctx, scope, want, token)
	case OpUpdate:
		want, err := c.want(ctx, r, ops)
		if err != nil {
			return nil, err
		}
		return nil, res.(modules.Updater).Update(ctx, scope, s.Cloud, want, r.Columns)
	default:
		return nil, res.(modules.Deleter).Delete(ctx, scope, s.Cloud)
	}
}

// want returns what the record asks for, in cloud terms: parents created by
// this very plan included.
func (c *cycle) want(ctx context.Context, r *running, ops map[*Op]*running) (modules.Row, error) {
	s := r.Subject
	want := s.Record.Row.Clone()
	for i := range s.Table.Columns {
		col := &s.Table.Columns[i]
		ref := col.References
		if ref == nil || ref.ByKey || want[col.Name].IsNull() {
			continue
		}
		if contains(r.Omit, col.Name) {
			want[col.Name] = modules.Null
			continue
		}
		key := s.RefKeys[col.Name]
		for _, before := range r.After {
			b := ops[before]
			if b.Kind == OpCreate && b.Subject.Table.Name == ref.Table && b.Subject.RecordID == want[col.Name].Int() {
				key = b.created[ref.Key]
			}
		}
		want[col.Name] = key
	}
	return want, nil
}

func (c *cycle) token(ref RecordRef) string {
	if token, ok := c.tokens[ref]; ok {
		return token
	}
	return uuid.NewString()
}
