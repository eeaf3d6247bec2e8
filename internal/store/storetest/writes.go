package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"iasql/internal/decide"
	"iasql/internal/modules"
	"iasql/internal/simulate"
	"iasql/internal/store"
)

// Steps of an engine: the methods of the contract that write.

// begin writes the intent of a call for a record that was loaded, or for none.
func (p *player) begin(rng *rand.Rand) {
	l, what := p.lease(rng)
	t := pick(rng, simulate.Tables())
	c := decide.Intent{
		Call: modules.Call{Service: "Sim", Action: "Do"}, Record: decide.RecordRef{Table: t.Name},
		Scope:    p.scope(rng, t),
		Kind:     pick(rng, []decide.OpKind{decide.OpCreate, decide.OpCreate, decide.OpUpdate, decide.OpDelete}),
		Replaces: chance(rng, 0.4),
	}
	c.Scope.Account = simulate.Account
	if known := p.known(t.Name); len(known) > 0 && chance(rng, 0.85) {
		c.Record.ID = pick(rng, known)
	}
	for _, s := range p.seen {
		if s.m.Ref() == c.Record {
			c.Scope, c.UpTo = s.m.Scope, s.m.Change.Latest()
		}
	}
	if c.Kind == decide.OpCreate {
		c.Token = fmt.Sprintf("token %d", rng.IntN(3))
	}
	if c.Kind != decide.OpCreate || chance(rng, 0.3) {
		c.Key = p.key(rng, t).String()
	}
	if c.Kind != decide.OpDelete {
		c.Columns = map[string]decide.ValueChange{}
		for range rng.IntN(3) {
			col := &t.Columns[rng.IntN(len(t.Columns))]
			if col.Name == modules.ColumnAccount || col.Name == modules.ColumnRegion || col.Computed {
				continue
			}
			c.Columns[col.Name] = p.valueChange(rng, col)
		}
	}
	p.does("%sBegin %s", what, p.intent(model, c))
	m, merr := p.m.Begin(p.ctx, l.m, c)
	s, serr := p.s.Begin(p.ctx, l.s, p.intentToSubject(c))
	if p.errs(merr, serr) {
		p.says("entry %d", len(p.entries))
		p.entries = append(p.entries, entry{pair[int64]{m, s}, c})
	}
}

func (p *player) valueChange(rng *rand.Rand, c *modules.Column) (v decide.ValueChange) {
	switch {
	case c.WriteOnly: // without its values
	case c.References != nil:
		known := p.known(c.References.Table)
		if len(known) == 0 {
			return v
		}
		v.To, v.From = modules.Int(pick(rng, known)), modules.Int(pick(rng, known))
		if chance(rng, 0.3) {
			v.From = modules.Outgoing(v.From.Int())
			v.Named = p.key(rng, tableOf(c.References.Table))
		}
	default:
		v.From, v.To = simulate.Value(c.Name, rng.IntN(100)), simulate.Value(c.Name, rng.IntN(100))
	}
	return v
}

func (p *player) intentToSubject(c decide.Intent) decide.Intent {
	t := tableOf(c.Record.Table)
	if c.Record.ID != 0 {
		c.Record.ID = p.ofTable(t.Name).subject(c.Record.ID)
	}
	c.UpTo = p.audit.subject(c.UpTo)
	columns := make(map[string]decide.ValueChange, len(c.Columns))
	for name, v := range c.Columns {
		v.From, v.To = p.valueToSubject(t, name, v.From), p.valueToSubject(t, name, v.To)
		columns[name] = v
	}
	c.Columns = columns
	return c
}

func (p *player) finish(rng *rand.Rand)   { p.end(rng, false) }
func (p *player) recovery(rng *rand.Rand) { p.end(rng, true) }

