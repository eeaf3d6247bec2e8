package schemas

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// variable names the file with the schemas; file is where it is otherwise, seen
// from the project's root.
const (
	variable = "RESOURCE_SCHEMAS"
	file     = "../shared/cfn-schemas/all.jsonl.gz"
)

// schema is the schema of a resource type.
type schema struct {
	TypeName    string               `json:"typeName"`
	Properties  map[string]*property `json:"properties"`
	Definitions map[string]*property `json:"definitions"`
	Identifier  []string             `json:"primaryIdentifier"`
	CreateOnly  []string             `json:"createOnlyProperties"`
	Sometimes   []string             `json:"conditionalCreateOnlyProperties"`
	ReadOnly    []string             `json:"readOnlyProperties"`
	WriteOnly   []string             `json:"writeOnlyProperties"`
	Required    []string             `json:"required"`
}

// property is JSON schema, as far as the test looks at it.
type property struct {
	Ref        string               `json:"$ref"`
	Type       any                  `json:"type"`
	Properties map[string]*property `json:"properties"`
	Items      *property            `json:"items"`
	Required   []string             `json:"required"`
	OneOf      []*property          `json:"oneOf"`
	AnyOf      []*property          `json:"anyOf"`
	AllOf      []*property          `json:"allOf"`
	Enum       []any                `json:"enum"`
	Pattern    string               `json:"pattern"`
	Minimum    *float64             `json:"minimum"`
	Maximum    *float64             `json:"maximum"`
	MinLength  *float64             `json:"minLength"`
	MaxLength  *float64             `json:"maxLength"`
	MinItems   *float64             `json:"minItems"`
	MaxItems   *float64             `json:"maxItems"`
	Unique     bool                 `json:"uniqueItems"`
	Ordered    *bool                `json:"insertionOrder"`
}

// load returns the schemas by the names of their types; nil where the file is
// absent.
func load(t *testing.T) map[string]*schema {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		path = filepath.Join("../..", filepath.FromSlash(file))
	}
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil
	} else if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	schemas := map[string]*schema{}
	lines := bufio.NewScanner(zipped)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		s := &schema{}
		// Types that no table is of may have what this package does not know.
		if err := json.Unmarshal(lines.Bytes(), s); err == nil {
			for _, list := range []*[]string{&s.Identifier, &s.CreateOnly, &s.Sometimes, &s.ReadOnly, &s.WriteOnly} {
				for i := range *list {
					(*list)[i] = plain((*list)[i])
				}
			}
			schemas[s.TypeName] = s
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return schemas
}

// plain returns a property's JSON pointer as names with slashes between them:
// "/properties/A/items/properties/B" and "/properties/A/*/B" are "A/B".
func plain(pointer string) string {
	parts := slices.DeleteFunc(strings.Split(pointer, "/"), func(part string) bool {
		return part == "" || part == "properties" || part == "items" || part == "*"
	})
	return strings.Join(parts, "/")
}

// resolve follows the reference of a property.
func (s *schema) resolve(p *property) *property {
	for range 10 {
		if p == nil || p.Ref == "" {
			return p
		}
		name := p.Ref[strings.LastIndex(p.Ref, "/")+1:]
		if strings.Contains(p.Ref, "#/properties/") {
			p = s.Properties[name]
		} else {
			p = s.Definitions[name]
		}
	}
	return p
}

// find returns the property with a path such as "A/B", and what it is called
// exactly: names are looked for in any case. Lists on the way are entered.
func (s *schema) find(path string) (exact string, p *property, required bool) {
	p = &property{Properties: s.Properties, Required: s.Required}
	required = true
	var names []string
	for name := range strings.SplitSeq(path, "/") {
		if p = s.resolve(p); p != nil && p.Items != nil {
			p = s.resolve(p.Items)
		}
		if p == nil {
			return "", nil, false
		}
		found, next, needed := s.member(p, name)
		if next == nil {
			return "", nil, false
		}
		names, required, p = append(names, found), required && needed, next
	}
	return strings.Join(names, "/"), s.resolve(p), required
}

// member returns a member of an object, also one that only an alternative has.
func (s *schema) member(p *property, name string) (found string, next *property, required bool) {
	for key, next := range p.Properties {
		if strings.EqualFold(key, name) {
			return key, next, slices.Contains(p.Required, key)
		}
	}
	for _, alternatives := range [][]*property{p.OneOf, p.AnyOf, p.AllOf} {
		for _, a := range alternatives {
			if a = s.resolve(a); a == nil {
				continue
			}
			if found, next, _ := s.member(a, name); next != nil {
				return found, next, false
			}
		}
	}
	return "", nil, false
}

// holds reports whether a list of properties has one, or what that is a part of.
func holds(list []string, path string) bool {
	return slices.ContainsFunc(list, func(p string) bool { return p == path || strings.HasPrefix(path, p+"/") })
}

// texts are the values of an enumeration, nil if there is none. Those of a list
// are its members'.
func (s *schema) texts(p *property) []string {
	if p = s.resolve(p); p == nil {
		return nil
	}
	if len(p.Enum) == 0 && p.Items != nil {
		p = s.resolve(p.Items)
	}
	if p == nil {
		return nil
	}
	var values []string
	for _, v := range p.Enum {
		text, ok := v.(string)
		if !ok {
			raw, _ := json.Marshal(v)
			text = string(raw)
		}
		values = append(values, text)
	}
	return values
}
