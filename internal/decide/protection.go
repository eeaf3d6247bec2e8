package decide

import (
	"fmt"
	"strings"

	"iasql/internal/modes"
	"iasql/internal/modules"
)

// What people have said must stay: R25, mode PAUSE, and drift = ask. Each of these
// takes back what would be decided otherwise.

// Protection says which records must not be destroyed: neither deleted nor replaced.
// The rule of a record beats that of its table.
type Protection map[RecordRef]bool

// Of reports whether a record is protected. Record 0 is any of which there is no
// record.
func (p Protection) Of(ref RecordRef) bool {
	if len(p) == 0 {
		return false
	}
	if protected, ruled := p[ref]; ruled {
		return protected
	}
	return p[RecordRef{Table: ref.Table}]
}

// CodeRule is the code of a state that says that rules keep the record from moving: a
// change of the rules makes it due.
const CodeRule = "rule"

// Held is what a decision leaves as it is.
type Held struct {
	// Why is "paused" or "ask".
	Why string
	// Action is what would be done to the record, Nothing if it would be pushed.
	Action Action
	Row    modules.Row // database terms: what the cloud has
}

// The reasons why something is held.
const (
	HeldPaused = "paused"
	HeldAsk    = "ask"
)

// modeOf returns the mode that holds for a column of the subject, "" for the record.
// What a user has left to others is never enforced.
func (p Policy) modeOf(s *Subject, column string) modes.Mode {
	m := p.Rules.Of(s.Table.Name, s.RecordID, column)
	if m.DatabaseWins() && s.Ignored != "" {
		return modes.Normal
	}
	return m
}

// asksDrift reports whether drift is shown to a person instead of being pulled.
func (p Policy) asksDrift(m modes.Mode) bool { return p.AskDrift && p.Imported && m.LogDecides() }

// bindingless reports whether the record is neither bound to an object nor being replaced. A difference is then a
// change that was made in the cloud.
func (s *Subject) bindingless() bool { return !s.bound() && !s.replacing() }

// hold takes back what a decision must not do: destroy what is protected, or move
// what is paused.
func hold(s *Subject, p Policy, d Decision) Decision {
	if d.Action == Nothing {
		return d
	}
	if p.Rules.Any() && p.modeOf(s, "").Pauses() {
		if held, paused := pause(s, d); paused {
			return held
		}
	}
	if d.Action != Delete && d.Action != Replace || !p.Protection.Of(s.Ref()) {
		return d
	}
	remedy := fmt.Sprintf("SELECT iasql_unprotect('%s', %d)", s.Table.Name, s.RecordID)
	switch {
	case s.Deposed:
		return Decision{Wait: true, State: StateReplacing, Review: true, Code: CodeRule,
			Reason: "its record is protected, so that the object that was replaced stays; " + remedy + " lets it go"}
	case s.RecordID == 0:
		if s.parentless() {
			return Decision{Wait: true, Reason: "its table is protected, and what it belongs to has no record yet"}
		}
		return Decision{Action: InsertRecord, Pull: s.pullable(), Reason: "found in the cloud; its table is protected"}
	case d.Action == Delete:
		return Decision{Wait: true, State: StateRemovingFailed, Review: true, Code: CodeRule,
			Reason: "the record is deleted and protected, so that the object stays; " + remedy + " lets it go"}
	case s.Failure != "" && d.State == StateReplacing && len(d.Push) == 0:
		return d // there is nothing that could be lost: the cloud could not make it
	}
	return d.refuseBy("changing " + strings.Join(d.Push, ", ") +
		" replaces the object, and the record is protected; change it back, or " + remedy)
}

// refuseBy is refuse for a reason that a change of the rules takes away.
func (d Decision) refuseBy(reason string) Decision {
	d = d.refuse(reason)
	d.Code = CodeRule
	return d
}

// Keeps reports whether the decision leaves an object as it is that would have been
// replaced, since it is protected or something that would have to follow it is.
func (d *Decision) Keeps() bool { return d.Code == CodeRule && d.State == StateUpdatingFailed }

// KeptFor turns a replacement into one that waits for a person, since a protected
// record would have to follow it.
func (d Decision) KeptFor(s *Subject) Decision {
	return d.refuseBy(fmt.Sprintf(
		"replacing the object would replace that of %[1]s %[2]d, which is protected; SELECT iasql_unprotect('%[1]s', "+
			"%[2]d), or take the change back", s.Table.Name, s.RecordID))
}

// pause takes back what a decision does to the existence of an object or a record
// that is paused. What it does to columns has been decided by their own modes.
func pause(s *Subject, d Decision) (Decision, bool) {
	out := Decision{Wait: true, State: StatePaused, Code: CodeRule, Review: s.Change != nil}
	switch d.Action {
	case Update, UpdateRecord:
		if s.Presence == Going {
			return Decision{Wait: true, Reason: d.Reason}, true
		}
		return d, false
	case InsertRecord:
		out.Held = &Held{Why: HeldPaused, Action: InsertRecord, Row: d.Pull}
	case DeleteRecord:
		out.Held = &Held{Why: HeldPaused, Action: DeleteRecord}
	}
	switch {
	case s.Deposed:
		out.State, out.Review = StateReplacing, false
		out.Reason = "replaced, and left in the cloud while its record is paused"
	case s.RecordID == 0:
		return Decision{Held: out.Held, Reason: "PAUSE: not imported"}, true
	default:
		out.Reason = "PAUSE: " + map[Action]string{
			Create: "the object is not created", Replace: "the object is not replaced",
			Delete:       "the object is not deleted",
			InsertRecord: "the record is not brought back", DeleteRecord: "gone from the cloud, and the record stays",
		}[d.Action]
	}
	return out, true
}

// asks turns a pull into a question.
func (d Decision) asks(what string) Decision {
	held := &Held{Why: HeldAsk, Action: d.Action, Row: d.Pull}
	if d.Action == InsertRecord { // there is no record whose state could say so
		return Decision{Held: held, Reason: what + "; drift is ask"}
	}
	return Decision{Wait: true, State: StateConflict, Review: true, Code: CodeRule, Held: held,
		Conflicts: []Conflict{{Open: true, Drift: true}},
		Reason:    what + "; drift is ask: resolve it in iasql_conflicts"}
}

// left gathers what columns leave as it is.
type left struct {
	paused  []string
	pending bool // a user's change is among it
	asked   []string
	row     modules.Row
}

// held says what a column leaves as it is.
func (l *left) held(names *[]string, column string, cloud modules.Value) {
	*names = append(*names, column)
	if l.row == nil {
		l.row = modules.Row{}
	}
	l.row[column] = cloud
}

// note notes in the decision what is left as it is.
func (l *left) note(d Decision) Decision {
	if l.row == nil {
		return d
	}
	d.Held = &Held{Why: HeldPaused, Action: UpdateRecord, Row: l.row}
	if len(l.paused) == 0 {
		d.Held.Why = HeldAsk
	}
	return d
}

// concludePaused: some columns are paused and differ; nothing else is to be pushed.
func (l *left) concludePaused(d Decision) Decision {
	d.State, d.Code, d.Wait = StatePaused, CodeRule, true
	d.Review, d.Settle = l.pending, !l.pending
	d.Reason = "PAUSE: differs from the cloud in " + strings.Join(l.paused, ", ")
	return d
}