// end ends operations: ones that are under way, or have ended, or never were.
func (p *player) end(rng *rand.Rand, recovery bool) {
	if len(p.entries) == 0 {
		return
	}
	l, what := p.lease(rng)
	var m, s []store.Outcome
	touched := map[string]bool{}
	p.does("%sFinish (recovery=%v)", what, recovery)
	var ended []decide.RecordRef
	for range 1 + rng.IntN(2) {
		e := p.entries[len(p.entries)-1-min(rng.IntN(len(p.entries)), rng.IntN(len(p.entries)))]
		if slices.Contains(ended, e.intent.Record) {
			continue // a record has one operation at a time
		}
		ended = append(ended, e.intent.Record)
		a, b := p.outcome(rng, recovery, e)
		m, s = append(m, a), append(s, b)
		touched[a.Subject.Table.Name] = true
	}
	if recovery && chance(rng, 0.1) { // it may know nothing but the intent
		m, s = m[:1], s[:1]
		m[0].Result, s[0].Result = decide.ResultAbandoned, decide.ResultAbandoned
		m[0], s[0] = store.Outcome{Intent: m[0].Intent}, store.Outcome{Intent: s[0].Intent}
		p.says("no, only that the first is abandoned")
	}
	p.errs(p.m.Finish(p.ctx, l.m, m), p.s.Finish(p.ctx, l.s, s))
	for _, t := range simulate.Tables() {
		if touched[t.Name] {
			p.sameRows(t)
		}
	}
}

// outcome makes the end of an operation, for both sides.
func (p *player) outcome(rng *rand.Rand, recovery bool, e entry) (m, s store.Outcome) {
	t, record := tableOf(e.intent.Record.Table), e.intent.Record
	m, s = store.Outcome{Intent: e.intent}, store.Outcome{Intent: p.intentToSubject(e.intent)}
	m.Result = pick(rng, []decide.Result{decide.ResultOK, decide.ResultOK, decide.ResultOK, decide.ResultFailed,
		decide.ResultUnknown, decide.ResultAbandoned})
	s.Result = m.Result
	m.IDs, s.IDs = []int64{e.id.m}, []int64{e.id.s}
	if chance(rng, 0.05) {
		m.IDs, s.IDs = []int64{nobody}, []int64{nobody}
	}
	if m.Result != decide.ResultOK {
		m.Err = errors.New("the cloud says no")
		s.Err = m.Err
	}
	// The subject, as it was loaded last, or as little as the intent tells.
	m.Subject = &decide.Subject{Table: t, Scope: e.intent.Scope, RecordID: record.ID}
	s.Subject = &decide.Subject{Table: t, Scope: e.intent.Scope, RecordID: p.ofTable(t.Name).subject(record.ID)}
	for _, seen := range p.seen {
		if seen.m.Ref() == record && record.ID != 0 {
			a, b := *seen.m, *seen.s
			m.Subject, s.Subject = &a, &b
		}
	}
	if m.Kind == decide.OpCreate {
		if m.Replaces { // the predecessor
			m.Subject.Object = p.object(rng, t, m.Subject.Scope)
			s.Subject.Object = m.Subject.Object
		}
		if m.Result == decide.ResultOK || chance(rng, 0.1) {
			m.Object = p.object(rng, t, m.Subject.Scope)
			s.Object = m.Object
		}
		if recovery {
			m.ByName = chance(rng, 0.3)
			s.ByName = m.ByName
		}
	}
	if m.Subject.RecordID != 0 && chance(rng, 0.6) {
		m.State, s.State = p.newState(rng, m.Subject)
	}
	p.says("entries %v (%s) of %s: %s replaces=%v by name=%v object=%s predecessor=%s state=%s", m.IDs, m.Kind,
		p.ref(model, m.Subject.Ref()), m.Result, m.Replaces,
		m.ByName, p.row(model, t, m.Object), p.row(model, t, m.Subject.Object), p.spellState(t, m.State))
	return m, s
}

