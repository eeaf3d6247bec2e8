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
	RecoverReboot  = "reboot"          // the host is rebooted, once
	RecoverAsk     = "ask"             // it is not tried again before a person has acted
)

// RecoverActions are all of them.
var RecoverActions = []string{RecoverRetry, RecoverRuntime, RecoverReboot, RecoverAsk}

// The codes of what is counted as a failure of a container: what runs it has answered that it could not start it, or
// could not do something else. A host that is silent has failed in nothing.
const CodeStart, CodeRuntime = "Start", "Runtime"

// What the journal calls a restart of what runs containers, and a reboot.
const ActionRestartRuntime, ActionReboot = "RestartRuntime", "RebootHost"

// Recovery is what is to be done about a container that fails again and again, and what has been done.
type Recovery struct {
	Rungs    []Rung // by After, in ascending order
	Failures int    // in succession, before the present one
	Restarts int    // of what runs the containers, since the first of them
	Reboots  int    // of the host, since the first of them
}

// Rung is what is done after so many failures in succession.
type Rung struct {
	After  int
	Action string
}

// Step returns what is to be done now that it has failed once more: the last rung that has been reached says it. A
// restart and a reboot are due once for each of their rungs.
func (r *Recovery) Step() string {
	action, due := RecoverRetry, map[string]int{}
	for _, rung := range r.Rungs {
		if rung.After > r.Failures+1 {
			break
		}
		action = rung.Action
		due[action]++
	}
	taken := map[string]int{RecoverRuntime: r.Restarts, RecoverReboot: r.Reboots}
	if n, once := taken[action]; once && n >= due[action] {
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
	return unit, h.recover(ctx, m, ActionRestartRuntime, &runner.Request{Verb: runner.Apply,
		Change: &runner.Change{Kind: runner.KindUnit, Have: have, Want: want}})
}

// Reboot begins a reboot of a host. It refuses to do so where its row does not allow it, or the engine itself runs in a
// container of it; and the host does where it was rebooted so less than an hour ago.
func (h *Hosts) Reboot(ctx context.Context, m *modules.Mutation) error {
	name := m.Scope.Account
	settings, err := h.settings(ctx, name, true)
	if err != nil {
		return err
	}
	if !settings.MayReboot {
		return Failure(modules.Invalid, "Refused", name, "it may not be rebooted: UPDATE host SET may_reboot = true "+
			"WHERE name = '%s'", strings.ReplaceAll(name, "'", "''"))
	}
	c, err := h.Containers(ctx, name)
	if err != nil {
		return err
	}
	if err := spareEngine(ctx, name, c); err != nil {
		return err
	}
	return h.recover(ctx, m, ActionReboot, &runner.Request{Verb: runner.Reboot})
}

// recover makes a request of a host that nobody has locked, which the journal calls by that action.
func (h *Hosts) recover(ctx context.Context, m *modules.Mutation, action string, request *runner.Request) error {
	name := m.Scope.Account
	return m.Permit.Do(ctx, modules.Call{Service: Provider, Action: action}, func(entry modules.Entry) error {
		if _, err := h.writable(ctx, name); err != nil {
			return err
		}
		if entry.Late() {
			return errLate
		}
		return h.ask(ctx, name, request, func(runner.Answer) error { return nil })
	})
}

// spareEngine refuses what would end the engine where that runs in a container of a host.
func spareEngine(ctx context.Context, name string, c *client.Client) error {
	own := OwnContainer()
	if own == "" {
		return nil
	}
	if _, err := c.ContainerInspect(ctx, own, client.ContainerInspectOptions{}); err == nil {
		return Failure(modules.Invalid, "Refused", name, "the engine itself runs in a container of it, and would end")
	}
	return nil
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
	if err := spareEngine(ctx, name, c); err != nil {
		return "", err
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
