package sync

import (
	"sync/atomic"

	"iasql/internal/decide"
)

// Headway is what a cycle is doing just now, and how far it is with that.
type Headway struct {
	Step        string // StepLook or StepApply, or "" between them
	Done, Total int
}

// The steps that take long enough to be told of.
const (
	StepLook  = "looking at objects"
	StepApply = "making changes"
)

// counter counts, in halves, what one step has done.
type counter struct {
	tell  func(Headway)
	step  string
	total int
	done  atomic.Int64
}

// count begins a step of that many objects or operations, and returns what counts them. Nobody is told of none.
func (e *Reconciler) count(step string, total int) *counter {
	n := &counter{tell: e.Tell, step: step, total: total}
	n.add(0)
	return n
}

// add counts more halves, never more than there are.
func (n *counter) add(halves int) {
	done := int(n.done.Add(int64(halves)) / 2)
	if n.tell != nil && n.total > 0 {
		n.tell(Headway{Step: n.step, Done: min(done, n.total), Total: n.total})
	}
}

// end says that the step has ended.
func (n *counter) end() {
	if n.tell != nil && n.total > 0 {
		n.tell(Headway{})
	}
}

// ofAll returns how many of the subjects are read.
func ofAll(index map[place][]*decide.Subject) (n int) {
	for _, list := range index {
		n += len(list)
	}
	return n
}
