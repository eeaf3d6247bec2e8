package declare

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// path leads from a structure of the SDK to one of its members. Its text has
// the members' names with dots between them; what follows a name says more:
//
//	Endpoint.Address         a member of a member
//	Attributes[DisplayName]  the value of a key: of a map, or of a list of
//	                         structures with a Key or Name and a Value
//	Groups[0].GroupId        that of the first of a list
//	Groups[].GroupId         those of all: a list
//
// The text "" leads to the structure itself.
type path struct {
	text  string
	steps []step
	leaf  reflect.Type // what it leads to
}

type step struct {
	field []int        // of a structure
	kind  stepKind     // what follows the field
	key   string       // of a map or a list of pairs
	elem  reflect.Type // of a list
	rest  *path        // of each element, for eachMember
}

type stepKind int

const (
	member stepKind = iota
	mapKey
	pairKey
	firstMember
	eachMember
)

// resolved are the paths that have been found, by type and text. Nothing changes
// them any more.
var resolved sync.Map

// resolve finds a path in a type. Its error names the member there is not.
func resolve(t reflect.Type, text string) (*path, error) {
	type place struct {
		in   reflect.Type
		text string
	}
	if known, ok := resolved.Load(place{t, text}); ok {
		return known.(*path), nil
	}
	p, err := find(t, text)
	if err == nil {
		resolved.Store(place{t, text}, p)
	}
	return p, err
}

func find(t reflect.Type, text string) (*path, error) {
	p := &path{text: text}
	for rest := text; rest != ""; {
		name, index, indexed, after, err := cut(rest)
		if err != nil {
			return nil, fmt.Errorf("path %q: %w", text, err)
		}
		rest = after
		t = deref(t)
		if t.Kind() != reflect.Struct {
			return nil, fmt.Errorf("path %q: %s has no members", text, t)
		}
		field, ok := t.FieldByName(name)
		if !ok || !field.IsExported() {
			return nil, fmt.Errorf("path %q: %s has no member %s", text, t, name)
		}
		s := step{field: field.Index}
		t = field.Type
		if !indexed {
			p.steps = append(p.steps, s)
			continue
		}
		list := deref(t)
		switch {
		case list.Kind() == reflect.Map && index != "":
			s.kind, s.key, t = mapKey, index, list.Elem()
		case list.Kind() != reflect.Slice:
			return nil, fmt.Errorf("path %q: %s is neither a list nor a map", text, name)
		case index == "0":
			s.kind, s.elem, t = firstMember, list.Elem(), list.Elem()
		case index == "":
			each, err := resolve(list.Elem(), rest)
			if err != nil {
				return nil, fmt.Errorf("path %q: %w", text, err)
			}
			s.kind, s.elem, s.rest, t, rest = eachMember, list.Elem(), each, reflect.SliceOf(each.leaf), ""
		default:
			if _, _, ok := pair(list.Elem()); !ok {
				return nil, fmt.Errorf("path %q: %s is no list of keys and values", text, name)
			}
			s.kind, s.key, s.elem, t = pairKey, index, list.Elem(), reflect.TypeFor[*string]()
		}
		p.steps = append(p.steps, s)
	}
	p.leaf = t
	return p, nil
}

// cut takes the first name off a path, with its index. Keys may have dots.
func cut(text string) (name, index string, indexed bool, rest string, err error) {
	at := strings.IndexAny(text, ".[")
	if at < 0 {
		return text, "", false, "", nil
	}
	name = text[:at]
	if text[at] == '.' {
		return name, "", false, text[at+1:], nil
	}
	end := strings.IndexByte(text[at:], ']')
	if end < 0 {
		return "", "", false, "", fmt.Errorf("a bracket is not closed")
	}
	return name, text[at+1 : at+end], true, strings.TrimPrefix(text[at+end+1:], "."), nil
}

