package sync

import "iasql/internal/modules"

// wholeGoing returns the table of the whole that the subject's object is a part
// of and goes along with, because the whole's record has been deleted; "" if
// there is none such. When the whole is replaced, parts that users made follow
// it, and only what the cloud makes by itself goes along with the old one.
func (s *Subject) wholeGoing() string {
	for i := range s.Table.Columns {
		c := &s.Table.Columns[i]
		ref := c.References
		switch {
		case ref == nil || ref.Part == modules.NotPart || !s.Stranded[c.Name]:
		case ref.PartIf != "" && !s.Object[ref.PartIf].Bool():
		case s.Protected != "", ref.Part == modules.PartAlong && s.Record == nil:
			return ref.Table
		}
	}
	return ""
}

// decidePart: the object exists, its record has been deleted here, and no call
// is to be made for it. It is false when one is.
func decidePart(s *Subject) (Decision, bool) {
	if whole := s.wholeGoing(); whole != "" {
		return Decision{Wait: true, State: StateRemoving, Reason: "goes along with its " + whole}, true
	}
	if s.Protected != "" {
		return Decision{Wait: true, State: StateRemovingFailed, Review: true, Reason: "is not deleted from here: " + s.Protected}, true
	}
	return Decision{}, false
}

// wholeGone reports whether the newest thing this engine did to the existence of
// what the subject's object is a part of was to delete it. key is the object's
// identity in cloud terms.
func (c *cycle) wholeGone(s *Subject, scope modules.Scope, key modules.Row) bool {
	for i := range s.Table.Columns {
		col := &s.Table.Columns[i]
		if col.References == nil || col.References.Part != modules.PartAlong || col.References.PartIf != "" || key[col.Name].IsNull() {
			continue
		}
		whole := c.Registry.Table(col.References.Table)
		if whole == nil {
			continue
		}
		if names := whole.Identity(); len(names) != 1 || names[0] != col.References.Key {
			if c.own.deletedLast(RecordRef{whole.Name, s.row()[col.Name].Int()}) {
				return true
			}
			continue
		}
		identity := modules.Row{col.References.Key: key[col.Name], modules.ColumnAccount: modules.Text(scope.Account), modules.ColumnRegion: modules.Text(scope.Region)}
		at := &Subject{Table: whole, Scope: whole.Scope(identity)}
		at.Own = c.own.of(at, identity)
		if at.deletedLast() {
			return true
		}
	}
	return false
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

// deletedLast reports whether the newest thing this engine did to the existence
// of a record's object was to delete it.
func (ix ownIndex) deletedLast(ref RecordRef) bool {
	s := &Subject{}
	for _, w := range ix.byRecord[ref] {
		s.Own = append(s.Own, w.OwnWrite)
	}
	return s.deletedLast()
}
