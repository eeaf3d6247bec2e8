package cloudcontrol

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dlclark/regexp2"
	"github.com/santhosh-tekuri/jsonschema/v6"
	rule "github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// patternTimeout ends the search of a pattern that explodes.
const patternTimeout = 100 * time.Millisecond

// schemaURL is where the compiler finds the schema of a type; list handlers'
// schemas refer to it as resource-schema.json.
const (
	schemaURL = "memory:///resource-schema.json"
	listURL   = "memory:///list.json"
)

// compile makes the validators of a type.
func (t *Type) compile() error {
	t.once.Do(func() {
		resource := sanitize(t.Schema, t)
		t.desired, t.compiled = compiler(schemaURL, map[string]any{schemaURL: resource})
		if t.compiled != nil || !t.needsParent {
			return
		}
		list := t.handlers["list"].(map[string]any)["handlerSchema"]
		t.parent, t.compiled = compiler(listURL, map[string]any{schemaURL: resource, listURL: sanitize(list, nil)})
	})
	return t.compiled
}

func compiler(url string, documents map[string]any) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft7) // "Resource type definition schema": draft-07
	c.UseRegexpEngine(pattern)
	for at, document := range documents {
		if err := c.AddResource(at, document); err != nil {
			return nil, err
		}
	}
	return c.Compile(url)
}

// pattern compiles a regular expression of a schema, which is one of Java's.
func pattern(expression string) (jsonschema.Regexp, error) {
	compiled, err := regexp2.Compile(expression, regexp2.None)
	if err != nil {
		return anything(expression), nil // AWS has schemas whose patterns are none
	}
	compiled.MatchTimeout = patternTimeout
	return search{compiled}, nil
}

type search struct{ *regexp2.Regexp }

func (s search) MatchString(text string) bool {
	found, err := s.Regexp.MatchString(text)
	return found && err == nil
}

// anything stands for a pattern that is no regular expression.
type anything string

func (anything) MatchString(string) bool { return true }
func (a anything) String() string        { return string(a) }

// assertions are the keywords that are checked, with the kind of their values;
// what else a schema has, and what has another kind, is not given to the compiler.
var assertions = map[string]func(any) bool{
	"$ref": is[string], "pattern": is[string], "format": is[string],
	"type": func(v any) bool { return is[string](v) || is[[]any](v) },
	"enum": is[[]any], "const": func(any) bool { return true },
	"required": is[[]any], "uniqueItems": is[bool],
	"minimum": is[json.Number], "maximum": is[json.Number], "multipleOf": is[json.Number],
	"exclusiveMinimum": is[json.Number], "exclusiveMaximum": is[json.Number],
	"minLength": is[json.Number], "maxLength": is[json.Number],
	"minItems": is[json.Number], "maxItems": is[json.Number],
	"minProperties": is[json.Number], "maxProperties": is[json.Number],
}

func is[T any](v any) bool {
	_, ok := v.(T)
	return ok
}

// sanitize copies what validates of a schema. Of the top level of a type's schema,
// required leaves out what nobody may set.
func sanitize(v any, top *Type) any {
	schema, ok := v.(map[string]any)
	if !ok {
		if _, ok := v.(bool); ok {
			return v
		}
		return true
	}
	clean := map[string]any{}
	for keyword, value := range schema {
		switch keyword {
		case "properties", "patternProperties", "definitions":
			if members, ok := value.(map[string]any); ok {
				copied := make(map[string]any, len(members))
				for name, member := range members {
					copied[name] = sanitize(member, nil)
				}
				clean[keyword] = copied
			}
		case "oneOf", "anyOf", "allOf":
			if branches, ok := value.([]any); ok && len(branches) > 0 {
				copied := make([]any, len(branches))
				for i, branch := range branches {
					copied[i] = sanitize(branch, nil)
				}
				clean[keyword] = copied
			}
		case "items", "additionalProperties", "not", "if", "then", "else":
			clean[keyword] = sanitize(value, nil)
		case "dependencies":
			clean[keyword] = value
		case "required":
			if list, ok := value.([]any); ok {
				clean[keyword] = slices.DeleteFunc(slices.Clone(list), func(name any) bool {
					text, ok := name.(string)
					return !ok || top != nil && top.isReadOnly(text)
				})
			}
		default:
			if fits := assertions[keyword]; fits != nil && fits(value) {
				clean[keyword] = value
			}
		}
	}
	return clean
}

// Validate says what is wrong with a desired state, in the words of Cloud
// Control; nil if nothing is.
func (t *Type) Validate(state map[string]any) error {
	if err := t.compile(); err != nil {
		return fmt.Errorf("the schema of %s cannot be compiled: %w", t.Name, err)
	}
	return wrong(t.desired.Validate(map[string]any(state)))
}

// validateParent does the same for the ResourceModel of a listing.
func (t *Type) validateParent(model map[string]any) error {
	if err := t.compile(); err != nil {
		return fmt.Errorf("the schema of %s cannot be compiled: %w", t.Name, err)
	}
	if t.parent == nil {
		return nil
	}
	return wrong(t.parent.Validate(map[string]any(model)))
}

// wrong turns what the library says into what AWS does, which validates with
// another one (recorded answers of Cloud Control: "#: extraneous key [X] is not
// permitted", "#/BucketName: expected type: String, found: Boolean").
func wrong(err error) error {
	var failed *jsonschema.ValidationError
	if !errors.As(err, &failed) {
		return err
	}
	var lines []string
	describe(failed, &lines)
	return errors.New(strings.Join(lines, "\n"))
}

func describe(failed *jsonschema.ValidationError, lines *[]string) {
	at := "#"
	for _, part := range failed.InstanceLocation {
		at += "/" + part
	}
	say := func(format string, args ...any) { *lines = append(*lines, at+": "+fmt.Sprintf(format, args...)) }
	switch k := failed.ErrorKind.(type) {
	case *rule.Required:
		for _, name := range k.Missing {
			say("required key [%s] not found", name)
		}
	case *rule.AdditionalProperties:
		for _, name := range k.Properties {
			say("extraneous key [%s] is not permitted", name)
		}
	case *rule.Type:
		say("expected type: %s, found: %s", javaType(k.Want[0]), javaType(k.Got))
	case *rule.Enum:
		say("%s is not a valid enum value", text(k.Got))
	case *rule.Pattern:
		say("failed validation constraint for keyword [pattern]")
	case *rule.OneOf:
		say("#: %d subschemas matched instead of one", len(k.Subschemas))
	case *rule.AnyOf:
		say("#: no subschema matched out of the total %d subschemas", len(failed.Causes))
	case *rule.Schema, *rule.Group, *rule.Reference, *rule.AllOf:
		for _, cause := range failed.Causes {
			describe(cause, lines)
		}
	default:
		path := failed.ErrorKind.KeywordPath()
		say("failed validation constraint for keyword [%s]", strings.Join(path, "/"))
	}
}

// javaType names a type as AWS does.
func javaType(name string) string {
	switch name {
	case "object":
		return "JSONObject"
	case "array":
		return "JSONArray"
	case "number", "integer":
		return strings.ToUpper(name[:1]) + name[1:]
	case "null":
		return "Null"
	case "boolean":
		return "Boolean"
	}
	return "String"
}
