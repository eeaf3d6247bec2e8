package cloudcontrol

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// depths: how deep an example says everything it may, and how deep it goes at all.
const (
	fullDepth = 4
	maxDepth  = 14
)

// Example makes up an object that the type's schema accepts as a desired state:
// its required properties, or with full everything that may be set together. The
// same seed gives the same object.
func (t *Type) Example(seed uint64, full bool) (map[string]any, error) {
	var last error
	for attempt := range uint64(12) {
		m := &maker{t: t, r: rand.New(rand.NewPCG(seed, attempt)), full: full, branch: int(attempt)}
		state, err := m.state()
		if err == nil {
			if err = t.prune(state); err == nil {
				return state, nil
			}
		}
		last = err
	}
	return nil, last
}

// Mutable returns the properties that an update can change.
func (t *Type) Mutable() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(t.properties)) {
		if !t.isReadOnly(name) && !holds(t.createOnly, name) && !holds(t.identifier, name) && t.Handles("update") {
			names = append(names, name)
		}
	}
	return names
}

// Fixed returns the properties that are given when an object is made, and that no update
// changes.
func (t *Type) Fixed() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(t.properties)) {
		if !t.isReadOnly(name) && holds(t.createOnly, name) {
			names = append(names, name)
		}
	}
	return names
}

// Hides reports whether a property can be written and not read.
func (t *Type) Hides(name string) bool { return holds(t.writeOnly, name) }

// Another makes up another value for a property of an object, so that the schema
// accepts the object with it. It is false if there is none, as for a property that
// has one value only.
func (t *Type) Another(seed uint64, object map[string]any, name string) (any, bool) {
	before, had := object[name]
	for attempt := range uint64(16) {
		m := &maker{t: t, r: rand.New(rand.NewPCG(seed, 1000+attempt)), full: attempt%2 == 1, branch: int(attempt / 2)}
		value, ok, err := m.property(t.properties, name, nil, 1)
		if err != nil || !ok {
			continue
		}
		changed := clone(object)
		changed[name] = value
		for _, p := range t.createOnly {
			if len(p) > 1 && p[0] == name && had {
				p.keep(object, changed)
			}
		}
		if had && encode(changed[name]) == encode(before) {
			continue
		}
		// What hangs together with the property is left as it is.
		if t.Validate(t.settable(changed)) == nil {
			return changed[name], true
		}
	}
	return nil, false
}

// keep gives an object what another has at the path: what is fixed at creation.
// Lists keep as many members as they share.
func (p path) keep(from, to any) any {
	switch now := to.(type) {
	case []any:
		was, _ := from.([]any)
		rest := p
		if len(p) > 0 && p[0] == "*" {
			rest = p[1:]
		}
		if len(rest) == 0 || len(was) == 0 {
			return from
		}
		now = now[:min(len(now), len(was))]
		for i := range now {
			now[i] = rest.keep(was[i], now[i])
		}
		return now
	case map[string]any:
		was, _ := from.(map[string]any)
		value, had := was[p[0]]
		switch {
		case p[0] == "*":
		case len(p) == 1 && had:
			now[p[0]] = clone(value)
		case !had:
			delete(now, p[0])
		case now[p[0]] == nil:
			now[p[0]] = clone(value)
		default:
			now[p[0]] = p[1:].keep(value, now[p[0]])
		}
	}
	return to
}

// prune removes optional parts that the schema does not accept, until it accepts
// the rest.
func (t *Type) prune(state map[string]any) error {
	var err error
	for range 40 {
		if err = t.compile(); err != nil {
			return err
		}
		failed := t.desired.Validate(map[string]any(state))
		if failed == nil {
			return nil
		}
		err = wrong(failed)
		var detail *jsonschema.ValidationError
		if !errors.As(failed, &detail) || !t.cut(state, detail) {
			return err
		}
	}
	return err
}

// cut removes the innermost optional part of what failed.
func (t *Type) cut(state map[string]any, failed *jsonschema.ValidationError) bool {
	for _, cause := range failed.Causes {
		if t.cut(state, cause) {
			return true
		}
	}
	at := failed.InstanceLocation
	for n := len(at); n > 0; n-- {
		parent, ok := find(state, at[:n-1]).(map[string]any)
		if !ok || !t.optional(at[:n]) {
			continue
		}
		if _, ok := parent[at[n-1]]; ok {
			delete(parent, at[n-1])
			return true
		}
	}
	object, _ := find(state, at).(map[string]any)
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(object))) {
		if t.optional(append(slices.Clone(at), name)) {
			delete(object, name)
			return true
		}
	}
	return false
}

// find follows an instance location.
func find(v any, at []string) any {
	for _, name := range at {
		switch parent := v.(type) {
		case map[string]any:
			v = parent[name]
		case []any:
			var i int
			if _, err := fmt.Sscan(name, &i); err != nil || i >= len(parent) {
				return nil
			}
			v = parent[i]
		default:
			return nil
		}
	}
	return v
}

