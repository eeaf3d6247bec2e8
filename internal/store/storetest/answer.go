package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"iasql/internal/modes"
	"iasql/internal/modules"
	"iasql/internal/sync"
	"iasql/internal/sync/simulate"
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

func (p *player) ref(on side, r sync.RecordRef) string {
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
	text, out := strings.CutPrefix(v.String(), sync.Outgoing)
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return strconv.Quote(v.String())
	}
	if text = p.ofTable(c.References.Table).spell(on, id); out {
		return sync.Outgoing + text
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

func (p *player) record(on side, t *modules.Table, r *sync.Record) string {
	return p.ofTable(t.Name).spell(on, r.ID) + " " + p.row(on, t, r.Row)
}

func (p *player) loaded(on side, s *sync.Subject) string {
	var b strings.Builder
	b.WriteString(p.ref(on, s.Ref()))
	if s.Garbage {
		b.WriteString(" garbage")
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

func (p *player) state(on side, t *modules.Table, st *sync.State) string {
	return fmt.Sprintf("%s message=%q code=%q review=%v attempts=%d due=%v failed_at=#%s identity=%s replacing=%v resolution=%q unconfirmed=%d",
		st.Name, st.Message, st.Code, st.Review, st.Attempts, st.Due, p.audit.spell(on, st.FailedAt), p.row(on, t, st.Identity),
		st.Replacing, st.Resolution, st.Unconfirmed)
}

// marked spells what Match tells of a subject: change and state are markers.
func (p *player) marked(on side, s *sync.Subject) string {
	text := s.Table.Name + " in " + s.Scope.String() + ": "
	if s.Record != nil {
		text += "record " + p.ofTable(s.Table.Name).spell(on, s.RecordID) + " = " + p.record(on, s.Table, s.Record)
	} else if s.RecordID != 0 {
		text += "no record, id " + p.ofTable(s.Table.Name).spell(on, s.RecordID)
	} else {
		text += "no record"
	}
	if s.Change != nil {
		text += ", a change"
	}
	if s.State != nil {
		text += ", a state"
	}
	if s.Garbage {
		text += ", garbage"
	}
	return text
}

func (p *player) columns(on side, table string, columns map[string]sync.ValueChange) string {
	t := tableOf(table)
	parts := make([]string, 0, len(columns))
	for name, c := range columns {
		parts = append(parts, fmt.Sprintf("%s: %s to %s named %s", name, p.value(on, t, name, c.From), p.value(on, t, name, c.To), plainRow(modules.Row{"": c.Named})))
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}

func (p *player) call(on side, c sync.LoggedCall) string {
	return fmt.Sprintf("%s %s in %s key=%q token=%q up_to=#%s replaces=%v {%s}", c.Kind, p.ref(on, c.Record), c.Scope, c.Key, c.Token,
		p.audit.spell(on, c.UpTo), c.Replaces, p.columns(on, c.Record.Table, c.Columns))
}

func (p *player) conflict(on side, c simulate.ConflictRow) string {
	t := tableOf(c.Record.Table)
	return fmt.Sprintf("%s.%s database=%s cloud=%s base=%s #%s %q", p.ref(on, c.Record), c.Column,
		p.value(on, t, c.Column, c.Database), p.value(on, t, c.Column, c.Cloud), p.value(on, t, c.Column, c.Base), p.audit.spell(on, c.Audit), c.Resolved)
}

// settings spells what a cycle learns of settings and modes. The rules are asked
// about every target there is.
func (p *player) settings(on side, s sync.Settings) string {
	var b strings.Builder
	var imported []string
	for _, t := range simulate.Tables() {
		if s.Imported[t.Name] {
			imported = append(imported, t.Name)
		}
	}
	fmt.Fprintf(&b, "hold=%v deletes=%+v window=%s imported=%v", s.HoldConflicts, s.Deletes, s.ConsistencyWindow, imported)
	for _, t := range simulate.Tables() {
		for _, id := range append([]int64{0}, p.known(t.Name)...) {
			named := id
			if on == subject {
				named = p.ofTable(t.Name).subject(id)
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
	case errors.Is(err, sync.ErrLeaseLost):
		return "lease lost"
	case errors.Is(err, sync.ErrRefused):
		return "refused"
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
