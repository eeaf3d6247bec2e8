package chaos

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"iasql/internal/test/faultproxy"
)

// weather decides what becomes of calls to AWS.
type weather struct {
	fair atomic.Bool // no faults
	lull func() bool // nor while this holds, but for what waits at a kill point

	lock   sync.Mutex
	random *rand.Rand
	counts map[string]int
	point  atomic.Pointer[func(e *engine, c faultproxy.Call) *faultproxy.Fault] // a kill point being waited for
}

func newWeather(seed uint64) *weather {
	w := &weather{random: rand.New(rand.NewPCG(seed, 99)), counts: map[string]int{}}
	w.fair.Store(true)
	return w
}

// fault is what becomes of a call. Codes are those of the EC2 and SQS error
// references.
func (w *weather) fault(e *engine, c faultproxy.Call) faultproxy.Fault {
	if w.fair.Load() {
		return faultproxy.Fault{}
	}
	if point := w.point.Load(); point != nil {
		if f := (*point)(e, c); f != nil {
			return *f
		}
	}
	if w.lull() {
		return faultproxy.Fault{}
	}
	read := strings.HasPrefix(c.Action, "Describe") || strings.HasPrefix(c.Action, "List") ||
		strings.HasPrefix(c.Action, "Get")
	w.lock.Lock()
	defer w.lock.Unlock()
	roll := w.random.Float64()
	for _, f := range []struct {
		name   string
		chance float64
		fault  faultproxy.Fault
		reads  bool // only reads
	}{
		{"throttled", 0.03, faultproxy.Fault{Status: 503, Code: "RequestLimitExceeded",
			Message: "Request limit exceeded."}, false},
		{"unavailable", 0.02, faultproxy.Fault{Status: 503, Code: "ServiceUnavailable", Message: "Service Unavailable"},
			false},
		{"internal error", 0.01, faultproxy.Fault{Status: 500, Code: "InternalError",
			Message: "An internal error has occurred"}, false},
		{"cut before", 0.015, faultproxy.Fault{Cut: true}, false},
		{"cut after", 0.02, faultproxy.Fault{Lose: true}, false},
		{"truncated", 0.01, faultproxy.Fault{Truncate: true}, false},
		{"denied", 0.005, faultproxy.Fault{Status: 403, Code: "UnauthorizedOperation",
			Message: "You are not authorized to perform this operation."}, false},
		{"expired", 0.003, faultproxy.Fault{Status: 400, Code: "ExpiredToken",
			Message: "The security token included in the request is expired"}, false},
		{"stale", 0.04, faultproxy.Fault{Stale: 2 * time.Second}, true},
		{"delayed", 0.03, faultproxy.Fault{Before: w.delay(), After: w.delay()}, false},
		{"hung", 0.0002, faultproxy.Fault{After: func() { time.Sleep(70 * time.Second) }, Lose: true}, true},
	} {
		if roll -= f.chance; roll < 0 {
			if f.reads && !read {
				break
			}
			w.counts[f.name]++
			return f.fault
		}
	}
	return faultproxy.Fault{}
}

func (w *weather) delay() func() {
	d := time.Duration(w.random.IntN(700)) * time.Millisecond
	return func() { time.Sleep(d) }
}

func (w *weather) String() string {
	w.lock.Lock()
	defer w.lock.Unlock()
	var parts []string
	for name, n := range w.counts {
		parts = append(parts, fmt.Sprintf("%d %s", n, name))
	}
	sort.Strings(parts)
	return strings.Join(parts, ", ")
}
