package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/simulate"
	"iasql/internal/store"
)

// Steps of an engine: the lease, and the methods of the contract that read.

func (p *player) take(*rand.Rand) {
	p.does("an engine takes the lease")
	m, err := p.m.Take(p.ctx)
	p.must(err)
	s, err := p.s.Take(p.ctx)
	p.must(err)
	p.leases = append(p.leases, pair[store.Lease]{m, s})
}

// lease picks the lease of a write: mostly the one that counts, sometimes one
// that was lost, or one that is for a batch.
func (p *player) lease(rng *rand.Rand) (pair[store.Lease], string) {
	if len(p.leases) == 0 {
		p.take(rng)
	}
	n := len(p.leases) - 1
	if n > 0 && chance(rng, 0.08) {
		n = rng.IntN(n)
	}
	l, what := p.leases[n], fmt.Sprintf("[lease %d] ", n)
	if p.version != (pair[string]{}) && chance(rng, 0.3) {
		l.m.Rules, l.s.Rules = p.version.m, p.version.s
		what += "[by rules that were read] "
	}
	if len(p.batches) > 0 && chance(rng, 0.5) {
		b := pick(rng, p.batches)
		l.m.Batch, l.s.Batch = b.m, b.s
		what = fmt.Sprintf("[lease %d, batch %d] ", n, b.m)
	}
	return l, what
}

// account is whom a read is about.
func account(rng *rand.Rand) string {
	if chance(rng, 0.03) {
		return "stranger"
	}
	return simulate.Account
}

func (p *player) regions(rng *rand.Rand) {
	of, provider := account(rng), pick(rng, []string{"sim", "sim", "other"})
	p.does("Regions %s %s", provider, of)
	m, merr := p.m.Regions(p.ctx, provider, of)
	s, serr := p.s.Regions(p.ctx, provider, of)
	if p.errs(merr, serr) {
		slices.Sort(m)
		slices.Sort(s)
		p.compare("regions", m, s)
	}
}

func (p *player) settings(*rand.Rand) {
	p.does("Settings")
	m, merr := p.m.Settings(p.ctx, simulate.Account)
	s, serr := p.s.Settings(p.ctx, simulate.Account)
	if p.errs(merr, serr) {
		p.compare("settings", p.policy(model, m), p.policy(subject, s))
		known := slices.DeleteFunc(slices.Clone(s.Tables), func(name string) bool { return tableOf(name) == nil })
		p.compare("tables", list(m.Tables, true, strings.Clone), list(known, true, strings.Clone))
		p.compare("locked tables", len(m.Locked), len(s.Locked))
		p.version = pair[string]{m.Version, s.Version}
	}
}

// match asks for identities of objects, some of which are not complete.
func (p *player) match(rng *rand.Rand) {
	t := pick(rng, simulate.Tables())
	scope := p.scope(rng, t)
	var rows []modules.Row
	for range 1 + rng.IntN(4) {
		row := modules.Row{modules.ColumnAccount: modules.Text(scope.Account)}
		if t.Reach == modules.PerRegion {
			row[modules.ColumnRegion] = modules.Text(scope.Region)
		}
		if chance(rng, 0.9) {
			row[t.Identity()[0]] = p.key(rng, t)
		}
		rows = append(rows, row)
	}
	p.does("Match %s in %s %s", t.Name, scope, list(rows, false, plainRow))
	p.matches(t, scope, rows)
}

func (p *player) matches(t *modules.Table, scope modules.Scope, rows []modules.Row) {
	m, merr := p.m.Match(p.ctx, t, scope, clones(rows))
	s, serr := p.s.Match(p.ctx, t, scope, clones(rows))
	if p.errs(merr, serr) {
		p.compare("matches", list(m, false, func(x store.Match) string { return p.matched(model, t, x) }),
			list(s, false, func(x store.Match) string { return p.matched(subject, t, x) }))
	}
}

func clones(rows []modules.Row) []modules.Row {
	out := make([]modules.Row, len(rows))
	for i, r := range rows {
		out[i] = r.Clone()
	}
	return out
}

func (p *player) keys(rng *rand.Rand) {
	t := pick(rng, simulate.Tables())
	scope := p.scope(rng, t)
	p.does("Keys %s in %s", t.Name, scope)
	p.keysOf(t, scope)
}

