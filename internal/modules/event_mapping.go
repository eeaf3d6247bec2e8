package modules

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// EventMapping is a call of the cloud's API that makes, changes or deletes objects of a table,
// and where the record that the cloud keeps of the call names them. It is for hints only:
// where to look, never what is there. A touch that is missing, or that names the wrong
// object, costs a listing or a delay and makes nothing wrong. Several touches of a table
// by one call are alternatives: the first that finds a name counts.
type EventMapping struct {
	// Source and Name are the service and the operation, in the words of the record:
	// "ec2.amazonaws.com", "RunInstances".
	Source, Name string
	// At are the paths in the record at which it names the objects, such as
	// "responseElements.instancesSet.instanceId"; see package iasql/internal/aws/events for
	// what a path may say. Without one the record does not name them: the table is listed.
	At []string
	// Column is the column that has what is found there: "" is the table's identity, or
	// the first column of it where it has several. Where what is found is an ARN and the
	// table has the column arn, it is that one.
	Column string
	// Prefix is what that begins with, or of an ARN what follows the account: "vpc-" or
	// "cluster/". Anything else found there is of another table.
	Prefix string
	// After is what stands before the value: "/" of "/hostedzone/Z0123" leaves Z0123.
	After string
	// Identity says where each column of the identity is, in the identity's order, for a
	// table whose objects are named by several: at At are the objects then.
	Identity []IdentityPart
	// Extent is what of the objects the call changes at most.
	Extent Extent
	// Known says that a name which no record has is of another table: nobody lists this
	// one for it.
	Known bool
}

// Roots are what paths in the record of a call may begin with.
var Roots = []string{"requestParameters", "responseElements", "resources", "serviceEventDetails"}

// IdentityPart says where a record of a call has a column of an identity.
type IdentityPart struct {
	// At is a path below the object, or one in the record as those of a touch.
	At string
	// Optional says that what is not found there is the empty text.
	Optional bool
	// As makes of what is found there what the column has; nil if that is the same.
	As func(string) string
}

// ColumnIdentity stands for all columns of an identity, where a column is expected that
// names objects: its values are what [Table.IdentityText] returns.
const ColumnIdentity = "*"

// IdentityText returns the values of a row's identity as one text, a JSON array; false if
// one of them is missing.
func (t *Table) IdentityText(value func(*Column) Value) (string, bool) {
	var values []string
	for i := range t.Columns {
		if c := &t.Columns[i]; c.Identity {
			v := value(c)
			if v.IsNull() {
				return "", false
			}
			values = append(values, v.String())
		}
	}
	text, err := json.Marshal(values)
	return string(text), err == nil
}

// ParseIdentity returns the row that a text of [Table.IdentityText] is of, and false if it
// is of no row of the table.
func (t *Table) ParseIdentity(text string) (Row, bool) {
	var values []string
	names := t.Identity()
	if json.Unmarshal([]byte(text), &values) != nil || len(values) != len(names) {
		return nil, false
	}
	row := Row{}
	for i, name := range names {
		row[name] = Text(values[i])
	}
	return row, true
}

// NamedWhole reports whether events may name the table's objects by all of their identity.
func (t *Table) NamedWhole() bool {
	return slices.ContainsFunc(t.EventMappings, func(mapping EventMapping) bool { return len(mapping.Identity) > 0 })
}

// Touching is a touch of a table.
type Touching struct {
	Table        *Table
	EventMapping *EventMapping
}

// call is a call of the API, as touches name it.
type call struct{ source, name string }

// dated is what some services add to an operation's name: the date of their API's version
// (CreateFunction20150331, UpdateFunctionConfiguration20150331v2).
var dated = regexp.MustCompile(`_?20\d{2}_?[01]\d_?[0-3]\d(v\d+)?$`)

// Operation returns the name of an operation without the version of its API.
func Operation(event string) string { return dated.ReplaceAllString(event, "") }

// Touched returns the event mappings of all tables by a call.
func (r *Registry) Touched(source, name string) []Touching {
	return r.content.Load().touched[call{source, Operation(name)}]
}

