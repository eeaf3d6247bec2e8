package postgres

import "time"

// WaitForLocks has pulls wait for locks for so long.
func (d *Database) WaitForLocks(wait time.Duration) { d.lockWait = wait }

// Advance has the accounts' own times jump forward.
func (d *Database) Advance(by time.Duration) {
	d.clocks.lock.Lock()
	defer d.clocks.lock.Unlock()
	for account, s := range d.clocks.samples {
		s.elapsed += by.Seconds()
		d.clocks.samples[account] = s
	}
}

// RecentStatement reads the entries of the consistency window.
const RecentStatement = recentStatement