func (p *player) keysOf(t *modules.Table, scope modules.Scope) {
	read := func(on side, st Store) (lines []string, err error) {
		err = st.Keys(p.ctx, t, scope, func(id int64, key string) error {
			lines = append(lines, p.ofTable(t.Name).spell(on, id)+" "+key)
			return nil
		})
		return lines, err
	}
	m, merr := read(model, p.m)
	s, serr := read(subject, p.s)
	if p.errs(merr, serr) {
		same := func(s string) string { return s }
		p.compare("keys", list(m, true, same), list(s, true, same))
	}
}

func (p *player) due(rng *rand.Rand) {
	of, batch := account(rng), p.batch(rng)
	p.does("Due %s, batch %d", of, batch.m)
	p.dueOf(of, batch)
}

// batch picks a batch that is or was open, or none.
func (p *player) batch(rng *rand.Rand) pair[int64] {
	if len(p.batches) == 0 || chance(rng, 0.6) {
		return pair[int64]{}
	}
	return pick(rng, p.batches)
}

func (p *player) dueOf(of string, batch pair[int64]) {
	m, left, merr := p.m.Due(p.ctx, of, batch.m)
	s, theirs, serr := p.s.Due(p.ctx, of, batch.s)
	if p.errs(merr, serr) {
		p.compare("due", list(m, true, func(r decide.RecordRef) string { return p.ref(model, r) }),
			list(s, true, func(r decide.RecordRef) string { return p.ref(subject, r) }))
		p.deposed(left, theirs)
	}
}

// deposed compares deposed objects, and keeps those that there are.
func (p *player) deposed(m, s []*decide.Subject) {
	p.compare("deposed", list(m, true, func(x *decide.Subject) string { return p.loaded(model, x) }),
		list(s, true, func(x *decide.Subject) string { return p.loaded(subject, x) }))
	p.left = p.left[:0]
	for _, x := range m {
		for _, y := range s {
			if p.loaded(model, x) == p.loaded(subject, y) {
				complete(x)
				complete(y)
				p.left = append(p.left, pair[*decide.Subject]{x, y})
				break
			}
		}
	}
}

func (p *player) load(rng *rand.Rand) {
	var used []*modules.Table
	for _, t := range simulate.Tables() {
		if len(p.known(t.Name)) > 0 || chance(rng, 0.03) {
			used = append(used, t)
		}
	}
	if len(used) == 0 {
		return
	}
	t := pick(rng, used)
	ids := p.known(t.Name)
	if chance(rng, 0.1) {
		ids = append(ids, nobody)
	}
	p.does("Load %s %v", t.Name, ids)
	p.loadAll(t, ids)
}

func (p *player) loadAll(t *modules.Table, ids []int64) {
	theirs := make([]int64, len(ids))
	for i, id := range ids {
		theirs[i] = p.ofTable(t.Name).subject(id)
	}
	m, merr := p.m.Load(p.ctx, t, ids)
	s, serr := p.s.Load(p.ctx, t, theirs)
	if !p.errs(merr, serr) {
		return
	}
	for i := range min(len(m), len(s)) { // audit rows in the order of their appearance
		if a, b := m[i].Change, s[i].Change; a != nil && b != nil {
			for j := range min(len(a.AuditIDs), len(b.AuditIDs)) {
				p.audit.pair(a.AuditIDs[j], b.AuditIDs[j])
			}
		}
	}
	p.compare("subjects", list(m, false, func(x *decide.Subject) string { return p.loaded(model, x) }),
		list(s, false, func(x *decide.Subject) string { return p.loaded(subject, x) }))
	for i := range m {
		complete(m[i])
		complete(s[i])
		p.seen = append(p.seen, pair[*decide.Subject]{m[i], s[i]})
	}
}

// complete fills in the scope of a subject, as the cycle does.
func complete(s *decide.Subject) {
	switch identity, named := s.Identity(); {
	case named:
		s.Scope = s.Table.Scope(identity)
	case s.Record != nil:
		s.Scope = s.Table.Scope(s.Record.Row)
	case s.Change != nil && s.Change.Last != nil:
		s.Scope = s.Table.Scope(s.Change.Last)
	}
	if s.Scope.Account == "" {
		s.Scope = modules.Scope{Account: simulate.Account}
		if s.Table.Reach == modules.PerRegion {
			s.Scope.Region = simulate.Regions()[0]
		}
	}
}

// latest returns what Load said last of each record of a table ("" for all).
func (p *player) latest(table string) ([]pair[*decide.Subject], bool) {
	var found []pair[*decide.Subject]
	have := map[decide.RecordRef]bool{}
	for _, s := range slices.Backward(p.seen) {
		if r := s.m.Ref(); (table == "" || r.Table == table) && !have[r] {
			have[r] = true
			found = append(found, s)
		}
	}
	return found, len(found) > 0
}

