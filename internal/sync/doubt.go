package sync

import (
	"iasql/internal/decide"
	"iasql/internal/modules"
)

// doubts holds the creations whose outcome this cycle has not found out yet, and the deletions that make room for
// them (R6).
type doubts struct {
	// unknown: whether the record has an object is still being looked for. The record
	// is left alone for this cycle.
	unknown map[decide.RecordRef]bool
	// again are creations by a name, which to ask for once more does no harm, as long as
	// the record asks for it.
	again map[decide.RecordRef][]decide.Intent
	// held are the places in which an object without a record may be what a creation
	// in doubt has made: it is neither inserted nor deleted.
	held map[place]bool
	// room has the keys of the objects of which it is not known whether they were deleted to make room for what
	// replaces them.
	room map[decide.RecordRef]string
}

func newDoubts() doubts {
	return doubts{unknown: map[decide.RecordRef]bool{}, again: map[decide.RecordRef][]decide.Intent{},
		held: map[place]bool{}, room: map[decide.RecordRef]string{}}
}

// undecided leaves a record alone for this cycle, since a creation of it may
// have happened, and with it what its scope has no record of.
func (d *doubts) undecided(ref decide.RecordRef, scope modules.Scope) {
	d.unknown[ref] = true
	d.holdBack(ref.Table, scope)
}

// leave leaves a record alone for this cycle.
func (d *doubts) leave(ref decide.RecordRef) { d.unknown[ref] = true }

// makingRoom notes that it is not known whether a record's object was deleted to make room for what replaces it.
func (d *doubts) makingRoom(intent *decide.Intent) { d.room[intent.Record] = intent.Key }

// makesRoom reports whether that is not known of a record's object.
func (d *doubts) makesRoom(ref decide.RecordRef, key string) bool {
	deleted, doubtful := d.room[ref]
	return doubtful && deleted == key
}

// holdBack leaves alone for this cycle what a scope has no record of.
func (d *doubts) holdBack(table string, scope modules.Scope) { d.held[place{table, scope}] = true }

// repeatable notes that a creation may be made again.
func (d *doubts) repeatable(intent decide.Intent) {
	d.again[intent.Record] = append(d.again[intent.Record], intent)
}

// about reports whether the record is to be left alone.
func (d *doubts) about(ref decide.RecordRef) bool { return d.unknown[ref] }

// holds reports whether what a scope has no record of is to be left alone.
func (d *doubts) holds(table string, scope modules.Scope) bool { return d.held[place{table, scope}] }

// undecidable reports whether nobody knows yet if the subject has an object: deciding
// anything about it, even that a deletion is done with, would be a guess. A record that was
// deleted or renamed since its creation was found to be repeatable is left alone, too: under
// the name that it asked for there may be an object of its own.
func (d *doubts) undecidable(s *decide.Subject) bool {
	if s.Deposed {
		return false
	}
	for _, intent := range d.again[s.Ref()] {
		if s.Record == nil || !intent.AsksFor(s.Table, s.Record.Row) {
			d.undecided(s.Ref(), intent.Scope)
		}
	}
	return d.unknown[s.Ref()]
}
