package cfn

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// Type is a resource type as a table.
type Type struct {
	Name    string
	Table   *modules.Table
	Schema  Facts
	columns []column
	byName  map[string]*column
	id      []string // the columns of the identifier's parts, in its order
	// Relates are the types whose objects properties name that have no column for that.
	Relates []string
}

// Facts are what is needed of a schema once its table is made.
type Facts struct {
	Handlers map[string]bool
	ListBy   []Parameter
}

// Parameter is a property that a listing needs.
type Parameter struct {
	Property string
	Values   []string // all that it can have, where the schema says so
	// Of is the type whose objects it names, and Key the property by which; "" where the
	// schema does not say so.
	Of, Key string
	// Part is which part of the identifier it is; -1 for none.
	Part int
}

// column is what a column of the table means.
type column struct {
	*modules.Column
	property string
	path     []string // in the property, of a part of the identifier
	overlay  bool     // it holds what is write-only within the property
	main     *column  // of an overlay: the property itself
	gone     bool
	kind     kind
	tags     *tagForm
	fallback *modules.Value // what AWS means where it says nothing
	readOnly []Path         // in it
	secrets  []Path         // in it
	unsorted []Path         // lists in it whose order means nothing
	fixed    []Path         // in it, which only a replacement changes
	final    bool           // write-only, and fixed at creation
	text     bool           // AWS takes it as a text, too
	record   bool           // it holds the record that the property names, by its name in the cloud
	orName   bool           // it or the column beside it has to be given
}

// New makes the table of a type. learnt are columns of which AWS has said that they
// cannot be changed in place.
func New(s *Schema, l Layout, learnt []string) (*Type, error) {
	t := &Type{Name: s.Name, byName: map[string]*column{}, Schema: Facts{Handlers: map[string]bool{}}}
	for operation := range s.Handlers {
		t.Schema.Handlers[operation] = true
	}
	t.Schema.ListBy = s.parametersOf(s.ListBy)
	doc := s.Description
	if doc == "" {
		doc = "Objects of the type " + s.Name + "."
	}
	t.Table = &modules.Table{
		Name: l.Table, Doc: fmt.Sprintf("%s (%s, made from its schema.)", doc, s.Name), Provider: aws.Provider,
		Creation: modules.ByToken, Optional: true,
		// A schema does not say what users put into an object, nor whether two of one name
		// can be there at a time.
		HoldsData: true, DestroyBeforeCreate: !s.assigned() || s.named() ||
			s.root["replacementStrategy"] == "delete_then_create",
		EventMappings: s.mappings(),
	}
	for _, p := range l.Columns {
		c := s.column(l.Table, p)
		if slices.Contains(learnt, p.Name) && !c.Computed && !c.WriteOnly {
			c.Column.CreateOnly = true
		}
		t.columns = append(t.columns, c)
	}
	if err := t.pairRecords(); err != nil {
		return nil, err
	}
	t.Relates = s.unrelated(l)
	var columns []modules.Column
	for i := range t.columns {
		columns = append(columns, *t.columns[i].Column)
	}
	if Global(s.Name) {
		t.Table.Reach, t.Table.Columns = modules.PerAccount, aws.PerAccount(columns...)
	} else {
		t.Table.Reach, t.Table.Columns = modules.PerRegion, aws.Regional(columns...)
	}
	t.Table.GlobalName = aws.ARNColumn(t.Table)
	for i := range t.columns {
		c := &t.columns[i]
		c.Column = t.Table.Column(c.Name)
		t.byName[c.Name] = c
	}
	for i := range t.columns {
		if c := &t.columns[i]; c.overlay {
			if c.main = t.main(c.property); c.main == nil {
				return nil, fmt.Errorf("its layout lacks the property %s", c.property)
			}
		}
	}
	for _, id := range s.Identifier {
		p := l.identity(id)
		if p == nil {
			return nil, fmt.Errorf("its layout lacks the part %s of its identifier", id)
		}
		t.id = append(t.id, p.Name)
	}
	return t, t.Table.Validate()
}

// assigned reports whether AWS chooses every part of the identifier, so that two objects
// that are alike otherwise can be there at a time.
func (s *Schema) assigned() bool {
	for _, id := range s.Identifier {
		if !s.is(s.ReadOnly, id[0]) {
			return false
		}
	}
	return true
}

