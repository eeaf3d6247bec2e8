// Package facts has what AWS publishes of the resource types that declared tables are of: the names of their
// properties, what kind of value each has, and what may be done with it.
//
// The file types.txt is made of AWS's resource type schemas (what cloudformation:DescribeType answers) by
//
//	make facts RESOURCE_SCHEMAS=file
//
// and holds no text of theirs. A line without a space in front names a type, each line below it a property:
//
//	AWS::SQS::Queue
//	 DelaySeconds number sometimes-create-only least=0 most=900
//
// See the CloudFormation CLI user guide, "Resource type schema".
package facts

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

//go:embed types.txt
var file string

// Kind is the kind of a property's values.
type Kind string

// The kinds. A Set is a list whose order means nothing.
const (
	Text   Kind = "text"
	Number Kind = "number"
	YesNo  Kind = "boolean"
	List   Kind = "list"
	Set    Kind = "set"
	Object Kind = "object"
)

// Type is a resource type.
type Type struct {
	Name       string
	Properties []Property // in the order of their names
}

// Property is a property of a type, at its top level.
type Property struct {
	Name     string
	Kind     Kind
	Required bool
	// CreateOnly: a change replaces the object. SometimesCreateOnly: of some objects, or from some values.
	CreateOnly, SometimesCreateOnly bool
	ReadOnly                        bool // AWS assigns it
	WriteOnly                       bool // reading does not tell it
	Least, Most                     *int // of a number
}

// Of returns a type; nil if the file does not have it.
func Of(name string) *Type { return types()[name] }

// Property returns the property with a name; nil if the type has none.
func (t *Type) Property(name string) *Property {
	for i := range t.Properties {
		if t.Properties[i].Name == name {
			return &t.Properties[i]
		}
	}
	return nil
}

var types = sync.OnceValue(func() map[string]*Type {
	all, err := Parse(file)
	if err != nil {
		panic(err) // the file is a part of the program
	}
	return all
})

// Parse reads the form of types.txt.
func Parse(text string) (map[string]*Type, error) {
	all := map[string]*Type{}
	var t *Type
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case line[0] != ' ':
			t = &Type{Name: line}
			all[line] = t
		case t == nil:
			return nil, fmt.Errorf("facts: a property without a type: %q", line)
		default:
			p, err := parse(strings.Fields(line))
			if err != nil {
				return nil, fmt.Errorf("facts: %s: %w", t.Name, err)
			}
			t.Properties = append(t.Properties, p)
		}
	}
	return all, nil
}

func parse(words []string) (Property, error) {
	if len(words) < 2 {
		return Property{}, fmt.Errorf("a property has a name and a kind: %q", words)
	}
	p := Property{Name: words[0], Kind: Kind(words[1])}
	for _, mark := range words[2:] {
		name, value, _ := strings.Cut(mark, "=")
		switch name {
		case "required":
			p.Required = true
		case "create-only":
			p.CreateOnly = true
		case "sometimes-create-only":
			p.SometimesCreateOnly = true
		case "read-only":
			p.ReadOnly = true
		case "write-only":
			p.WriteOnly = true
		case "least", "most":
			n, err := strconv.Atoi(value)
			if err != nil {
				return p, fmt.Errorf("%s: %w", p.Name, err)
			}
			if name == "least" {
				p.Least = &n
			} else {
				p.Most = &n
			}
		default:
			return p, fmt.Errorf("%s: unknown mark %q", p.Name, mark)
		}
	}
	return p, nil
}

// String returns the type's lines of types.txt.
func (t *Type) String() string {
	var b strings.Builder
	b.WriteString(t.Name + "\n")
	for _, p := range t.Properties {
		b.WriteString(" " + p.String() + "\n")
	}
	return b.String()
}

// String returns the property's line of types.txt.
func (p Property) String() string {
	words := []string{p.Name, string(p.Kind)}
	for _, mark := range []struct {
		holds bool
		word  string
	}{{p.Required, "required"}, {p.CreateOnly, "create-only"}, {p.SometimesCreateOnly, "sometimes-create-only"},
		{p.ReadOnly, "read-only"}, {p.WriteOnly, "write-only"}} {
		if mark.holds {
			words = append(words, mark.word)
		}
	}
	if p.Least != nil {
		words = append(words, fmt.Sprintf("least=%d", *p.Least))
	}
	if p.Most != nil {
		words = append(words, fmt.Sprintf("most=%d", *p.Most))
	}
	return strings.Join(words, " ")
}
