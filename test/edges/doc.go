// Package edges tests what happens when something at the edges of the system is
// not as it should be: what users have added to managed tables, what the cloud
// answers, the job queue, the disk, the clock. Each must end in an error that
// names the record and says what to do, with the rest unharmed, and heal once
// its cause is gone.
package edges
