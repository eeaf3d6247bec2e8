package hosts

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"iasql/internal/hosts/runner"
	"iasql/internal/modules"
)

// light is a thing of the tests.
type light struct {
	Name string `json:"name"`
}

func lights(h *Hosts, kind string) *Reader[light] {
	return &Reader[light]{Hosts: h, Kind: Kind[light]{Name: kind, Scope: "light", Key: func(l *light) string { return l.Name }},
		Of:    &modules.Table{Name: "host_" + kind, Columns: []modules.Column{{Name: "name", Identity: true, Type: modules.TypeText}}},
		Row:   func(l *light) modules.Row { return modules.Row{"name": modules.Text(l.Name)} },
		Thing: func(r modules.Row, _ []string) *light { return &light{r["name"].String()} }}
}

func items(kind string, some ...string) runner.Answer {
	a := runner.Answer{Kind: kind}
	for _, s := range some {
		a.Items = append(a.Items, json.RawMessage(s))
	}
	return a
}

var lit = Settings{Scopes: []Scope{{Kind: "light", Pattern: "h*"}, {Kind: "light", Pattern: "hall", Prune: true}}}

var request = modules.ListRequest{Scope: modules.Scope{Account: "web"}}

// TestHostileThings: what a host answers that nobody has asked for is not believed.
func TestHostileThings(t *testing.T) {
	t.Parallel()
	for what, a := range map[string]runner.Answer{
		"a thing beyond the scopes": items("light", `{"name": "attic"}`),
		"a thing twice":             items("light", `{"name": "hall"}`, `{"name": "hall"}`),
		"another kind":              items("lamp", `{"name": "hall"}`),
		"what is none":              items("light", `["hall"]`),
		"a NUL":                     items("light", `{"name": "h\u0000"}`),
		"a long one":                items("light", `{"name": "h`+strings.Repeat("x", maxThing)+`"}`),
		"what was not read":         {Kind: "light", Unread: []runner.Unread{{Name: "h"}}},
	} {
		err := lights(answering(&stub{said: "me", answers: []runner.Answer{a}}, lit), "light").List(t.Context(), request,
			func([]modules.Observation) error { return nil })
		if e := new(modules.Error); !errors.As(err, &e) || e.Code != "BadAnswer" {
			t.Errorf("%s: %v", what, err)
		}
	}
	// Beyond the scopes nothing is asked.
	r := lights(answering(&stub{said: "me", err: errors.New("it was asked")}, lit), "light")
	_, err := r.Get(t.Context(), modules.GetRequest{Scope: request.Scope, Identities: []modules.Row{{"name": modules.Text("attic")}}})
	if e := new(modules.Unread); !errors.As(err, &e) || !strings.Contains(err.Error(), "INSERT INTO host_scope") {
		t.Errorf("%v", err)
	}
}

// counting is a host that counts what it is asked.
type counting struct {
	stub
	asked atomic.Int32
}

func (c *counting) do(ctx context.Context, r *runner.Request, each func(runner.Answer) error) error {
	c.asked.Add(1)
	for _, p := range r.Parts {
		a := items(p.Kind, `{"name": "hall"}`)
		if p.Kind == "bad" {
			a = items(p.Kind, `{"name": "attic"}`)
		}
		a.More = true
		if err := each(a); err != nil {
			return err
		}
	}
	return each(runner.Answer{})
}

// TestOneRequest: what is listed in one moment is asked by one request, and what is wrong with one kind fails no other.
func TestOneRequest(t *testing.T) {
	t.Parallel()
	h := answering(&stub{said: "me"}, lit)
	c := &counting{stub: stub{said: "me"}}
	h.host("web").session = c
	var all sync.WaitGroup
	for _, kind := range []string{"one", "two", "bad", "three"} {
		all.Go(func() {
			found := 0
			err := lights(h, kind).List(t.Context(), request, func(some []modules.Observation) error {
				for _, o := range some {
					if found++; o.Manager != "" {
						t.Errorf("%+v is not pruned", o)
					}
				}
				return nil
			})
			if kind == "bad" && err == nil || kind != "bad" && (err != nil || found != 1) {
				t.Errorf("%s: %d, %v", kind, found, err)
			}
		})
	}
	all.Wait()
	if n := c.asked.Load(); n > 2 {
		t.Errorf("it was asked %d times", n)
	}
	// Whoever does not wait any more is not answered.
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := lights(h, "one").List(gone, request, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
