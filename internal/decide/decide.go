package decide

import (
	"fmt"
	"slices"

	"iasql/internal/modes"
	"iasql/internal/modules"
)

// Decide says what to do about a subject: the tables of docs/design.md, §3. It is
// pure.
func Decide(s *Subject, p Policy) Decision { return hold(s, p, decide(s, p)) }

// decide decides as if nothing were protected, and PAUSE were NORMAL but for columns.
func decide(s *Subject, p Policy) Decision {
	mode := p.modeOf(s, "")
	if s.Deposed {
		return decideDeposed(s, mode)
	}
	switch {
	case s.Record == nil && s.Change != nil && !s.Change.Delete:
		return Decision{Settle: true, Reason: "the record is gone"}
	case s.Record == nil && s.Change != nil:
		return decideDeleted(s, mode)
	case s.Record == nil && s.RecordID != 0: // of which there is only a state left
		return Decision{Settle: true, Reason: "the record is gone"}
	case s.Record == nil:
		return decideUnrecorded(s, p, mode)
	case s.yields():
		return Decision{Wait: true, State: StateWaiting, Reason: s.Claim.reason()}
	case s.Presence == Going, s.Presence == Present && s.deletedLast():
		return decideGoing(s)
	case s.Presence == Unknown:
		return Decision{Wait: true, State: StateCheckPresentFailed, Reason: "the cloud could not be read"}
	case s.Presence == Absent:
		return decideAbsent(s, p, mode)
	case s.ownerGoing() != "":
		return Decision{Wait: true, Reason: "goes along with its " + s.ownerGoing()}
	case s.showsPredecessor():
		return Decision{Wait: true, State: StateReplacing, Reason: "replaced, not visible yet"}
	}
	if s.Failure != "" && !mode.CloudWins() && (s.inserted() || s.bound()) && !s.adopting() {
		return decideFailed(s)
	}
	if why := s.otherwise(); why != "" && !mode.CloudWins() {
		switch s.resolution() {
		case "cloud":
			return decideColumns(s, p.tracking())
		case "":
			return askOtherwise(why)
		}
	}
	return decideColumns(s, p)
}

// decideFailed: the cloud began to make the object of a new record, and could not.
// What was in the way may be there by now, or may not: it is made anew a few times.
func decideFailed(s *Subject) Decision {
	d := Decision{State: StateCreating, Reason: "the cloud could not make it: " + s.Failure}
	switch {
	case s.State != nil && s.State.Unconfirmed >= MaxUnconfirmed && s.Change.Latest() <= s.State.FailedAt,
		!s.Can.Create || !s.Can.Delete:
		d.Wait, d.State, d.Review = true, StateCreatingFailed, true
	case s.attempts() == 1 || !s.Due():
		d.Wait = true
	default:
		d.Action, d.State = Replace, StateReplacing
	}
	return d
}

// What a state says of an object that a read has shown as going.
const (
	isGoing    = "the object is being deleted"
	oldIsGoing = "the old object is being deleted"
)

// wasGoing reports whether the last read that told anything has shown the object as going, and the next, which
// did not find it, may be from before it was there: it was made or found within the consistency window (R13).
// Its deletion takes time, and is not done because of that (R17). A read in between that failed told nothing.
func (s *Subject) wasGoing() bool {
	made := func(i *Intent) bool { return i.Kind == OpCreate }
	return s.State != nil && s.State.SeenGoing && (s.Found || slices.ContainsFunc(s.Own, made))
}

// decideGoing: a record whose object is being deleted, or was deleted a moment ago
// by this engine and still shows (R13). Its name is taken until it is proven absent
// (R17): a successor is not called for before that, and the record is not deleted.
func decideGoing(s *Subject) Decision {
	switch {
	case s.replacing():
		return Decision{Wait: true, State: StateReplacing, Going: true, Reason: oldIsGoing}
	case s.inserted():
		return Decision{Wait: true, State: StateCreating, Reason: "an object of that name is being deleted"}
	case s.Change != nil, s.State != nil, s.Presence == Present:
		return Decision{Wait: true, State: StateUpdating, Going: true, Reason: isGoing}
	}
	// Nothing is asked for: the record goes when the object has gone, and until
	// then shows what the cloud says of it.
	d := Decision{Pull: modules.Row{}, Wait: true, Going: true, Reason: isGoing}
	for i := range s.Table.Columns {
		c := &s.Table.Columns[i]
		cloud, known := s.Object[c.Name]
		if have := s.Record.Row[c.Name]; c.Computed && !c.Identity && c.References == nil && known &&
			!c.Same(have, cloud) {
			d.Action, d.Pull[c.Name] = UpdateRecord, cloud
		}
	}
	return d
}

