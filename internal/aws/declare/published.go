package declare

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"iasql/internal/aws"
	"iasql/internal/aws/cfn"
	"iasql/internal/aws/facts"
	"iasql/internal/modules"
)

// Published says of which resource type, as AWS publishes them (see package facts), a table's objects are, and in what
// the two differ. Whatever property of the type one may write is then a column: one of [Table.Columns], or one that is
// made of what is published of it, where the calls have members of its name. A property that is neither is a defect of
// the declaration, unless Without has the reason.
//
// A column that is made is called as the property is, in snake case, as in tables of types that nobody declares. NULL
// leaves it to AWS. What kind of value it has, the API's shapes say; what is a structure there is an object in the
// API's words, in which a member that is false, zero or left out all mean the same. What the type says to be fixed at
// creation replaces the object.
type Published struct {
	Type string // such as AWS::SQS::Queue; "" of none
	// Since is the version of the module that added the columns that are made.
	Since int
	// Columns are the columns that properties are, where their paths do not say so: "column", "table.column"
	// of another table of the module, or "table" alone.
	Columns map[string]string
	// Read are the paths at which properties are read, where they are not called so.
	Read map[string]string
	// Pending is where an object has what has been asked for and is under way: what it has there counts first.
	Pending string
	// Fixed are properties that no call changes, whatever the type says: a change replaces the object.
	Fixed []string
	// Along are properties that tell calls what to do and are no state of an object, or that AWS takes and never
	// tells: columns that belong to the database alone, sent along with every call that takes them.
	Along []string
	// Sets are properties that are lists whose order means nothing, whatever the type says.
	Sets []string
	// Filled are, of properties that are structures, the members that AWS fills in where they are left out, at any
	// depth: left out, they are as AWS has them.
	Filled map[string][]string
	// Docs are the comments of columns, where more is to be said of a property than its name and page.
	Docs map[string]string
	// Without says why there is no column, by property.
	Without map[string]string
}

// maxValues are the most values of an enumeration that is checked when users write: longer ones, such as the kinds of
// instances, grow more often than the engine is upgraded.
const maxValues = 20

// Why there may be no column of a property.
const (
	// Deprecated: AWS advises against it, and has something else for new objects.
	Deprecated = "AWS has deprecated it"
	// Deed: it tells CloudFormation what to do, and no object has it afterwards.
	Deed = "it is a deed, and no state of an object"
)

// properties returns what a table says of the properties of its type, and the columns that are made of them.
func (p Published) properties(table string, declared []Column, object reflect.Type, calls, deletion []*Op) (
	[]modules.Property, []Column, error) {
	if p.Type == "" {
		return nil, nil, nil
	}
	of := facts.Of(p.Type)
	if of == nil {
		return nil, nil, fmt.Errorf("there are no facts of the type %s: run make facts", p.Type)
	}
	var list []modules.Property
	var columns []Column
	defects := []error{p.unknown(of)}
	for _, f := range of.Properties {
		if f.ReadOnly {
			continue
		}
		property := modules.Property{Type: p.Type, Name: f.Name, Table: table}
		where, named := p.Columns[f.Name]
		switch reason, none := p.Without[f.Name]; {
		case none:
			property.Table, property.Reason = "", reason
		case named:
			if before, after, other := strings.Cut(where, "."); other {
				property.Table, property.Column = before, after
			} else if slices.ContainsFunc(declared, func(c Column) bool { return c.Name == where }) {
				property.Column = where
			} else {
				property.Table = where
			}
		default:
			if c := is(f.Name, declared); c != nil {
				property.Column = c.Name
				break
			}
			made := func() (Column, error) { return p.column(f, object, calls) }
			if slices.Contains(p.Along, f.Name) {
				made = func() (Column, error) { return p.alongside(f, append(slices.Clone(calls), deletion...)) }
			}
			c, err := made()
			if err != nil {
				defects = append(defects, fmt.Errorf("property %s of %s: %w", f.Name, p.Type, err))
				continue
			}
			property.Column = c.Name
			columns = append(columns, c)
		}
		if i := slices.IndexFunc(declared, func(c Column) bool {
			return property.Table == table && c.Name == property.Column && c.Column.Computed
		}); i >= 0 {
			defects = append(defects, fmt.Errorf("property %s of %s: nobody can write column %s (Columns, Without)",
				f.Name, p.Type, property.Column))
		}
		list = append(list, property)
	}
	return list, columns, errors.Join(defects...)
}

