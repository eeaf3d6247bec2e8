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
