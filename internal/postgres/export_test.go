package postgres

import "time"

// WaitForLocks has pulls wait for locks for so long.
func (d *Database) WaitForLocks(wait time.Duration) { d.lockWait = wait }
