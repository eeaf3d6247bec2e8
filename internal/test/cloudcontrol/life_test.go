package cloudcontrol

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// lifeOf puts an object of a type through its life, without HTTP: it is made, found,
// listed, changed in every property that can be, and deleted.
func lifeOf(s *Server, at Scope, t *Type) (changed int, unchanged []string, err error) {
	ask := func(action string, in input) (map[string]any, error) {
		in["TypeName"] = t.Name
		answer, err := s.act(&call{scope: at, action: action, typ: t.Name}, in, nil)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", action, err)
		}
		return answer.(map[string]any), nil
	}
	does := func(action string, in input) (progress, error) {
		answer, err := ask(action, in)
		if err != nil {
			return progress{}, err
		}
		answer, err = ask("GetResourceRequestStatus",
			input{"RequestToken": answer["ProgressEvent"].(progress).RequestToken})
		if err != nil {
			return progress{}, err
		}
		e := answer["ProgressEvent"].(progress)
		if e.OperationStatus != "SUCCESS" {
			err = fmt.Errorf("%s: %s %s: %s", action, e.OperationStatus, e.ErrorCode, e.StatusMessage)
		}
		return e, err
	}
	state, err := t.Example(1, true)
	if err != nil {
		return 0, nil, err
	}
	e, err := does("CreateResource", input{"DesiredState": encode(state)})
	if err != nil {
		return 0, nil, err
	}
	id := e.Identifier
	for _, name := range t.Mutable() {
		value, ok := t.Another(2, state, name)
		if !ok {
			unchanged = append(unchanged, name)
			continue
		}
		state[name] = value
		patch := []any{map[string]any{"op": "add", "path": "/" + name, "value": value}}
		for _, p := range t.writeOnly {
			if _, ok := state[p[0]]; ok && p[0] != name && !holds(t.createOnly, p[0]) {
				patch = append(patch, map[string]any{"op": "add", "path": "/" + p[0], "value": state[p[0]]})
			}
		}
		if _, err := does("UpdateResource", input{"Identifier": id, "PatchDocument": encode(patch)}); err != nil {
			return changed, unchanged, fmt.Errorf("%s: %w", name, err)
		}
		have := s.Objects(at, t.Name)[id]
		want := t.view(map[string]any{name: value})
		if w, ok := want[name]; ok && !Includes(have[name], w, true) {
			return changed, unchanged, fmt.Errorf("%s: is %s, was set to %s", name, encode(have[name]), encode(w))
		}
		changed++
	}
	if _, err := does("DeleteResource", input{"Identifier": id}); err != nil {
		return changed, unchanged, err
	}
	if _, err := ask("GetResource", input{"Identifier": id}); asError(err).Code == "" {
		return changed, unchanged, err
	}
	return changed, unchanged, nil
}

func TestLives(t *testing.T) {
	t.Parallel()
	schemas := AWS(t, "../../..")
	s, err := New(Options{Schemas: schemas})
	if err != nil {
		t.Fatal(err)
	}
	types, whole, changed, unchanged := 0, 0, 0, 0
	reasons := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		typ, err := s.registry[name].parse()
		if err != nil {
			t.Fatal(err)
		}
		if !typ.Handles("create") || !typ.Handles("read") || !typ.Handles("delete") {
			continue
		}
		types++
		n, no, err := lifeOf(s, Scope{"123456789012", "us-east-1"}, typ)
		changed, unchanged = changed+n, unchanged+len(no)
		if err == nil {
			whole++
			continue
		}
		reason, _, _ := strings.Cut(err.Error(), "\n")
		reasons[reason] = append(reasons[reason], name)
	}
	t.Logf("%d of %d types went through their life; %d properties changed, for %d there was no other value", whole,
		types, changed, unchanged)
	for reason, names := range reasons {
		t.Log(names, reason)
	}
}
