package chaos

import (
	"flag"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"iasql/internal/test/harness"
)

var (
	length = flag.Duration("for", time.Minute, "how long faults and edits last")
	factor = flag.Int("likeness", 0,
		"have AWS's likeness in front of the emulator, in which things take as long as AWS says divided by this; 0: "+
			"the emulator alone")
	seed = flag.Uint64("seed", uint64(time.Now().UnixNano()),
		"of the random choices; what happens also depends on timing")
)

func TestMain(m *testing.M) { harness.Main(m) }

// TestChaos: nothing lost, nothing doubled, nothing deleted that nobody
// deleted, whatever goes wrong.
func TestChaos(t *testing.T) {
	t.Logf("-for %s -likeness %d -seed %d", *length, *factor, *seed)
	w := newWorld(t)
	random := func(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(*seed, stream)) }

	var actors sync.WaitGroup
	stop := make(chan struct{})
	act := func(f func(stop <-chan struct{})) {
		actors.Go(func() { f(stop) })
	}
	w.began = time.Now()
	w.weather.fair.Store(false) // whoever sees this sees when it began, too
	for i := range users {
		act(func(stop <-chan struct{}) { w.user(i, random(uint64(10+i)), stop) })
	}
	var inBatches []*batcher
	for i := range batchers {
		b := newBatcher(w, users+i, random(uint64(20+i)))
		inBatches = append(inBatches, b)
		act(b.act)
	}
	outsider := newOutsider(w)
	act(func(stop <-chan struct{}) { outsider.act(random(1), stop) })
	act(func(stop <-chan struct{}) { w.forge(random(7), stop) })
	killer := newKiller(w)
	act(func(stop <-chan struct{}) { killer.act(random(2), stop) })
	act(func(stop <-chan struct{}) { w.breakDatabase(random(3), stop) })
	act(func(stop <-chan struct{}) { w.cutConnections(random(4), stop) })
	act(func(stop <-chan struct{}) { w.fillDisk(random(5), stop) })
	act(func(stop <-chan struct{}) { w.jumpClock(random(6), stop) })
	time.Sleep(*length)
	close(stop)
	actors.Wait()
	w.weather.fair.Store(true)
	w.allConnect()
	for _, b := range inBatches {
		b.finish()
	}
	w.check(outsider)
	w.report(outsider, killer)
	w.reportEvents()
	killer.check(*length)
}