func (p *player) spellState(t *modules.Table, st *decide.State) string {
	if st == nil {
		return "none"
	}
	return p.state(model, t, st) + " backoff=" + st.Backoff.String()
}

// object makes what the cloud says of an object: its identity, and what else it
// assigns.
func (p *player) object(rng *rand.Rand, t *modules.Table, scope modules.Scope) modules.Row {
	row := modules.Row{modules.ColumnAccount: modules.Text(scope.Account)}
	if t.Reach == modules.PerRegion {
		row[modules.ColumnRegion] = modules.Text(scope.Region)
	}
	for i := range t.Columns {
		c := &t.Columns[i]
		switch {
		case c.Identity:
			row[c.Name] = p.key(rng, t)
		case c.Computed && chance(rng, 0.7):
			row[c.Name] = pick(rng, []modules.Value{modules.Null, modules.Text("up"), modules.Text("down")})
		}
	}
	return row
}

// newState makes what is to be remembered of a record.
func (p *player) newState(rng *rand.Rand, s *decide.Subject) (m, theirs *decide.State) {
	m = &decide.State{
		Name: pick(rng, []decide.StateName{decide.StateCreating, decide.StateUpdatingFailed, decide.StateReplacing,
			decide.StateRemoving, decide.StateConflict, decide.StateConflict, decide.StateWaiting}),
		Code:    pick(rng, []string{"", "transient", "invalid", "delete_guard"}),
		Message: pick(rng, []string{"", "it said no"}), Review: chance(rng, 0.4), Attempts: rng.IntN(4),
		Backoff: pick(rng, backoffs), Due: chance(rng, 0.5),
		Binding: decide.Binding{Replacing: chance(rng, 0.2), Unconfirmed: rng.IntN(3), SeenGoing: chance(rng, 0.2)},
	}
	if chance(rng, 0.5) {
		m.FailedAt = s.Change.Latest()
	}
	if chance(rng, 0.5) {
		m.Identity = decide.IdentityOf(s.Table, p.object(rng, s.Table, s.Scope))
	}
	o := *m
	o.FailedAt = p.audit.subject(m.FailedAt)
	return m, &o
}

// newConflicts makes conflicts of a subject.
func (p *player) newConflicts(rng *rand.Rand, s *decide.Subject) (list []decide.Conflict) {
	for chance(rng, 0.3) && len(list) < 2 {
		c := decide.Conflict{Open: chance(rng, 0.6)}
		c.PulledAnyway = !c.Open && chance(rng, 0.5)
		if col := &s.Table.Columns[rng.IntN(len(s.Table.Columns))]; col.References == nil && !col.WriteOnly &&
			!col.Computed &&
			col.Name != modules.ColumnAccount && col.Name != modules.ColumnRegion {
			c.Column = col.Name
			c.Database, c.Cloud, c.Base = simulate.Value(col.Name, rng.IntN(100)),
				simulate.Value(col.Name, rng.IntN(100)), simulate.Value(col.Name, rng.IntN(100))
		}
		list = append(list, c)
	}
	return list
}

