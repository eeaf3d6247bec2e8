package hosts

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/moby/moby/client"

	"iasql/internal/hosts/runner"
	"iasql/internal/modules"
)

// The actions of a [Rung].
const (
	RecoverRetry   = "retry"           // it is tried again, less and less often
	RecoverRuntime = "restart_runtime" // what runs the containers is restarted, once
	RecoverAsk     = "ask"             // it is not tried again before a person has acted
)

// RecoverActions are all of them.
var RecoverActions = []string{RecoverRetry, RecoverRuntime, RecoverAsk}

// The codes of what is counted as a failure of a container: what runs it has answered that it could not start it, or
// could not do something else. A host that is silent has failed in nothing.
const CodeStart, CodeRuntime = "Start", "Runtime"

// ActionRestartRuntime is what the journal calls a restart of what runs containers.
const ActionRestartRuntime = "RestartRuntime"

// Recovery is what is to be done about a container that fails again and again, and what has been done.
type Recovery struct {
	Rungs    []Rung // by After, in ascending order
	Failures int    // in succession, before the present one
	Restarts int    // of what runs the containers, since the first of them
}

// Rung is what is done after so many failures in succession.
type Rung struct {
	After  int
	Action string
}

// Step returns what is to be done now that it has failed once more: the last rung that has been reached says it. A
// restart is due once for each of its rungs.
func (r *Recovery) Step() string {
	action, restarts := RecoverRetry, 0
	for _, rung := range r.Rungs {
		if rung.After > r.Failures+1 {
			break
		}
		if action = rung.Action; action == RecoverRuntime {
			restarts++
		}
	}
	if action == RecoverRuntime && r.Restarts >= restarts {
		return RecoverRetry
	}
	return action
}

// RecoveryOf returns what is to be done after failures of a container.
func (h *Hosts) RecoveryOf(ctx context.Context, name, container string) (Recovery, error) {
	if h.options.Recovery == nil {
		return Recovery{}, nil
	}
	return h.options.Recovery(ctx, name, container)
}

// RestartRuntime restarts the unit of systemd that runs the containers of a host, and returns what that is called. It
// refuses to do so where the engine itself is one of these containers.
func (h *Hosts) RestartRuntime(ctx context.Context, m *modules.Mutation) (unit string, err error) {
	name := m.Scope.Account
	c, err := h.Containers(ctx, name)
	if err != nil {
		return "", err
	}
	if unit, err = h.runtimeUnit(ctx, name, c); err != nil {
		return "", err
	}
	have, err := json.Marshal(&runner.Unit{Name: unit})
	if err != nil {
		return "", err
	}
	want, err := json.Marshal(&runner.Unit{Name: unit, Anew: true})
	if err != nil {
		return "", err
	}
	request := &runner.Request{Verb: runner.Apply, Change: &runner.Change{Kind: runner.KindUnit, Have: have,
		Want: want}}
	call := modules.Call{Service: Provider, Action: ActionRestartRuntime}
	return unit, m.Permit.Do(ctx, call, func(entry modules.Entry) error {
		if _, err := h.writable(ctx, name); err != nil {
			return err
		}
		if entry.Late() {
			return errLate
		}
		return h.ask(ctx, name, request, func(runner.Answer) error { return nil })
	})
}

// runtimeUnit returns the unit of systemd that runs the containers of a host.
func (h *Hosts) runtimeUnit(ctx context.Context, name string, c *client.Client) (string, error) {
	k := h.host(name)
	k.lock.Lock()
	socket := k.runtime.socket
	k.lock.Unlock()
	if strings.HasPrefix(socket, "/run/user/") {
		return "", Failure(modules.Invalid, "Refused", name, "%s is served by a unit of a user, which the engine does "+
			"not restart", socket)
	}
	if own := OwnContainer(); own != "" {
		if _, err := c.ContainerInspect(ctx, own, client.ContainerInspectOptions{}); err == nil {
			return "", Failure(modules.Invalid, "Refused", name, "the engine itself runs in a container of it, and "+
				"would end")
		}
	}
	version, err := c.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return "", Answered(name, false, err)
	}
	for _, component := range version.Components {
		if strings.Contains(component.Name, "Podman") {
			return "podman.service", nil
		}
	}
	return "docker.service", nil
}

// Recoverable reports whether an error is a failure of the container that it happened to.
func Recoverable(err *modules.Error) bool {
	return err.Class == modules.Transient && (err.Code == CodeStart || err.Code == CodeRuntime)
}
