package console

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

var cost = flag.Bool("cost", false, "measure what an open console costs an idle engine")

// What an open console may cost the engine besides: KB of memory, and a share of a processor.
const (
	mostKB    = 5 << 10
	mostShare = 0.001
)

// TestCost compares an idle engine without visitors with the same engine while somebody has the console open. It takes
// minutes: so it runs if asked, by -cost.
func TestCost(t *testing.T) {
	if !*cost {
		t.Skip("takes minutes: run with -args -cost")
	}
	w, engine, _, base := start(t, "aws_vpc", "aws_sqs")
	w.PSQL(`INSERT INTO queue (name) SELECT 'q' || i FROM generate_series(1, 50) i`, `SELECT iasql_wait_for_all(120)`)
	time.Sleep(time.Minute) // until it is idle
	const window = 2 * time.Minute
	without, idle := used(t, engine.PID(), window)

	v := newVisitor(t, base)
	if status := v.signIn(w.UserURL); status != http.StatusSeeOther {
		t.Fatalf("signing in: %d", status)
	}
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	for range 2 { // two pages that are open, as browsers keep them
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, v.base+"/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		stream := *v.client
		stream.Timeout = 0
		answer, err := stream.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
	}
	for _, path := range []string{"/", "/records", "/records/queue", "/records/queue/1", "/map", "/changes", "/batches"} {
		v.get(path)
	}
	time.Sleep(20 * time.Second)
	with, busy := used(t, engine.PID(), window)
	t.Logf("without: %d KB, %.3f %% of a processor; with: %d KB, %.3f %%", without, 100*idle, with, 100*busy)
	if with-without > mostKB || busy-idle > mostShare {
		t.Errorf("the open console takes %d KB and %.3f %% of a processor more", with-without, 100*(busy-idle))
	}
}

// used is the resident memory of a process, in KB, at the end of a time, and its share of a processor during it (proc(5)).
func used(t *testing.T, pid int, window time.Duration) (kb int, share float64) {
	t.Helper()
	ticks := func() (n int) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		for _, field := range strings.Fields(rest)[11:13] { // utime and stime, in 1/100 s
			v, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			n += v
		}
		return n
	}
	before := ticks()
	time.Sleep(window)
	share = float64(ticks()-before) / 100 / window.Seconds()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	if kb, err = strconv.Atoi(strings.Fields(rest)[0]); err != nil {
		t.Fatal(err)
	}
	return kb, share
}
