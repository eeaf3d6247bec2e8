package runner

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
)

// light is a thing of the tests.
type light struct {
	Name string `json:"name"`
	On   bool   `json:"on"`
}

// lights adds a kind of things in memory, and returns them.
func lights(t *testing.T, some ...light) map[string]light {
	there := map[string]light{}
	for _, l := range some {
		there[l.Name] = l
	}
	kinds["light"] = &things[light]{what: "light", turn: &sync.Mutex{},
		key: func(l *light) string { return l.Name },
		read: func(_ *tree, of *selection, tell func(light), unread func(string, error)) error {
			for _, l := range there {
				tell(l)
			}
			if of.has("broken", "broken") {
				unread("broken", fmt.Errorf("no bulb"))
			}
			return nil
		},
		difference: func(now, said *light) string {
			if now.On != said.On {
				return "on"
			}
			return ""
		},
		change: func(_ *tree, have, want *light) error {
			if want == nil {
				delete(there, have.Name)
			} else {
				there[want.Name] = *want
			}
			return nil
		}}
	t.Cleanup(func() { delete(kinds, "light") })
	return there
}

func item(l light) json.RawMessage {
	text, _ := json.Marshal(l)
	return text
}

// TestKinds: several kinds are listed by one request, and one is changed only while it is what was seen.
func TestKinds(t *testing.T) {
	there := lights(t, light{"hall", true}, light{"house", false}, light{"attic", true})
	ask := serve(t, t.TempDir())
	got := map[string]int{}
	unread := ""
	for _, a := range ask(Request{Verb: List, Patterns: []string{"/*"}, Parts: []Part{{Kind: "light",
		Patterns: []string{"h*", "broken"}}}}) {
		for _, i := range a.Items {
			got[string(i)]++
		}
		for _, u := range a.Unread {
			unread += a.Kind + " " + u.Name + ": " + u.Error.Message
		}
	}
	if len(got) != 2 || got[`{"name":"hall","on":true}`] != 1 || unread != `light broken: read "broken": no bulb` {
		t.Errorf("%v, %s", got, unread)
	}
	all := ask(Request{Verb: Check, Parts: []Part{{Kind: "light", Names: []string{"attic", "nowhere"}}}})
	if len(all) != 2 || len(all[0].Items) != 1 {
		t.Errorf("%+v", all)
	}
	change := func(want, have *light) Code {
		c := &Change{Kind: "light"}
		if want != nil {
			c.Want = item(*want)
		}
		if have != nil {
			c.Have = item(*have)
		}
		return code(ask(Request{Verb: Apply, Change: c}))
	}
	for i, c := range []struct {
		want, have *light
		code       Code
	}{
		{&light{"hall", false}, nil, Exists}, {&light{"shed", false}, nil, ""},
		{&light{"hall", false}, &light{"hall", false}, Conflict}, {&light{"hall", false}, &light{"hall", true}, ""},
		{&light{"gone", false}, &light{"gone", true}, Gone}, {nil, &light{"gone", true}, ""},
		{nil, &light{"attic", false}, Conflict}, {nil, &light{"attic", true}, ""}, {nil, nil, Refused},
		{&light{"hall", false}, &light{"house", false}, Refused}, {&light{"broken", false}, nil, Unspecified},
	} {
		if got := change(c.want, c.have); got != c.code {
			t.Errorf("%d: %s, not %s", i, got, c.code)
		}
	}
	if len(there) != 3 || there["hall"].On {
		t.Errorf("there is %v", there)
	}
	all = ask(Request{Verb: Assert, Change: &Change{Kind: "light", Want: item(light{"hall", false})}})
	if len(all) != 1 || !all[0].Same || len(all[0].Items) != 1 {
		t.Errorf("%+v", all)
	}
	for _, verb := range []string{List, Apply} {
		r := Request{Verb: verb, Parts: []Part{{Kind: "ghost"}}, Change: &Change{Kind: "ghost"}}
		if got := code(ask(r)); got != Refused {
			t.Errorf("%s of a kind that there is not: %s", verb, got)
		}
	}
}
