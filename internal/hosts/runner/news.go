package runner

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds of what is kept of changes.
const (
	maxNews  = 1000            // things that have changed and are not told yet: then only their kinds are kept
	maxTold  = 4000            // things of which is known when they were told
	toldOnce = 3 * time.Second // one thing is told again no sooner
)

// news gathers what has changed until it is told, in memory that does not grow.
type news struct {
	wake chan struct{} // of capacity 1: there is something to tell

	lock      sync.Mutex
	changed   map[Changed]bool
	told      map[Changed]time.Time
	unwatched map[string]*Failure
}

func newNews() *news {
	return &news{wake: make(chan struct{}, 1), changed: map[Changed]bool{}, told: map[Changed]time.Time{},
		unwatched: map[string]*Failure{}}
}

// add notes that a thing of a kind may have changed, or without a name any.
func (n *news) add(c Changed) {
	n.lock.Lock()
	defer n.lock.Unlock()
	whole := Changed{Kind: c.Kind}
	if n.changed[c] || n.changed[whole] {
		return
	}
	if c.Name == "" || len(n.changed) >= maxNews {
		maps.DeleteFunc(n.changed, func(other Changed, _ bool) bool { return other.Kind == c.Kind })
		c = whole
	}
	n.changed[c] = true
	n.ring()
}

// lack notes that not all changes of a kind are noticed; nil: that they are again.
func (n *news) lack(kind string, why *Failure) {
	n.lock.Lock()
	defer n.lock.Unlock()
	n.unwatched[kind] = why
	n.ring()
}

func (n *news) ring() {
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// take returns what is to be told now, and after how long more is; 0: nothing waits.
func (n *news) take(now time.Time) (changed []Changed, unwatched []Unwatched, next time.Duration) {
	n.lock.Lock()
	defer n.lock.Unlock()
	maps.DeleteFunc(n.told, func(_ Changed, at time.Time) bool { return now.Sub(at) >= toldOnce })
	for c := range n.changed {
		if at, told := n.told[c]; told {
			wait := toldOnce - now.Sub(at)
			if next == 0 || wait < next {
				next = wait
			}
			continue
		}
		changed = append(changed, c)
		delete(n.changed, c)
		if len(n.told) < maxTold {
			n.told[c] = now
		}
	}
	slices.SortFunc(changed, func(a, b Changed) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
	for _, kind := range ordered(n.unwatched) {
		unwatched = append(unwatched, Unwatched{kind, n.unwatched[kind]})
	}
	clear(n.unwatched)
	return changed, unwatched, next
}