// withMade returns the declared columns with those that are made of properties, which come after the last that users
// write.
func withMade(declared, made []Column) []Column {
	at := len(declared)
	for at > 0 && (declared[at-1].Column.Computed || declared[at-1].tagging != nil) {
		at--
	}
	return slices.Insert(slices.Clone(declared), at, made...)
}

// unknown reports what is said of properties that the type does not have.
func (p Published) unknown(of *facts.Type) error {
	var defects []error
	for _, names := range [][]string{slices.Collect(maps.Keys(p.Columns)), slices.Collect(maps.Keys(p.Read)), p.Fixed,
		p.Along,
		p.Sets, slices.Collect(maps.Keys(p.Filled)), slices.Collect(maps.Keys(p.Docs)),
		slices.Collect(maps.Keys(p.Without))} {
		for _, name := range names {
			if f := of.Property(name); f == nil || f.ReadOnly {
				defects = append(defects, fmt.Errorf("%s has no property %s that one may write", p.Type, name))
			}
		}
	}
	return errors.Join(defects...)
}

// is returns the declared column that is called as a property is, or lives where its name says.
func is(property string, declared []Column) *Column {
	if i := slices.IndexFunc(declared, func(c Column) bool {
		return c.Name == cfn.ColumnName("", property) && !c.Column.Computed
	}); i >= 0 {
		return &declared[i]
	}
	for i := range declared {
		c := &declared[i]
		for _, path := range append([]string{c.member, c.Name}, c.inputs...) {
			first, _, _ := strings.Cut(path, ".")
			if name, key, found := strings.Cut(first, "["); found && strings.TrimSuffix(key, "]") != "" {
				first = strings.TrimSuffix(key, "]")
				if first == "0" {
					first = name
				}
			} else {
				first = name
			}
			if strings.EqualFold(first, property) || path == cfn.ColumnName("", property) {
				return c
			}
		}
		if c.tagging != nil && property == "Tags" {
			return c
		}
	}
	return nil
}

// column returns the column that is made of a property.
func (p Published) column(f facts.Property, object reflect.Type, calls []*Op) (Column, error) {
	member := spelt(object, f.Name)
	if at, told := p.Read[f.Name]; told {
		member = at
	}
	read, err := resolve(object, member)
	if err != nil {
		return Column{}, fmt.Errorf("nothing reads it (Read, Columns, Without): %w", err)
	}
	kind, err := kindOf(read.leaf)
	if err != nil {
		return Column{}, err
	}
	name := cfn.ColumnName(p.Type, f.Name)
	c := sentTo(calls, Of(kind, name, member, p.doc(f.Name)).OptionalComputed().Since(p.Since), f.Name)
	if member != f.Name {
		c = c.In(member)
	}
	c.made = true
	set := f.Kind == facts.Set || slices.Contains(p.Sets, f.Name)
	if pending := p.Pending + "." + member; p.Pending != "" {
		if _, err := resolve(object, pending); err == nil {
			c = c.First(pending)
		}
	}
	switch kind {
	case modules.TypeBool:
		c = c.Absent(modules.Bool(false))
	case modules.TypeJSON:
		shape := written(calls, c.inputs, read.leaf)
		if shape != deref(read.leaf) {
			c = c.As(shaped(shape))
		}
		c = c.EmptyIsNull().Same(alike(shape, set))
		if filled := p.Filled[f.Name]; len(filled) > 0 {
			c = c.Same(Filling(alike(shape, set), filled...))
		}
	case modules.TypeTexts:
		c = c.EmptyIsNull()
	}
	if set && (kind == modules.TypeTexts || kind == modules.TypeJSON) {
		c = c.Unordered()
	}
	switch number := kind == modules.TypeInteger || kind == modules.TypeBigint; {
	case number && f.Least != nil && f.Most != nil:
		c = c.Between(*f.Least, *f.Most)
	case number && f.Least != nil:
		c = c.Check(fmt.Sprintf("%s >= %d", name, *f.Least))
	case number && f.Most != nil:
		c = c.Check(fmt.Sprintf("%s <= %d", name, *f.Most))
	}
	if values := enumeration(read.leaf); kind == modules.TypeText && len(values) > 0 && len(values) <= maxValues {
		c = c.OneOf(values...)
	}
	if f.CreateOnly || slices.Contains(p.Fixed, f.Name) {
		c = c.CreateOnly()
	}
	if isKey(f.Name) && kind == modules.TypeText {
		c = c.Same(SameKey)
		if c.Column.CreateOnly {
			c = c.Check(name + " !~ '(^|:)alias/'")
		}
	}
	if !slices.ContainsFunc(calls, func(op *Op) bool { return op.bind(&c) != nil }) {
		return c, errors.New("no call takes it (Columns, Without)")
	}
	return c, nil
}

