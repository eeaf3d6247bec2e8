package cfn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// The limits of what a schema may be. The largest that AWS has published is 0.6 MB and has
// 110 properties; PostgreSQL takes 1,600 columns, of fewer bytes than a page.
const (
	MaxSize       = 4 << 20
	MaxProperties = 500
	maxDepth      = 200 // of JSON in JSON
	maxHops       = 32  // from one $ref to the next
	maxValues     = 500 // of an enumeration
)

// TypeName is what names of resource types look like: Organization::Service::Resource.
var typeName = regexp.MustCompile(`^[A-Za-z0-9]{2,64}::[A-Za-z0-9]{2,64}::[A-Za-z0-9]{2,64}$`)

// Schema is the schema of a resource type, as its publisher wrote it, with what is
// needed of it in order.
type Schema struct {
	Name        string // AWS::SES::Template
	Description string
	root        map[string]any

	Identifier []Path // the parts of the primary identifier
	ReadOnly   []Path
	WriteOnly  []Path
	CreateOnly []Path // conditional ones, too
	Required   []string
	// Handlers are the permissions of the operations that the type has, by operation:
	// create, read, update, delete and list.
	Handlers map[string][]string
	// ListBy are the properties that a listing needs, besides account and region.
	ListBy []string
	// TagProperty is the property that holds the tags, "" if there is none.
	TagProperty string
	// Transforms are the properties that AWS shows otherwise than they were written.
	Transforms map[string]bool
	// Deprecated are the properties that the publisher advises against.
	Deprecated map[string]bool
}

// Path is where a value is: a property, and what is within it; "*" is every element of
// an array, or every value of a map.
type Path []string

// String spells it as schemas do.
func (p Path) String() string { return "/properties/" + strings.Join(p, "/") }

// Parse reads a schema. Its errors say why there can be no table of the type.
func Parse(text []byte) (*Schema, error) {
	if len(text) > MaxSize {
		return nil, fmt.Errorf("its schema has %d bytes, and the most is %d", len(text), MaxSize)
	}
	if err := checkDepth(text); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	s := &Schema{}
	if err := dec.Decode(&s.root); err != nil {
		return nil, fmt.Errorf("its schema is no JSON object: %w", err)
	}
	s.Name, _ = s.root["typeName"].(string)
	if !typeName.MatchString(s.Name) {
		return nil, fmt.Errorf("%.100q is no name of a resource type", s.Name)
	}
	s.Description = text1(s.root["description"])
	switch n := len(s.properties()); {
	case n == 0:
		return nil, errors.New("its schema has no properties")
	case n > MaxProperties:
		return nil, fmt.Errorf("its schema has %d properties, and the most is %d", n, MaxProperties)
	}
	s.ReadOnly, s.WriteOnly = s.paths("readOnlyProperties"), s.paths("writeOnlyProperties")
	s.CreateOnly = append(s.paths("createOnlyProperties"), s.paths("conditionalCreateOnlyProperties")...)
	s.Required = texts(s.root["required"])
	if err := s.readIdentifier(); err != nil {
		return nil, err
	}
	s.readHandlers()
	s.readTagging()
	s.Transforms, s.Deprecated = map[string]bool{}, map[string]bool{}
	transforms, _ := s.root["propertyTransform"].(map[string]any)
	for path := range transforms {
		if p := s.path(path); len(p) > 0 {
			s.Transforms[p[0]] = true
		}
	}
	for _, p := range s.paths("deprecatedProperties") {
		if len(p) == 1 {
			s.Deprecated[p[0]] = true
		}
	}
	return s, nil
}

// checkDepth fails for JSON that is nested so deep that nobody could have meant it.
func checkDepth(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	for depth := 0; ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("its schema is no JSON: %w", err)
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			if depth++; depth > maxDepth {
				return fmt.Errorf("its schema is nested more than %d deep", maxDepth)
			}
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
}

func (s *Schema) readIdentifier() error {
	listed := texts(s.root["primaryIdentifier"])
	for _, text := range listed {
		p := s.path(text)
		if len(p) == 0 || slices.Contains(p, "*") || !s.exists(p) {
			return fmt.Errorf("its primary identifier %.100q names no property", text)
		}
		if slices.ContainsFunc(s.Identifier, func(q Path) bool { return slices.Equal(p, q) }) {
			return fmt.Errorf("its primary identifier names %s twice", p)
		}
		s.Identifier = append(s.Identifier, p)
	}
	switch {
	case len(s.Identifier) == 0:
		return errors.New("its schema has no primary identifier")
	case len(s.Identifier) > 16:
		return errors.New("its primary identifier has more than 16 parts")
	}
	return nil
}

func (s *Schema) readHandlers() {
	s.Handlers = map[string][]string{}
	handlers, _ := s.root["handlers"].(map[string]any)
	for _, operation := range []string{"create", "read", "update", "delete", "list"} {
		handler, ok := handlers[operation].(map[string]any)
		if !ok {
			continue
		}
		s.Handlers[operation] = texts(handler["permissions"])
		if operation != "list" {
			continue
		}
		asks, _ := handler["handlerSchema"].(map[string]any)
		s.ListBy = s.asked(asks)
	}
}

