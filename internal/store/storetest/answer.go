package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"iasql/internal/decide"
	"iasql/internal/modes"
	"iasql/internal/modules"
	"iasql/internal/simulate"
	"iasql/internal/store"
)

// Answers are compared as texts. Everything in them that is a name of the
// implementation's own is spelt as the model names it.

// side is a store of the comparison.
type side int

const (
	model side = iota
	subject
)

// names pairs the names of both sides.
type names struct {
	toSubject, toModel map[int64]int64
}

func newNames() *names {
	return &names{map[int64]int64{}, map[int64]int64{}}
}

// pair notes that the two name the same. What has a name already keeps it.
func (n *names) pair(m, s int64) {
	_, knownM := n.toSubject[m]
	_, knownS := n.toModel[s]
	if !knownM && !knownS {
		n.toSubject[m], n.toModel[s] = s, m
	}
}

// subject returns the subject's name for what the model names m. What neither
// has made has the same name on both sides.
func (n *names) subject(m int64) int64 {
	if s, ok := n.toSubject[m]; ok {
		return s
	}
	return m
}

// spell returns the model's name for what a side names id.
func (n *names) spell(on side, id int64) string {
	if on == model || id == 0 {
		return strconv.FormatInt(id, 10)
	}
	if m, ok := n.toModel[id]; ok {
		return strconv.FormatInt(m, 10)
	}
	if id >= nobody {
		return strconv.FormatInt(id, 10)
	}
	return "unknown " + strconv.FormatInt(id, 10)
}

// nobody is where the ids begin that nothing has.
const nobody = 9_000_000

// ofTable returns the names of a table's records.
func (p *player) ofTable(table string) *names {
	if p.ids[table] == nil {
		p.ids[table] = newNames()
	}
	return p.ids[table]
}

func (p *player) ref(on side, r decide.RecordRef) string {
	return r.Table + " " + p.ofTable(r.Table).spell(on, r.ID)
}

// value spells a value in database terms: a reference is the id of a record.
func (p *player) value(on side, t *modules.Table, column string, v modules.Value) string {
	c := t.Column(column)
	if v.IsNull() {
		return "NULL"
	}
	if c == nil || c.References == nil {
		return strconv.Quote(v.String())
	}
	if !v.IsOutgoing() && !c.Holds(v) {
		return strconv.Quote(v.String())
	}
	text := p.ofTable(c.References.Table).spell(on, v.Int())
	if v.IsOutgoing() {
		return "outgoing " + text
	}
	return text
}

// row spells a row in database terms.
func (p *player) row(on side, t *modules.Table, r modules.Row) string {
	if r == nil {
		return "none"
	}
	return spellRow(r, func(column string, v modules.Value) string { return p.value(on, t, column, v) })
}

// plainRow spells a row in cloud terms.
func plainRow(r modules.Row) string {
	return spellRow(r, func(_ string, v modules.Value) string {
		if v.IsNull() {
			return "NULL"
		}
		return strconv.Quote(v.String())
	})
}

func spellRow(r modules.Row, value func(string, modules.Value) string) string {
	parts := make([]string, 0, len(r))
	for name, v := range r {
		parts = append(parts, name+"="+value(name, v))
	}
	slices.Sort(parts)
	return "(" + strings.Join(parts, " ") + ")"
}

func (p *player) record(on side, t *modules.Table, r *decide.Record) string {
	return p.ofTable(t.Name).spell(on, r.ID) + " " + p.row(on, t, r.Row)
}

func (p *player) loaded(on side, s *decide.Subject) string {
	var b strings.Builder
	b.WriteString(p.ref(on, s.Ref()))
	if s.Deposed {
		b.WriteString(" deposed")
	}
	if s.Batch != 0 {
		fmt.Fprintf(&b, " in batch %d", p.batchOf(on, s.Batch))
	}
	if s.Record != nil {
		b.WriteString("\n    record " + p.record(on, s.Table, s.Record))
	}
	if c := s.Change; c != nil {
		b.WriteString("\n    change of")
		for _, id := range c.AuditIDs {
			b.WriteString(" #" + p.audit.spell(on, id))
		}
		fmt.Fprintf(&b, " insert=%v delete=%v base=%s", c.Insert, c.Delete, p.row(on, s.Table, c.Base))
		if c.Last != nil {
			b.WriteString(" last=" + p.row(on, s.Table, c.Last))
		}
	}
	if s.State != nil {
		b.WriteString("\n    state " + p.state(on, s.Table, s.State))
	}
	keys := modules.Row{}
	for name, v := range s.RefKeys {
		if !v.IsNull() {
			keys[name] = v
		}
	}
	if len(keys) > 0 {
		b.WriteString("\n    names " + plainRow(keys))
	}
	return b.String()
}