// alongside returns the column that is made of a property of [Published.Along].
func (p Published) alongside(f facts.Property, calls []*Op) (Column, error) {
	for _, op := range calls {
		in, err := resolve(op.in, spelt(op.in, f.Name))
		if err != nil {
			continue
		}
		kind, err := kindOf(in.leaf)
		if err != nil {
			return Column{}, err
		}
		c := sentTo(calls, Of(kind, cfn.ColumnName(p.Type, f.Name), "", p.doc(f.Name)).Local().Since(p.Since), f.Name)
		c.along, c.made = true, true
		return c, nil
	}
	return Column{}, errors.New("no call takes it (Along)")
}

// sentTo returns the column of a property with what the inputs of calls call it.
func sentTo(calls []*Op, c Column, property string) Column {
	for _, op := range calls {
		if in := spelt(op.in, property); !slices.Contains(c.inputs, in) {
			c = c.In(in)
			if c.Type != modules.TypeJSON {
				c = c.In(in + ".Value") // as EC2 takes attributes
			}
		}
	}
	return c
}

func (p Published) doc(property string) string {
	if doc := p.Docs[property]; doc != "" {
		return doc
	}
	return fmt.Sprintf("%s of %s: %s", property, p.Type, page(p.Type, property))
}

// spelt returns the name of the member of a structure that a property is: AWS writes capitals otherwise in some.
func spelt(t reflect.Type, property string) string {
	if t = deref(t); t.Kind() == reflect.Struct {
		if f, ok := t.FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, property) }); ok {
			return f.Name
		}
	}
	return property
}

// isKey reports whether a property names a KMS key, of which AWS answers with the ARN, whatever it was given.
func isKey(property string) bool {
	name := strings.ToLower(property)
	return strings.Contains(name, "kms") && (strings.HasSuffix(name, "keyid") || strings.HasSuffix(name, "keyarn") ||
		strings.HasSuffix(name, "key") || strings.HasSuffix(name, "keyidentifier"))
}

// kindOf returns the type of a column for what the API has at a path.
func kindOf(t reflect.Type) (modules.Type, error) {
	t = deref(t)
	switch t.Kind() {
	case reflect.Bool:
		return modules.TypeBool, nil
	case reflect.Int32:
		return modules.TypeInteger, nil
	case reflect.Int64:
		return modules.TypeBigint, nil
	case reflect.Float32, reflect.Float64:
		return modules.TypeDouble, nil
	case reflect.String:
		return modules.TypeText, nil
	case reflect.Slice:
		if deref(t.Elem()).Kind() == reflect.String {
			return modules.TypeTexts, nil
		}
		return modules.TypeJSON, nil
	case reflect.Map:
		return modules.TypeJSON, nil
	case reflect.Struct:
		if t == timeType {
			return modules.TypeTime, nil
		}
		return modules.TypeJSON, nil
	}
	return "", fmt.Errorf("no column holds %s", t)
}

