package hosts

import (
	"testing"
	"time"
)

// TestConsistencyWindow: that somebody has put back what the engine has changed is believed after seconds on a host,
// whatever the setting is for worlds whose reads lag.
func TestConsistencyWindow(t *testing.T) {
	t.Parallel()
	w := local(t)
	w.Admin(`UPDATE iasql_settings SET value = '10 minutes' WHERE name = 'consistency_window'`)
	w.write("etc/motd", "before")
	w.sync()
	w.PSQL(`UPDATE host_file SET content = 'after' WHERE path = '/etc/motd'`)
	w.Settled()
	w.has("etc/motd", "after")
	w.write("etc/motd", "before")
	w.Eventually(30*time.Second, "the row to have what is there again", func() bool {
		w.sync()
		return w.PSQL(`SELECT content FROM host_file WHERE path = '/etc/motd'`) == "before"
	})
	w.has("etc/motd", "before")
}
