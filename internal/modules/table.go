package modules

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Names of the columns the engine itself gives a meaning to.
const (
	ColumnID      = "id"      // bigint identity, stable for the life of a record
	ColumnAccount = "account" // which account a record belongs to
	ColumnRegion  = "region"  // which region, where the table is regional
	ColumnTags    = "tags"    // jsonb object of strings
)

// Defers reports whether creations leave something to an update.
func (t *Table) Defers() bool {
	return slices.ContainsFunc(t.Columns, func(c Column) bool { return c.Deferred })
}

// Reach says how many listings a table needs.
type Reach int

// The reaches of a table.
const (
	PerAccount Reach = iota // one listing per account (IAM roles, buckets)
	PerRegion               // one listing per account and region (VPCs)
)

// Creation says how a creation whose answer was lost is found again, which is
// what keeps a crash from creating twice.
type Creation int

// The ways of recognizing one's own creation.
const (
	// ByName: the identity is chosen by the user and the cloud allows it once,
	// so that reading it tells, and creating again cannot double it.
	ByName Creation = iota
	// ByToken: the API takes a client token and answers a repeated call with
	// the object the first one made.
	ByToken
	// ByTag: the token is put on the object when it is created and found again
	// through [Finder].
	ByTag
)

// Reference says that a column names a record of another table.
type Reference struct {
	Table string
	// Key is the column of the referenced table by which the cloud names the
	// object: "vpc_id" of vpc. The referencing column holds the record's id in
	// database terms and the key in cloud terms. It is the table's identity or,
	// where users choose the identity and may rename it or where that is several
	// columns, an assigned one that is unique ("arn" of service).
	Key string
	// ByKey: the referencing column holds the key itself in both vocabularies
	// (bucket_object.bucket_name).
	ByKey bool
	// AnyScope: the referenced record may be of another region or account (a
	// peering connection).
	AnyScope bool
	// Part says that the object is a part of the referenced one, which cannot
	// be without it: deleting the record of the whole deletes this record too.
	Part Part
	// PartIf is a column of type boolean; only records in which it is true are
	// parts (a VPC's main route table). "" means all.
	PartIf string
	// ListedIf is a Local column of type boolean of the referenced table. The objects are
	// listed within those parents only in whose records it is true, because there may be
	// too many of them: a production bucket has a billion. Nobody looks for those within
	// the others: records that there are of them stay as they are. See [Looks].
	ListedIf string
	// NameColumn is a column of type text of the table itself that holds the cloud's name of
	// the object, which this one names by its record. What has no record shows there alone:
	// this column is NULL then. A trigger keeps what users write to either in step.
	//
	// Where the reference holds the key itself (ByKey), the other column is assigned by the
	// cloud, and users write the key.
	NameColumn string
	// Lasts says that the object names what it names also when that is gone. The engine, which
	// finds it gone, leaves the column empty then. So it does with what stands beside a name.
	Lasts bool
}

// Part says what becomes of a part's object when the whole is deleted.
type Part int

// The kinds of parts.
const (
	NotPart Part = iota
	// PartFirst: it is deleted before the whole (a rule of a security group,
	// for which another group would have to wait). Only what is protected goes
	// along.
	PartFirst
	// PartAlong: the cloud removes it with the whole (a route of a route
	// table), so that no call is made for it.
	PartAlong
	// PartContents: like PartFirst, and it is what the whole is there for (a record of a
	// zone). The cloud does not delete the whole while it has any, and nor does a user's
	// DELETE, unless it says that this is meant. Records that the cloud has made with the
	// whole, by a column is_default, do not count.
	PartContents
)

// Property is what the publisher of a type of objects calls a setting of theirs.
type Property struct {
	Type   string // as its publisher calls it, such as AWS::SQS::Queue
	Name   string
	Table  string // the table that has it; "" if none does
	Column string // the column that it is; "" if it is a table of its own, or none
	Reason string // why no column is; "" if one is
}

