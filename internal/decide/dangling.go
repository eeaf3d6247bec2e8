package decide

import (
	"strconv"
	"strings"

	"iasql/internal/modes"
	"iasql/internal/modules"
)

// A reference of an object dangles if no record that stays stands for what it
// names. Either that has no record (yet), and the column is missing from
// Observation.Object while Observation.Cloud has it; or its record is on the way
// out, since a user has deleted it or a replacement has deposed its object, and
// the column is in Observation.Dangling.

// outgoing is before the id of a record in a reference to what is on its way out.
// It is no value of the column: nothing has such an identity.
const outgoing = "replaced:"

// Outgoing is the value of a reference to an object whose record is on its way out.
func Outgoing(record int64) modules.Value {
	return modules.Text(outgoing + strconv.FormatInt(record, 10))
}

// IsOutgoing reports whether a reference is to an object whose record is on its way
// out.
func IsOutgoing(reference string) bool { return strings.HasPrefix(reference, outgoing) }

// cloudValue returns what the object has in a column. It is not known if there is
// nothing to compare: the cloud did not say it, or the reference dangles and nobody
// has asked for anything else. unrecorded: the column names an object without a
// record, and the value only says so.
func (s *Subject) cloudValue(c *modules.Column, m modes.Mode, have modules.Value) (cloud modules.Value, unrecorded, known bool) {
	_, pending := s.pendingBase(c, have)
	if cloud, known = s.Object[c.Name]; !known {
		switch {
		case s.unnamed(c, have):
			return modules.Null, false, true
		case s.moved(c):
			return Outgoing(have.Int()), false, true
		}
		// That cannot be pulled, but it is not what a user asks for either.
		if s.Cloud[c.Name].IsNull() || m.CloudWins() || m.LogDecides() && !pending {
			return modules.Null, false, false
		}
		return modules.Text("object:" + s.Cloud[c.Name].String()), true, true
	}
	switch {
	case !s.Dangling[c.Name]:
		return cloud, false, true
	case c.Assigned:
		return modules.Null, false, false // the cloud will say what comes after it
	case m.CloudWins():
		return modules.Null, false, false
	case m.LogDecides() && !pending && !c.Same(have, cloud) && cloud.String() != outgoing+have.String():
		return modules.Null, false, false // it names what a user has deleted; nobody asked for anything else
	}
	return cloud, false, true
}

// unnamed reports whether a reference has no value because what the column beside it names
// has no record.
func (s *Subject) unnamed(c *modules.Column, have modules.Value) bool {
	if c.References == nil || c.References.Beside == "" || s.Record == nil {
		return false
	}
	name := s.Table.Column(c.References.Beside)
	now, said := s.Object[name.Name]
	return said && (have.IsNull() || !name.Same(s.Record.Row[name.Name], now))
}

// moved reports whether the object names, as before, what has no record any more, since the
// record that it stands for has another object or is about to.
func (s *Subject) moved(c *modules.Column) bool {
	if c.References == nil || c.References.Beside == "" || c.References.ByKey || c.Assigned || s.Record == nil || s.Record.Row[c.Name].IsNull() {
		return false
	}
	_, recorded := s.Object[c.Name]
	now, said := s.Object[c.References.Beside]
	return !recorded && said && !now.IsNull() && s.Table.Column(c.References.Beside).Same(s.Record.Row[c.References.Beside], now) && s.RefKeys[c.Name] != now
}

// recordBeside returns the column that says by a record what a column is to name; nil if
// there is none, or it says nothing.
func (s *Subject) recordBeside(c *modules.Column) *modules.Column {
	for i := range s.Table.Columns {
		r := &s.Table.Columns[i]
		if r.References != nil && r.References.Beside == c.Name && !r.Assigned && !s.Record.Row[r.Name].IsNull() {
			return r
		}
	}
	return nil
}

// dangles reports whether a reference names what its record does not stand for any more.
func (s *Subject) dangles(c *modules.Column) bool {
	return s.Dangling[c.Name] || s.moved(c)
}

// sameName reports whether a reference would be pushed as the very name that the
// object has in it. What a record that names itself is called its object says, if its row
// does not yet.
func (s *Subject) sameName(c *modules.Column) bool {
	if c.References == nil || c.References.ByKey || s.Cloud[c.Name].IsNull() {
		return false
	}
	key := s.RefKeys[c.Name]
	if have := s.Record.Row[c.Name]; key.IsNull() && c.References.Table == s.Table.Name && !have.IsNull() && have.Int() == s.RecordID {
		key = s.Cloud[c.References.Key]
	}
	return key == s.Cloud[c.Name]
}

// parentless reports whether the object cannot have a record yet, because one
// it cannot do without has none.
func (s *Subject) parentless() bool {
	for i := range s.Table.Columns {
		c := &s.Table.Columns[i]
		if _, known := s.Object[c.Name]; c.Required && c.References != nil && !c.Loose() && (!known || s.Dangling[c.Name]) {
			return true
		}
	}
	return false
}

// pullable returns the object without its dangling references.
func (s *Subject) pullable() modules.Row {
	if len(s.Dangling) == 0 {
		return s.Object
	}
	row := s.Object.Clone()
	for name := range s.Dangling {
		if s.Table.Column(name).References != nil {
			delete(row, name)
		}
	}
	return row
}
