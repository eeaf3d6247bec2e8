package cfn

import (
	"encoding/json"
	"slices"
	"strings"

	"iasql/internal/modules"
)

// kind is what values of a property are.
type kind int

const (
	kindJSON kind = iota // objects, lists of other things than texts, and what may be one thing or another
	kindText
	kindTexts
	kindBool
	kindInt
	kindDouble
	kindTime
)

// column returns the type of a column that holds such values.
func (k kind) column() modules.Type {
	return [...]modules.Type{modules.TypeJSON, modules.TypeText, modules.TypeTexts, modules.TypeBool,
		modules.TypeBigint, modules.TypeDouble, modules.TypeTime}[k]
}

// kind returns what values a definition allows.
func (s *Schema) kind(node any, depth int) kind {
	d := s.resolve(node)
	if d == nil || depth > maxHops {
		return kindJSON
	}
	var types []string
	switch t := d["type"].(type) {
	case string:
		types = []string{t}
	case []any:
		types = slices.DeleteFunc(texts(t), func(t string) bool { return t == "null" })
	}
	if len(types) > 1 {
		return kindJSON
	}
	if len(types) == 0 {
		return s.untyped(d, depth)
	}
	switch types[0] {
	case "string":
		if d["format"] == "date-time" {
			return kindTime
		}
		return kindText
	case "boolean":
		return kindBool
	case "integer":
		return kindInt
	case "number":
		return kindDouble
	case "array":
		if d["items"] != nil && s.kind(d["items"], depth+1) == kindText {
			return kindTexts
		}
	}
	return kindJSON
}

// untyped returns what values a definition allows that does not say so itself: all its
// alternatives, or all of its enumeration, are of one kind.
func (s *Schema) untyped(d map[string]any, depth int) kind {
	if values, _ := d["enum"].([]any); len(values) > 0 && len(values) == len(texts(values)) {
		return kindText
	}
	for _, alternatives := range []string{"oneOf", "anyOf"} {
		list, _ := d[alternatives].([]any)
		if len(list) == 0 || len(list) > 50 || depth > 3 || d["properties"] != nil {
			continue
		}
		first := s.kind(list[0], depth+1)
		for _, other := range list[1:] {
			if s.kind(other, depth+1) != first {
				return kindJSON
			}
		}
		return first
	}
	return kindJSON
}

// tagForm says how a type spells its tags: as an object of texts, or as a list of objects
// with a key and a value.
type tagForm struct{ key, value string }

// tagForm returns how the property spells tags, nil if that is in no way that one knows.
func (s *Schema) tagForm(property string) *tagForm {
	d := s.resolve(s.properties()[property])
	switch d["type"] {
	case "object", nil:
		if d["items"] != nil || d["properties"] != nil {
			return nil
		}
		patterns, _ := d["patternProperties"].(map[string]any)
		for _, p := range patterns {
			if s.kind(p, 0) != kindText {
				return nil
			}
		}
		if more, said := d["additionalProperties"].(map[string]any); said && s.kind(more, 0) != kindText {
			return nil
		}
		return &tagForm{}
	case "array":
		item := s.resolve(d["items"])
		members, _ := item["properties"].(map[string]any)
		var form tagForm
		for name := range members {
			switch strings.ToLower(name) {
			case "key", "tagkey":
				form.key = name
			case "value", "tagvalue":
				form.value = name
			default:
				return nil
			}
		}
		if form.key != "" && form.value != "" && s.kind(members[form.key], 0) == kindText &&
			s.kind(members[form.value], 0) == kindText {
			return &form
		}
	}
	return nil
}

// number returns a number of a schema as it is spelt, "" if it is none.
func number(v any) string {
	if n, ok := v.(json.Number); ok && len(n) <= 40 {
		return n.String()
	}
	return ""
}