// Column describes one column. The zero flags mean: the user may set and
// change it, the cloud may too.
type Column struct {
	Name string
	Type Type
	Doc  string // the column's COMMENT and its line in the documentation

	Required   bool     // users may not write NULL
	Default    string   // SQL expression
	Check      string   // SQL expression that what users write must meet
	Enum       []string // the values that users may write
	References *Reference

	// Records makes the column, of type bigint[], the list of the records that the elements of another column
	// of the table name: [Reference.NameColumn], of type text[], which stands before it and is what is read and sent.
	// An element without a record is NULL here and a name there; one that has no name yet, the other way round.
	// A trigger keeps what users write to either in step. Of the reference only Table, Key, AnyScope and NameColumn
	// count.
	Records *Reference

	Identity bool // with account and region: tells which object a record is
	Computed bool // the cloud decides it: always pulled, never written by users
	// Incarnation: another object of the same identity has another value, such as the time when it was created.
	Incarnation bool
	CreateOnly  bool // changing it replaces the object
	WriteOnly   bool // a secret: kept in the vault until it is pushed; its row shows asterisks, then NULL
	Needed      bool // a secret without which nothing can be made: what is to be replaced has to be given it again
	Unordered   bool // a list whose order means nothing
	EmptyIsNull bool // {} and [] mean the same as NULL (tags)
	// Exclusive: what is in this list is one object's alone. A replacement that keeps
	// some of it must remove the old object before it creates the new one.
	Exclusive bool
	// OptionalComputed: NULL lets the cloud choose, and what it chose is then pulled;
	// NULL is never pushed (a subnet's availability zone).
	OptionalComputed bool
	// Deferred: a creation does not set it, and the update after it does. What
	// depends on the object waits for that.
	Deferred bool
	Local    bool // belongs to the database alone; from the cloud only when the record is first inserted
	// Asks: the cloud decides it ([Column.Computed]), and an object that has a value in it asks for an update, such as
	// a service that has to be started anew. It is updated, unless the record is tracked or paused.
	Asks bool
	// Equal tells whether two non-NULL values mean the same to the cloud; nil
	// means their canonical texts are equal.
	Equal func(a, b string) bool `json:"-"`
	// Passed tells whether the cloud may have moved a value on by itself, from one
	// to the other, with no way back: a newer minor version, grown storage. Such a
	// value is pulled, under ENFORCE too, unless a user's change is pending.
	Passed func(from, to string) bool `json:"-"`
	// Observed tells of a record whether the column only says what the cloud has, because the record does not have
	// what it takes to bring another value back: the checksum of a content that is nowhere. Such a value is pulled,
	// under ENFORCE too, unless a user's change is pending.
	Observed func(record Row) bool `json:"-"`

	// ComputedWithin tells whether two values, neither of them NULL, differ in nothing but
	// parts that the cloud assigns: such a difference is always pulled.
	ComputedWithin func(have, cloud string) bool `json:"-"`
	// RequiresReplacement tells whether a change from one value to another, neither of them NULL, is
	// one of a part that is fixed at creation: it replaces the object, although others
	// of the column do not.
	RequiresReplacement func(from, to string) bool `json:"-"`
	// FixedKind: a change from NULL or to NULL replaces the object, although another change does not: which
	// of several columns says something is fixed at creation.
	FixedKind bool
	// FixedWithin are those parts, as paths of PostgreSQL in a column of type jsonb.
	FixedWithin []string

	Since int // the module version that added the column; 0 means the first
}

// Same reports whether two values of the column are the same to the cloud.
func (c *Column) Same(a, b Value) bool {
	if a == b {
		return true
	}
	if c.EmptyIsNull && a.empty() && b.empty() {
		return true
	}
	if !a.isPlain() || !b.isPlain() {
		return false
	}
	if c.Unordered && sortJSONArray(a.text) == sortJSONArray(b.text) {
		return true
	}
	return c.Equal != nil && c.Equal(a.text, b.text)
}

// Replaces reports whether a change of the column from one value to another replaces
// the object.
func (c *Column) Replaces(from, to Value) bool {
	return c.CreateOnly || c.FixedKind && from.IsNull() != to.IsNull() || c.RequiresReplacement != nil &&
		from.isPlain() && to.isPlain() && c.RequiresReplacement(from.text, to.text)
}

// Assigns reports whether the cloud decides in what two values of the column differ.
func (c *Column) Assigns(have, cloud Value) bool {
	return c.Computed || c.ComputedWithin != nil && have.isPlain() && cloud.isPlain() &&
		c.ComputedWithin(have.text, cloud.text)
}

// beside reports whether the column only says which record another column names.
func (c *Column) isCompanion() bool { return c.References != nil && c.References.NameColumn != "" }

// Loose reports whether the column holds the key of a record that there need not be: the object may name what
// has no record, and the column is NULL then.
func (c *Column) Loose() bool {
	return c.References != nil && c.References.ByKey && !c.Identity && c.Name != ColumnAccount && c.Name != ColumnRegion
}

// Lacks reports whether the column is still NULL although the column beside it names an object: the record of that
// object came later.
func (c *Column) Lacks(have Value) bool { return c.isCompanion() && have.IsNull() }

// HasPassed reports whether the cloud may have moved the column on by itself.
func (c *Column) HasPassed(have, cloud Value) bool {
	return c.Passed != nil && have.isPlain() && cloud.isPlain() && c.Passed(have.text, cloud.text)
}

