package declare

import (
	"context"
	"sync"
	"time"

	"iasql/internal/modules"
)

// moment is how long the first request of a call waits for others: the operations of a
// plan are begun side by side.
const moment = 20 * time.Millisecond

// Joint has requests that are made at the same time made by one call, where the API
// takes several: AWS counts calls, and not what is in them. K tells which requests may go
// together: the client, and what else a call has once. Each request is in the intent log by
// itself before the call is made (R6), and has an outcome of its own.
//
// A request waits a moment for others only if its plan has others ([modules.Accompanied]),
// and for as long as a call of its kind is under way.
type Joint[K comparable, In, Out any] struct {
	// Most is how many requests go with one call.
	Most int
	// Send makes one call for all of them. It returns what came of each, parallel to
	// them, or that the call failed. It is called for one alone, too.
	Send func(ctx context.Context, of K, some []In) ([]Result[Out], error)
	// Alone reports whether an error of a call for several says that it was refused, which
	// may be the fault of one of them. Each is then made by itself, so that it fails for
	// its own fault only (R8). nil means [Refused].
	Alone func(error) bool

	lock    sync.Mutex
	waiting map[K][]*request[In, Out] // of those at work, which go with the next call
}

// Refused reports whether an error says that a call was looked at and refused for what it
// asks for.
func Refused(err error) bool {
	switch modules.ClassOf(err) {
	case modules.NotFound, modules.Exists, modules.Dependency, modules.Invalid, modules.Quota:
		return true
	}
	return modules.NotPermitted(err) // which may depend on the object
}

// Result is what came of one of the requests that went by one call.
type Result[Out any] struct {
	Out Out
	Err error
}

// request is one request, and what came of it.
type request[In, Out any] struct {
	ctx    context.Context
	began  time.Time // before it was in the intent log
	in     In
	result Result[Out]
	done   chan struct{}
}

// journaled is the journal of a call whose entries are in the intent log already.
type journaled struct{}

// Begin implements [modules.Journal].
func (journaled) Begin(context.Context, modules.Call) (func(error), error) {
	return func(error) {}, nil
}

// Do makes a request, together with others of the same kind. call is what the intent log
// knows it by.
func (j *Joint[K, In, Out]) Do(ctx context.Context, call modules.Call, of K, in In) (Out, error) {
	one := &request[In, Out]{began: time.Now(), in: in, done: make(chan struct{})}
	err := modules.Mutate(ctx, call, func(ctx context.Context) error {
		one.ctx = modules.WithMutations(ctx, journaled{})
		j.join(of, one, modules.Accompanied(ctx))
		<-one.done
		return one.result.Err
	})
	return one.result.Out, err
}

// join adds a request to those that go with the next call of its kind.
func (j *Joint[K, In, Out]) join(of K, one *request[In, Out], accompanied bool) {
	j.lock.Lock()
	defer j.lock.Unlock()
	if j.waiting == nil {
		j.waiting = map[K][]*request[In, Out]{}
	}
	waiting, atWork := j.waiting[of]
	j.waiting[of] = append(waiting, one)
	if !atWork {
		go j.work(of, accompanied)
	}
}

// work makes the requests of a kind until there are none left.
func (j *Joint[K, In, Out]) work(of K, wait bool) {
	if wait {
		time.Sleep(moment)
	}
	for {
		j.lock.Lock()
		some := j.waiting[of]
		if len(some) == 0 {
			delete(j.waiting, of)
			j.lock.Unlock()
			return
		}
		n := min(j.Most, len(some))
		j.waiting[of] = some[n:]
		j.lock.Unlock()
		j.make(of, some[:n])
	}
}

// make makes some requests by one call, or each by one if that is refused.
func (j *Joint[K, In, Out]) make(of K, some []*request[In, Out]) {
	alone := j.Alone
	if alone == nil {
		alone = Refused
	}
	failed := j.send(of, some)
	apart := len(some) > 1 && failed != nil && alone(failed)
	for i, one := range some {
		if apart {
			_ = j.send(of, some[i:i+1])
		}
		close(one.done)
	}
}

// send makes some requests by one call, and returns why it failed. The oldest of them
// says until when it may be sent ([modules.SendWithin]).
func (j *Joint[K, In, Out]) send(of K, some []*request[In, Out]) error {
	ins, oldest := make([]In, len(some)), some[0]
	for i, one := range some {
		ins[i] = one.in
		if one.began.Before(oldest.began) {
			oldest = one
		}
	}
	results, err := j.Send(oldest.ctx, of, ins)
	for i, one := range some {
		one.result = Result[Out]{Err: err}
		if err == nil {
			one.result = results[i]
		}
	}
	return err
}
