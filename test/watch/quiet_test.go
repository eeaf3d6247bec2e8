package watch

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"iasql/internal/modules/all"
	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
)

var quiet = flag.Duration("quiet", 0,
	"how long to watch a quiet account with all modules: go test ./test/watch -run TestQuietMinutes -args -quiet 2m")

// A quiet account of one region with all modules, and all settings as they are, costs 20 calls
// a minute at most, long polls, the heartbeat and a share of the hourly listings included.
func TestQuietMinutes(t *testing.T) {
	if *quiet == 0 {
		t.Skip("it takes minutes: -args -quiet 2m; TestQuietWatchedAccount counts cycles instead")
	}
	w := &world{World: harness.NewWorld(t)}
	proxy := faultproxy.Start(t, w.AWS.Endpoint)
	w.Endpoint = proxy.URL
	w.Serve()
	var names []string
	for _, m := range all.Modules(nil) {
		if m.Name != "aws_account" {
			names = append(names, m.Name)
		}
	}
	w.Install([]string{"us-east-1"}, names...)
	w.makeQueue()
	w.addSource()
	w.read()
	// CloudTrail tells of the engine's own heartbeat, as of any call.
	heard := func() {
		w.send(w.event("sqs.amazonaws.com", "UntagQueue", fmt.Sprintf(`{"queueUrl": %q}`, w.queue), "null"))
	}
	heard()
	w.Eventually(20*time.Second, "the watch is relied on", func() bool {
		return w.PSQL(`SELECT state FROM iasql_event_sources`) == "ok"
	})
	count := func() (n int, by map[string]int) {
		by = proxy.Counts()
		for _, c := range by {
			n += c
		}
		return n, by
	}
	before, _ := count()
	w.PSQL(`SELECT iasql_sync_now()`)
	listed, _ := count()
	listed -= before
	// Nothing has changed for long, and everything was listed a moment ago.
	w.Admin(`UPDATE iasql_internal.listing SET changed = changed - interval '1 day'`)
	w.Settled()
	begun := time.Now()
	before, by := count()
	for beat := begun; time.Since(begun) < *quiet; time.Sleep(time.Second) {
		if n := proxy.Count("UntagQueue"); n > by["UntagQueue"] && time.Since(beat) > time.Minute {
			beat = time.Now()
			heard()
		}
	}
	minutes := time.Since(begun).Minutes()
	after, now := count()
	var calls []string
	for action, n := range now {
		if n -= by[action]; n > 0 {
			calls = append(calls, fmt.Sprint(n, " ", action))
		}
	}
	slices.Sort(calls)
	cycles := w.Admin(fmt.Sprintf(
		`SELECT count(*) FROM iasql_cycles WHERE kind = 'full' AND started > now() - interval '%f minutes'`, minutes))
	polls := float64(after-before) / minutes
	listings := float64(listed) / 60
	t.Logf("%d modules, %s tables: %.1f calls a minute for %.1f minutes with %s full cycles (%s), and a listing of "+
		"everything, %d calls, once an hour: %.1f a minute",
		len(names), w.Admin(`SELECT count(*) FROM iasql_internal.managed_table WHERE NOT settings`), polls, minutes,
		cycles, strings.Join(calls, ", "), listed, polls+listings)
	if polls+listings > 20 {
		t.Error("that is too much")
	}
}