// pair returns the fields with the key and the value of a structure such as the
// SDK's tags, both of type *string.
func pair(t reflect.Type) (key, value []int, ok bool) {
	t = deref(t)
	if t.Kind() != reflect.Struct {
		return nil, nil, false
	}
	for _, names := range [][2]string{
		{"Key", "Value"},
		{"TagKey", "TagValue"},
		{"Name", "Value"},
		{"ParameterKey", "ParameterValue"},
	} {
		k, hasKey := t.FieldByName(names[0])
		v, hasValue := t.FieldByName(names[1])
		text := reflect.TypeFor[*string]()
		if hasKey && hasValue && k.Type == text && v.Type == text {
			return k.Index, v.Index, true
		}
	}
	return nil, nil, false
}

// get returns what the path leads to, and false where a pointer on the way is
// nil, a key is missing or a list is empty.
func (p *path) get(v reflect.Value) (reflect.Value, bool) {
	for i := range p.steps {
		var ok bool
		if v, ok = indirect(v); !ok {
			return reflect.Value{}, false
		}
		if v, ok = p.steps[i].get(v); !ok {
			return reflect.Value{}, false
		}
	}
	return v, true
}

func (s *step) get(v reflect.Value) (reflect.Value, bool) {
	v, err := v.FieldByIndexErr(s.field)
	if err != nil { // an embedded pointer is nil
		return reflect.Value{}, false
	}
	if s.kind == member {
		return v, true
	}
	v, ok := indirect(v)
	if !ok {
		return reflect.Value{}, false
	}
	switch s.kind {
	case mapKey:
		found := v.MapIndex(reflect.ValueOf(s.key).Convert(v.Type().Key()))
		return found, found.IsValid()
	case firstMember:
		if v.Len() == 0 {
			return reflect.Value{}, false
		}
		return v.Index(0), true
	case pairKey:
		key, value, _ := pair(s.elem)
		for i := range v.Len() {
			member, ok := indirect(v.Index(i))
			if ok && !member.FieldByIndex(key).IsNil() && member.FieldByIndex(key).Elem().String() == s.key {
				return member.FieldByIndex(value), true
			}
		}
		return reflect.Value{}, false
	}
	if v.IsNil() {
		return reflect.Value{}, false
	}
	list := reflect.MakeSlice(reflect.SliceOf(s.rest.leaf), 0, v.Len())
	for i := range v.Len() {
		if found, ok := s.rest.get(v.Index(i)); ok {
			list = reflect.Append(list, found)
		}
	}
	return list, true
}

// set puts x, which is of the leaf's type, where the path leads to in v, which
// is addressable. Pointers on the way that are nil are made.
func (p *path) set(v, x reflect.Value) {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		v = v.Elem()
	}
	if len(p.steps) == 0 {
		v.Set(x)
		return
	}
	s, rest := &p.steps[0], &path{steps: p.steps[1:]}
	for _, i := range s.field {
		for v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	switch s.kind {
	case member:
		if len(rest.steps) == 0 {
			v.Set(x)
			return
		}
		rest.set(v, x)
	case mapKey:
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		v.SetMapIndex(reflect.ValueOf(s.key).Convert(v.Type().Key()), x)
	case firstMember:
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		if len(rest.steps) == 0 {
			v.Index(0).Set(x)
			return
		}
		rest.set(v.Index(0), x)
	case pairKey:
		key, value, _ := pair(s.elem)
		one := reflect.New(s.elem).Elem()
		one.FieldByIndex(key).Set(reflect.ValueOf(&s.key))
		one.FieldByIndex(value).Set(x)
		v.Set(reflect.Append(v, one))
	case eachMember:
		list := reflect.MakeSlice(v.Type(), x.Len(), x.Len())
		for i := range x.Len() {
			if len(s.rest.steps) == 0 {
				list.Index(i).Set(x.Index(i))
			} else {
				s.rest.set(list.Index(i), x.Index(i))
			}
		}
		v.Set(list)
	}
}

func deref(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

func indirect(v reflect.Value) (reflect.Value, bool) {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return v, false
		}
		v = v.Elem()
	}
	return v, true
}
