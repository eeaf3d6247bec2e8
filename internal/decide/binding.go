package decide

import "iasql/internal/modules"

// A record is bound to the object that stands for it in the cloud: by the identity
// columns of its row, or, where those do not say it (yet), by its Binding.

// Binding is what is remembered of the object that stands for a record. It outlives
// all else that a [State] says.
type Binding struct {
	// Identity overrides the row's identity columns: the object that stands
	// for the record in the cloud, where the row does not say so (yet).
	Identity modules.Row
	// Replacing: the old object is gone and the new one not yet there.
	Replacing bool
	// Unconfirmed counts pushes the cloud accepted without keeping them.
	Unconfirmed int
	// SeenGoing: the last read that told anything has shown the object as going.
	SeenGoing bool
}

// Identity returns the columns that name the subject's object in the cloud
// (database terms, with account and region): those of its binding, the identity
// before an unsettled change of it, or the row's. It is false while the subject
// names no object. A user-chosen name of a record that was never created names the
// object it asks for, which may be there already.
func (s *Subject) Identity() (modules.Row, bool) {
	var source modules.Row
	switch {
	case s.bound():
		source = s.State.Identity
	case s.Record != nil:
		source = s.Record.Row
	case s.Change != nil && s.Change.Last != nil:
		source = s.Change.Last
	case s.Object != nil:
		source = s.Object
	default:
		return nil, false
	}
	if s.replacing() && s.Table.ComputedIdentity() {
		return nil, false // the old object is gone, the new one has no name yet
	}
	row := modules.Row{}
	for i := range s.Table.Columns {
		c := &s.Table.Columns[i]
		if !c.Identity && c.Name != modules.ColumnAccount && c.Name != modules.ColumnRegion {
			continue
		}
		v := source[c.Name]
		if s.Change != nil && !s.Change.Insert && !s.replacing() && !s.bound() {
			if base, changed := s.Change.Base[c.Name]; changed {
				v = base
			}
		}
		if v.IsNull() && c.Identity {
			return nil, false
		}
		row[c.Name] = v
	}
	return row, true
}

// IdentityOf returns the identity columns of a row, with account and region.
func IdentityOf(t *modules.Table, row modules.Row) modules.Row {
	id := modules.Row{}
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Identity || c.Name == modules.ColumnAccount || c.Name == modules.ColumnRegion {
			id[c.Name] = row[c.Name]
		}
	}
	return id
}

// bound reports whether it is remembered which object stands for the record, since
// this engine has created it, or the INSERT has met it, and the two have not yet
// been seen to agree.
func (s *Subject) bound() bool { return s.State != nil && s.State.Identity != nil }

// replacing reports whether the record's old object is gone and the new one not
// yet there.
func (s *Subject) replacing() bool { return s.State != nil && s.State.Replacing }

// inserted reports whether the record is new and its INSERT pending.
func (s *Subject) inserted() bool { return s.Change != nil && s.Change.Insert }

// New reports whether the record was inserted, and nothing has been done or said about it yet.
func (s *Subject) New() bool {
	return s.Record != nil && s.inserted() && !s.Change.Again && s.State == nil && len(s.Own) == 0
}

// JustCreated returns what this engine has created the record's object with, as long as that is not settled: what was
// written to the object since is left out. It is nil if the engine has not created it within the consistency window, or
// does not know for certain.
func (s *Subject) JustCreated() modules.Row {
	if s.Record == nil || !s.inserted() {
		return nil
	}
	var sent modules.Row
	for _, i := range s.Own {
		switch {
		case i.Result != ResultOK, i.Replaces, i.Record != s.Ref():
			return nil
		case i.Kind == OpCreate:
			sent = modules.Row{}
			for j := range s.Table.Columns { // what is NULL is not in the log
				if c := &s.Table.Columns[j]; !c.Computed {
					sent[c.Name] = i.Columns[c.Name].To
				}
			}
		case i.Kind == OpUpdate:
			for name := range i.Columns {
				delete(sent, name)
			}
		default:
			return nil
		}
	}
	return sent
}

// everStood reports whether the inserted record has been seen to stand for an
// object, or says by an assigned identity which one it is about.
func (s *Subject) everStood() bool {
	return s.Table.ComputedIdentity() || len(s.Own) > 0 || s.bound()
}

// pendingBase returns the base of a column and whether a user's change of it is
// pending. A column left NULL by an INSERT was not asked for: the cloud's
// default is pulled. All that is true of an INSERT is true of a record whose
// object has been made anew: the new one may lack what cannot be said when it is
// created. (What the cloud has chosen among its own objects it chooses anew: the
// old choice may have gone along with the old object.)
func (s *Subject) pendingBase(c *modules.Column, have modules.Value) (base modules.Value, pending bool) {
	if s.Change != nil {
		base, pending = s.Change.Base[c.Name]
	}
	if !pending && (s.inserted() || s.bound() && !(c.OptionalComputed && c.References != nil)) {
		return modules.Null, !have.IsNull()
	}
	return base, pending
}

// Remember returns st with the binding that must outlive it.
func (s *Subject) Remember(st State) *State {
	if s.State != nil {
		st.Identity, st.Replacing, st.SeenGoing = s.State.Identity, s.State.Replacing, s.State.SeenGoing
		if st.Unconfirmed == 0 {
			st.Unconfirmed = s.State.Unconfirmed
		}
	}
	switch s.Presence {
	case Going:
		st.SeenGoing = true
	case Present:
		st.SeenGoing = false
	}
	if st.Identity == nil && st.Name.stands() && s.inserted() && s.Presence == Present && !s.Table.ComputedIdentity() {
		// The INSERT met this object. Its row may be given another name before
		// both are seen to agree.
		st.Identity = IdentityOf(s.Table, s.Object)
	}
	if st.FailedAt == 0 {
		st.FailedAt = s.Change.Latest()
	}
	return &st
}
