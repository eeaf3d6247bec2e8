package cloudcontrol

import "strings"

// path leads to a property: names of properties, and "*" for every member of a
// list or map. A list on the way is entered whether the path says so or not:
// schemas write "/properties/A/B", "/properties/A/*/B" and
// "/properties/A/items/properties/B" of the same thing.
type path []string

// newPath reads a pointer of a schema, such as "/properties/A/B".
func newPath(pointer string) path {
	var p path
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, part := range parts {
		switch {
		case part == "properties" && (i == 0 || p != nil && parts[i-1] == "items"):
		case part == "properties" && i+1 < len(parts):
		case part == "items" || part == "[]":
			p = append(p, "*")
		case part != "":
			p = append(p, unescape.Replace(part))
		}
	}
	return p
}

// unescape undoes what JSON pointers escape (RFC 6901, section 4).
var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// paths reads a list of pointers.
func paths(pointers []any) []path {
	var all []path
	for _, one := range pointers {
		if text, ok := one.(string); ok {
			if p := newPath(text); len(p) > 0 {
				all = append(all, p)
			}
		}
	}
	return all
}

// pointer is the path as messages of Cloud Control write it.
func (p path) pointer() string { return "/properties/" + strings.Join(p, "/") }

// each calls f for every object that may hold the path's last property, with the
// property's name.
func (p path) each(v any, f func(object map[string]any, name string)) {
	switch v := v.(type) {
	case []any:
		rest := p
		if p[0] == "*" {
			rest = p[1:]
		}
		if len(rest) == 0 {
			return
		}
		for _, member := range v {
			rest.each(member, f)
		}
	case map[string]any:
		if len(p) == 1 {
			if p[0] == "*" {
				for name := range v {
					f(v, name)
				}
				return
			}
			f(v, p[0])
			return
		}
		if p[0] != "*" {
			if member, ok := v[p[0]]; ok {
				p[1:].each(member, f)
			}
			return
		}
		for _, member := range v {
			p[1:].each(member, f)
		}
	}
}

// remove deletes the properties that the path leads to.
func (p path) remove(v any) {
	p.each(v, func(object map[string]any, name string) { delete(object, name) })
}

// values returns what the path leads to, in order.
func (p path) values(v any) []any {
	var all []any
	p.each(v, func(object map[string]any, name string) {
		if value, ok := object[name]; ok {
			all = append(all, value)
		}
	})
	return all
}

// one returns the first of what the path leads to.
func (p path) one(v any) (any, bool) {
	if all := p.values(v); len(all) > 0 {
		return all[0], true
	}
	return nil, false
}

// set gives the property a value, and makes the objects on the way.
func (p path) set(object map[string]any, value any) {
	for _, name := range p[:len(p)-1] {
		next, ok := object[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			object[name] = next
		}
		object = next
	}
	object[p[len(p)-1]] = value
}

// clone copies a JSON value.
func clone[T any](v T) T {
	switch v := any(v).(type) {
	case map[string]any:
		copied := make(map[string]any, len(v))
		for name, member := range v {
			copied[name] = clone(member)
		}
		return any(copied).(T)
	case []any:
		copied := make([]any, len(v))
		for i, member := range v {
			copied[i] = clone(member)
		}
		return any(copied).(T)
	}
	return v
}
