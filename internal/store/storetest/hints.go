package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"iasql/internal/modules"
	"iasql/internal/simulate"
	"iasql/internal/store"
)

// Steps about what events of the cloud tell.

// tell has an event come.
func (p *player) tell(rng *rand.Rand) {
	t := pick(rng, simulate.Tables())
	h := store.Hint{Table: t.Name, Scope: p.scope(rng, t)}
	h.Scope.Account = simulate.Account
	if chance(rng, 0.8) {
		c := pick(rng, namers(t))
		h.Column, h.Value = c.Name, p.named1(rng, t, c)
	}
	ago := pick(rng, []time.Duration{0, 0, 20 * time.Second, 30 * time.Minute})
	p.does("an event of %s ago hints at %+v", ago, h)
	p.must(p.m.Tell(p.ctx, h, ago))
	p.must(p.s.Tell(p.ctx, h, ago))
}

// namers are the columns that events name objects of a table by.
func namers(t *modules.Table) []*modules.Column {
	var list []*modules.Column
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Identity || c.References != nil && c.Name != modules.ColumnAccount &&
			c.Name != modules.ColumnRegion {
			list = append(list, c)
		}
	}
	return list
}

// named1 picks a value that a column may have in the cloud.
func (p *player) named1(rng *rand.Rand, t *modules.Table, c *modules.Column) string {
	if c.References != nil {
		t = tableOf(c.References.Table)
	}
	return p.key(rng, t).String()
}

func (p *player) hints(rng *rand.Rand) {
	of := account(rng)
	p.does("Hints %s", of)
	m, merr := p.m.Hints(p.ctx, of)
	s, serr := p.s.Hints(p.ctx, of)
	if p.errs(merr, serr) {
		p.compare("hints", list(m, false, spellHint), list(s, false, spellHint))
	}
}

// spellHint spells a hint without ids.
func spellHint(h store.Hint) string {
	h.ID, h.Newest = 0, 0
	return fmt.Sprintf("%+v", h)
}

func (p *player) named(rng *rand.Rand) {
	t := pick(rng, simulate.Tables())
	c, scope := pick(rng, namers(t)), p.scope(rng, t)
	var values []string
	for range 1 + rng.IntN(3) {
		values = append(values, p.named1(rng, t, c))
	}
	p.does("Named %s in %s: %s %v", t.Name, scope, c.Name, values)
	m, merr := p.m.Named(p.ctx, t, scope, c.Name, values)
	s, serr := p.s.Named(p.ctx, t, scope, c.Name, values)
	if p.errs(merr, serr) {
		spell := func(on side) func(store.Named) string {
			return func(n store.Named) string { return p.ofTable(t.Name).spell(on, n.Record) + " " + n.Value }
		}
		p.compare("named", list(m, true, spell(model)), list(s, true, spell(subject)))
	}
}

// looked ends some of the hints that are due, or has them wait.
func (p *player) looked(rng *rand.Rand) {
	l, what := p.lease(rng)
	m, merr := p.m.Hints(p.ctx, simulate.Account)
	s, serr := p.s.Hints(p.ctx, simulate.Account)
	if !p.errs(merr, serr) || len(m) != len(s) {
		return
	}
	var ours, theirs []store.Look
	for i := range m {
		if chance(rng, 0.6) {
			again := pick(rng, []time.Duration{0, 0, 15 * time.Second, 10 * time.Minute})
			var records []int64
			if known := p.known(m[i].Table); m[i].Column != "" && len(known) > 0 && chance(rng, 0.5) {
				records = []int64{pick(rng, known)}
			}
			ours = append(ours, store.Look{Hint: m[i], Again: again, Records: records})
			mapped := slices.Clone(records)
			for j := range mapped {
				mapped[j] = p.ofTable(m[i].Table).subject(mapped[j])
			}
			theirs = append(theirs, store.Look{Hint: s[i], Again: again, Records: mapped})
		}
	}
	var ourPlaces, theirPlaces []store.ListedPlace
	if len(m) > 0 && chance(rng, 0.3) {
		i := rng.IntN(len(m))
		ourPlaces = append(ourPlaces, store.ListedPlace{Table: m[i].Table, Scope: m[i].Scope, UpTo: m[i].Newest})
		theirPlaces = append(theirPlaces, store.ListedPlace{Table: s[i].Table, Scope: s[i].Scope, UpTo: s[i].Newest})
	}
	p.does("%sLooked %d of %d, %d listed", what, len(ours), len(m), len(ourPlaces))
	p.errs(p.m.Looked(p.ctx, l.m, ours, ourPlaces), p.s.Looked(p.ctx, l.s, theirs, theirPlaces))
}