// optional reports whether the property at a location can be left out.
func (t *Type) optional(at []string) bool {
	part := map[string]any{"properties": t.properties, "required": t.Schema["required"]}
	for i, name := range at {
		if items, ok := part["items"]; ok && part["properties"] == nil {
			if part = t.resolve(items); part == nil || i == len(at)-1 {
				return false
			}
			continue
		}
		required, _ := part["required"].([]any)
		if i == len(at)-1 {
			return !slices.Contains(required, any(name))
		}
		if part = t.member(part, name); part == nil {
			return true
		}
	}
	return false
}

// maker makes values that a schema accepts.
type maker struct {
	t      *Type
	r      *rand.Rand
	full   bool
	branch int // which of alternatives to take

	account, region string // for what is assigned
}

func (m *maker) state() (map[string]any, error) {
	top := map[string]any{"type": "object"}
	for _, keyword := range []string{"properties", "required", "oneOf", "anyOf", "allOf", "dependencies"} {
		if value, ok := m.t.Schema[keyword]; ok {
			top[keyword] = value
		}
	}
	v, err := m.object(top, nil, 0)
	if err != nil {
		return nil, err
	}
	return v.(map[string]any), nil
}

// errDeep is that a schema has no finite value, or none that is found.
var errDeep = errors.New("the schema nests too deep")

// value makes a value that a part of the schema accepts.
func (m *maker) value(part any, at path, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	schema := m.t.resolve(part)
	if schema == nil {
		return m.word(at), nil
	}
	schema = m.merge(schema)
	if constant, ok := schema["const"]; ok {
		return constant, nil
	}
	if choices, ok := schema["enum"].([]any); ok && len(choices) > 0 {
		return choices[m.r.IntN(len(choices))], nil
	}
	switch typeOf(schema) {
	case "object":
		return m.object(schema, at, depth)
	case "array":
		return m.list(schema, at, depth)
	case "integer", "number":
		return m.number(schema)
	case "boolean":
		return m.r.IntN(2) == 0, nil
	}
	return m.text(schema, at)
}

// typeOf is the type to make of those that a schema allows.
func typeOf(schema map[string]any) string {
	switch named := schema["type"].(type) {
	case string:
		return named
	case []any:
		for _, one := range named {
			if name, ok := one.(string); ok && name != "null" {
				return name
			}
		}
	}
	switch {
	case schema["properties"] != nil || schema["patternProperties"] != nil || schema["required"] != nil:
		return "object"
	case schema["items"] != nil:
		return "array"
	case schema["minimum"] != nil || schema["maximum"] != nil:
		return "integer"
	}
	return "string"
}

// merge takes one of the alternatives of a schema into it, and all of allOf.
func (m *maker) merge(schema map[string]any) map[string]any {
	for range 4 {
		var branches []any
		if all, ok := schema["allOf"].([]any); ok {
			branches = append(branches, all...)
		}
		for _, keyword := range []string{"oneOf", "anyOf"} {
			if choices, ok := schema[keyword].([]any); ok && len(choices) > 0 {
				branches = append(branches, choices[m.branch%len(choices)])
			}
		}
		if branches == nil {
			return schema
		}
		merged := maps.Clone(schema)
		for _, keyword := range []string{"allOf", "oneOf", "anyOf"} {
			delete(merged, keyword)
		}
		if choices, ok := schema["oneOf"].([]any); ok && len(choices) > 0 {
			merged = m.without(merged, choices, m.branch%len(choices))
		}
		for _, branch := range branches {
			resolved := m.t.resolve(branch)
			for keyword, value := range resolved {
				merged[keyword] = combine(keyword, merged[keyword], value)
			}
			// What only names its properties is told from others by one of them.
			if named, ok := resolved["properties"].(map[string]any); ok && resolved["required"] == nil &&
				schema["oneOf"] != nil {
				for _, name := range slices.Sorted(maps.Keys(named))[:min(1, len(named))] {
					merged["required"] = combine("required", merged["required"], []any{name})
				}
			}
		}
		schema = merged
	}
	return schema
}

// combine is one keyword of two schemas of which both must hold.
func combine(keyword string, one, other any) any {
	switch keyword {
	case "required", "allOf":
		first, _ := one.([]any)
		second, _ := other.([]any)
		return append(slices.Clone(first), second...)
	case "properties":
		first, _ := one.(map[string]any)
		second, _ := other.(map[string]any)
		joined := maps.Clone(first)
		if joined == nil {
			joined = map[string]any{}
		}
		for name, value := range second {
			if inner, ok := value.(map[string]any); ok && joined[name] != nil && inner["type"] == nil &&
				inner["$ref"] == nil {
				value = map[string]any{"allOf": []any{joined[name], inner}}
			}
			joined[name] = value
		}
		return joined
	}
	return other
}

// without leaves out the optional properties that only other alternatives ask for.
func (m *maker) without(schema map[string]any, choices []any, taken int) map[string]any {
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return schema
	}
	wanted := func(i int) []any {
		required, _ := m.t.resolve(choices[i])["required"].([]any)
		return required
	}
	keep, _ := schema["required"].([]any)
	keep = append(slices.Clone(keep), wanted(taken)...)
	fewer := maps.Clone(properties)
	for i := range choices {
		for _, name := range wanted(i) {
			if text, ok := name.(string); ok && !slices.Contains(keep, name) {
				delete(fewer, text)
			}
		}
	}
	merged := maps.Clone(schema)
	merged["properties"] = fewer
	return merged
}