// pull writes records of one table, as they were loaded or as they were earlier.
func (p *player) pull(rng *rand.Rand) {
	l, what := p.lease(rng)
	t := pick(rng, simulate.Tables())
	if len(p.seen) > 0 && chance(rng, 0.6) {
		t = pick(rng, p.seen).m.Table
	}
	subjects := p.remembered(rng, t.Name, 3)
	var m, s []store.Pull
	p.does("%sPull", what)
	add := func(x pair[*decide.Subject], pull store.Pull) {
		pull.Subject = x.m
		m = append(m, pull)
		p.says("%s %s as loaded: %s settle=%v %d conflicts", pull.Action, p.loaded(model, x.m),
			p.row(model, t, pull.Row), pull.Settle, len(pull.Conflicts))
		pull.Subject, pull.Row = x.s, p.toSubject(t, pull.Row)
		s = append(s, pull)
	}
	for _, x := range subjects {
		pull := store.Pull{Settle: chance(rng, 0.5), Conflicts: p.newConflicts(rng, x.m)}
		switch {
		case x.m.Record == nil:
			pull.Action, pull.Row = decide.InsertRecord, p.found(rng, t)
		case chance(rng, 0.3):
			pull.Action = decide.DeleteRecord
		default:
			pull.Action, pull.Row = decide.UpdateRecord, p.foundValues(rng, t)
		}
		add(x, pull)
	}
	for len(m) == 0 || chance(rng, 0.35) {
		row := p.found(rng, t)
		scope := t.Scope(row)
		x := pair[*decide.Subject]{&decide.Subject{Table: t, Scope: scope}, &decide.Subject{Table: t, Scope: scope}}
		add(x, store.Pull{Action: decide.InsertRecord, Row: row})
	}
	// What is written together is of one kind, as in a cycle.
	kind := func(a, b store.Pull) int { return cmp.Compare(a.Action, b.Action) }
	if chance(rng, 0.8) {
		slices.SortStableFunc(m, kind)
		slices.SortStableFunc(s, kind)
	}
	a, merr := p.m.Pull(p.ctx, l.m, m)
	b, serr := p.s.Pull(p.ctx, l.s, s)
	if p.errs(merr, serr) {
		spell := func(r store.PullResult) string { return fmt.Sprintf("applied=%v %s", r.Applied, class(r.Err)) }
		for i := range min(len(a), len(b)) {
			if spell(a[i]) != spell(b[i]) {
				p.says("pull %d: model: %v, subject: %v", i, a[i].Err, b[i].Err)
			}
		}
		p.compare("results", list(a, false, spell), list(b, false, spell))
	}
	p.sameRows(t)
}

// found makes the row of an object that was found in the cloud, in database
// terms. Some name what is not there, some have no identity.
func (p *player) found(rng *rand.Rand, t *modules.Table) modules.Row {
	row := p.newRow(rng, t)
	for name, v := range p.object(rng, t, t.Scope(row)) {
		row[name] = v
	}
	if chance(rng, 0.05) {
		row[t.Identity()[0]] = modules.Null
	}
	for i := range t.Columns {
		if c := &t.Columns[i]; c.WriteOnly {
			delete(row, c.Name)
		}
	}
	return row
}

// foundValues makes the columns that a pull writes.
func (p *player) foundValues(rng *rand.Rand, t *modules.Table) modules.Row {
	whole, row := p.found(rng, t), modules.Row{}
	for len(row) == 0 {
		for range 1 + rng.IntN(2) {
			c := &t.Columns[rng.IntN(len(t.Columns))]
			switch v, ok := whole[c.Name]; {
			case c.WriteOnly:
				row[c.Name] = modules.Null
			case ok && c.Name != modules.ColumnAccount && c.Name != modules.ColumnRegion:
				row[c.Name] = v
			}
		}
	}
	return row
}

// sameRows compares what SELECT shows of a table, and pairs the records that are
// new.
func (p *player) sameRows(t *modules.Table) {
	m := p.rows(t.Name)
	s, err := p.s.Rows(p.ctx, t.Name)
	p.must(err)
	n := p.ofTable(t.Name)
	var ours, theirs []int64
	for _, r := range m {
		if _, known := n.toSubject[r.ID]; !known {
			ours = append(ours, r.ID)
		}
	}
	for _, r := range s {
		if _, known := n.toModel[r.ID]; !known {
			theirs = append(theirs, r.ID)
		}
	}
	for i := range min(len(ours), len(theirs)) {
		n.pair(ours[i], theirs[i])
	}
	p.compare("rows of "+t.Name, list(m, true, func(r *decide.Record) string { return p.record(model, t, r) }),
		list(s, true, func(r *decide.Record) string { return p.record(subject, t, r) }))
}

