package postgres

import (
	gosync "sync"
	"time"
)

// clocks measure the accounts' own times: the seconds during which engines have
// looked after them. Such a time does not jump with anybody's clock, never
// runs faster than real time, and stands still while no engine is there, so that
// what has to wait (the consistency window, R6 and R13) waits long enough
// whatever the clocks do. It is kept in iasql_internal.lease, and brought
// forward at the beginning of each cycle by what the engine's own monotonic
// clock says has passed, and to the last operation in the intent log: a cycle may
// have taken long before its engine died.
type clocks struct {
	lock    gosync.Mutex
	samples map[string]sample // by account
}

// sample is an account's time at a moment of this process.
type sample struct {
	elapsed float64
	at      time.Time // with its monotonic reading
}

// now returns the account's time in seconds, as far as this process knows.
func (c *clocks) now(account string) float64 {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.samples[account].now()
}

func (s sample) now() float64 {
	if s.at.IsZero() {
		return 0
	}
	return s.elapsed + time.Since(s.at).Seconds()
}

// seen notes what the database says the account's time is.
func (c *clocks) seen(account string, elapsed float64) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if s := c.samples[account]; s.at.IsZero() || elapsed > s.now() {
		if c.samples == nil {
			c.samples = map[string]sample{}
		}
		c.samples[account] = sample{elapsed, time.Now()}
	}
}

// Elapsed returns the account's own time in seconds; 0 before its lease was
// first acquired.
func (d *Database) Elapsed(account string) float64 { return d.clocks.now(account) }
