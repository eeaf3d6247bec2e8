package watch

import (
	"context"
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"iasql/internal/hosts"
)

// What of one host is kept: at most so many times at once and then every so often, and so many hints a second for long
// and at once. Of more than that, and of more than maxGathered, only the tables are kept.
const (
	timesAtOnce    = 5
	keepEvery      = 2 * time.Second
	hintsPerSecond = 5
	hintsAtOnce    = 500
	maxGathered    = 500
)

// gathered is what a host has said and is not kept yet, in memory that does not grow.
type gathered struct {
	times, hints *rate.Limiter
	wake         chan struct{} // of capacity 1

	lock sync.Mutex
	news hostNews
}

// hostNews are hints, and what is told of the watch.
type hostNews struct {
	hints              map[hosts.Hint]bool
	foreign, malformed int
	dropped            int // hints of which the tables were kept
	lacking            string
}

func newGathered() *gathered {
	return &gathered{times: rate.NewLimiter(rate.Every(keepEvery), timesAtOnce),
		hints: rate.NewLimiter(hintsPerSecond, hintsAtOnce), wake: make(chan struct{}, 1),
		news: hostNews{hints: map[hosts.Hint]bool{}}}
}

// add adds what a host says. What it says again and again to be still there is not worth keeping.
func (g *gathered) add(n hosts.News) {
	g.lock.Lock()
	defer g.lock.Unlock()
	changed := len(n.Hints) > 0 || n.Lacking != g.news.lacking
	for _, h := range n.Hints {
		g.hint(h)
	}
	g.news.foreign, g.news.malformed = g.news.foreign+n.Foreign, g.news.malformed+n.Malformed
	if g.news.lacking = n.Lacking; changed {
		g.ring()
	}
}

func (g *gathered) hint(h hosts.Hint) {
	whole := hosts.Hint{Table: h.Table}
	if g.news.hints[h] || g.news.hints[whole] {
		return
	}
	if len(g.news.hints) >= maxGathered {
		g.news.dropped++
		h = whole
	}
	if h == whole {
		maps.DeleteFunc(g.news.hints, func(other hosts.Hint, _ bool) bool { return other.Table == h.Table })
	}
	g.news.hints[h] = true
}

func (g *gathered) ring() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// await waits until there is something to keep, and it may be kept.
func (g *gathered) await(ctx context.Context) error {
	select {
	case <-g.wake:
		return g.times.Wait(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// take takes what there is to keep: no more hints than are allowed, or else their tables.
func (g *gathered) take() hostNews {
	g.lock.Lock()
	defer g.lock.Unlock()
	n := g.news
	g.news = hostNews{hints: map[hosts.Hint]bool{}, lacking: n.lacking}
	if !g.hints.AllowN(time.Now(), len(n.hints)) {
		tables := map[hosts.Hint]bool{}
		for h := range n.hints {
			tables[hosts.Hint{Table: h.Table}] = true
		}
		n.dropped += len(n.hints) - len(tables)
		n.hints = tables
	}
	return n
}

// giveBack gives back what could not be kept.
func (g *gathered) giveBack(n hostNews) {
	g.lock.Lock()
	defer g.lock.Unlock()
	for h := range n.hints {
		g.hint(h)
	}
	g.news.foreign, g.news.malformed = g.news.foreign+n.foreign, g.news.malformed+n.malformed
	g.news.dropped += n.dropped
	g.ring()
}