// decideDeposed: the old object of a replacement.
func decideDeposed(s *Subject, mode modes.Mode) Decision {
	switch {
	// that may be deleted before anything is done about it
	case s.Claim.By != 0 && s.Claim.Pending && s.Presence == Present:
		return Decision{Wait: true, State: StateReplacing, Reason: s.Claim.reason()}
	case s.Claim.By != 0 && !s.Claim.Pending && s.Presence != Going:
		return Decision{Settle: true, Reason: "a user wants to keep it"}
	}
	switch s.Presence {
	case Going: // whoever asks for one of that name gets another
		return Decision{Wait: true, State: StateReplacing, Going: true, Reason: oldIsGoing}
	case Present:
		if s.deletedLast() {
			return Decision{Wait: true, State: StateReplacing, Reason: "deletion under way"}
		}
		if mode.CloudWins() {
			return Decision{Wait: true, State: StateReplacing,
				Reason: "replaced, and left in the cloud while its record is tracked"}
		}
		return Decision{Action: Delete, State: StateReplacing, Reason: "replaced by a new object"}
	case Absent:
		if s.CreatedLast() { // not visible yet (R13)
			return Decision{Wait: true, State: StateReplacing, Reason: "created a moment ago, not visible yet"}
		}
		if s.wasGoing() {
			return Decision{Wait: true, State: StateReplacing, Going: true, Reason: oldIsGoing}
		}
		return Decision{Settle: true}
	}
	return Decision{Wait: true, State: StateReplacing, Reason: "the cloud could not be read"}
}

// decideDeleted: a user deleted the record, and that is not settled.
func decideDeleted(s *Subject, mode modes.Mode) Decision {
	if _, named := s.Identity(); !named {
		return Decision{Settle: true, Reason: "was never created"}
	}
	if s.Change.Insert && !s.everStood() {
		// An object of that name is somebody else's.
		return Decision{Settle: true, Reason: "was inserted and deleted before anything was done about it"}
	}
	if s.Claim.open() {
		return Decision{Wait: true, State: StateRemoving, Reason: s.Claim.reason()}
	}
	if s.Doubt && s.Change.Insert {
		return doubtful()
	}
	if s.Claim.By != 0 {
		return Decision{Settle: true, Reason: fmt.Sprintf("its object is that of record %d", s.Claim.By)}
	}
	switch s.Presence {
	case Unknown:
		return Decision{Wait: true, State: StateCheckAbsentFailed, Reason: "the cloud could not be read"}
	case Going:
		return Decision{Wait: true, State: StateRemoving, Going: true, Reason: isGoing}
	case Absent:
		if why, going := s.unproven(); why != "" {
			return Decision{Wait: true, State: StateRemoving, Going: going, Reason: why}
		}
		return Decision{Settle: true, Reason: "is gone"}
	}
	if mode.CloudWins() {
		if s.deletedLast() {
			return Decision{Wait: true, State: StateRemoving, Reason: "deletion under way"}
		}
		if s.parentless() {
			return Decision{Wait: true, State: StateWaiting, Reason: "what its object belongs to has no record"}
		}
		return Decision{Action: InsertRecord, Pull: s.pullable(), Settle: true, Reason: "TRACK: the cloud wins"}
	}
	if s.deletedLast() {
		return Decision{Wait: true, State: StateRemoving, Reason: "deletion under way"}
	}
	if d, part := decidePart(s); part {
		return d
	}
	if why := s.otherwise(); why != "" {
		switch s.resolution() {
		case "cloud":
			return Decision{Action: InsertRecord, Pull: s.pullable(), Settle: true,
				Reason: "conflict resolved in favour of the cloud"}
		case "":
			return askOtherwise(why)
		}
	}
	if !s.Can.Delete {
		return Decision{Wait: true, State: StateRemovingFailed, Review: true, Refused: true,
			Reason: "objects of " + s.Table.Name + " cannot be deleted from here"}
	}
	return Decision{Action: Delete, State: StateRemoving, Reason: "deleted here"}
}

// unproven says why a read that did not find the object of a deleted record does not prove
// that it is gone, "" if it does. going: since another has shown it as going.
func (s *Subject) unproven() (why string, going bool) {
	switch {
	case s.Unnameable, s.Cascaded:
	case s.CreatedLast(): // not visible yet (R13)
		return "created a moment ago, not visible yet", false
	case s.Found && !s.deletedLast(): // a later listing would bring it back
		return foundLately, false
	case s.wasGoing():
		return isGoing, true
	}
	return "", false
}

