package modules

import (
	"strconv"
	"strings"
)

// A reference of an object dangles if no record that stays stands for what it names: no id is its
// value then. It is a [Value] of a kind of its own, which is compared like any other and equals no
// value of a column. The database never stores one in the row of a record.

// kind tells what a value is.
type kind uint8

const (
	kindNull kind = iota
	// kindPlain: a value of the column's type.
	kindPlain
	// kindOutgoing: a reference to an object whose record is on its way out. The text is the record's id.
	kindOutgoing
	// kindUnrecorded: a reference to an object without a record. The text is the cloud's name for it.
	kindUnrecorded
)

// isPlain reports whether the value is neither NULL nor a dangling reference.
func (v Value) isPlain() bool { return v.kind == kindPlain }

// Outgoing returns the reference to an object whose record is on its way out, since a user has
// deleted it or a replacement has deposed its object.
func Outgoing(record int64) Value { return Value{strconv.FormatInt(record, 10), kindOutgoing} }

// Unrecorded returns the reference to an object without a record, which the cloud calls by that name.
func Unrecorded(name string) Value { return Value{storable(name), kindUnrecorded} }

// IsOutgoing reports whether the value is what [Outgoing] returns.
func (v Value) IsOutgoing() bool { return v.kind == kindOutgoing }

// IsUnrecorded reports whether the value is what [Unrecorded] returns.
func (v Value) IsUnrecorded() bool { return v.kind == kindUnrecorded }

// How dangling references are spelled. The forms are stable: conflicts, remembered identities and the
// keys of operations are stored with them, and engines of two versions may share a database.
const (
	spelledOutgoing   = "replaced:"
	spelledUnrecorded = "object:"
)

// spell returns the form of a dangling reference.
func (v Value) spell() string {
	if v.IsOutgoing() {
		return spelledOutgoing + v.text
	}
	return spelledUnrecorded + v.text
}

// ParseDangling returns the dangling reference of the column that a stored text spells, and false if
// it spells none. Only a column that holds the ids of records has such references.
func (c *Column) ParseDangling(text string) (Value, bool) {
	if c.References == nil || c.References.ByKey {
		return Null, false
	}
	if id, spelled := strings.CutPrefix(text, spelledOutgoing); spelled {
		record, err := strconv.ParseInt(id, 10, 64)
		return Outgoing(record), err == nil
	}
	name, spelled := strings.CutPrefix(text, spelledUnrecorded)
	return Unrecorded(name), spelled
}

// Holds reports whether the column can hold the value: NULL, or one of its type. A dangling reference
// is neither.
func (c *Column) Holds(v Value) bool {
	if !v.isPlain() {
		return v.IsNull()
	}
	_, err := c.Type.Canonical(v.text)
	return err == nil
}
