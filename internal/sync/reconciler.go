package sync

import (
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/otel/trace"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/store"
)

// Reconciler runs cycles. Its fields must not change while it does.
type Reconciler struct {
	Store    store.Store
	Registry *modules.Registry
	// Worlds say who accounts are (R27).
	Worlds modules.Worlds
	// Concurrency bounds the operations of one cycle that are under way at
	// once. 0 means 16.
	Concurrency int
	// Random returns a number in [0,1) for jitter; nil means math/rand.
	Random decide.Jitter
	// ReadOnly: cycles decide and plan but never apply; pulls are held back
	// too, and Report.Steps lists everything that would have been done (R9,
	// R10).
	ReadOnly bool
	// PullOnly: cycles pull, and change nothing in the cloud.
	PullOnly bool
	// TimeSlice is how long a cycle goes on looking for more: where users never
	// stop, others have their turn too. 0 means 5 s; a negative one has no end
	// before MaxPasses.
	TimeSlice time.Duration
	// Serial: nothing runs concurrently, for reproducible simulation.
	Serial bool
	// Sparing: a full cycle lists only what is due ([store.Settings].MaxStaleness).
	Sparing bool
	// Patient: nobody waits for the cycle, which leaves more of the cloud's rates to others.
	Patient bool
	// Hinted: a full cycle lists nothing but what events hint at.
	Hinted bool
	// Rest is how long a full cycle took not long ago, if that was longer than the
	// interval of the schedule. A sparing cycle leaves the account's rates alone for as
	// long, but for what is due anyway.
	Rest time.Duration
	// Only, if not empty, are the tables that a full cycle lists, besides those that
	// they refer to.
	Only []string
	// Progress is called whenever the cycle gets on, by many at once; nil is not. Calls to the cloud it need not be
	// told of.
	Progress func()
	// Strict: a cycle changes nothing if something that it is to push will certainly not be done
	// ([decide.Decision].Refused), and reports that.
	Strict bool
	// Tell is told what the cycle is doing, and how far it is with that, by many at once; nil is not.
	Tell func(Headway)
	// Tracer is told of the steps and operations of cycles, below the span of the
	// context that a cycle is given; nil is not.
	Tracer trace.Tracer
	// Preempt, if not nil, asks a full cycle that is listing to push what users
	// have committed since. It may be left unread: who asks has to look at it when
	// the cycle has ended.
	Preempt <-chan struct{}
	// Errands has a full cycle that is listing run other cycles of the account. What is not
	// taken from it by then has to wait for its end.
	Errands <-chan *Errand
}

func (e *Reconciler) jitter() float64 {
	if e.Random != nil {
		return e.Random()
	}
	return rand.Float64() // #nosec G404 -- jitter, no secret
}

func (e *Reconciler) timeSlice() time.Duration {
	if e.TimeSlice > 0 {
		return e.TimeSlice
	}
	return 5 * time.Second
}

func (e *Reconciler) concurrency() int {
	switch {
	case e.Serial:
		return 1
	case e.Concurrency > 0:
		return e.Concurrency
	}
	return 16
}
