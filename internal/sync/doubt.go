package sync

import (
	"iasql/internal/decide"
	"iasql/internal/modules"
)

// doubts are about creations, and deletions that make room, that may have happened, as far as this cycle has found
// out what became of them (R6).
type doubts struct {
	// unknown: whether the record has an object is still being looked for. The record
	// is left alone for this cycle.
	unknown map[decide.RecordRef]bool
	// again: the record asks for a name, and to ask for it once more does no harm.
	again map[decide.RecordRef]bool
	// held are the places in which an object without a record may be what a creation
	// in doubt has made: it is neither inserted nor deleted.
	held map[place]bool
}

func newDoubts() doubts {
	return doubts{unknown: map[decide.RecordRef]bool{}, again: map[decide.RecordRef]bool{}, held: map[place]bool{}}
}

// undecided leaves a record alone for this cycle, since a creation of it may
// have happened, and with it what its scope has no record of.
func (d *doubts) undecided(ref decide.RecordRef, scope modules.Scope) {
	d.unknown[ref] = true
	d.holdBack(ref.Table, scope)
}

// leave leaves a record alone for this cycle.
func (d *doubts) leave(ref decide.RecordRef) { d.unknown[ref] = true }

// holdBack leaves alone for this cycle what a scope has no record of.
func (d *doubts) holdBack(table string, scope modules.Scope) { d.held[place{table, scope}] = true }

// repeatable notes that a creation may be made again.
func (d *doubts) repeatable(ref decide.RecordRef) { d.again[ref] = true }

// about reports whether the record is to be left alone.
func (d *doubts) about(ref decide.RecordRef) bool { return d.unknown[ref] }

// holds reports whether what a scope has no record of is to be left alone.
func (d *doubts) holds(table string, scope modules.Scope) bool { return d.held[place{table, scope}] }

// undecidable reports whether nobody knows yet if the subject has an object:
// deciding anything about it, even that a deletion is done with, would be a guess.
func (d *doubts) undecidable(s *decide.Subject) bool {
	return !s.Deposed && (d.unknown[s.Ref()] || s.Record == nil && d.again[s.Ref()])
}
