package console

import (
	"slices"
	"sync"
	"time"
)

// presence knows who has which batch open in this console: for as long as a page of it hears of
// events, and of a page without a script for a few seconds. It is in memory alone.
type presence struct {
	lock sync.Mutex
	of   map[int64]*room
}

// room is a batch that somebody looks at.
type room struct {
	pages map[string]int       // how many pages of each role hear of events
	until map[string]time.Time // when a visit without them is forgotten
	tell  map[chan struct{}]bool
}

const visitLife = 15 * time.Second

func newPresence() *presence { return &presence{of: map[int64]*room{}} }

// at returns the room of a batch; the caller has the lock. Rooms that nobody is in go.
func (p *presence) at(batch int64) *room {
	now := time.Now()
	for other, r := range p.of {
		for role, until := range r.until {
			if until.Before(now) {
				delete(r.until, role)
			}
		}
		if len(r.until) == 0 && len(r.tell) == 0 {
			delete(p.of, other)
		}
	}
	r := p.of[batch]
	if r == nil {
		r = &room{map[string]int{}, map[string]time.Time{}, map[chan struct{}]bool{}}
		p.of[batch] = r
	}
	return r
}

// visit notes that a role has just looked at a batch.
func (p *presence) visit(batch int64, role string) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.at(batch).until[role] = time.Now().Add(visitLife)
}

// enter notes a page that hears of events, until leave; it is told when others come and go.
func (p *presence) enter(batch int64, role string) (told chan struct{}, leave func()) {
	p.lock.Lock()
	defer p.lock.Unlock()
	told = make(chan struct{}, 1)
	r := p.at(batch)
	r.pages[role]++
	r.tell[told] = true
	r.say(told)
	return told, func() {
		p.lock.Lock()
		defer p.lock.Unlock()
		if r.pages[role]--; r.pages[role] == 0 {
			delete(r.pages, role)
			delete(r.until, role)
		}
		delete(r.tell, told)
		r.say(told)
		p.at(batch)
	}
}

// say never waits: who has not read it yet asks anew anyway.
func (r *room) say(by chan struct{}) {
	for to := range r.tell {
		if to == by {
			continue
		}
		select {
		case to <- struct{}{}:
		default:
		}
	}
}

// others are the roles besides one that have a batch open.
func (p *presence) others(batch int64, role string) (names []string) {
	p.lock.Lock()
	defer p.lock.Unlock()
	r := p.at(batch)
	for name := range r.pages {
		names = append(names, name)
	}
	for name := range r.until {
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == role })
}