// decideUnrecorded: an object without a record, and nobody deleted one.
func decideUnrecorded(s *Subject, p Policy, mode modes.Mode) Decision {
	if s.Presence != Present || s.Ignored != "" {
		return Decision{}
	}
	for _, w := range s.Own {
		switch w.Kind {
		case OpDelete: // a stale listing still shows what was just deleted (R13)
			return Decision{Wait: true, Reason: "deleted a moment ago"}
		case OpCreate: // its record is about to learn its identity, or was let go of, and the object is wanted back
			if p.Adopted {
				continue
			}
			return Decision{Wait: true, Reason: "created a moment ago"}
		}
	}
	if mode.DatabaseWins() && p.Imported && s.Can.Delete && s.Protected == "" && s.Manager == "" && !s.Table.HoldsData {
		return Decision{Action: Delete, State: StateRemoving, Reason: "ENFORCE: no record asks for it"}
	}
	if s.parentless() {
		return Decision{Wait: true, Reason: "what it belongs to has no record yet"}
	}
	d := Decision{Action: InsertRecord, Pull: s.pullable(), Reason: "found in the cloud"}
	if p.AskDrift && p.Imported && mode.LogDecides() && !p.Adopted && s.Protected == "" {
		return d.asks("found in the cloud")
	}
	return d
}

// doubtful: whose the object is, or whether it is there, depends on what a creation in
// doubt has made.
func doubtful() Decision {
	return Decision{Wait: true, State: StateWaiting,
		Reason: "its object may be what a creation has made for another record, which is being found out"}
}

// foundLately is the reason to wait of a record whose object was found in the cloud within
// the consistency window, and that a read does not show (R13).
const foundLately = "found in the cloud a moment ago, and not visible now"

// roomInDoubt is the reason to wait of a record that is being replaced, whose old object is not seen, while the answer
// to its deletion is not known.
const roomInDoubt = "whether its old object was deleted to make room is being found out"

// decideAbsent: a record whose object a read has not found. What somebody has named by its
// id may be what a creation in doubt has made, and not be visible yet: another is not made.
func decideAbsent(s *Subject, p Policy, mode modes.Mode) Decision {
	d := decideGone(s, p, mode)
	if d.Action == DeleteRecord && s.vanished() {
		d = decideVanished(s, d, mode)
	}
	if _, named := s.Identity(); named && s.Doubt && (d.Action == Create || d.State == StateCreatingFailed) {
		return doubtful()
	}
	return d
}

// decideGone: a record whose object is proven not to exist.
func decideGone(s *Subject, p Policy, mode modes.Mode) Decision {
	if s.CreatedLast() { // not visible yet (R13)
		return Decision{Wait: true, State: StateCreating, Reason: "created, not visible yet"}
	}
	wasCreated := s.bound() && s.Table.ComputedIdentity()
	switch {
	case mode.CloudWins():
		return Decision{Action: DeleteRecord, Settle: true, Reason: "TRACK: the cloud has no such object"}
	case s.replacing():
		return createOrRefuse(s, StateReplacing, "replacing")
	case s.RoomInDoubt: // it is this engine's doing, or somebody else's at the same time
		return Decision{Wait: true, State: StateReplacing, Reason: roomInDoubt}
	case s.inserted() && !wasCreated:
		if _, named := s.Identity(); named && s.Table.ComputedIdentity() {
			return Decision{Wait: true, State: StateCreatingFailed, Review: true,
				Reason: "the cloud has no object with the identity given by the INSERT; delete the row, or insert it " +
					"without " + s.Table.Identity()[0]}
		}
		return createOrRefuse(s, StateCreating, "inserted here")
	case s.Found && (mode.DatabaseWins() || s.resolution() == "database" || s.Change != nil && s.Change.Again &&
		!s.bound()):
		return Decision{Wait: true, State: StateCheckPresentFailed, Reason: foundLately}
	case mode.DatabaseWins():
		return createOrRefuse(s, StateCreating, "ENFORCE: gone from the cloud")
	case s.Change != nil && s.Change.Again && !s.bound():
		return createOrRefuse(s, StateCreating, "deleted, and inserted again")
	case s.inserted(), s.Change != nil && len(s.Change.Base) > 0:
		// Here inserted means created and gone again before both sides were
		// seen to agree: that is as little settled as an update.
		switch s.resolution() {
		case "database":
			return createOrRefuse(s, StateCreating, "conflict resolved in favour of the database")
		case "cloud":
			return Decision{Action: DeleteRecord, Settle: true, Reason: "conflict resolved in favour of the cloud"}
		}
		return Decision{Wait: true, State: StateConflict, Review: true, Conflicts: []Conflict{{Open: true}},
			Reason: "deleted in the cloud while it was changed here"}
	}
	d := Decision{Action: DeleteRecord, Settle: true, Reason: "gone from the cloud"}
	if p.asksDrift(mode) && s.Change == nil && s.bindingless() {
		switch s.resolution() {
		case "database":
			return createOrRefuse(s, StateCreating, "drift resolved in favour of the database")
		case "cloud":
			return d
		}
		return d.asks("gone from the cloud")
	}
	return d
}

func createOrRefuse(s *Subject, state StateName, reason string) Decision {
	if !s.Can.Create {
		return Decision{Wait: true, State: StateCreatingFailed, Review: true, Refused: true,
			Reason: "objects of " + s.Table.Name + " cannot be created from here"}
	}
	return Decision{Action: Create, State: state, Reason: reason}
}