// remembered picks subjects of a table that were loaded: mostly as they were last,
// sometimes as they were earlier. None comes twice.
func (p *player) remembered(rng *rand.Rand, table string, most int) []pair[*decide.Subject] {
	from, ok := p.latest(table)
	if !ok {
		return nil
	}
	if chance(rng, 0.15) {
		from = slices.DeleteFunc(slices.Clone(p.seen), func(s pair[*decide.Subject]) bool {
			return table != "" && s.m.Table.Name != table
		})
	}
	var list []pair[*decide.Subject]
	for range 1 + rng.IntN(most) {
		s := pick(rng, from)
		if !slices.ContainsFunc(list, func(o pair[*decide.Subject]) bool { return o.m.Ref() == s.m.Ref() }) {
			list = append(list, s)
		}
	}
	return list
}

func (p *player) listings(rng *rand.Rand) {
	of := account(rng)
	p.does("Listings %s", of)
	m, merr := p.m.Listings(p.ctx, of)
	s, serr := p.s.Listings(p.ctx, of)
	if p.errs(merr, serr) {
		spell := func(l store.Listing) string {
			never := l.Quiet < 0
			l.Age, l.Quiet = l.Age/tick, l.Quiet/tick
			return fmt.Sprintf("%+v %v", l, never)
		}
		p.compare("listings", list(m, true, spell), list(s, true, spell))
	}
}

func (p *player) foundLately(rng *rand.Rand) {
	t := pick(rng, simulate.Tables())
	ids := p.known(t.Name)
	theirs := make([]int64, len(ids))
	for i, id := range ids {
		theirs[i] = p.ofTable(t.Name).subject(id)
	}
	p.does("Found %s %v", t.Name, ids)
	m, merr := p.m.Found(p.ctx, t, ids, simulate.Window)
	s, serr := p.s.Found(p.ctx, t, theirs, simulate.Window)
	if p.errs(merr, serr) {
		p.compare("found", list(m, true, func(id int64) string {
			return p.ref(model, decide.RecordRef{Table: t.Name, ID: id})
		}),
			list(s, true, func(id int64) string { return p.ref(subject, decide.RecordRef{Table: t.Name, ID: id}) }))
	}
}

func (p *player) dependents(rng *rand.Rand) {
	table := pick(rng, []string{"net", "net", "host", "host", "job"})
	ids := p.known(table)
	if chance(rng, 0.1) {
		ids = append(ids, 0, nobody)
	}
	theirs := make([]int64, len(ids))
	for i, id := range ids {
		theirs[i] = p.ofTable(table).subject(id)
	}
	p.does("Dependents %s %v", table, ids)
	m, merr := p.m.Dependents(p.ctx, table, ids)
	s, serr := p.s.Dependents(p.ctx, table, theirs)
	if p.errs(merr, serr) {
		p.compare("dependents", list(m, true, func(r decide.RecordRef) string { return p.ref(model, r) }),
			list(s, true, func(r decide.RecordRef) string { return p.ref(subject, r) }))
	}
}

func (p *player) count(rng *rand.Rand) {
	t := pick(rng, simulate.Tables())
	scope := modules.Scope{Account: account(rng)}
	if t.Reach == modules.PerRegion && chance(rng, 0.5) {
		scope.Region = pick(rng, simulate.Regions())
	}
	p.does("Count %s %s", t.Name, scope)
	m, merr := p.m.Count(p.ctx, t.Name, scope)
	s, serr := p.s.Count(p.ctx, t.Name, scope)
	if p.errs(merr, serr) {
		p.compare("count", m, s)
	}
}

func (p *player) creations(rng *rand.Rand) {
	t := pick(rng, simulate.Tables())
	ids := p.known(t.Name)
	theirs := make([]int64, len(ids))
	for i, id := range ids {
		theirs[i] = p.ofTable(t.Name).subject(id)
	}
	p.does("Creations %s %v", t.Name, ids)
	m, merr := p.m.Creations(p.ctx, t.Name, ids)
	s, serr := p.s.Creations(p.ctx, t.Name, theirs)
	if p.errs(merr, serr) {
		for i := range ids {
			p.compare("creations", m[ids[i]], s[theirs[i]])
		}
	}
}

