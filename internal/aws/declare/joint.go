package declare

import (
	"context"
	"sync"
	"time"

	"iasql/internal/modules"
)

// moment is how long a call waits for more requests: the operations of a plan are begun side by side.
const moment = 20 * time.Millisecond

// Joint has requests that are made at the same time made by one call, where the API
// takes several: AWS counts calls, and not what is in them. Those of one scope may go
// together whose K is equal: what a call has once. Each request is in the intent log by
// itself before the call is made (R6), and has an outcome of its own.
//
// A request waits for as long as a call of its kind is under way, and then a moment for others if
// its plan has others ([modules.Permit.Accompanied]): those that the end of that call has let begin.
type Joint[K comparable, In, Out any] struct {
	// Most is how many requests go with one call.
	Most int
	// Send makes one call for all of them, by the client of a step that is permitted it. It
	// returns what came of each, parallel to them, or that the call failed. It is called for
	// one alone, too.
	Send func(ctx context.Context, s *Step, of K, some []In) ([]Result[Out], error)
	// Alone reports whether an error of a call for several says that it was refused, which
	// may be the fault of one of them. Each is then made by itself, so that it fails for
	// its own fault only (R8). nil means [Refused].
	Alone func(error) bool

	lock    sync.Mutex
	waiting map[joined[K]][]*request[In, Out] // of those at work, which go with the next call
}

// joined is what requests that go by one call have in common.
type joined[K comparable] struct {
	scope modules.Scope
	of    K
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
	step   *Step
	entry  modules.Entry
	in     In
	result Result[Out]
	done   chan struct{}
}

// Do makes a request of a step's, together with others of the same kind. call is what the
// intent log knows it by.
func (j *Joint[K, In, Out]) Do(ctx context.Context, s *Step, call modules.Call, of K, in In) (Out, error) {
	one := &request[In, Out]{ctx: ctx, step: s, in: in, done: make(chan struct{})}
	err := s.permit.Do(ctx, call, func(entry modules.Entry) error {
		one.entry = entry
		j.join(joined[K]{s.Scope, of}, one)
		<-one.done
		return one.result.Err
	})
	return one.result.Out, err
}

// join adds a request to those that go with the next call of its kind.
func (j *Joint[K, In, Out]) join(of joined[K], one *request[In, Out]) {
	j.lock.Lock()
	defer j.lock.Unlock()
	if j.waiting == nil {
		j.waiting = map[joined[K]][]*request[In, Out]{}
	}
	waiting, atWork := j.waiting[of]
	j.waiting[of] = append(waiting, one)
	if !atWork {
		go j.work(of, one.step.permit.Accompanied)
	}
}

// work makes the requests of a kind until there are none left.
func (j *Joint[K, In, Out]) work(of joined[K], wait bool) {
	for {
		if wait && j.few(of) {
			time.Sleep(moment)
		}
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
		j.make(of.of, some[:n])
	}
}

// few reports whether some requests are waiting, and a call could take more.
func (j *Joint[K, In, Out]) few(of joined[K]) bool {
	j.lock.Lock()
	defer j.lock.Unlock()
	n := len(j.waiting[of])
	return 0 < n && n < j.Most
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

// send makes some requests by one call, and returns why it failed. It may be sent for as
// long as the oldest of them may, and what the cloud calls it is told to each.
func (j *Joint[K, In, Out]) send(of K, some []*request[In, Out]) error {
	ins, oldest := make([]In, len(some)), some[0]
	for i, one := range some {
		ins[i] = one.in
		if one.entry.Before(oldest.entry) {
			oldest = one
		}
	}
	permit := oldest.entry.Permit()
	permit.OnRequest = func(request string) {
		for _, one := range some {
			one.entry.Requested(request)
		}
	}
	results, err := j.sendBy(oldest, permit, of, ins)
	for i, one := range some {
		one.result = Result[Out]{Err: err}
		if err == nil {
			one.result = results[i]
		}
	}
	return err
}

func (j *Joint[K, In, Out]) sendBy(one *request[In, Out], permit *modules.Permit, of K,
	ins []In) ([]Result[Out], error) {
	s, err := one.step.permitted(one.ctx, permit)
	if err != nil {
		return nil, err
	}
	return j.Send(one.ctx, s, of, ins)
}
