package declare

import (
	"context"
	"fmt"
	"strings"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Column is a column and where it lives in the API: at a path in what the API
// answers of an object, and in the inputs of the calls that create and change
// one. A method returns the column with one thing more said of it.
type Column struct {
	modules.Column
	member    string // a path in what is read: the object, or the answer of from
	first     string // another, which counts where there is something
	inputs    []string
	from      *Op // reads it, where the object does not have it
	codec     *Codec
	sent      func(ctx context.Context, s *Step, v modules.Value) (modules.Value, error)
	usual     modules.Value // what it stands for that AWS leaves it out
	hasUsual  bool
	born      modules.Value // what it is of an object that has just been created
	hasBorn   bool
	missing   modules.Value // what it is where AWS leaves the member out
	unset     modules.Value // what sets it to NULL
	hasUnset  bool
	keepEmpty bool
	key       bool // calls name the object by it
	ofParent  bool // it is the key of what the object is listed within
	along     bool // it tells calls what to do: see [Published.Along]
	made      bool // of what is published: see [Published]
	tagging   *tagging
	companion *Column // shows what the reference names, also where that has no record
}

// Of declares a column of any type that lives at a path; "" is nowhere.
func Of(kind modules.Type, name, member, doc string) Column {
	return Column{Column: modules.Column{Name: name, Type: kind, Doc: doc}, member: member}
}

// Text declares a column of type text. An empty text of AWS's is NULL.
func Text(name, member, doc string) Column { return Of(modules.TypeText, name, member, doc) }

// Integer declares a column of type integer.
func Integer(name, member, doc string) Column { return Of(modules.TypeInteger, name, member, doc) }

// Bigint declares a column of type bigint that references nothing.
func Bigint(name, member, doc string) Column { return Of(modules.TypeBigint, name, member, doc) }

// Bool declares a column of type boolean.
func Bool(name, member, doc string) Column { return Of(modules.TypeBool, name, member, doc) }

// Double declares a column of type double precision.
func Double(name, member, doc string) Column { return Of(modules.TypeDouble, name, member, doc) }

// Time declares a column of type timestamptz that AWS assigns.
func Time(name, member, doc string) Column {
	return Of(modules.TypeTime, name, member, doc).Computed()
}

// Texts declares a column of type text[].
func Texts(name, member, doc string) Column { return Of(modules.TypeTexts, name, member, doc) }

// JSON declares a column of type jsonb. A structure of the API is in the API's
// words (see [aws.Document]), a text of it that is JSON is parsed.
func JSON(name, member, doc string) Column { return Of(modules.TypeJSON, name, member, doc) }

// CIDR declares a column of type cidr.
func CIDR(name, member, doc string) Column { return Of(modules.TypeCIDR, name, member, doc) }

// Name declares the name that users give an object and by which it is known.
func Name(name, member, doc string) Column {
	return Text(name, member, doc).Required().Identity().CreateOnly()
}

// ID declares the identity that AWS assigns.
func ID(name, member, doc string) Column { return Text(name, member, doc).Identity().Computed() }

// ARN declares the Amazon Resource Name that AWS assigns. Calls may name the
// object by it: as ResourceArn, and as what In adds.
func ARN(name, member string) Column {
	return Text(name, member, "Its Amazon Resource Name (ARN).").Computed().Key().In(member, "ResourceArn",
		"ResourceARN")
}

// Ref declares a reference to a record of another table, which the API calls by
// the column key of that.
func Ref(name, member, table, key, doc string) Column {
	c := Of(modules.TypeBigint, name, member, doc)
	c.References = &modules.Reference{Table: table, Key: key}
	return c
}

// Role declares a reference to an IAM role by its name, where the API has the
// role's ARN. A call that sends it asks IAM for the ARN, which has the role's path.
func Role(name, member, doc string) Column {
	return Ref(name, member, "iam_role", "role_name", doc).ByKey().As(LastPart("/")).
		Sent(func(ctx context.Context, s *Step, v modules.Value) (modules.Value, error) {
			arn, err := aws.RoleARN(ctx, s.Clients, s.Scope, v)
			return modules.TextPtr(arn), err
		})
}

// NameColumn shows the member that a reference is read from in a column of its own, as AWS has it: what has no
// record is named there alone, and the reference is NULL. since is the version of the module that adds it.
func (c Column) NameColumn(name string, since int, doc string) Column {
	shown := Text(name, c.member, doc).Computed().Since(since)
	shown.from = c.from
	c.companion = &shown
	return c.referring(func(ref *modules.Reference) { ref.NameColumn = name })
}

// referring returns the column with its reference changed, which others may share.
func (c Column) referring(change func(ref *modules.Reference)) Column {
	ref := *c.References
	change(&ref)
	c.References = &ref
	return c
}

// WithARN shows the ARN of a role beside its name; see [Column.NameColumn].
func (c Column) WithARN(since int) Column {
	return c.NameColumn(strings.TrimSuffix(c.Name, "_name")+"_arn", since,
		"The ARN of that role, also where there is no record of it: it is gone, or another account's. "+c.Name+
			" is NULL then.")
}

// Lasts says that the object goes on to name what the reference names when that is gone: the column is
// NULL then.
func (c Column) Lasts() Column {
	return c.referring(func(ref *modules.Reference) { ref.Lasts = true })
}

// Records shows beside a list of names of objects their records, in the column called like it with _records at the end
// (see [modules.Column.Records]): of the table by the column key of which the API calls them. since is the version of
// the module that adds it.
func (c Column) Records(table, key string, since int) Column {
	shown := Of(modules.TypeIDs, c.Name+"_records", "",
		fmt.Sprintf("The ids of the records of %s that %s names, in the "+
			"same order; NULL in place of one without a record. Write either: by its record, what AWS has no name for "+
			"yet can be named.", table, c.Name)).Local().Since(since)
	shown.Column.Records = &modules.Reference{Table: table, Key: key, NameColumn: c.Name}
	c.companion = &shown
	return c
}

// withCompanions returns columns with those that are shown beside others.
func withCompanions(columns []Column) []Column {
	var all []Column
	for _, c := range columns {
		all = append(all, c)
		if c.companion != nil {
			all = append(all, *c.companion)
		}
	}
	return all
}

// KMSKey is a key that is fixed when the object is made. AWS answers with its ARN,
// from which an alias cannot be told.
func KMSKey(name, member, doc string) Column {
	return Text(name, member, "The id or ARN of the KMS key "+doc+" Not an alias: which key that names may change.").
		CreateOnly().OptionalComputed().Same(SameKey).Check(name + " !~ '(^|:)alias/'")
}

// Policy declares the column policy: an access policy document.
func Policy(member, doc string) Column {
	return Column{Column: aws.PolicyColumn(doc), member: member}
}

// Plain declares a column that package aws describes already.
func Plain(c modules.Column, member string) Column { return Column{Column: c, member: member} }

// Doc replaces the column's documentation.
func (c Column) Doc(doc string) Column { c.Column.Doc = doc; return c }

// Required makes the column NOT NULL.
func (c Column) Required() Column { c.Column.Required = true; return c }

// Default makes the column NOT NULL with a default, an SQL expression.
func (c Column) Default(sql string) Column {
	c.Column.Required, c.Column.Default = true, sql
	return c
}

// Initially gives the column a default, an SQL expression; it can be NULL all
// the same.
func (c Column) Initially(sql string) Column { c.Column.Default = sql; return c }

// Check restricts the values by an SQL expression, besides what restricts them
// already.
func (c Column) Check(sql string) Column {
	if c.Column.Check != "" {
		sql = c.Column.Check + " AND " + sql
	}
	c.Column.Check = sql
	return c
}

// Between restricts a number, the bounds included.
func (c Column) Between(least, most int) Column {
	return c.Check(fmt.Sprintf("%s BETWEEN %d AND %d", c.Name, least, most))
}

// Length restricts a text to so many characters.
func (c Column) Length(least, most int) Column {
	return c.Check(fmt.Sprintf("length(%s) BETWEEN %d AND %d", c.Name, least, most))
}

// Matches restricts a text by a regular expression of PostgreSQL's.
func (c Column) Matches(pattern string) Column {
	return c.Check(fmt.Sprintf("%s ~ '%s'", c.Name, strings.ReplaceAll(pattern, "'", "''")))
}

// OneOf enumerates the values.
func (c Column) OneOf(values ...string) Column { c.Enum = values; return c }

// Values are the values of one of the SDK's enumerations, for [Column.OneOf].
func Values[S ~string](enumeration []S) []string {
	values := make([]string, len(enumeration))
	for i, v := range enumeration {
		values[i] = string(v)
	}
	return values
}

// Identity makes the column a part of what tells which object a record is.
func (c Column) Identity() Column { c.Column.Identity, c.key = true, true; return c }

// Computed says that AWS decides the column.
func (c Column) Computed() Column { c.Column.Computed = true; return c }

// Incarnation says that the cloud assigns the column, and that a later object of the same name has another value.
func (c Column) Incarnation() Column {
	c.Column.Computed, c.Column.Incarnation = true, true
	return c
}

// CreateOnly says that a change replaces the object.
func (c Column) CreateOnly() Column { c.Column.CreateOnly = true; return c }

// FixedKind says that a change from NULL or to NULL replaces the object, and another does not.
func (c Column) FixedKind() Column { c.Column.FixedKind = true; return c }

// WriteOnly makes the column a secret, which AWS takes and never shows.
func (c Column) WriteOnly() Column { c.Column.WriteOnly = true; return c }

// Unordered says that the order of a list means nothing.
func (c Column) Unordered() Column { c.Column.Unordered = true; return c }

// Exclusive says that what is in a list is one object's alone, so that a successor cannot
// have it while the old object is there.
func (c Column) Exclusive() Column { c.Column.Exclusive = true; return c }

// EmptyIsNull says that an empty list or object means the same as NULL.
func (c Column) EmptyIsNull() Column { c.Column.EmptyIsNull = true; return c }

// OptionalComputed says that NULL lets AWS choose.
func (c Column) OptionalComputed() Column { c.Column.OptionalComputed = true; return c }

// Local says that the column belongs to the database alone.
func (c Column) Local() Column { c.Column.Local = true; return c }

// Along says that the column tells calls what to do, and is no state of an object: it belongs to the database alone,
// and is sent along with every call that takes it (see In).
func (c Column) Along() Column { c.Column.Local, c.along = true, true; return c }

// Same says when two values mean the same to AWS.
func (c Column) Same(equal func(a, b string) bool) Column { c.Equal = equal; return c }

// OneWay says that AWS may move the value on by itself, with no way back: newer or
// larger says whether it has (see [Newer] and [Larger]).
func (c Column) OneWay(passed func(from, to string) bool) Column { c.Passed = passed; return c }

// Since says which version of the module added the column.
func (c Column) Since(version int) Column { c.Column.Since = version; return c }

// Part makes the object a part of the referenced one.
func (c Column) Part(part modules.Part, onlyIf string) Column {
	return c.referring(func(ref *modules.Reference) { ref.Part, ref.PartIf = part, onlyIf })
}

// ByKey has a reference hold the key itself, a text.
func (c Column) ByKey() Column {
	c.Type = modules.TypeText
	return c.referring(func(ref *modules.Reference) { ref.ByKey = true })
}

// ListedIf has the objects listed only within those parents in whose records a column of
// theirs is true; see [modules.Reference].
func (c Column) ListedIf(column string) Column {
	return c.referring(func(ref *modules.Reference) { ref.ListedIf = column })
}

// AnyScope lets a reference be to a record of another region or account.
func (c Column) AnyScope() Column {
	return c.referring(func(ref *modules.Reference) { ref.AnyScope = true })
}

// In says where the column lives in the inputs of calls, where that is not only
// the path by which it is read. The first path that an input has counts.
func (c Column) In(members ...string) Column {
	c.inputs = append(append([]string(nil), c.inputs...), members...)
	return c
}

// Key says that calls name the object by the column, where their input has it.
// Identity columns are keys already.
func (c Column) Key() Column { c.key = true; return c }

// OfParent says that the column is the key of what the object is listed within
// ([Listing.Within]), where what the API answers of it does not say so.
func (c Column) OfParent() Column { c.ofParent = true; return c }

// From has the column read by a call of its own for each object: its member is
// then in that call's answer. Columns of the same call share it.
func (c Column) From(op *Op) Column { c.from = op; return c }

// As gives the column a codec.
func (c Column) As(codec Codec) Column { c.codec = &codec; return c }

// Sent says what a call sends for a value, where only a look at AWS tells.
func (c Column) Sent(as func(ctx context.Context, s *Step, v modules.Value) (modules.Value, error)) Column {
	c.sent = as
	return c
}

// Usual says what AWS means by leaving the member out. A creation leaves it out,
// too, where it is to have that value.
func (c Column) Usual(v modules.Value) Column { c.usual, c.hasUsual = v, true; return c }

// Born says what the column of an object is that has just been created, whose creation does not set it. It takes no
// call to read then.
func (c Column) Born(v modules.Value) Column { c.born, c.hasBorn = v, true; return c }

// Absent says what the column is where AWS leaves the member out. Unlike
// [Column.Usual] it says nothing about creations.
func (c Column) Absent(v modules.Value) Column { c.missing = v; return c }

// First says where the column is read first: what AWS has at that path counts
// before what it has at the column's own, such as a change that is under way.
func (c Column) First(member string) Column { c.first = member; return c }

// Unset says what a change to NULL sends. Without it, and unless the change has
// a call of its own for it, NULL must be impossible or be up to AWS (OptionalComputed).
func (c Column) Unset(v modules.Value) Column { c.unset, c.hasUnset = v, true; return c }

// KeepEmpty tells an empty text of AWS's from none.
func (c Column) KeepEmpty() Column { c.keepEmpty = true; return c }

// Member returns the path at which the column lives.
func (c Column) Member() string { return c.member }

// absent is the column's value where AWS leaves its member out.
func (c *Column) absent() modules.Value {
	switch {
	case c.hasUsual:
		return c.usual
	case !c.missing.IsNull():
		return c.missing
	case c.Type == modules.TypeBool && c.Column.Required:
		return modules.Bool(false)
	}
	return modules.Null
}

// changeable reports whether the column can be changed in place.
func (c *Column) changeable() bool {
	return !c.Column.Computed && !c.Column.CreateOnly && !c.Column.Local
}
