package cloudcontrol

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
)

// handler finds the type of a call, which must have a handler for it.
func (s *Server) handler(c *call, handler string) (*Type, error) {
	t, err := s.usable(c.scope, c.typ)
	if err == nil && !t.Handles(handler) {
		err = fault("UnsupportedActionException", "Resource type %s does not support %s action", c.typ,
			strings.ToUpper(handler))
	}
	return t, err
}

// create answers CreateResource.
func (s *Server) create(c *call, in input, met *Fault) (any, error) {
	if err := in.need("TypeName", "DesiredState"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.handler(c, "create")
	if err != nil {
		return nil, err
	}
	state, err := decode(in.text("DesiredState"))
	if err != nil {
		return nil, fault("ValidationException", "DesiredState is no JSON object: %v", err)
	}
	if named := t.named(t.readOnly, state); len(named) > 0 {
		return nil, fault("ValidationException", "Invalid create: readOnlyProperties [%s] cannot be specified",
			strings.Join(named, ", "))
	}
	if err := t.Validate(state); err != nil {
		return nil, fault("ValidationException", "Model validation failed (%v)", err)
	}
	id, _ := t.identify(state)
	return s.accept(c, in, met, &request{operation: "CREATE", typ: t, id: id, after: state})
}

// named returns the pointers of those paths that lead to something.
func (t *Type) named(list []path, state map[string]any) []string {
	var all []string
	for _, p := range list {
		if _, ok := p.one(state); ok {
			all = append(all, p.pointer())
		}
	}
	return all
}

// update answers UpdateResource.
func (s *Server) update(c *call, in input, met *Fault) (any, error) {
	if err := in.need("TypeName", "Identifier", "PatchDocument"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.handler(c, "update")
	if err != nil {
		return nil, err
	}
	patch, err := readPatch(in.text("PatchDocument"))
	if err != nil {
		return nil, fault("ValidationException", "Invalid patch document: %v", err)
	}
	here := s.in(c.scope)
	// A token that has done its work answers before the object is looked at.
	if known, err := s.repeated(c, here, in); known != nil || err != nil {
		return known, err
	}
	o := here.kind(t.Name).find(t, in.text("Identifier"))
	if o == nil {
		return nil, notFound(t.Name, in.text("Identifier"))
	}
	// Read, modify, write: what a read does not tell is not there.
	before := t.view(o.properties)
	after, err := apply(patch, before)
	if err != nil {
		return nil, err
	}
	if changed := t.changed(t.createOnly, t.settable(before), t.settable(after)); len(changed) > 0 {
		return nil, fault("NotUpdatableException", "Invalid patch update: createOnlyProperties [%s] cannot be updated",
			strings.Join(changed, ", "))
	}
	if changed := t.changed(t.readOnly, before, after); len(changed) > 0 {
		return nil, fault("ValidationException", "Invalid patch update: readOnlyProperties [%s] cannot be updated",
			strings.Join(changed, ", "))
	}
	if err := t.Validate(t.settable(after)); err != nil {
		return nil, fault("ValidationException", "Model validation failed (%v)", err)
	}
	t.retain(before, after)
	return s.accept(c, in, met, &request{operation: "UPDATE", typ: t, id: o.id, after: after})
}

// readPatch reads a JSON patch. Paths may lack the slash that RFC 6901 begins with:
// an example of the User Guide does.
func readPatch(document string) (jsonpatch.Patch, error) {
	var operations []map[string]json.RawMessage
	if err := json.Unmarshal([]byte(document), &operations); err != nil {
		return nil, err
	}
	for _, operation := range operations {
		for _, member := range []string{"path", "from"} {
			var pointer string
			if json.Unmarshal(operation[member], &pointer) == nil && pointer != "" && pointer[0] != '/' {
				operation[member], _ = json.Marshal("/" + pointer)
			}
		}
	}
	corrected, err := json.Marshal(operations)
	if err != nil {
		return nil, err
	}
	return jsonpatch.DecodePatch(corrected)
}

// apply applies a patch. What cannot be applied is told as people have quoted it:
// "[REPLACE Operation] noSuchPath in source, path provided : //Name".
func apply(patch jsonpatch.Patch, before map[string]any) (map[string]any, error) {
	document := []byte(encode(before))
	for _, operation := range patch {
		applied, err := jsonpatch.Patch{operation}.Apply(document)
		if err != nil {
			at, _ := operation.Path()
			kind := strings.ToUpper(operation.Kind())
			if errors.Is(err, jsonpatch.ErrMissing) || operation.Kind() != "test" {
				return nil, fault("ValidationException", "[%s Operation] noSuchPath in source, path provided : /%s",
					kind, at)
			}
			return nil, fault("ValidationException",
				"[%s Operation] value differs from expectations, path provided : /%s", kind, at)
		}
		document = applied
	}
	after, err := decode(string(document))
	if err != nil {
		return nil, fault("ValidationException", "the patch leaves no object")
	}
	return after, nil
}

// changed returns the pointers of those paths that lead to other values. In a list
// that has another length, what is new in it counts as no change.
func (t *Type) changed(list []path, before, after map[string]any) []string {
	var all []string
	for _, p := range list {
		one, two := p.values(before), p.values(after)
		if !(len(p) > 1 && len(one) != len(two)) && encode(one) != encode(two) || len(p) == 1 && len(one) != len(two) {
			all = append(all, p.pointer())
		}
	}
	return all
}

// retain gives an updated object the read-only properties that its patch has left
// out with what they are in.
func (t *Type) retain(before, after map[string]any) {
	for _, p := range t.readOnly {
		parent := p[:len(p)-1]
		if value, ok := p.one(before); ok && len(parent) > 0 && !slices.Contains(p, "*") {
			if inside, ok := parent.one(after); ok && is[map[string]any](inside) {
				p.set(after, value)
			}
		}
	}
}

// delete answers DeleteResource. Whether there is such an object shows later.
func (s *Server) delete(c *call, in input, met *Fault) (any, error) {
	if err := in.need("TypeName", "Identifier"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.handler(c, "delete")
	if err != nil {
		return nil, err
	}
	id := in.text("Identifier")
	if o := s.in(c.scope).kind(t.Name).find(t, id); o != nil {
		id = o.id
	}
	return s.accept(c, in, met, &request{operation: "DELETE", typ: t, id: id})
}

// described is a ResourceDescription.
type description struct {
	Identifier string
	Properties string
}

// get answers GetResource.
func (s *Server) get(c *call, in input) (any, error) {
	if err := in.need("TypeName", "Identifier"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	t, err := s.handler(c, "read")
	var o *object
	var properties map[string]any
	if err == nil {
		if o = s.in(c.scope).kind(t.Name).find(t, in.text("Identifier")); o != nil {
			properties = o.properties
		}
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if o == nil {
		return nil, notFound(t.Name, in.text("Identifier"))
	}
	return map[string]any{"TypeName": t.Name, "ResourceDescription": description{o.id, encode(t.view(properties))}}, nil
}

func notFound(typeName, identifier string) error {
	return handlerFault("ResourceNotFoundException", typeName, "NotFound", missing(typeName, identifier))
}

func missing(typeName, identifier string) string {
	return "Resource of type '" + typeName + "' with identifier '" + identifier + "' was not found."
}

// list answers ListResources.
func (s *Server) list(c *call, in input) (any, error) {
	if err := in.need("TypeName"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.handler(c, "list")
	if err != nil {
		return nil, err
	}
	model := map[string]any{}
	if given := in.text("ResourceModel"); given != "" {
		if model, err = decode(given); err != nil {
			return nil, fault("InvalidRequestException", "ResourceModel is no JSON object: %v", err)
		}
	}
	if err := t.validateParent(model); err != nil {
		return nil, fault("InvalidRequestException",
			"Missing or invalid ResourceModel property in %s list handler request input.Required property: (%v)",
			t.Name, err)
	}
	k, start := s.in(c.scope).kind(t.Name), 0
	if token := in.text("NextToken"); token != "" {
		opened, err := openToken(token)
		number, failed := strconv.ParseUint(opened, 10, 64)
		if err != nil || failed != nil {
			return nil, fault("InvalidRequestException", "Invalid NextToken")
		}
		start = k.after(number)
	}
	found, now, next := []description{}, time.Now(), ""
	var last uint64
	for _, o := range k.order[start:] {
		if !k.shown(o, now, s.options.Lag) || !t.selected(o.properties, model) {
			continue
		}
		if len(found) == s.options.PageSize {
			next = closeToken(strconv.FormatUint(last, 10))
			break
		}
		found, last = append(found, s.listed(t, o)), o.number
	}
	answer := map[string]any{"TypeName": t.Name, "ResourceDescriptions": found}
	if next != "" {
		answer["NextToken"] = next
	}
	return answer, nil
}

// listed is what a listing tells of an object.
func (s *Server) listed(t *Type, o *object) description {
	if s.options.Whole {
		return description{o.id, encode(t.view(o.properties))}
	}
	short := map[string]any{}
	for _, p := range t.identifier {
		if value, ok := p.one(o.properties); ok {
			p.set(short, value)
		}
	}
	return description{o.id, encode(short)}
}

// selected reports whether a ResourceModel selects an object: by those properties
// that the object has.
func (t *Type) selected(object, model map[string]any) bool {
	for name, want := range model {
		have, ok := object[t.parentProperty(name)]
		if ok && encode(have) != encode(want) {
			return false
		}
	}
	return true
}

// parentProperty is the property of the type that a parameter of its list handler
// stands for: the one that it refers to.
func (t *Type) parentProperty(name string) string {
	list, _ := t.handlers["list"].(map[string]any)
	schema, _ := list["handlerSchema"].(map[string]any)
	properties, _ := schema["properties"].(map[string]any)
	parameter, _ := properties[name].(map[string]any)
	ref, _ := parameter["$ref"].(string)
	if _, property, ok := strings.Cut(ref, "#/properties/"); ok &&
		!slices.Contains(strings.Split(property, "/"), "properties") {
		return property
	}
	return name
}
