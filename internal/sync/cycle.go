package sync

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	gosync "sync"
	"time"

	"iasql/internal/modules"
)

// Kind is how much a cycle looks at.
type Kind string

// The kinds of cycles.
const (
	Full Kind = "full" // everything: finds what changed in the cloud
	Push Kind = "push" // only records with pending changes or a state
)

// Engine runs cycles. Its fields must not change while it does.
type Engine struct {
	Database Database
	Registry *modules.Registry
	Log      *slog.Logger
	// Concurrency bounds the operations of one cycle that are under way at
	// once. 0 means 16.
	Concurrency int
	// Random returns a number in [0,1) for jitter; nil means math/rand.
	Random func() float64
	// ReadOnly: cycles decide and plan but never apply; pulls are held back
	// too, and Report.Steps lists everything that would have been done (R9,
	// R10).
	ReadOnly bool
	// Turn is how long a cycle goes on looking for more: where users never stop,
	// others have their turn too. 0 means 5 s; a negative one has no end before
	// MaxPasses.
	Turn time.Duration
	// Serial: nothing runs concurrently, for reproducible simulation.
	Serial bool
	// Wanted, if not nil, asks a full cycle that is listing to push what users
	// have committed since. It may be left unread: who asks has to look at it when
	// the cycle has ended.
	Wanted <-chan struct{}
}

// MaxPasses bounds the passes of one cycle; what is left then is for the next.
const MaxPasses = 24

// cycle is the state of one run.
type cycle struct {
	*Engine
	lease     Lease
	kind      Kind
	settings  Settings
	tables    []*modules.Table // parents first
	rank      map[string]int
	own       ownIndex
	tokens    map[RecordRef]string // of creations that may have happened
	asked     map[RecordRef]bool   // names asked for whose creation is in doubt; asking again does no harm
	undecided map[RecordRef]bool   // creations whose effect is still being looked for
	destroyed map[string]Destroyed // by table: what the cycle has deleted or replaced, for R7
	refused   map[RecordRef]bool   // by Begin: not to be tried again in this cycle
	locked    map[string]error     // tables that are left out of the cycle, and why
	above     map[string]bool      // tables that those refer to
	// hold are the tables and scopes in which an object without a record may be
	// one of undecided: it is neither inserted nor deleted.
	hold   map[objectRef]bool
	report report

	// gate is held for reading by the parts of a listing, and by what is pushed
	// between them for changing what is above.
	gate     gosync.RWMutex
	listings map[*listing]bool  // under way
	touched  map[RecordRef]bool // by this cycle's steps; of a listing: by what was pushed meanwhile
	served   bool               // something was
	outdated bool               // and by other rules than the listing began with
	broken   error              // what it made may be there without the database's knowing
}

func newCycle(e *Engine, lease Lease, kind Kind) *cycle {
	return &cycle{Engine: e, lease: lease, kind: kind, tokens: map[RecordRef]string{}, undecided: map[RecordRef]bool{}, asked: map[RecordRef]bool{},
		destroyed: map[string]Destroyed{}, refused: map[RecordRef]bool{}, hold: map[objectRef]bool{}, rank: map[string]int{}, touched: map[RecordRef]bool{}, listings: map[*listing]bool{}}
}

// Cycle makes the account's cloud and tables equal as far as it can, and
// reports what it did. It returns an error only when the cycle as a whole could
// not go on; what fails for one record stays with it (R8). A cycle may be
// abandoned at any instant.
func (e *Engine) Cycle(ctx context.Context, lease Lease, kind Kind) (Report, error) {
	c := newCycle(e, lease, kind)
	err := c.run(ctx)
	return c.report.Report, err
}

func (c *cycle) run(ctx context.Context) error {
	if err := c.prepare(ctx); err != nil {
		return err
	}
	if err := c.recoverJournal(ctx); err != nil {
		return err
	}
	var steps []Step
	if c.kind == Full {
		found, err := c.scan(ctx)
		if err != nil {
			return err
		}
		steps = found
	}
	for begun := time.Now(); ; {
		c.report.count(func(r *Report) { r.Passes++ })
		due, err := c.snapshot(ctx, c.kind == Full && c.report.Passes == 1)
		if err != nil {
			return err
		}
		due = c.decidable(due)
		steps = newest(steps, due)
		if err := c.claims(ctx, due); err != nil {
			return err
		}
		if err := c.observe(ctx, due); err != nil {
			return err
		}
		for _, s := range due {
			steps = append(steps, Step{s, Decide(s, c.policy(s))})
		}
		if steps, err = c.expandReplacements(ctx, steps); err != nil {
			return err
		}
		if c.ReadOnly {
			c.report.Steps = append(c.report.Steps, steps...)
			return nil
		}
		if c.kind == Push {
			c.touch(steps)
		}
		progressed, err := c.carryOut(ctx, steps)
		if err != nil {
			return err
		}
		if !progressed {
			return nil
		}
		if c.report.Passes == MaxPasses || c.Turn >= 0 && time.Since(begun) >= c.turn() {
			c.report.More = true
			return nil
		}
		steps = nil
	}
}