// object makes an object.
func (m *maker) object(schema map[string]any, at path, depth int) (any, error) {
	schema = m.merge(schema)
	object := map[string]any{}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	least, most := integer(schema["minProperties"], 0), integer(schema["maxProperties"], len(properties))
	for _, name := range m.order(properties, required, most) {
		needed := slices.Contains(required, any(name))
		if !needed && (!(m.full && depth < fullDepth) && len(object) >= least || len(object) >= most) {
			continue
		}
		value, ok, err := m.property(properties, name, at, depth+1)
		if err != nil && needed {
			return nil, err
		}
		if err == nil && ok {
			object[name] = value
		}
	}
	for _, name := range required {
		if text, ok := name.(string); ok && properties[text] == nil {
			object[text] = m.word(append(slices.Clone(at), text))
		}
	}
	m.depend(schema, object)
	if len(properties) == 0 && len(object) == 0 {
		return object, m.free(schema, object, at, depth, least)
	}
	return object, nil
}

// order is the order in which properties are made: the required ones first, and
// where not all may be there, the others in any.
func (m *maker) order(properties map[string]any, required []any, most int) []string {
	names := slices.Sorted(maps.Keys(properties))
	if most < len(names) {
		m.r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	}
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(rank(required, a), rank(required, b))
	})
	return names
}

// rank is 0 for what a list has.
func rank(list []any, name string) int {
	if slices.Contains(list, any(name)) {
		return 0
	}
	return 1
}

// property makes a property of an object; it is false for a read-only one.
func (m *maker) property(properties map[string]any, name string, at path, depth int) (any, bool, error) {
	here := append(slices.Clone(at), name)
	if slices.ContainsFunc(m.t.readOnly, func(p path) bool { return slices.Equal(p.names(), here.names()) }) {
		return nil, false, nil
	}
	value, err := m.value(properties[name], here, depth)
	return value, err == nil, err
}

// names is a path without what stands for members of lists.
func (p path) names() path {
	return slices.DeleteFunc(slices.Clone(p), func(name string) bool { return name == "*" })
}

// depend leaves out what needs something that is not there.
func (m *maker) depend(schema, object map[string]any) {
	dependencies, _ := schema["dependencies"].(map[string]any)
	for name, needs := range dependencies {
		list, _ := needs.([]any)
		for _, needed := range list {
			if text, ok := needed.(string); ok {
				if _, ok := object[text]; !ok {
					delete(object, name)
				}
			}
		}
	}
}

// free fills an object whose properties the schema does not name.
func (m *maker) free(schema, object map[string]any, at path, depth, least int) error {
	if !(m.full && depth < fullDepth) && least == 0 {
		return nil
	}
	here := append(slices.Clone(at), "*")
	patterns, _ := schema["patternProperties"].(map[string]any)
	for _, expression := range slices.Sorted(maps.Keys(patterns)) {
		for range max(1, least) {
			name, ok := matching(expression, 1, 60, m.r, m.accept(expression))
			if !ok {
				break
			}
			value, err := m.value(patterns[expression], here, depth+1)
			if err != nil {
				return err
			}
			object[name] = value
		}
	}
	if patterns != nil || schema["additionalProperties"] == false {
		return nil
	}
	for range max(1, least) {
		value := any("value" + m.hex(4))
		if inner, ok := schema["additionalProperties"].(map[string]any); ok {
			var err error
			if value, err = m.value(inner, here, depth+1); err != nil {
				return err
			}
		}
		object["key"+m.hex(4)] = value
	}
	return nil
}

// list makes a list.
func (m *maker) list(schema map[string]any, at path, depth int) (any, error) {
	least, most := integer(schema["minItems"], 0), integer(schema["maxItems"], 1000)
	n := least
	if m.full && depth < fullDepth {
		n = min(max(least, 1+m.r.IntN(2)), most)
	}
	here := append(slices.Clone(at), "*")
	members := []any{}
	for attempt := 0; len(members) < n && attempt < 4*n+8; attempt++ {
		member := *m
		member.full = m.full || attempt >= n // others than those before
		value, err := member.value(schema["items"], here, depth+1)
		if err != nil {
			if len(members) >= least {
				break
			}
			return nil, err
		}
		same := func(other any) bool { return encode(other) == encode(value) }
		if schema["uniqueItems"] == true && slices.ContainsFunc(members, same) {
			continue
		}
		members = append(members, value)
	}
	return members, nil
}

// integer is a whole number of a schema, or what it is otherwise.
func integer(v any, otherwise int) int {
	number, ok := v.(json.Number)
	if !ok {
		return otherwise
	}
	f, err := number.Float64()
	if err != nil || f > 1<<40 {
		return otherwise
	}
	return int(f)
}
