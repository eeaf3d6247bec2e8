package cloudcontrol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Type is a resource type, as its schema describes it ("Resource type definition
// schema" in the CloudFormation CLI User Guide).
type Type struct {
	Name   string
	Schema map[string]any

	identifier  []path
	additional  [][]path
	readOnly    []path
	createOnly  []path
	writeOnly   []path
	handlers    map[string]any
	properties  map[string]any
	needsParent bool // the list handler has a schema of its own

	once     sync.Once
	desired  *jsonschema.Schema // of a desired state
	parent   *jsonschema.Schema // of the ResourceModel of a listing
	compiled error
}

// NewType reads a schema. What it says of nothing, such as a path that leads
// nowhere, is ignored.
func NewType(schema []byte) (*Type, error) {
	decoder := json.NewDecoder(bytes.NewReader(schema))
	decoder.UseNumber()
	t := &Type{}
	if err := decoder.Decode(&t.Schema); err != nil {
		return nil, fmt.Errorf("the schema is no JSON object: %w", err)
	}
	t.Name, _ = t.Schema["typeName"].(string)
	if t.Name == "" {
		return nil, fmt.Errorf("the schema has no typeName")
	}
	pointers := func(name string) []path {
		list, _ := t.Schema[name].([]any)
		return paths(list)
	}
	t.identifier, t.readOnly = pointers("primaryIdentifier"), pointers("readOnlyProperties")
	t.createOnly, t.writeOnly = pointers("createOnlyProperties"), pointers("writeOnlyProperties")
	additional, _ := t.Schema["additionalIdentifiers"].([]any)
	for _, one := range additional {
		if list, ok := one.([]any); ok {
			t.additional = append(t.additional, paths(list))
		}
	}
	t.properties, _ = t.Schema["properties"].(map[string]any)
	t.handlers, _ = t.Schema["handlers"].(map[string]any)
	if list, ok := t.handlers["list"].(map[string]any); ok {
		_, t.needsParent = list["handlerSchema"].(map[string]any)
	}
	return t, nil
}

// Handles reports whether the type has a handler: create, read, update, delete or
// list.
func (t *Type) Handles(handler string) bool {
	_, ok := t.handlers[handler]
	return ok
}

// provisioning is the type's ProvisioningType (API reference of DescribeType).
func (t *Type) provisioning() string {
	switch {
	case !t.Handles("create") || !t.Handles("read") || !t.Handles("delete"):
		return "NON_PROVISIONABLE"
	case !t.Handles("update"):
		return "IMMUTABLE"
	}
	return "FULLY_MUTABLE"
}

// identify returns the primary identifier of an object, its parts joined by "|"
// ("Identifying resources" in the Cloud Control API User Guide). It is false if a
// part has no value.
func (t *Type) identify(object map[string]any) (string, bool) {
	var parts []string
	for _, p := range t.identifier {
		value, ok := p.one(object)
		if !ok {
			return "", false
		}
		parts = append(parts, text(value))
	}
	return strings.Join(parts, "|"), len(parts) > 0
}

// view is what reads tell of an object: all but its write-only properties.
func (t *Type) view(object map[string]any) map[string]any {
	seen := clone(object)
	for _, p := range t.writeOnly {
		p.remove(seen)
	}
	return seen
}

// settable is an object without its read-only properties.
func (t *Type) settable(object map[string]any) map[string]any {
	rest := clone(object)
	for _, p := range t.readOnly {
		p.remove(rest)
	}
	return rest
}

// resolve follows the references of a part of the schema.
func (t *Type) resolve(part any) map[string]any {
	for range 20 {
		m, ok := part.(map[string]any)
		if !ok {
			return nil
		}
		ref, ok := m["$ref"].(string)
		if !ok {
			return m
		}
		part = t.lookup(ref)
	}
	return nil
}

// lookup finds what "#/definitions/X" leads to.
func (t *Type) lookup(ref string) any {
	_, fragment, _ := strings.Cut(ref, "#/")
	var part any = t.Schema
	for name := range strings.SplitSeq(fragment, "/") {
		m, ok := part.(map[string]any)
		if !ok {
			return nil
		}
		part = m[unescape.Replace(name)]
	}
	return part
}

// at returns the part of the schema that describes what a path leads to; nil if
// nothing does.
func (t *Type) at(p path) map[string]any {
	part := map[string]any{"properties": t.properties}
	for _, name := range p {
		if part = t.member(part, name); part == nil {
			return nil
		}
	}
	return part
}

func (t *Type) member(part map[string]any, name string) map[string]any {
	if items, ok := part["items"]; ok {
		inner := t.resolve(items)
		if name == "*" || inner == nil {
			return inner
		}
		part = inner
	}
	if properties, ok := part["properties"].(map[string]any); ok {
		if found, ok := properties[name]; ok {
			return t.resolve(found)
		}
	}
	if patterns, ok := part["patternProperties"].(map[string]any); ok && name == "*" {
		for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
			return t.resolve(patterns[pattern])
		}
	}
	for _, keyword := range []string{"oneOf", "anyOf", "allOf"} {
		branches, _ := part[keyword].([]any)
		for _, branch := range branches {
			if resolved := t.resolve(branch); resolved != nil {
				if found := t.member(resolved, name); found != nil {
					return found
				}
			}
		}
	}
	return nil
}

// isReadOnly reports whether a property is read-only as a whole.
func (t *Type) isReadOnly(name string) bool { return holds(t.readOnly, name) }

// holds reports whether one of the paths is a property, not a part of it.
func holds(list []path, name string) bool {
	return slices.ContainsFunc(list, func(p path) bool { return len(p) == 1 && p[0] == name })
}

// text is a value as a part of an identifier.
func text(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return encode(v)
}

// encode is a JSON text of a value that was read from one.
func encode(v any) string {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(buffer.String(), "\n")
}

// decode reads a JSON object, without losing the precision of numbers.
func decode(text string) (map[string]any, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var object map[string]any
	if err := decoder.Decode(&object); err != nil {
		return nil, err
	}
	if object == nil || decoder.More() {
		return nil, fmt.Errorf("no JSON object")
	}
	return object, nil
}
