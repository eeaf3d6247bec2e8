package hosts

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"iasql/internal/modules"
)

// dialer makes a connection, as [net.Dialer.DialContext] does.
type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// mostJumps bounds how many hosts a host is behind.
const mostJumps = 8

// through returns what connects by way of a host's jump host: over the connection that the engine keeps to that
// (direct-tcpip, RFC 4254 section 7.2), once that is sure to be who was confirmed. What ends that connection ends those
// through it.
func (h *Hosts) through(ctx context.Context, of *Settings) (dialer, error) {
	if err := h.jumps(ctx, of); err != nil {
		return nil, err
	}
	k := h.host(of.JumpHost)
	release, err := k.take(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := h.load(ctx, k, true); err != nil {
		return nil, behind(of, err)
	}
	s, err := h.answering(ctx, k)
	if err != nil {
		return nil, behind(of, err)
	}
	k.lock.Lock()
	confirmed := k.settings.Confirmed
	k.lock.Unlock()
	if s.who() != confirmed {
		return nil, behind(of, &modules.Error{Class: modules.Denied, Code: "JumpHost", Message: fmt.Sprintf(
			"host %[1]s says that it is %[2]s, and nobody has confirmed that: an administrator does by "+
				"SELECT iasql_confirm('identity', '%[1]s')", of.JumpHost, s.who())})
	}
	r, ok := s.(*remote)
	if !ok {
		return nil, behind(of, &modules.Error{Class: modules.Invalid, Code: "JumpHost", Message: fmt.Sprintf(
			"host %s is a directory, and leads to no other host: UPDATE host SET jump_host = NULL, or name another",
			of.JumpHost)})
	}
	return r.client.DialContext, nil
}

// jumps makes sure that the jump hosts of a host lead to one that is reached directly.
func (h *Hosts) jumps(ctx context.Context, of *Settings) error {
	way := []string{of.Name}
	for at := of.JumpHost; at != ""; {
		way = append(way, at)
		if at == of.Name || len(way) > mostJumps+1 {
			return &modules.Error{Class: modules.Invalid, Code: "JumpHost", Message: fmt.Sprintf(
				"host %s: its jump hosts (%s) lead in a circle, or are more than %d: UPDATE host SET jump_host = NULL "+
					"of that which is reached directly", of.Name, strings.Join(way, " by way of "), mostJumps)}
		}
		settings, err := h.options.Load(ctx, at)
		if err != nil {
			return behind(of, err)
		}
		at = settings.JumpHost
	}
	return nil
}

// behind says that an error is that of a host's jump host. The host itself is then not known: it is neither there nor
// gone.
func behind(of *Settings, err error) error {
	class, why := modules.Transient, clean(err.Error())
	if known := new(modules.Error); errors.As(err, &known) {
		class, why = known.Class, known.Message
	}
	return &modules.Error{Class: class, Code: "JumpHost", Err: err, Message: fmt.Sprintf(
		"host %s is not reached, because its jump host %s is in the way: %s", of.Name, of.JumpHost, why)}
}