// IsDefault reports whether v is what the column holds when nobody says
// anything: NULL, or the literal its Default spells.
func (c *Column) IsDefault(v Value) bool {
	if v.IsNull() {
		return true
	}
	literal := strings.TrimSpace(c.Default)
	if n := len(literal); n >= 2 && literal[0] == '\'' && literal[n-1] == '\'' {
		literal = strings.ReplaceAll(literal[1:n-1], "''", "'")
	}
	if literal == "" {
		return false
	}
	canonical, err := c.Type.Canonical(literal)
	return err == nil && v == Text(canonical)
}

// Table is the description of a managed table: all the engine knows of it.
type Table struct {
	Name     string
	Doc      string
	Provider string // whose accounts and regions its scope columns name: "aws"
	Reach    Reach
	Columns  []Column // without id; account and region included, as columns
	Checks   []string // SQL expressions that the row of what users write must meet
	Uniques  [][]string
	Creation Creation

	// After tells whether what a row asks for is done after what a row of another table of the same account asks for,
	// where both are asked for at once: a service is started anew after its configuration has been written. nil: only
	// references say what comes first.
	After func(row Row, table string, other Row) bool `json:"-"`

	// GlobalName is the column with a name of the object by which events may tell of it and
	// that is unique among all of its world, such as an ARN; "" if there is none.
	GlobalName string

	// DefinesAccounts: a row of this table is an account; its column "name"
	// names it.
	DefinesAccounts bool
	// ConsistencyWindow, of a table that defines accounts, is how long a read of such an account may lag behind a
	// write at the most, if that is less than the setting consistency_window says; 0 if only the setting says it.
	ConsistencyWindow time.Duration
	// DefinesRegions: a row of this table is a region of an account; its
	// column "is_enabled" says whether the engine looks at it.
	DefinesRegions bool
	// Optional: not every account and endpoint knows the service that the table
	// is about. That it cannot be listed is told as of any other table, and fails
	// neither an install nor a cycle that is asked for.
	Optional bool
	// DestroyBeforeCreate: a replacement must remove the old object before it
	// creates the new one, because the two cannot exist together.
	DestroyBeforeCreate bool
	// Made is an assigned column of type boolean: objects in which it is true the cloud
	// makes by itself, along with their whole (a VPC's default network ACL) or once in a
	// region (its default DHCP options). They do not move to another region, and what
	// moves takes those that are there.
	Made string
	// HoldsData: deleting an object loses what users have put into it, which nobody
	// can make again. ENFORCE imports what has no record instead of deleting it, and
	// leaves it to a person to replace what differs.
	HoldsData bool
	// EventMappings are the calls of the API that make, change or delete objects of the table,
	// whoever makes them.
	EventMappings []EventMapping
	// Properties are what the publisher of the objects' type lets one write, and where it is a column.
	Properties []Property

	index    map[string]int
	settings bool // it configures the module, and has no counterpart in the cloud
}

// Column returns the column of that name, nil if there is none.
func (t *Table) Column(name string) *Column {
	if t.index == nil {
		for i := range t.Columns {
			if t.Columns[i].Name == name {
				return &t.Columns[i]
			}
		}
		return nil
	}
	if i, ok := t.index[name]; ok {
		return &t.Columns[i]
	}
	return nil
}

// Identity returns the names of the identity columns, without account and
// region, in description order.
func (t *Table) Identity() []string {
	var names []string
	for i := range t.Columns {
		if t.Columns[i].Identity {
			names = append(names, t.Columns[i].Name)
		}
	}
	return names
}

// NameColumns returns the columns by which users know the name of an object: the one
// that is called so, and what they choose of its identity.
func (t *Table) NameColumns() []string {
	var names []string
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Name == "name" || c.Name == columnDomain && c.Required || c.Identity && !c.Computed &&
			c.References == nil && c.Type == TypeText {
			names = append(names, c.Name)
		}
	}
	return names
}

// ComputedIdentity reports whether the cloud assigns the identity (a VPC id)
// rather than the user (a bucket's name).
func (t *Table) ComputedIdentity() bool {
	for i := range t.Columns {
		if t.Columns[i].Identity && t.Columns[i].Computed {
			return true
		}
	}
	return false
}

// SpellKey returns a key as people write it, and as iasql_adopt takes it.
func SpellKey(key string) string { return strings.ReplaceAll(key, keySeparator, "|") }

// keySeparator is between the parts of a key.
const keySeparator = "\x1f"

// Key returns the identity of a row as one string, and false when a part of it
// is NULL or unknown: such a record names no object yet.
func (t *Table) Key(r Row) (string, bool) {
	var b strings.Builder
	first := true
	for i := range t.Columns {
		c := &t.Columns[i]
		if !c.Identity {
			continue
		}
		v, ok := r[c.Name]
		if !ok || v.IsNull() {
			return "", false
		}
		if !first {
			b.WriteString(keySeparator)
		}
		first = false
		b.WriteString(v.String())
	}
	return b.String(), !first
}