func (p *player) toDatabase(rng *rand.Rand) {
	t := pick(rng, []*modules.Table{tableOf("host"), tableOf("host"), tableOf("host"), tableOf("net")})
	scope := p.scope(rng, t)
	var rows []modules.Row
	for range 1 + rng.IntN(3) {
		row := modules.Row{modules.ColumnAccount: modules.Text(scope.Account),
			modules.ColumnRegion: modules.Text(scope.Region)}
		row[t.Identity()[0]] = p.key(rng, t)
		for i := range t.Columns {
			if c := &t.Columns[i]; c.References != nil && chance(rng, 0.8) {
				row[c.Name] = modules.Null
				if chance(rng, 0.9) {
					row[c.Name] = p.key(rng, tableOf(c.References.Table))
				}
			}
		}
		rows = append(rows, row)
	}
	p.does("ToDatabase %s in %s %s", t.Name, scope, list(rows, false, plainRow))
	p.translated(t, scope, rows)
}

func (p *player) translated(t *modules.Table, scope modules.Scope, rows []modules.Row) {
	ours, theirs := clones(rows), clones(rows)
	if p.errs(p.m.ToDatabase(p.ctx, t, scope, ours), p.s.ToDatabase(p.ctx, t, scope, theirs)) {
		p.compare("rows", list(ours, false, func(r modules.Row) string { return p.row(model, t, r) }),
			list(theirs, false, func(r modules.Row) string { return p.row(subject, t, r) }))
	}
}

func (p *player) toCloud(rng *rand.Rand) {
	t := tableOf("host")
	var rows []modules.Row
	for range 1 + rng.IntN(3) {
		row := modules.Row{}
		for i := range t.Columns {
			c := &t.Columns[i]
			if c.References == nil || chance(rng, 0.2) {
				continue
			}
			row[c.Name] = modules.Null
			if known := p.known(c.References.Table); len(known) > 0 && chance(rng, 0.9) {
				row[c.Name] = modules.Int(pick(rng, known))
			} else if chance(rng, 0.2) {
				row[c.Name] = modules.Int(nobody)
			}
		}
		rows = append(rows, row)
	}
	p.does("ToCloud %s %s", t.Name, list(rows, false, func(r modules.Row) string { return p.row(model, t, r) }))
	theirs := make([]modules.Row, len(rows))
	for i := range rows {
		theirs[i] = p.toSubject(t, rows[i])
	}
	if p.errs(p.m.ToCloud(p.ctx, t, rows), p.s.ToCloud(p.ctx, t, theirs)) {
		p.compare("rows", list(rows, false, plainRow), list(theirs, false, plainRow))
	}
}

func (p *player) intents(rng *rand.Rand) {
	of := account(rng)
	p.does("Intents %s", of)
	p.intentsOf(of)
}

func (p *player) intentsOf(of string) {
	m, open, merr := p.m.Intents(p.ctx, of, simulate.Window)
	s, theirs, serr := p.s.Intents(p.ctx, of, simulate.Window)
	if p.errs(merr, serr) {
		p.compare("recent intents", list(m, false, func(i *decide.Intent) string { return p.logged(model, *i) }),
			list(s, false, func(i *decide.Intent) string { return p.logged(subject, *i) }))
		p.compare("intents in doubt", list(open, false, func(i decide.Intent) string { return p.logged(model, i) }),
			list(theirs, false, func(i decide.Intent) string { return p.logged(subject, i) }))
	}
}

// everything compares all that can be read, at the end of a script: what differs
// by then must not stay unseen.
func (p *player) everything() {
	p.step++
	p.does("the end: all that can be read")
	for _, t := range simulate.Tables() {
		p.sameRows(t)
		p.loadAll(t, p.known(t.Name))
		for _, region := range simulate.Regions() {
			scope := modules.Scope{Account: simulate.Account}
			if t.Reach == modules.PerRegion {
				scope.Region = region
			}
			p.keysOf(t, scope)
		}
	}
	for _, batch := range append([]pair[int64]{{}}, p.batches...) {
		p.dueOf(simulate.Account, batch)
	}
	p.intentsOf(simulate.Account)
	p.settings(nil)
	m, err := p.m.Conflicts(p.ctx)
	p.must(err)
	s, err := p.s.Conflicts(p.ctx)
	p.must(err)
	p.compare("conflicts", list(m, false, func(c simulate.ConflictRow) string { return p.conflict(model, c) }),
		list(s, false, func(c simulate.ConflictRow) string { return p.conflict(subject, c) }))
}