// page is the address of what AWS says of a property (AWS CloudFormation Template Reference).
func page(typeName, property string) string {
	of := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(typeName, "AWS::"), "::", "-"))
	return "https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-" + of + ".html#cfn-" +
		of + "-" + strings.ToLower(property)
}

// written returns the structure that a call takes for what is read: it does not have what AWS alone says there.
func written(calls []*Op, members []string, read reflect.Type) reflect.Type {
	for _, op := range calls {
		for _, member := range members {
			if in, err := resolve(op.in, member); err == nil && deref(in.leaf).Kind() == deref(read).Kind() {
				return deref(in.leaf)
			}
		}
	}
	return deref(read)
}

// shaped are structures that are read in one shape and written in another: the column has the latter's members.
func shaped(shape reflect.Type) Codec {
	return Codec{
		Decode: func(member any) (modules.Value, error) {
			text, err := json.Marshal(member)
			if err != nil {
				return modules.Null, err
			}
			structure := reflect.New(shape)
			if err := json.Unmarshal(text, structure.Interface()); err != nil {
				return modules.Null, err
			}
			if shape.Kind() == reflect.Slice && structure.Elem().Len() == 0 {
				return modules.Null, nil
			}
			return aws.Document(structure.Elem().Interface())
		},
		readsOnly: true,
	}
}

// alike tells whether two JSON documents are the same structure of type t, in which a member that is false, zero or
// left out all mean the same, and, of a set, the order means nothing.
func alike(t reflect.Type, set bool) func(a, b string) bool {
	read := func(text string) (string, error) {
		structure := reflect.New(deref(t))
		if err := aws.ParseDocument("", modules.Text(text), structure.Interface()); err != nil {
			return "", err
		}
		whole := bare(structure.Elem())
		if !set || whole.Kind() != reflect.Slice {
			document, err := aws.Document(whole.Interface())
			return document.String(), err
		}
		members := make([]string, whole.Len())
		for i := range members {
			member, err := aws.Document(whole.Index(i).Interface())
			if err != nil {
				return "", err
			}
			members[i] = member.String()
		}
		slices.Sort(members)
		return strings.Join(members, ","), nil
	}
	return func(a, b string) bool {
		x, err := read(a)
		y, failed := read(b)
		return err == nil && failed == nil && x == y || a == b
	}
}

// Filling compares documents by same, without the members of these names that one has and the other leaves out: those
// that AWS fills in, so that what it answers has all of them.
func Filling(same func(a, b string) bool, members ...string) func(a, b string) bool {
	return func(a, b string) bool {
		var x, y any
		if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
			return same(a, b)
		}
		leaveOut(x, y, members)
		a, errA := marshal(x)
		b, errB := marshal(y)
		return errA == nil && errB == nil && same(a, b)
	}
}

func marshal(v any) (string, error) {
	text, err := json.Marshal(v)
	return string(text), err
}

// leaveOut removes from each of two documents the members of these names that the other does not have.
func leaveOut(x, y any, members []string) {
	switch a := x.(type) {
	case map[string]any:
		b, ok := y.(map[string]any)
		if !ok {
			return
		}
		for _, name := range members {
			_, inA := a[name]
			_, inB := b[name]
			if inA != inB {
				delete(a, name)
				delete(b, name)
			}
		}
		for name := range a {
			leaveOut(a[name], b[name], members)
		}
	case []any:
		b, _ := y.([]any)
		for i := range min(len(a), len(b)) {
			leaveOut(a[i], b[i], members)
		}
	}
}

// bare returns a value without the pointers in it that lead to false or zero.
func bare(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		inner := bare(v.Elem())
		if k := inner.Kind(); inner.IsZero() && k != reflect.Struct {
			return reflect.Zero(v.Type())
		}
		v.Elem().Set(inner)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				f.Set(bare(f))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			v.Index(i).Set(bare(v.Index(i)))
		}
	}
	return v
}