// named reports whether users give the objects names, of which each may be there once.
func (s *Schema) named() bool {
	for name := range s.properties() {
		if strings.HasSuffix(name, "Name") && !s.is(s.ReadOnly, name) &&
			(s.is(s.CreateOnly, name) || slices.Contains(s.Required, name)) {
			return true
		}
	}
	return false
}

// column describes a column.
func (s *Schema) column(table string, p Placed) column {
	d := s.resolve(s.properties()[p.Property])
	c := column{Column: &modules.Column{Name: p.Name, Type: p.Type, Since: p.Since}, property: p.Property, gone: p.Gone,
		kind: s.kind(s.properties()[p.Property], 0)}
	c.Doc = text1(d["description"])
	if c.Doc == "" {
		c.Doc = "The property " + text1(p.Property) + "."
	}
	switch {
	case p.Gone:
		c.Local = true
		c.Doc = "Not in the type's schema any more, and kept. " + c.Doc
		return c
	case p.Part == partSecrets:
		s.overlay(&c)
		return c
	case p.Part == partRecord:
		s.record(&c, p.Refers)
		return c
	case p.Part != "":
		c.path, c.kind, c.Computed, c.Identity = strings.Split(p.Part, "/"), kindText, true, true
		c.Doc = fmt.Sprintf("What identifies the object: %s in %s.", strings.Join(c.path, "."), p.Property)
		return c
	}
	s.flags(&c)
	if p.Name == modules.ColumnTags {
		c.tags = s.tagForm(p.Property)
		tags := aws.TagsColumn()
		c.EmptyIsNull, c.Check, c.Doc = true, tags.Check, tags.Doc
		return c
	}
	s.nested(&c)
	s.meaning(&c, d)
	if !c.Computed && !c.WriteOnly {
		s.constraints(&c, d)
		s.defaults(&c, d)
	}
	if s.Transforms[p.Property] && !c.Computed {
		c.Doc += " AWS may show it otherwise than it was written (its schema has a transformation): what AWS shows " +
			"is what the row has then."
	}
	if s.Deprecated[p.Property] {
		c.Doc += " Deprecated."
	}
	return c
}

// flags says who may write the column, and when.
func (s *Schema) flags(c *column) {
	name := c.property
	c.Identity = s.identifies(Path{name})
	c.Computed = s.is(s.ReadOnly, name)
	c.WriteOnly = s.secret(name)
	fixed := s.is(s.CreateOnly, name) || c.Identity || !s.Can("update")
	required := slices.Contains(s.Required, name)
	switch {
	case c.Computed:
	case c.WriteOnly:
		c.final, c.Needed = fixed, required
		if c.kind != kindText {
			c.Doc += " JSON, as a text."
		}
		if !fixed {
			c.Doc += " AWS may take it for not given by an UPDATE of the record that does not set it."
		}
	default:
		c.CreateOnly = fixed
		c.Required = required && c.Since <= 1
		c.OptionalComputed = c.Identity && !required
	}
}

// nested notes what is particular within the property.
func (s *Schema) nested(c *column) {
	if c.Type != modules.TypeJSON {
		return
	}
	c.readOnly, c.secrets, c.fixed = s.within(s.ReadOnly, c.property), s.within(s.WriteOnly, c.property),
		s.within(s.CreateOnly, c.property)
	// What is fixed and cannot be read would seem to change with everything else.
	c.fixed = slices.DeleteFunc(c.fixed, func(p Path) bool {
		return slices.ContainsFunc(c.secrets, func(q Path) bool { return slices.Equal(p, q) })
	})
	if len(c.fixed) > 0 && !c.Computed {
		c.RequiresReplacement = requiresReplacement(c.fixed)
		for _, p := range c.fixed {
			c.FixedWithin = append(c.FixedWithin, "lax "+s.jsonPath(c.property, p))
		}
		c.Doc += " " + fixedDoc(c.fixed)
	}
	budget := 2000
	s.unsortedIn(c, s.properties()[c.property], nil, map[string]bool{}, &budget)
}