func (p *player) settle(rng *rand.Rand) {
	l, what := p.lease(rng)
	var m, s []store.Settlement
	if len(p.left) == 0 && chance(rng, 0.5) {
		p.does("Due")
		p.dueOf(simulate.Account, pair[int64]{})
	}
	p.does("%sSettle", what)
	// What is remembered is left as it is, is replaced, or is forgotten.
	add := func(x pair[*decide.Subject], st store.Settlement, leaves, replaces float64) {
		st.Subject = x.m
		var theirs *decide.State
		switch {
		case chance(rng, leaves):
		case chance(rng, replaces):
			st.State, theirs = p.newState(rng, x.m)
			st.Forget = chance(rng, 0.1)
			if st.State.Code == "delete_guard" && chance(rng, 0.8) {
				st.Limits = p.limits(rng)
			}
		default:
			st.Forget = true
		}
		p.says("%s settle=%v forget=%v state=%s limits=%+v %d conflicts", p.loaded(model, x.m), st.Settle, st.Forget,
			p.spellState(x.m.Table, st.State), st.Limits, len(st.Conflicts))
		m = append(m, st)
		st.Subject, st.State = x.s, theirs
		s = append(s, st)
	}
	for _, x := range p.remembered(rng, "", 3) {
		add(x, store.Settlement{Settle: chance(rng, 0.6), Conflicts: p.newConflicts(rng, x.m)}, 0.15, 0.5)
	}
	if len(p.left) > 0 && chance(rng, 0.7) {
		add(pick(rng, p.left), store.Settlement{Settle: chance(rng, 0.6)}, 0.3, 0.5)
	}
	p.errs(p.m.Settle(p.ctx, l.m, m), p.s.Settle(p.ctx, l.s, s))
}

// limits are those that a guard stops by: the ones that hold, or others.
func (p *player) limits(rng *rand.Rand) *decide.DeleteLimits {
	settings, err := p.m.Settings(p.ctx, simulate.Account)
	p.must(err)
	l := settings.Deletes
	if chance(rng, 0.5) {
		other := pick(rng, []func(){func() { l.Max++ }, func() { l.Ratio /= 2 }, func() { l.Floor++ }})
		other()
	}
	return &l
}

func (p *player) listed(rng *rand.Rand) {
	l, what := p.lease(rng)
	var ended, gone []store.Listing
	for _, t := range simulate.Tables() {
		at := store.Listing{Table: t.Name, Scope: modules.Scope{Account: simulate.Account}}
		if t.Reach == modules.PerRegion {
			at.Scope.Region = pick(rng, simulate.Regions())
		}
		switch rng.IntN(5) {
		case 0:
			gone = append(gone, at)
		case 1:
			at.Age, at.Rules, at.Denied = tick/2, pick(rng, []string{"a", "b"}), "no"
			at.Objects, at.Partly, at.Complete = rng.IntN(3), chance(rng, 0.5), chance(rng, 0.3)
			at.Within = pick(rng, []string{"", "c", "d"})
			ended = append(ended, at)
		case 2, 3:
			at.Age, at.Rules, at.Complete = tick/2, pick(rng, []string{"a", "b"}), true
			at.Objects, at.News, at.Within = rng.IntN(3), chance(rng, 0.3), pick(rng, []string{"", "c", "d"})
			ended = append(ended, at)
		}
	}
	p.does("%sListed %v, gone %v", what, ended, gone)
	p.errs(p.m.Listed(p.ctx, l.m, ended, gone), p.s.Listed(p.ctx, l.s, ended, gone))
}

func (p *player) imported(rng *rand.Rand) {
	l, what := p.lease(rng)
	names := []string{pick(rng, simulate.Tables()).Name, pick(rng, simulate.Tables()).Name}
	p.does("%sImported %v", what, names)
	p.errs(p.m.Imported(p.ctx, l.m, names), p.s.Imported(p.ctx, l.s, names))
}
