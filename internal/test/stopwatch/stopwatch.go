// Package stopwatch measures how long something takes on a machine that other tests keep
// busy meanwhile, so that a limit says what the product may take and not how many tests
// run beside each other.
package stopwatch

import (
	"os"
	"regexp"
	"strconv"
	"time"
)

// atLeast is the part of the time that counts however busy the machine is.
const atLeast = 0.25

// Watch is a running stopwatch.
type Watch struct {
	begun   time.Time
	stalled time.Duration
}

// Start starts one.
func Start() Watch { return Watch{begun: time.Now(), stalled: stalled()} }

// Elapsed returns the time since the start.
func (w Watch) Elapsed() time.Duration { return time.Since(w.begun) }

// Took returns the time since the start, less that in which some process of the machine
// waited for a processor, and a quarter of it at least. Where the system does not say how
// busy it is (it is no Linux, or has no pressure stall information), it is all the time.
func (w Watch) Took() time.Duration {
	elapsed := w.Elapsed()
	return counts(elapsed, stalled()-w.stalled)
}

// Share returns which part of the time since the start counts, between a quarter and 1: for
// times within it that were measured otherwise.
func (w Watch) Share() float64 {
	elapsed := w.Elapsed()
	return max(atLeast, min(1, float64(counts(elapsed, stalled()-w.stalled))/float64(max(elapsed, 1))))
}

func counts(elapsed, stalled time.Duration) time.Duration {
	return max(elapsed-stalled, time.Duration(atLeast*float64(elapsed)))
}

// The first line: some avg10=0.15 avg60=8.86 avg300=42.36 total=17524213737
var some = regexp.MustCompile(`^some .*total=([0-9]+)`)

// stalled returns for how long processes have waited for a processor since the system
// started (https://docs.kernel.org/accounting/psi.html: total is in microseconds).
func stalled() time.Duration {
	said, err := os.ReadFile("/proc/pressure/cpu")
	if err != nil {
		return 0
	}
	found := some.FindSubmatch(said)
	if found == nil {
		return 0
	}
	n, err := strconv.ParseInt(string(found[1]), 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(n) * time.Microsecond
}