// unsortedIn notes the lists within a definition whose order means nothing.
func (s *Schema) unsortedIn(c *column, node any, at Path, above map[string]bool, budget *int) {
	if *budget--; *budget < 0 {
		return
	}
	definition, _ := node.(map[string]any)
	if ref, ok := definition["$ref"].(string); ok {
		if above[ref] {
			return
		}
		above[ref] = true
		defer delete(above, ref)
	}
	d := s.resolve(node)
	if d == nil || len(at) > 8 || len(c.unsorted) >= 100 {
		return
	}
	if ordered, said := d["insertionOrder"].(bool); said && !ordered {
		c.unsorted = append(c.unsorted, slices.Clone(at))
	}
	if d["items"] != nil {
		s.unsortedIn(c, d["items"], append(slices.Clone(at), "*"), above, budget)
	}
	members, _ := d["properties"].(map[string]any)
	for _, name := range sorted(members) {
		s.unsortedIn(c, members[name], append(slices.Clone(at), name), above, budget)
	}
}

// meaning says when two values of the column are the same to AWS.
func (s *Schema) meaning(c *column, d map[string]any) {
	if ordered, said := d["insertionOrder"].(bool); said && !ordered && d["type"] == "array" {
		c.Unordered = true
	}
	switch c.Type {
	case modules.TypeTexts:
		c.EmptyIsNull = true
	case modules.TypeJSON:
		c.EmptyIsNull = true
		c.text = slices.Contains(texts(d["type"]), "string")
		copied := *c
		c.Equal = func(a, b string) bool { return copied.sameJSON(a, b, nil) }
		if len(c.readOnly) > 0 && !c.Computed {
			c.ComputedWithin = func(have, cloud string) bool { return copied.sameJSON(have, cloud, copied.readOnly) }
		}
	case modules.TypeText:
		if !c.Computed && !c.WriteOnly {
			c.Equal = sameText
		}
	}
}

// overlay describes the column of what is write-only within a property.
func (s *Schema) overlay(c *column) {
	c.overlay, c.WriteOnly, c.kind = true, true, kindJSON
	var names []string
	for _, p := range s.within(s.WriteOnly, c.property) {
		names = append(names, strings.Join(p, "."))
	}
	c.Doc = fmt.Sprintf("What of %s can be written and not read (%s): JSON of the same shape, as a text.", c.property,
		text1(strings.Join(names, ", ")))
}

// parametersOf returns what a listing needs.
func (s *Schema) parametersOf(names []string) []Parameter {
	var out []Parameter
	for _, name := range names {
		p := Parameter{Property: name, Part: slices.IndexFunc(s.Identifier, func(id Path) bool {
			return len(id) == 1 && id[0] == name
		})}
		d := s.resolve(s.properties()[name])
		p.Values = texts(d["enum"])
		p.Of, p.Key = s.related(d)
		out = append(out, p)
	}
	return out
}

// related returns the type whose objects a property names, and the property by which; ""
// where it does not say so or could name objects of several.
func (s *Schema) related(d map[string]any) (of, key string) {
	of, keys := s.relations(d)
	if of == "" {
		return "", ""
	}
	return of, keys[0]
}

// relations returns the type whose objects a property names, and the properties by each of
// which it may; "" where it does not say so or could name objects of several.
func (s *Schema) relations(d map[string]any) (of string, keys []string) {
	refs := []any{d["relationshipRef"]}
	for _, alternatives := range []string{"anyOf", "oneOf", "allOf"} {
		list, _ := d[alternatives].([]any)
		for _, a := range list {
			refs = append(refs, s.resolve(a)["relationshipRef"])
		}
	}
	for _, r := range refs {
		ref, _ := r.(map[string]any)
		name, _ := ref["typeName"].(string)
		path, _ := ref["propertyPath"].(string)
		if ref == nil || !typeName.MatchString(name) {
			continue
		}
		if of != "" && of != name {
			return "", nil
		}
		of, keys = name, append(keys, strings.TrimPrefix(path, "/properties/"))
	}
	return of, keys
}