// asked returns the properties that a listing needs: those that are required, and those of
// the first alternative of which it is known what they can be.
func (s *Schema) asked(asks map[string]any) []string {
	known := func(names []string) []string {
		return slices.DeleteFunc(names, func(name string) bool { return s.properties()[name] == nil })
	}
	names := known(texts(asks["required"]))
	for _, alternatives := range []string{"oneOf", "anyOf"} {
		list, _ := asks[alternatives].([]any)
		var first []string
		for _, a := range list {
			alternative, _ := a.(map[string]any)
			wants := known(texts(alternative["required"]))
			if len(wants) == 0 {
				continue
			}
			if first == nil {
				first = wants
			}
			if !slices.ContainsFunc(s.parametersOf(wants), func(p Parameter) bool {
				return len(p.Values) == 0 && p.Of == ""
			}) {
				first = wants
				break
			}
		}
		names = append(names, first...)
	}
	return names
}

func (s *Schema) readTagging() {
	tagging, _ := s.root["tagging"].(map[string]any)
	if taggable, said := tagging["taggable"].(bool); said && !taggable {
		return
	}
	text, said := tagging["tagProperty"].(string)
	if !said {
		text = "/properties/Tags"
	}
	if p := s.path(text); len(p) == 1 && s.properties()[p[0]] != nil {
		s.TagProperty = p[0]
	}
}

// Can reports whether the type has an operation.
func (s *Schema) Can(operation string) bool {
	_, ok := s.Handlers[operation]
	return ok
}

// properties returns the definitions of the type's own properties.
func (s *Schema) properties() map[string]any {
	p, _ := s.root["properties"].(map[string]any)
	return p
}

// paths returns the paths that a list of the schema names; those of nothing are left out.
func (s *Schema) paths(list string) []Path {
	var out []Path
	for _, text := range texts(s.root[list]) {
		if p := s.path(text); len(p) > 0 && s.exists(p) {
			out = append(out, p)
		}
	}
	return out
}

// path reads a JSON pointer to a property (RFC 6901), in each of the spellings that
// schemas have: /properties/A/B, /properties/A/properties/B, /properties/A/items/B and
// /properties/A/*/B.
func (s *Schema) path(pointer string) Path {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(pointer, "#"), "/properties/")
	if !ok || len(rest) > 1000 {
		return nil
	}
	var p Path
	node := any(map[string]any{"properties": s.root["properties"]})
	for _, token := range strings.Split(rest, "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		within := s.resolve(node)
		if next := member(within, token); next != nil {
			p, node = append(p, token), next
			continue
		}
		switch {
		case token == "properties" && within["properties"] != nil:
		case token == "items" || token == "*" || isIndex(token):
			p, node = append(p, "*"), within["items"]
			if node == nil {
				node = within["additionalProperties"]
			}
		default:
			p, node = append(p, token), nil
		}
	}
	return p
}

func isIndex(token string) bool {
	return token != "" && strings.Trim(token, "0123456789") == ""
}

// member returns the definition of a member of an object, in it or in one of its
// alternatives; nil if there is none.
func member(node map[string]any, name string) any {
	if p, ok := node["properties"].(map[string]any); ok && p[name] != nil {
		return p[name]
	}
	return nil
}

// exists reports whether a path leads to a definition. What is within alternatives and
// maps is taken to exist.
func (s *Schema) exists(p Path) bool {
	return s.properties()[p[0]] != nil
}

// at returns the definition at a path, nil if there is none.
func (s *Schema) at(p Path) map[string]any {
	node := any(map[string]any{"properties": s.root["properties"]})
	for _, token := range p {
		within := s.resolve(node)
		if token == "*" {
			node = within["items"]
		} else {
			node = member(within, token)
		}
		if node == nil {
			return nil
		}
	}
	return s.resolve(node)
}

// resolve follows the $ref of a definition. What stands beside a $ref is added to what
// it names. A $ref that leads nowhere, or in a circle, is a definition of nothing.
func (s *Schema) resolve(node any) map[string]any {
	definition, _ := node.(map[string]any)
	seen := map[string]bool{}
	var beside []map[string]any
	for hops := 0; definition != nil; hops++ {
		ref, ok := definition["$ref"].(string)
		if !ok {
			break
		}
		if hops == maxHops || seen[ref] {
			definition = nil
			break
		}
		seen[ref] = true
		beside = append(beside, definition)
		definition = s.pointed(ref)
	}
	if len(beside) == 0 {
		return definition
	}
	merged := map[string]any{}
	for name, value := range definition {
		merged[name] = value
	}
	for _, b := range slices.Backward(beside) {
		for name, value := range b {
			if name != "$ref" {
				merged[name] = value
			}
		}
	}
	return merged
}

// pointed returns what a $ref within the schema names, nil if that is nothing.
func (s *Schema) pointed(ref string) map[string]any {
	_, pointer, ok := strings.Cut(ref, "#/")
	if !ok {
		return nil
	}
	node := any(s.root)
	for _, token := range strings.Split(pointer, "/") {
		object, ok := node.(map[string]any)
		if !ok {
			return nil
		}
		node = object[strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")]
	}
	definition, _ := node.(map[string]any)
	return definition
}

// texts returns the strings of a list.
func texts(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, element := range list {
		if text, ok := element.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// text1 returns a text on one line, no longer than a comment should be.
func text1(v any) string {
	const most = 600
	text, _ := v.(string)
	if len(text) > 8*most {
		text = strings.ToValidUTF8(text[:8*most], "")
	}
	text = strings.Join(strings.Fields(strings.ReplaceAll(text, "\x00", " ")), " ")
	if runes := []rune(text); len(runes) > most {
		text = strings.TrimSpace(string(runes[:most])) + "…"
	}
	return text
}