// Scope returns the scope a row of the table belongs to.
func (t *Table) Scope(r Row) Scope {
	s := Scope{Account: r[ColumnAccount].text}
	if t.Reach == PerRegion {
		s.Region = r[ColumnRegion].text
	}
	return s
}

// Parents returns the names of the tables this one references, without itself,
// sorted.
func (t *Table) Parents() []string {
	var names []string
	for i := range t.Columns {
		for _, ref := range []*Reference{t.Columns[i].References, t.Columns[i].Records} {
			if ref != nil && ref.Table != t.Name && !slices.Contains(names, ref.Table) {
				names = append(names, ref.Table)
			}
		}
	}
	slices.Sort(names)
	return names
}

// Validate reports the first thing wrong with the description itself.
func (t *Table) Validate() error {
	if t.Name == "" || t.Doc == "" {
		return fmt.Errorf("table %q: name and doc are required", t.Name)
	}
	index := make(map[string]int, len(t.Columns))
	for i := range t.Columns {
		c := &t.Columns[i]
		if _, dup := index[c.Name]; dup {
			return fmt.Errorf("table %s: column %s is described twice", t.Name, c.Name)
		}
		index[c.Name] = i
		switch {
		case c.Name == ColumnID:
			return fmt.Errorf("table %s: column id is implied", t.Name)
		case c.Name == "" || c.Type == "" || c.Doc == "":
			return fmt.Errorf("table %s: column %q: name, type and doc are required", t.Name, c.Name)
		case c.Computed && c.CreateOnly, c.Computed && c.WriteOnly, c.Local && (c.Computed || c.CreateOnly):
			return fmt.Errorf("table %s: column %s: its flags exclude each other", t.Name, c.Name)
		case c.WriteOnly && c.Type != TypeText:
			return fmt.Errorf("table %s: column %s: the vault keeps text only", t.Name, c.Name)
		case c.References != nil && !c.References.ByKey && c.Type != TypeBigint:
			return fmt.Errorf("table %s: column %s: references an id and must be bigint", t.Name, c.Name)
		case c.References != nil && c.References.Part == PartAlong && c.References.ByKey:
			return fmt.Errorf("table %s: column %s: a part that goes along references its whole by id", t.Name, c.Name)
		case c.isCompanion() && (t.Column(c.References.NameColumn) == nil ||
			t.Column(c.References.NameColumn).Type != TypeText ||
			c.References.ByKey && !t.Column(c.References.NameColumn).Computed):
			return fmt.Errorf("table %s: column %s: what it stands beside is no column of type text", t.Name, c.Name)
		case c.Records != nil && (c.Type != TypeIDs || !c.Local || c.References != nil || !t.listsBefore(i)):
			return fmt.Errorf("table %s: column %s: a list of records is a Local column of type bigint[] behind "+
				"the one of type text[] that has their names", t.Name, c.Name)
		case c.References != nil && c.References.ListedIf != "":
			if err := t.validateListedIf(c); err != nil {
				return err
			}
		}
	}
	if t.index == nil { // once it is used, it stays as it is
		t.index = index
	}
	if err := t.validateEventMappings(); err != nil {
		return err
	}
	if t.DefinesAccounts {
		return nil
	}
	if len(t.Identity()) == 0 {
		return fmt.Errorf("table %s: no identity column", t.Name)
	}
	if c := t.Column(ColumnAccount); c == nil {
		return fmt.Errorf("table %s: no column account", t.Name)
	}
	if c := t.Column(ColumnRegion); t.Reach == PerRegion && c == nil {
		return fmt.Errorf("table %s: reaches per region and has no column region", t.Name)
	}
	return nil
}

// validateListedIf checks the column that names what objects are listed within.
func (t *Table) validateListedIf(c *Column) error {
	switch {
	case !c.References.ByKey || !c.Identity || t.Identity()[0] != c.Name:
		return fmt.Errorf("table %s: column %s: ListedIf is for the first column of the identity, which holds the "+
			"key itself", t.Name, c.Name)
	case t.Reach != PerAccount:
		return fmt.Errorf("table %s: column %s: ListedIf is for tables that are listed once an account", t.Name, c.Name)
	}
	return nil
}

// Scope is where a listing looks: an account, and a region where the table is
// regional ("" where it is not).
type Scope struct {
	Account string
	Region  string
}

// String returns "account/region" or "account".
func (s Scope) String() string {
	if s.Region == "" {
		return s.Account
	}
	return s.Account + "/" + s.Region
}
