package decide

import (
	"fmt"
	"slices"

	"iasql/internal/modes"
	"iasql/internal/modules"
)

// A list of names may have a list of records beside it ([modules.Column.Records]). The names are what is compared,
// read and sent; the records say what the names are: those that the records have now, which is not what the row has
// if a record has got its object since, or another one.

// Names returns what the record asks for in a column: what its row has or, if records beside it say what that is to
// be, their names as they are now. An element is NULL whose record has no name yet. moved reports whether that is not
// what the row has.
func (s *Subject) Names(c *modules.Column) (names modules.Value, moved bool) {
	stored := s.Record.Row[c.Name]
	records := s.Table.RecordsOf(c)
	if records == nil || stored.IsNull() {
		return stored, false
	}
	list, ids, now := stored.Elements(), s.Record.Row[records.Name].IDs(), s.RefKeys[records.Name].Elements()
	if len(ids) != len(list) || len(now) != len(list) {
		return stored, false
	}
	for i, id := range ids {
		if id != 0 && list[i] != now[i] {
			list[i], moved = now[i], true
		}
	}
	if !moved {
		return stored, false
	}
	return modules.Elements(list), true
}

// followsList reports whether the records beside a list of names are to be replaced, one of them at least, so that
// the names that there will be are sent.
func (s *Subject) followsList(c *modules.Column) bool {
	records := s.Table.RecordsOf(c)
	return records != nil && s.Follows[records.Name]
}

// moveNames says what to do about names that are not those in the row, since their records have others now; the verdict
// v came of the names that they have. Where both sides are the same by now, the row follows. Otherwise the cloud is
// told, unless somebody has changed it as well, or it would take a new object: nobody has asked for one.
func (s *Subject) moveNames(c *modules.Column, m modes.Mode, v verdict, names, cloud modules.Value) verdict {
	_, pending := s.pendingBase(c, names)
	switch {
	case v == verdictSame:
		return verdictPull
	case pending, v != verdictPull && v != verdictPush, !c.Same(s.Record.Row[c.Name], cloud):
		return v
	case m.CloudWins(), c.Replaces(cloud, names):
		return verdictSame
	}
	return verdictPush
}

// lists pulls the lists of records along with the names beside them, and fills in records that names had none of.
func (cs *columns) lists() {
	s := cs.s
	for _, list := range s.Table.Lists() {
		names := s.Table.Column(list.Records.NameColumn)
		pulled, isPulled := cs.d.Pull[names.Name]
		cloud, known := s.Object[list.Name]
		have := s.Record.Row[list.Name]
		switch {
		case !known:
		case isPulled && pulled == s.Object[names.Name]:
			if have != cloud {
				cs.d.Pull[list.Name] = cloud
			}
		case isPulled, slices.Contains(cs.d.Push, names.Name), s.Change != nil, cs.mode(names).Pauses():
		default:
			if filled := fill(s.Record.Row[names.Name], have, s.Object[names.Name], cloud); filled != have {
				cs.d.Pull[list.Name] = filled
			}
		}
	}
}

// fill returns a list of records with those that its names have by now, as the object's have.
func fill(names, records, objectNames, objectRecords modules.Value) modules.Value {
	list, ids := names.Elements(), records.IDs()
	if names.IsNull() {
		return records
	}
	if len(ids) != len(list) {
		ids = make([]int64, len(list))
	}
	known := map[modules.Value]int64{}
	recorded := objectRecords.IDs()
	for i, name := range objectNames.Elements() {
		if i < len(recorded) {
			known[name] = recorded[i]
		}
	}
	for i, name := range list {
		if ids[i] == 0 {
			ids[i] = known[name]
		}
	}
	return modules.IDs(ids)
}

// linkList adds the edges that a list of names asks for: to what makes the records that are to be named, and from what
// deletes those that are named.
func (b *builder) linkList(op *Op, c, records *modules.Column) {
	s := op.Subject
	var wanted []modules.Value
	if s.Record != nil && (op.Kind == OpCreate || op.Kind == OpUpdate && slices.Contains(op.Columns, c.Name)) {
		names, _ := s.Names(c)
		wanted = names.Elements()
		ids := s.Record.Row[records.Name].IDs()
		for i, name := range wanted {
			if i < len(ids) && ids[i] != 0 {
				b.linkListed(op, RecordRef{records.Records.Table, ids[i]}, name)
			} else if name.IsNull() {
				b.waiting = append(b.waiting, Waiting{Subject: s, On: s.Ref(),
					Reason: fmt.Sprintf("%s names a record that is gone: set it anew", records.Name)})
			}
		}
	}
	// What is deleted is left first. (What keeps naming it may be unable to do without, and waits for the successor.)
	if op.Kind != OpDelete && wanted == nil {
		return
	}
	for _, name := range s.Cloud[c.Name].Elements() {
		if slices.Contains(wanted, name) {
			continue
		}
		for _, parent := range b.byKey[objectRef{records.Records.Table + "." + records.Records.Key, s.Scope,
			name.String()}] {
			b.edge(parent, op, "")
			b.soften(parent, op)
		}
	}
}

// linkListed adds the edges to what makes a record that the operation is to name in a list.
func (b *builder) linkListed(op *Op, parent RecordRef, name modules.Value) {
	other := b.byRecord[parent]
	switch {
	case other != nil && other.Kind == OpCreate:
		b.edge(op, other, "")
		return
	case other != nil && op.Kind == OpCreate && other.completes(op.Subject.Table):
		b.edge(op, other, "")
		b.drop(op, other)
	}
	switch {
	case b.first[parent]:
		b.waiting = append(b.waiting, Waiting{Subject: op.Subject, On: parent, Going: true,
			Reason: fmt.Sprintf("waits for %s %d, which is being replaced", parent.Table, parent.ID)})
	case name.IsNull():
		b.waiting = append(b.waiting, Waiting{Subject: op.Subject, On: parent,
			Reason: fmt.Sprintf("waits for %s %d, which is not in the cloud yet", parent.Table, parent.ID)})
	}
}
