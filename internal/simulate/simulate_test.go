package simulate

import (
	"flag"
	"runtime"
	gosync "sync"
	"sync/atomic"
	"testing"
	"time"
)

var (
	seeds = flag.Int("seeds", 20000, "schedules to run")
	from  = flag.Uint64("from", 1, "seed of the first schedule")
	keep1 = flag.Int("failures", 1, "violations to find before the test ends")
)

// TestSimulate runs schedules on all processors.
func TestSimulate(t *testing.T) {
	n := *seeds
	if testing.Short() {
		n = min(n, 2000)
	}
	var next, ran atomic.Int64
	var wg gosync.WaitGroup
	failures := make(chan error, 1000)
	begun := time.Now()
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				i := next.Add(1) - 1
				if i >= int64(n) || len(failures) >= *keep1 {
					return
				}
				if err := Run(*from + uint64(i)); err != nil {
					select {
					case failures <- err:
					default:
					}
				}
				ran.Add(1)
			}
		})
	}
	wg.Wait()
	took := time.Since(begun)
	close(failures)
	for err := range failures {
		t.Errorf("%v", err)
	}
	t.Logf("%d schedules in %s: %.0f a second", ran.Load(), took.Round(time.Millisecond),
		float64(ran.Load())/took.Seconds())
}
