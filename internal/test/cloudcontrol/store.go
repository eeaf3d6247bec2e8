package cloudcontrol

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"
)

// scope is what one account has in one region.
type scope struct {
	kinds    map[string]*kind
	requests map[string]*request
	order    []*request // oldest first
	tokens   map[string]*request
	active   []*request
	busy     map[string]*request // by type and identifier
}

// kind is the objects of one type.
type kind struct {
	objects map[string]*object
	order   []*object // in the order in which they were made
	gone    int       // how many of order are
}

// object is one thing. Its properties are replaced, never changed.
type object struct {
	id            string
	properties    map[string]any
	number        uint64
	made, removed time.Time
}

// in returns a scope, and brings it up to date.
func (s *Server) in(at Scope) *scope {
	here := s.scopes[at]
	if here == nil {
		here = &scope{kinds: map[string]*kind{}, requests: map[string]*request{}, tokens: map[string]*request{},
			busy: map[string]*request{}}
		s.scopes[at] = here
	}
	s.settle(here, at)
	return here
}

func (c *scope) kind(name string) *kind {
	k := c.kinds[name]
	if k == nil {
		k = &kind{objects: map[string]*object{}}
		c.kinds[name] = k
	}
	return k
}

// add puts an object there.
func (s *Server) add(k *kind, id string, properties map[string]any) *object {
	s.serial++
	o := &object{id: id, properties: properties, number: s.serial, made: time.Now()}
	k.objects[id] = o
	k.order = append(k.order, o)
	return o
}

// take removes an object.
func (s *Server) take(k *kind, o *object) {
	o.removed = time.Now()
	delete(k.objects, o.id)
	if k.gone++; k.gone > 64 && k.gone > len(k.order)/2 {
		old := o.removed.Add(-s.options.Lag)
		k.order = slices.DeleteFunc(k.order, func(o *object) bool {
			return !o.removed.IsZero() && o.removed.Before(old)
		})
		k.gone = 0
	}
}

// shown reports whether listings show an object.
func (k *kind) shown(o *object, now time.Time, lag time.Duration) bool {
	if lag > 0 && now.Before(o.made.Add(lag)) {
		return false
	}
	if o.removed.IsZero() {
		return true
	}
	return k.objects[o.id] == nil && now.Before(o.removed.Add(lag))
}

// find returns the object with an identifier, which may be a JSON object of a
// primary or secondary identifier ("Identifying resources").
func (k *kind) find(t *Type, identifier string) *object {
	if o := k.objects[identifier]; o != nil || !strings.HasPrefix(identifier, "{") {
		return o
	}
	named, err := decode(identifier)
	if err != nil {
		return nil
	}
	if id, ok := t.identify(named); ok {
		return k.objects[id]
	}
	for _, o := range k.order {
		for _, list := range t.additional {
			if o.removed.IsZero() && len(list) == len(named) && slices.IndexFunc(list, func(p path) bool {
				have, ok := p.one(o.properties)
				want, named := p.one(named)
				return !ok || !named || text(have) != text(want)
			}) < 0 {
				return o
			}
		}
	}
	return nil
}

// closeToken and openToken make page tokens opaque.
func closeToken(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func openToken(token string) (string, error) {
	raw, err := base64.StdEncoding.DecodeString(token)
	return string(raw), err
}

// Objects returns the objects of a type, by identifier, as a read tells them.
func (s *Server) Objects(at Scope, typeName string) map[string]map[string]any {
	return s.objects(at, typeName, true)
}

// Secrets returns the objects of a type with their write-only properties.
func (s *Server) Secrets(at Scope, typeName string) map[string]map[string]any {
	return s.objects(at, typeName, false)
}

func (s *Server) objects(at Scope, typeName string, seen bool) map[string]map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]map[string]any{}
	typ, err := s.usable(at, typeName)
	if err != nil {
		return all
	}
	for id, o := range s.in(at).kind(typeName).objects {
		if all[id] = clone(o.properties); seen {
			all[id] = typ.view(o.properties)
		}
	}
	return all
}

// Put makes an object as somebody else in the account does, and returns its
// identifier. What AWS assigns is assigned where it is not given.
func (s *Server) Put(at Scope, typeName string, properties map[string]any) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	typ, err := s.usable(at, typeName)
	if err != nil {
		return "", err
	}
	normal, err := decode(encode(properties))
	if err != nil {
		return "", err
	}
	if err := typ.Validate(typ.settable(normal)); err != nil {
		return "", err
	}
	k := s.in(at).kind(typeName)
	id, err := s.assign(typ, k, at, normal)
	if err != nil {
		return "", err
	}
	if k.objects[id] != nil {
		return "", fmt.Errorf("there is a %s %s already", typeName, id)
	}
	s.add(k, id, normal)
	return id, nil
}

// Edit changes an object as somebody else in the account does. Nothing is checked.
func (s *Server) Edit(at Scope, typeName, id string, change func(properties map[string]any)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.in(at).kind(typeName).objects[id]
	if o == nil {
		return fmt.Errorf("there is no %s %s", typeName, id)
	}
	changed := clone(o.properties)
	change(changed)
	normal, err := decode(encode(changed))
	if err == nil {
		o.properties = normal
	}
	return err
}

// Remove removes an object as somebody else in the account does.
func (s *Server) Remove(at Scope, typeName, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.in(at).kind(typeName)
	o := k.objects[id]
	if o == nil {
		return fmt.Errorf("there is no %s %s", typeName, id)
	}
	s.take(k, o)
	return nil
}

// after is where the objects begin that were made after one.
func (k *kind) after(number uint64) int {
	at, _ := slices.BinarySearchFunc(k.order, number+1, func(o *object, number uint64) int {
		return cmp.Compare(o.number, number)
	})
	return at
}
