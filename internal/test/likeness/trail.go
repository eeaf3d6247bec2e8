package likeness

import (
	"cmp"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"iasql/internal/test/faultproxy"
)

// Trail is what CloudTrail does: it records the calls that pass, and EventBridge takes the
// records to where rules say. AWS promises neither an order, nor that a record comes once,
// nor that it comes (EventBridge User Guide, "Event delivery levels": events of CloudTrail
// come at least once; EventBridge's quotas; CloudTrail User Guide, "How CloudTrail works":
// a record takes minutes at worst).
type Trail struct {
	// Delay is how long after the call its record comes, Jitter how much longer at most:
	// with it, records overtake each other.
	Delay, Jitter time.Duration
	// Lose and Double are the shares of records that never come, and that come twice.
	Lose, Double float64
	// Reads has reading calls recorded, too. Only rules in the state
	// ENABLED_WITH_ALL_CLOUDTRAIL_MANAGEMENT_EVENTS get those.
	Reads bool
	// Each is given every record that there is, as EventBridge would send it.
	Each func(event []byte)

	emulator emulator
	callers  sync.Map // identities by access key
	rules    ruleCache
	under    sync.WaitGroup

	lock    sync.Mutex
	stopped bool
	random  *rand.Rand
	counts  Recorded
	failed  []string
	kept    map[string][]record // by account and region, for Deliver
	keep    bool
}

// Recorded are how many records there have been so far: of calls, that were lost, that came
// twice, and messages that targets got.
type Recorded struct{ Calls, Lost, Doubled, Sent int }

// Record begins to record what passes the likeness. Rules and targets are those that the
// emulator's EventBridge has, in every region and account.
func (l *Likeness) Record(trail *Trail) {
	trail.emulator = emulator(l.endpoint)
	trail.random = rand.New(rand.NewPCG(1, 2)) // #nosec G404 -- the same each time
	trail.kept = map[string][]record{}
	l.Proxy.Observe(trail.observe)
	l.t.Cleanup(trail.stop)
}

// Counts returns how much there has been so far.
func (t *Trail) Counts() Recorded {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.counts
}

// Failures returns what could not be sent, and why.
func (t *Trail) Failures() []string {
	t.lock.Lock()
	defer t.lock.Unlock()
	return append([]string(nil), t.failed...)
}

// Wait waits until all that has been recorded has been sent.
func (t *Trail) Wait() { t.under.Wait() }

func (t *Trail) stop() {
	t.lock.Lock()
	t.stopped = true
	t.lock.Unlock()
	t.under.Wait()
}

// observe records a call.
func (t *Trail) observe(c faultproxy.Call, a faultproxy.Answer) {
	operation, request, ok := operationOf(c)
	if !ok || unrecorded(c.Service, operation) || reads(operation) && !t.Reads {
		return
	}
	at := time.Now().UTC()
	c.Header = c.Header.Clone()
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.stopped {
		return
	}
	t.counts.Calls++
	times := 1
	switch luck := t.random.Float64(); {
	case luck < t.Lose:
		times = 0
		t.counts.Lost++
	case luck < t.Lose+t.Double:
		times = 2
		t.counts.Doubled++
	}
	delays := make([]time.Duration, times)
	for i := range delays {
		delays[i] = t.Delay + time.Duration(t.random.Float64()*float64(t.Jitter))
	}
	if times == 0 && !t.keep && t.Each == nil {
		return
	}
	t.under.Add(1)
	go func() {
		defer t.under.Done()
		r := t.record(c, a, operation, request, at)
		t.remember(r)
		if t.Each != nil {
			event, err := json.Marshal(r.event())
			if err != nil {
				t.fail(err.Error())
			}
			t.Each(event)
		}
		for _, delay := range delays {
			t.under.Add(1)
			time.AfterFunc(time.Until(at.Add(delay)), func() {
				defer t.under.Done()
				t.deliver(r)
			})
		}
	}()
}

// identity is who has an access key.
type identity struct{ account, arn, id string }

// caller asks who made a call.
func (t *Trail) caller(c faultproxy.Call) identity {
	key := accessKey(c.Header)
	if known, ok := t.callers.Load(key); ok {
		return known.(identity)
	}
	answer := t.emulator.query(Call{Call: c}, "sts", "GetCallerIdentity")
	who := identity{member(answer, "Account"), member(answer, "Arn"), member(answer, "UserId")}
	who.account = cmp.Or(who.account, "123456789012")
	if answer != "" {
		t.callers.Store(key, who)
	}
	return who
}

func (t *Trail) fail(why string) {
	t.lock.Lock()
	defer t.lock.Unlock()
	if len(t.failed) < 100 {
		t.failed = append(t.failed, why)
	}
}

// accessKey returns the access key that a call is signed with.
func accessKey(header http.Header) string {
	if m := credential.FindStringSubmatch(header.Get("Authorization")); m != nil {
		return m[1]
	}
	return ""
}
