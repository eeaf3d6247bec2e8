package decide

import (
	"maps"

	"iasql/internal/modes"
	"iasql/internal/modules"
)

// A reference of an object dangles if no record that stays stands for what it
// names. Either that has no record (yet), and the column is missing from
// Observation.Object while Observation.Cloud has it; or its record is on the way
// out, since a user has deleted it or a replacement has deposed its object, and
// the column of Observation.Object is [modules.Outgoing].

// cloudValue returns what the object has in a column. It is not known if there is
// nothing to compare: the cloud did not say it, or the reference dangles and nobody
// has asked for anything else.
func (s *Subject) cloudValue(c *modules.Column, m modes.Mode, have modules.Value) (cloud modules.Value, known bool) {
	_, pending := s.pendingBase(c, have)
	asked := !m.CloudWins() && (pending || !m.LogDecides())
	cloud, recorded := s.Object[c.Name]
	switch {
	case !recorded && s.unnamed(c, have):
		return modules.Null, true
	case !recorded && s.moved(c):
		return modules.Outgoing(have.Int()), true
	case !recorded && asked && !s.Cloud[c.Name].IsNull():
		// That cannot be pulled, but it is not what a user asks for either.
		return modules.Unrecorded(s.Cloud[c.Name].String()), true
	case !recorded:
		return modules.Null, false
	case !s.NamesOutgoing(c.Name):
		return cloud, true
	case c.Computed: // the cloud will say what comes after it
		return modules.Null, false
	case asked, !m.CloudWins() && (c.Same(have, cloud) || cloud == modules.Outgoing(have.Int())):
		return cloud, true
	}
	return modules.Null, false // it names what a user has deleted; nobody asked for anything else
}

// NamesOutgoing reports whether the object names by a column a record that is on its way
// out, or one that is to be replaced, which the subject follows.
func (s *Subject) NamesOutgoing(column string) bool {
	return s.Object[column].IsOutgoing() || s.Follows[column]
}

// unnamed reports whether a reference has no value because what the column beside it names
// has no record.
func (s *Subject) unnamed(c *modules.Column, have modules.Value) bool {
	if c.References == nil || c.References.NameColumn == "" || s.Record == nil {
		return false
	}
	name := s.Table.Column(c.References.NameColumn)
	now, said := s.Object[name.Name]
	return said && (have.IsNull() || !name.Same(s.Record.Row[name.Name], now))
}

// moved reports whether the object still has the name that the reference stood for, although the referenced record
// has another object by now, or is about to get one.
func (s *Subject) moved(c *modules.Column) bool {
	if c.References == nil || c.References.NameColumn == "" || c.References.ByKey || c.Computed || s.Record == nil ||
		s.Record.Row[c.Name].IsNull() {
		return false
	}
	_, recorded := s.Object[c.Name]
	now, said := s.Object[c.References.NameColumn]
	return !recorded && said && !now.IsNull() &&
		s.Table.Column(c.References.NameColumn).Same(s.Record.Row[c.References.NameColumn], now) &&
		s.RefKeys[c.Name] != now
}

// companionOf returns the column that says by a record what a column is to name; nil if
// there is none, or it says nothing.
func (s *Subject) companionOf(c *modules.Column) *modules.Column {
	for i := range s.Table.Columns {
		r := &s.Table.Columns[i]
		if r.References != nil && r.References.NameColumn == c.Name && !r.Computed && !s.Record.Row[r.Name].IsNull() {
			return r
		}
	}
	return nil
}

// dangles reports whether a reference names what its record does not stand for any more.
func (s *Subject) dangles(c *modules.Column) bool {
	return s.NamesOutgoing(c.Name) || s.moved(c)
}

// sameName reports whether a reference would be pushed as the very name that the
// object has in it. What a record that names itself is called its object says, if its row
// does not yet.
func (s *Subject) sameName(c *modules.Column) bool {
	if c.References == nil || c.References.ByKey || s.Cloud[c.Name].IsNull() {
		return false
	}
	key := s.RefKeys[c.Name]
	if have := s.Record.Row[c.Name]; key.IsNull() && c.References.Table == s.Table.Name && !have.IsNull() &&
		have.Int() == s.RecordID {
		key = s.Cloud[c.References.Key]
	}
	return key == s.Cloud[c.Name]
}

// parentless reports whether the object cannot have a record yet, because one
// it cannot do without has none.
func (s *Subject) parentless() bool {
	for i := range s.Table.Columns {
		c := &s.Table.Columns[i]
		if _, known := s.Object[c.Name]; c.Required && c.References != nil && !c.Loose() &&
			(!known || s.NamesOutgoing(c.Name)) {
			return true
		}
	}
	return false
}

// pullable returns the object without its dangling references.
func (s *Subject) pullable() modules.Row {
	dangles := func(name string, _ modules.Value) bool { return s.NamesOutgoing(name) }
	for name, v := range s.Object {
		if dangles(name, v) {
			row := s.Object.Clone()
			maps.DeleteFunc(row, dangles)
			return row
		}
	}
	return s.Object
}
