package decide

import "iasql/internal/modules"

// Some objects are parts of another, their owner (modules.Reference.Part): the cloud
// deletes them along with it, in a cascade.

// ownerGoing returns the table of the owner that the subject's object goes along
// with, because the owner's record has been deleted; "" if there is none such.
// When the owner is replaced, parts that users made follow it, and only what the
// cloud makes by itself goes along with the old one.
func (s *Subject) ownerGoing() string {
	for i := range s.Table.Columns {
		c := &s.Table.Columns[i]
		ref := c.References
		switch {
		case ref == nil || ref.Part == modules.NotPart || !s.NamesOutgoing(c.Name):
		case ref.PartIf != "" && !s.Object[ref.PartIf].Bool():
		case s.Protected != "", ref.Part == modules.PartAlong && s.Record == nil:
			return ref.Table
		}
	}
	return ""
}

// CodeAlong is the code of a state that says that no call is made for an object: it goes with what it is a part of, and
// stays if that does.
const CodeAlong = "along"

// decidePart: the object exists, its record has been deleted here, and no call
// is to be made for it. It is false when one is.
func decidePart(s *Subject) (Decision, bool) {
	if owner := s.ownerGoing(); owner != "" {
		return Decision{Wait: true, State: StateRemoving, Code: CodeAlong, Reason: "goes along with its " + owner}, true
	}
	if s.Protected != "" {
		return Decision{Wait: true, State: StateRemovingFailed, Review: true, Refused: true,
			Reason: "is not deleted from here: " + s.Protected}, true
	}
	return Decision{}, false
}

// OwnerDeleted reports whether the newest thing this engine did to the existence
// of what the subject's object is a part of was to delete it. key is the object's
// identity in cloud terms, and table finds a table by its name.
func OwnerDeleted(s *Subject, scope modules.Scope, key modules.Row, log Intents,
	table func(string) *modules.Table) bool {
	for i := range s.Table.Columns {
		col := &s.Table.Columns[i]
		if col.References == nil || col.References.Part != modules.PartAlong || col.References.PartIf != "" ||
			key[col.Name].IsNull() {
			continue
		}
		owner := table(col.References.Table)
		if owner == nil {
			continue
		}
		if names := owner.Identity(); len(names) != 1 || names[0] != col.References.Key {
			if DeletedLast(RecordRef{owner.Name, s.row()[col.Name].Int()}, log) {
				return true
			}
			continue
		}
		identity := modules.Row{col.References.Key: key[col.Name], modules.ColumnAccount: modules.Text(scope.Account),
			modules.ColumnRegion: modules.Text(scope.Region)}
		if deletedLast(log.Of(&Subject{Table: owner, Scope: owner.Scope(identity)}, identity)) {
			return true
		}
	}
	return false
}

// Part is a subject, and a record that its own is or was a part of.
type Part struct {
	Subject *Subject
	Of      RecordRef
}

// Parts returns what the subject's record is a part of, or was when it was deleted.
func Parts(s *Subject) (parts []Part) {
	for i := range s.Table.Columns {
		ref := s.Table.Columns[i].References
		if ref == nil || ref.Part == modules.NotPart || ref.ByKey {
			continue
		}
		if id := s.row()[s.Table.Columns[i].Name]; !id.IsNull() {
			parts = append(parts, Part{s, RecordRef{ref.Table, id.Int()}})
		}
	}
	return parts
}

// DeletedLast reports whether the newest thing that these calls did to the existence of a
// record's object was to delete it.
func DeletedLast(record RecordRef, log Intents) bool {
	ofRecord, _ := log.find(record, objectRef{})
	return deletedLast(ofRecord)
}

// row is what the record holds, or held when it was deleted.
func (s *Subject) row() modules.Row {
	switch {
	case s.Record != nil:
		return s.Record.Row
	case s.Change != nil:
		return s.Change.Last
	}
	return nil
}
