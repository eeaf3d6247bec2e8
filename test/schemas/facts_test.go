package schemas

import (
	"flag"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"iasql/internal/aws/facts"
)

// factsFile is made by TestFacts of the schemas.
const factsFile = "../../internal/aws/facts/types.txt"

var update = flag.Bool("update", false, "write "+factsFile)

// TestFacts: the facts that tables are made of are those that AWS publishes, of every type that a table is of.
func TestFacts(t *testing.T) {
	t.Parallel()
	schemas := load(t)
	if schemas == nil {
		t.Skipf("there is no file %s, and the variable %s names no other", file, variable)
	}
	names := map[string]bool{}
	for _, of := range types {
		for _, name := range of {
			names[name] = true
		}
	}
	var b strings.Builder
	b.WriteString("# What AWS publishes of these resource types. Made by `make facts`; not edited by hand.\n")
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if schemas[name] == nil {
			t.Fatalf("there is no resource type %s", name)
		}
		b.WriteString(schemas[name].facts().String())
	}
	if *update {
		if err := os.WriteFile(factsFile, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(factsFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) == b.String() {
		return
	}
	was, err := facts.Parse(string(have))
	if err != nil {
		t.Fatal(err)
	}
	now, err := facts.Parse(b.String())
	if err != nil {
		t.Fatal(err)
	}
	for name, of := range now {
		if was[name] == nil || was[name].String() != of.String() {
			t.Errorf("the schemas say otherwise of %s: run make facts", name)
		}
	}
}

// facts returns what a schema says at its top level.
func (s *schema) facts() *facts.Type {
	of := &facts.Type{Name: s.TypeName}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.resolve(s.Properties[name])
		f := facts.Property{Name: name, Kind: s.kind(p), Required: slices.Contains(s.Required, name),
			CreateOnly: slices.Contains(s.CreateOnly, name), SometimesCreateOnly: slices.Contains(s.Sometimes, name),
			ReadOnly: slices.Contains(s.ReadOnly, name), WriteOnly: slices.Contains(s.WriteOnly, name)}
		if f.Kind == facts.Number {
			f.Least, f.Most = whole(p.Minimum), whole(p.Maximum)
		}
		of.Properties = append(of.Properties, f)
	}
	return of
}

// kind returns the kind of a property's values. Where AWS lets it be of several, text says the most.
func (s *schema) kind(p *property) facts.Kind {
	if p == nil {
		return facts.Object
	}
	kinds, _ := p.Type.([]any)
	if kinds == nil {
		kinds = []any{p.Type}
	}
	switch {
	case slices.Contains(kinds, any("array")):
		if p.Unique || p.Ordered != nil && !*p.Ordered {
			return facts.Set
		}
		return facts.List
	case slices.Contains(kinds, any("string")) && len(kinds) == 1:
		return facts.Text
	case slices.Contains(kinds, any("integer")), slices.Contains(kinds, any("number")):
		return facts.Number
	case slices.Contains(kinds, any("boolean")):
		return facts.YesNo
	case slices.Contains(kinds, any("string")) && !slices.Contains(kinds, any("object")):
		return facts.Text
	}
	return facts.Object
}

// whole returns a bound that is a whole number, and one that says something.
func whole(f *float64) *int {
	if f == nil || *f != math.Trunc(*f) || math.Abs(*f) > math.MaxInt32-1 {
		return nil
	}
	n := int(*f)
	return &n
}