// HasEventMappings reports whether any table is touched by calls of the service.
func (r *Registry) HasEventMappings(source string) bool { return r.content.Load().sources[source] }

// addEventMappings indexes the event mappings of all tables.
func (c *content) addEventMappings() {
	all := map[*Table][]EventMapping{}
	for _, m := range c.modules {
		for _, res := range m.Resources {
			t := res.Table()
			for _, mapping := range c.mappings(t, all) {
				key := call{mapping.Source, mapping.Name}
				c.touched[key] = append(c.touched[key], Touching{t, &mapping})
				c.sources[mapping.Source] = true
			}
		}
	}
}

// wholly are the first words of calls by which parts come and go with their whole.
var wholly = regexp.MustCompile(`^(Create|Delete|Import|Register|Deregister|Restore|Run|Terminate)`)

// touches returns a table's touches, with those of the wholes that its objects are parts
// of: a VPC comes with a security group and that with rules, and subscriptions go with
// their topic. all are the event mappings of the tables that have been looked at.
func (c *content) mappings(t *Table, all map[*Table][]EventMapping) []EventMapping {
	if mappings, known := all[t]; known {
		return mappings
	}
	mappings, own := slices.Clone(t.EventMappings), map[call]bool{}
	for _, mapping := range mappings {
		own[call{mapping.Source, mapping.Name}] = true
	}
	all[t] = mappings // of what is a part of itself
	for i := range t.Columns {
		ref := t.Columns[i].References
		if ref == nil || ref.Part == NotPart || c.resources[ref.Table] == nil {
			continue
		}
		whole := c.tables[ref.Table]
		for _, mapping := range c.mappings(whole, all) {
			if own[call{mapping.Source, mapping.Name}] || !wholly.MatchString(mapping.Name) {
				continue
			}
			column := mapping.Column
			if column == "" {
				column = whole.Identity()[0]
			}
			if mapping.Column = t.Columns[i].Name; column != ref.Key || mapping.At == nil || len(mapping.Identity) > 0 {
				mapping = EventMapping{Source: mapping.Source, Name: mapping.Name} // by what the part does not know it
			}
			mappings = append(mappings, mapping)
		}
	}
	all[t] = mappings
	return mappings
}

// source is what the names of services look like in the records.
var source = regexp.MustCompile(`^[a-z0-9.-]+$`)

// validateEventMappings reports the first thing wrong with the table's touches.
func (t *Table) validateEventMappings() error {
	for i := range t.EventMappings {
		mapping := &t.EventMappings[i]
		at := fmt.Sprintf("table %s: event mapping %s %s", t.Name, mapping.Source, mapping.Name)
		switch {
		case !source.MatchString(mapping.Source) || mapping.Name == "" || mapping.Name != Operation(mapping.Name):
			return fmt.Errorf("%s: no call is called so", at)
		case mapping.Column != "" && t.Column(mapping.Column) == nil:
			return fmt.Errorf("%s: there is no column %s", at, mapping.Column)
		case len(mapping.At) == 0 && (mapping.Column+mapping.Prefix+mapping.After != "" || len(mapping.Identity) > 0):
			return fmt.Errorf("%s: it has no path, and says what is found there", at)
		case len(mapping.Identity) > 0:
			if err := t.validateIdentity(mapping); err != nil {
				return fmt.Errorf("%s: %w", at, err)
			}
		}
		for _, path := range mapping.At {
			root, _, _ := strings.Cut(path, ".")
			if !slices.Contains(Roots, root) {
				return fmt.Errorf("%s: no record has %s", at, path)
			}
		}
	}
	return nil
}

// validateIdentity reports what is wrong with a touch that names all of an identity.
func (t *Table) validateIdentity(mapping *EventMapping) error {
	names := t.Identity()
	if len(names) < 2 || len(names) != len(mapping.Identity) || mapping.Column+mapping.Prefix+mapping.After != "" {
		return fmt.Errorf("it names an identity of %d columns, and the table's has %d", len(mapping.Identity),
			len(names))
	}
	for _, name := range names {
		if c := t.Column(name); c.Type != TypeText && c.References == nil {
			return fmt.Errorf("it names the column %s, which is no text", name)
		}
	}
	return nil
}