func (p *player) state(on side, t *modules.Table, st *decide.State) string {
	return fmt.Sprintf("%s message=%q code=%q review=%v attempts=%d due=%v failed_at=#%s identity=%s replacing=%v "+
		"resolution=%q unconfirmed=%d going=%v",
		st.Name, st.Message, st.Code, st.Review, st.Attempts, st.Due, p.audit.spell(on, st.FailedAt),
		p.row(on, t, st.Identity),
		st.Replacing, st.Resolution, st.Unconfirmed, st.SeenGoing)
}

// batchOf returns the model's id of a batch.
func (p *player) batchOf(on side, id int64) int64 {
	for _, b := range p.batches {
		if on == subject && b.s == id {
			return b.m
		}
	}
	return id
}

// matched spells what Match tells of an identity.
func (p *player) matched(on side, t *modules.Table, m store.Match) string {
	text := "no record"
	if m.Record != nil {
		text = "record " + p.record(on, t, m.Record)
	}
	by := make([]string, len(m.RememberedBy))
	for i, id := range m.RememberedBy {
		by[i] = p.ofTable(t.Name).spell(on, id)
	}
	slices.Sort(by)
	return fmt.Sprintf("%s pending=%v remembered=%v by %v deposed=%v staged=%v", text, m.Pending, m.Remembered, by,
		m.Deposed, m.Batch != 0)
}

func (p *player) columns(on side, table string, columns map[string]decide.ValueChange) string {
	t := tableOf(table)
	parts := make([]string, 0, len(columns))
	for name, c := range columns {
		parts = append(parts, fmt.Sprintf("%s: %s to %s named %s", name, p.value(on, t, name, c.From),
			p.value(on, t, name, c.To), plainRow(modules.Row{"": c.Named})))
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}

func (p *player) intent(on side, i decide.Intent) string {
	return fmt.Sprintf("%s %s in %s key=%q token=%q up_to=#%s replaces=%v expired=%v result=%q {%s}", i.Kind,
		p.ref(on, i.Record), i.Scope, i.Key, i.Token,
		p.audit.spell(on, i.UpTo), i.Replaces, i.Expired, i.Result, p.columns(on, i.Record.Table, i.Columns))
}

// logged spells an intent as it is read: with its entries, and without what is asked
// of the cloud, which is only written.
func (p *player) logged(on side, i decide.Intent) string {
	entries := make([]string, len(i.IDs))
	for n, id := range i.IDs {
		entries[n] = p.entry(on, id)
	}
	return fmt.Sprintf("entries %v %s call=%v", entries, p.intent(on, i), i.Call)
}

// entry spells the id of an entry of the intent log.
func (p *player) entry(on side, id int64) string {
	for i, e := range p.entries {
		if on == model && e.id.m == id || on == subject && e.id.s == id {
			return strconv.Itoa(i)
		}
	}
	return fmt.Sprint("unknown ", id)
}

func (p *player) conflict(on side, c simulate.ConflictRow) string {
	t := tableOf(c.Record.Table)
	return fmt.Sprintf("%s.%s database=%s cloud=%s base=%s #%s %q", p.ref(on, c.Record), c.Column,
		p.value(on, t, c.Column, c.Database), p.value(on, t, c.Column, c.Cloud), p.value(on, t, c.Column, c.Base),
		p.audit.spell(on, c.Audit), c.Resolved)
}

// policy spells what a cycle learns of settings and modes. The rules are asked
// about every target there is.
func (p *player) policy(on side, s store.Settings) string {
	var b strings.Builder
	var imported []string
	for _, t := range simulate.Tables() {
		if s.Imported[t.Name] {
			imported = append(imported, t.Name)
		}
	}
	fmt.Fprintf(&b, "hold=%v ask=%v deletes=%+v window=%s staleness=%s imported=%v", s.HoldConflicts, s.AskDrift,
		s.Deletes, s.ConsistencyWindow, s.MaxStaleness, imported)
	for _, t := range simulate.Tables() {
		for _, id := range append([]int64{0}, p.known(t.Name)...) {
			named := id
			if on == subject {
				named = p.ofTable(t.Name).subject(id)
			}
			if s.Protection.Of(decide.RecordRef{Table: t.Name, ID: named}) {
				fmt.Fprintf(&b, "\n    %s %d is protected", t.Name, id)
			}
			for _, column := range append([]string{""}, columnNames(t)...) {
				if mode := s.Rules.Of(t.Name, named, column); mode != modes.Normal {
					fmt.Fprintf(&b, "\n    %s %d %s: %s", t.Name, id, column, mode)
				}
			}
		}
	}
	return b.String()
}

// class is what is compared of an error.
func class(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, store.ErrLeaseLost):
		return "lease lost"
	case errors.Is(err, store.ErrRefused):
		return "refused"
	case errors.Is(err, store.ErrOutdated):
		return "outdated"
	}
	return "failed"
}

// list spells a list, one a line. An order that is free is sorted.
func list[T any](items []T, sorted bool, spell func(T) string) string {
	lines := make([]string, len(items))
	for i, item := range items {
		lines[i] = "\n  " + spell(item)
	}
	if sorted {
		slices.Sort(lines)
	}
	return fmt.Sprintf("%d", len(items)) + strings.Join(lines, "")
}
