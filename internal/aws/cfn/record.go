package cfn

import (
	"fmt"
	"slices"
	"strings"

	"iasql/internal/modules"
)

// A property that names an object of another type has two columns where that type is a
// table: the name, as AWS has it, and beside it the record. The second is a foreign key. A
// new record can name another one by it that has no name in the cloud yet, and waits for it.
// Where AWS takes the object's id or its ARN, the record can be read only.
// What names an object without a record, such as one of another account, is in the first
// alone.

// record describes the column of the record that a property names.
func (s *Schema) record(c *column, target *Target) {
	name := c.property
	c.record, c.kind = true, kindText
	_, forms := s.relations(s.resolve(s.properties()[name]))
	// Where AWS takes one name or another, which one it shows nobody knows.
	c.Computed = s.is(s.ReadOnly, name) || len(forms) > 1
	c.CreateOnly = !c.Computed && (s.is(s.CreateOnly, name) || !s.Can("update"))
	c.References = &modules.Reference{}
	if target != nil {
		c.References.Table, c.References.Key = target.Table, target.Key
	}
}

// pairRecords puts the columns of records beside those of the names.
func (t *Type) pairRecords() error {
	for i := range t.columns {
		c := &t.columns[i]
		if !c.record {
			continue
		}
		main := t.main(c.property)
		if main == nil || c.References.Table == "" {
			return fmt.Errorf("its layout lacks the property %s", c.property)
		}
		c.main, c.References.NameColumn = main, main.Name
		if !c.Computed && (c.CreateOnly || main.CreateOnly) { // AWS has said it of either
			c.CreateOnly, main.CreateOnly = true, true
		}
		c.Doc = fmt.Sprintf("The record of %s that %s names; NULL if there is none.", c.References.Table, main.Name)
		if main.Required && !c.Computed {
			main.Required, c.orName = false, true
			c.Check = fmt.Sprintf("%s IS NOT NULL OR %s IS NOT NULL", quote(main.Name), quote(c.Name))
		}
	}
	return nil
}

// unrelated returns the types whose objects properties name that have no column with the
// record.
func (s *Schema) unrelated(l Layout) []string {
	var out []string
	for _, p := range l.Columns {
		if p.Part != "" || p.Type != modules.TypeText || p.Gone || !s.mayRefer(p.Property) ||
			slices.ContainsFunc(l.Columns, func(q Placed) bool {
				return q.Property == p.Property && q.Part == partRecord
			}) {
			continue
		}
		if of, _ := s.relations(s.resolve(s.properties()[p.Property])); of != "" && of != s.Name &&
			!slices.Contains(out, of) {
			out = append(out, of)
		}
	}
	return out
}

// Named returns the column by which others may name the objects whose property they know.
func (t *Type) Named(property string) string {
	if c := t.main(property); c != nil {
		return c.Name
	}
	return ""
}

// FixedSecrets returns the columns that are fixed when an object is made and cannot be read.
func (t *Type) FixedSecrets() (names []string) {
	for i := range t.columns {
		if c := &t.columns[i]; c.final {
			names = append(names, c.Name)
		}
	}
	return names
}

// Migrations returns what brings a table of an earlier revision up to date besides new
// columns: a property that has to be given can be given by the record that came later.
func (t *Type) Migrations() map[int]string {
	out := map[int]string{}
	for i := range t.columns {
		if c := &t.columns[i]; c.orName && c.Since > 1 {
			out[c.Since] += fmt.Sprintf("ALTER TABLE public.%s ALTER COLUMN %s DROP NOT NULL;", quote(t.Table.Name),
				quote(c.main.Name))
		}
	}
	return out
}

// named sets the properties that a row names by records.
func (t *Type) named(want modules.Row, model map[string]any) {
	for i := range t.columns {
		if c := &t.columns[i]; c.record && !c.Computed && !want[c.Name].IsNull() {
			model[c.property] = want[c.Name].String()
		}
	}
}

// names returns what an object is called that a property names: the id at the end, if the
// property has the ARN and the referenced table is known by something else.
func (c *column) names(value any) (modules.Value, bool) {
	text, named := value.(string)
	if strings.HasPrefix(text, "arn:") && c.Computed && !strings.HasSuffix(c.References.Key, "arn") {
		text = text[strings.LastIndexAny(text, "/:")+1:]
	}
	return modules.Text(text), named
}