// constraints says which values there are, where PostgreSQL can say it.
func (s *Schema) constraints(c *column, d map[string]any) {
	name := quote(c.Name)
	var checks []string
	add := func(format string, args ...any) { checks = append(checks, fmt.Sprintf(format, args...)) }
	count := func(function string, least, most any) {
		if n := number(least); n != "" && n != "0" && isCount(n) {
			add("%s >= %s", function, n)
		}
		if n := number(most); n != "" && isCount(n) {
			add("%s <= %s", function, n)
		}
	}
	switch c.Type {
	case modules.TypeText:
		if values, _ := d["enum"].([]any); len(values) > 0 && len(values) <= maxValues &&
			len(values) == len(texts(values)) {
			c.Enum = texts(values)
		}
		count("char_length("+name+")", d["minLength"], d["maxLength"])
		pattern, _ := d["pattern"].(string)
		if p, ok := Pattern(pattern); ok {
			add("%s ~ %s", name, literal(p))
		}
	case modules.TypeBigint, modules.TypeDouble:
		if n := number(d["minimum"]); n != "" {
			add("%s >= %s", name, n)
		}
		if n := number(d["maximum"]); n != "" {
			add("%s <= %s", name, n)
		}
	case modules.TypeTexts:
		count("cardinality("+name+")", d["minItems"], d["maxItems"])
	case modules.TypeJSON:
		shape := ""
		switch {
		case d["type"] == "object" || d["type"] == nil && d["properties"] != nil:
			shape = "object"
		case d["type"] == "array":
			shape = "array"
		}
		if shape != "" {
			add("jsonb_typeof(%s) = '%s'", name, shape)
		}
		for _, p := range c.secrets {
			add("NOT jsonb_path_exists(%s, %s)", name, literal("lax "+s.jsonPath(c.property, p)))
		}
	}
	c.Check = strings.Join(checks, " AND ")
}

// isCount reports whether a number can be compared with a length.
func isCount(n string) bool { return len(n) <= 9 && strings.Trim(n, "0123456789") == "" }

// jsonPath spells a path as the path language of PostgreSQL does (manual, section 9.16.2).
func (s *Schema) jsonPath(property string, p Path) string {
	var b strings.Builder
	b.WriteByte('$')
	for i, name := range p {
		if name == "*" {
			if s.at(append(Path{property}, p[:i]...))["items"] != nil {
				b.WriteString("[*]")
			} else {
				b.WriteString(".*")
			}
			continue
		}
		key, _ := json.Marshal(strings.ReplaceAll(name, "\x00", ""))
		b.WriteByte('.')
		b.Write(key)
	}
	return b.String()
}

// defaults notes what AWS takes a property to be that is left out.
func (s *Schema) defaults(c *column, d map[string]any) {
	if c.Identity || d["default"] == nil || c.Type == modules.TypeJSON || c.Type == modules.TypeTexts {
		return
	}
	v, ok := c.fromJSON(d["default"])
	if !ok || v.IsNull() || len(v.String()) > 1000 || len(c.Enum) > 0 && !slices.Contains(c.Enum, v.String()) {
		return
	}
	if c.Check != "" && breaks(v.String(), d) { // AWS may show it, and does not take it
		c.Check = fmt.Sprintf("(%s) OR %s = %s", c.Check, quote(c.Name), literal(v.String()))
		return
	}
	c.fallback, c.Default = &v, literal(v.String())
}

// breaks reports whether a default is none of the values that its own definition allows.
func breaks(value string, d map[string]any) bool {
	n, err := strconv.ParseFloat(value, 64)
	bound := func(of any) (float64, bool) {
		limit, err := strconv.ParseFloat(number(of), 64)
		return limit, err == nil
	}
	if least, said := bound(d["minimum"]); said && err == nil && n < least {
		return true
	}
	if most, said := bound(d["maximum"]); said && err == nil && n > most {
		return true
	}
	length := float64(utf8.RuneCountInString(value))
	if least, said := bound(d["minLength"]); said && length < least {
		return true
	}
	if most, said := bound(d["maxLength"]); said && length > most {
		return true
	}
	pattern, said := d["pattern"].(string)
	if !said {
		return false
	}
	if _, taken := Pattern(pattern); !taken {
		return false // nor does the table ask for it
	}
	allowed, err := regexp.Compile(pattern)
	return err != nil || !allowed.MatchString(value)
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
