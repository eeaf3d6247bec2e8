package hostusers

import (
	"errors"
	"testing"

	"iasql/internal/hosts"
	"iasql/internal/hosts/runner"
	"iasql/internal/modules"
)

// TestWayIn: the user and the key by which the engine gets in are neither changed nor deleted, and others are.
func TestWayIn(t *testing.T) {
	const own = "ssh-ed25519 AAAAown"
	settings := &hosts.Settings{Name: "web", Address: "192.0.2.1", User: "iasql", Keys: []string{"ssh-rsa AAAA", own}}
	ofKeys := keys(nil).(*hosts.Writer[runner.AuthorizedKey]).Kind.Guard
	ofUsers := users(nil).(*hosts.Writer[runner.User]).Kind.Guard
	for what, err := range map[string]error{
		"its key is deleted":  ofKeys(settings, nil, &runner.AuthorizedKey{User: "iasql", Key: own}),
		"its key is changed":  ofKeys(settings, &runner.AuthorizedKey{Key: own}, &runner.AuthorizedKey{Key: own}),
		"its user is deleted": ofUsers(settings, nil, &runner.User{Name: "iasql"}),
	} {
		if e := new(modules.Error); !errors.As(err, &e) || e.Code != "WayIn" || e.Class != modules.Invalid {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, err := range map[string]error{
		"its key is added":        ofKeys(settings, &runner.AuthorizedKey{User: "iasql", Key: own}, nil),
		"another key is deleted":  ofKeys(settings, nil, &runner.AuthorizedKey{User: "iasql", Key: "ssh-ed25519 AAAA"}),
		"another user is deleted": ofUsers(settings, nil, &runner.User{Name: "anna"}),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}