// prepare reads what holds for the whole cycle.
func (c *cycle) prepare(ctx context.Context) error {
	installed, err := c.Database.Tables(ctx)
	if err != nil {
		return fmt.Errorf("read installed tables: %w", err)
	}
	locked := map[string]error{}
	for _, t := range installed {
		if res := c.Registry.Resource(t.Name); res != nil {
			c.tables = append(c.tables, res.Table())
		}
		if t.Locked != nil {
			locked[t.Name] = t.Locked
		}
	}
	c.tables = modules.Order(c.tables)
	if err := c.leaveOut(locked); err != nil {
		return err
	}
	for i, t := range c.tables {
		c.rank[t.Name] = i
	}
	if c.settings, err = c.Database.Policy(ctx, c.lease.Account); err != nil {
		return fmt.Errorf("read settings and modes: %w", err)
	}
	return c.readOwnWrites(ctx)
}

func (c *cycle) readOwnWrites(ctx context.Context) error {
	writes, err := c.Database.OwnWrites(ctx, c.lease.Account)
	if err != nil {
		return fmt.Errorf("read own writes: %w", err)
	}
	c.own = indexOwn(writes)
	return nil
}

func (c *cycle) policy(s *Subject) Policy {
	return Policy{
		Rules:         c.settings.Rules,
		HoldConflicts: c.settings.HoldConflicts,
		Imported:      c.settings.Imported[s.Table.Name],
	}
}

// newest leaves out the steps of records that have been read again since.
func newest(steps []Step, due []*Subject) []Step {
	if len(steps) == 0 {
		return steps
	}
	again := make(map[RecordRef]bool, len(due))
	for _, s := range due {
		again[s.Ref()] = again[s.Ref()] || !s.Garbage
	}
	return slices.DeleteFunc(steps, func(step Step) bool { return step.Subject.RecordID != 0 && again[step.Subject.Ref()] })
}

// decidable leaves out the subjects that have an object or not, nobody knows
// yet: deciding anything about them, even that a deletion is done with, would
// be a guess.
func (c *cycle) decidable(subjects []*Subject) []*Subject {
	if len(c.undecided) == 0 && len(c.asked) == 0 {
		return subjects
	}
	return slices.DeleteFunc(subjects, func(s *Subject) bool {
		return !s.Garbage && (c.undecided[s.Ref()] || s.Record == nil && c.asked[s.Ref()])
	})
}

// carryOut does what was decided: pulls and settlements first, then the
// operations. It reports whether anything was written, so that another pass is
// worth while.
func (c *cycle) carryOut(ctx context.Context, steps []Step) (bool, error) {
	pulled, err := c.pullAndSettle(ctx, steps)
	if err != nil {
		return false, err
	}
	var pushes []Step
	for _, step := range steps {
		if step.Decision.Action.Pushes() && c.pushable(step.Subject) {
			pushes = append(pushes, step)
		}
	}
	plan := NewPlan(pushes)
	if err := c.settleWaiting(ctx, plan.Waiting); err != nil {
		return false, err
	}
	if len(plan.Ops) == 0 {
		return pulled, nil
	}
	if stop, err := c.guard(ctx, plan); err != nil || stop {
		return false, err
	}
	applied, err := c.apply(ctx, plan)
	return pulled || applied, err
}

// pushable reports whether operations of the subject may be tried now.
func (c *cycle) pushable(s *Subject) bool {
	return s.due() && !c.undecided[s.Ref()] && !c.refused[s.Ref()]
}

// due reports whether the subject may be acted upon now: it does not back off.
func (s *Subject) due() bool { return s.State == nil || s.State.Due }

// guard is R7 before the first operation of a plan.
func (c *cycle) guard(ctx context.Context, plan Plan) (stop bool, err error) {
	if c.lease.Reviewed {
		return false, nil
	}
	why := plan.Guard(c.settings.Deletes, c.destroyed, func(table string) int {
		n, countErr := c.Database.Count(ctx, table, c.lease.Account)
		err = errors.Join(err, countErr)
		return n
	})
	if err != nil || why == "" {
		return false, err
	}
	c.report.Stopped = why
	settlements := make([]Settlement, 0, len(plan.Ops))
	for _, op := range plan.Ops {
		if !op.destroys() || op.Subject.RecordID == 0 {
			continue
		}
		state := StateRemoving
		if op.Replaces {
			state = StateUpdatingFailed
		}
		settlements = append(settlements, Settlement{
			Subject: op.Subject,
			State: op.Subject.remember(State{
				Name: state, Review: true, Code: "delete_guard",
				Message: "this cycle " + why + "; nothing was done. If that is meant, raise the setting or commit the change in a batch after looking at its preview",
			}),
		})
	}
	return true, c.Database.Settle(ctx, c.lease, settlements)
}

// remember returns st with what must outlive it from the subject's state.
func (s *Subject) remember(st State) *State {
	if s.State != nil {
		st.Identity, st.Replacing = s.State.Identity, s.State.Replacing
		if st.Unconfirmed == 0 {
			st.Unconfirmed = s.State.Unconfirmed
		}
	}
	if st.Identity == nil && st.Name.stands() && s.inserted() && s.Presence == Present && !s.Table.AssignedIdentity() {
		// The INSERT met this object. Its row may be given another name before
		// both are seen to agree.
		st.Identity = identityOf(s.Table, s.Object)
	}
	if st.FailedAt == 0 {
		st.FailedAt = s.Change.Latest()
	}
	return &st
}

func (e *Engine) random() float64 {
	if e.Random != nil {
		return e.Random()
	}
	return rand.Float64() // #nosec G404 -- jitter, no secret
}

func (e *Engine) turn() time.Duration {
	if e.Turn > 0 {
		return e.Turn
	}
	return 5 * time.Second
}

func (e *Engine) concurrency() int {
	switch {
	case e.Serial:
		return 1
	case e.Concurrency > 0:
		return e.Concurrency
	}
	return 16
}
