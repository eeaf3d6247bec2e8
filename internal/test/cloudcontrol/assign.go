package cloudcontrol

import (
	"errors"
	"math/rand/v2"
	"slices"
)

// assign gives a new object what nobody has given: defaults, read-only properties
// and identifiers. It returns the identifier. What cannot be made is left out.
func (s *Server) assign(t *Type, k *kind, at Scope, object map[string]any) (string, error) {
	t.defaults(object)
	for attempt := range uint64(50) {
		s.serial++
		made := clone(object)
		m := &maker{t: t, r: rand.New(rand.NewPCG(s.serial, attempt)), account: at.Account, region: at.Region}
		for _, p := range t.readOnly {
			m.give(p, made)
		}
		for _, p := range t.identifier {
			m.give(p, made)
		}
		id, ok := t.identify(made)
		if !ok {
			return "", errors.New("the schema says nothing of what identifies an object")
		}
		// What the user chose may be taken; what is assigned is not.
		if _, chosen := t.identify(object); chosen || k.objects[id] == nil {
			clear(object)
			for name, value := range made {
				object[name] = value
			}
			return id, nil
		}
	}
	return "", errors.New("there are no more identifiers")
}

// give gives a property a value where it has none.
func (m *maker) give(p path, object map[string]any) {
	part := m.t.at(p)
	if part == nil {
		return
	}
	if len(p) > 1 {
		m.parents(p, object)
	}
	p.each(object, func(parent map[string]any, name string) {
		if _, ok := parent[name]; ok || name == "*" {
			return
		}
		if value, err := m.value(part, p, 1); err == nil {
			parent[name] = value
		}
	})
}

// parents makes the object that a property is in, if all in it is read-only, such
// as an endpoint.
func (m *maker) parents(p path, object map[string]any) {
	parent := p[:len(p)-1]
	if slices.Contains(p, "*") {
		return
	}
	if _, ok := parent.one(object); ok {
		return
	}
	part := m.t.at(parent)
	properties, _ := part["properties"].(map[string]any)
	for name := range properties {
		sibling := append(slices.Clone(parent), name)
		if !slices.ContainsFunc(m.t.readOnly, func(q path) bool { return slices.Equal(q, sibling) }) {
			return
		}
	}
	parent.set(object, map[string]any{})
}

// defaults gives properties the values that the schema has for those who give
// none, if the schema accepts the object with them.
func (t *Type) defaults(object map[string]any) {
	with := clone(object)
	t.fill(with, t.properties, 0)
	if t.Validate(t.settable(with)) == nil {
		for name, value := range with {
			object[name] = value
		}
	}
}

func (t *Type) fill(object, properties map[string]any, depth int) {
	if depth > maxDepth {
		return
	}
	for name, property := range properties {
		part := t.resolve(property)
		value, given := object[name]
		if !given {
			otherwise := part["default"]
			if own, ok := property.(map[string]any)["default"]; ok {
				otherwise = own
			}
			if otherwise != nil && !(depth == 0 && t.isReadOnly(name)) {
				object[name] = clone(otherwise)
			}
			continue
		}
		inner, _ := part["properties"].(map[string]any)
		if member, ok := value.(map[string]any); ok && inner != nil {
			t.fill(member, inner, depth+1)
		}
	}
}
