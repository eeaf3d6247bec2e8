package hosts

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"iasql/internal/hosts/runner"
	"iasql/internal/modules"
)

// Bounds of time of a trial.
const (
	defaultUndoAfter = 60 * time.Second
	answerWithin     = 2 * time.Second // then the connection by which the change was made may be cut
	firstTry         = 200 * time.Millisecond
	afterwards       = 15 * time.Second // to hear from the host what became of it, and as long again as it had
)

// change makes a request to change something. If that touches the way in, it is armed: the host undoes it by itself
// unless the engine, over a new connection, comes in by all that it needs, and says that it has.
func (h *Hosts) change(ctx context.Context, name string, settings *Settings, request *runner.Request,
	way *WayIn) error {
	nothing := func(runner.Answer) error { return nil }
	if way == nil || settings.Root != "" { // nobody comes in to a directory
		return h.ask(ctx, name, request, nothing)
	}
	k := h.host(name)
	// What is in the way of another's proof would make it fail.
	select {
	case k.trial <- struct{}{}:
		defer func() { <-k.trial }()
	case <-ctx.Done():
		return ctx.Err()
	}
	after := time.Duration(settings.UndoAfter) * time.Second
	if after <= 0 {
		after = defaultUndoAfter
	}
	t := &trial{hosts: h, host: k, settings: settings, way: way, id: rand.Text(), after: after, begun: time.Now()}
	armed := *request
	armed.Guard = &runner.Guard{ID: t.id, After: after.Milliseconds(), Checks: way.Checks, Files: way.Files,
		Reload: way.Reload}
	limit, cancel := context.WithTimeout(ctx, after)
	defer cancel()
	answered := make(chan error, 1)
	go func() { answered <- h.ask(limit, name, &armed, nothing) }()
	select {
	case err := <-answered:
		if err != nil && !lost(err) {
			return err // nothing is armed any more
		}
		t.kept = err == nil
	case <-time.After(answerWithin):
	case <-ctx.Done():
		return ctx.Err() // the host undoes it
	}
	ended := make(chan error, 1)
	proving, stop := context.WithCancel(ctx)
	defer stop()
	go func() { ended <- t.prove(proving) }()
	for {
		select {
		case err := <-ended:
			return err
		case err := <-answered:
			if err != nil && !lost(err) {
				return err
			}
			answered = nil
		}
	}
}

// lost reports whether an error leaves open what the host has done.
func lost(err error) bool { return modules.ClassOf(err) == modules.MayHaveHappened }

// trial is a change that is armed on a host.
type trial struct {
	hosts    *Hosts
	host     *host
	settings *Settings
	way      *WayIn
	id       string
	after    time.Duration
	begun    time.Time
	kept     bool // the connection by which it was made has answered since
}

// prove comes in anew until the host says what became of the change.
func (t *trial) prove(ctx context.Context) error {
	answered := traced(ctx)
	var why error
	pause := firstTry
	for time.Since(t.begun) < 2*t.after+afterwards {
		outcome, err := t.enter(ctx)
		answered()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && (why == nil || time.Since(t.begun) < t.after):
			why = err
		case err != nil:
		case outcome.State == runner.Confirmed:
			return nil
		case outcome.State == runner.Undone:
			return t.undone(outcome.Reason, why)
		case outcome.State == runner.Unknown:
			return &modules.Error{Class: modules.Transient, Code: "Unreachable",
				Message: fmt.Sprintf("host %s: the connection was lost before %s was armed", t.host.name, t.way.What)}
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
		// Seldom enough that no server takes it for an attack, and often enough within the time.
		pause = min(2*pause, max(t.after/4, firstTry))
	}
	return t.failed(fmt.Sprintf("the host has not been reached since, although after %s it undoes by itself what is "+
		"not confirmed", t.after), why)
}

// enter comes in over a new connection, by all that the engine needs of a host: the address, the login, sudo if the
// host is worked on as root, the runner, and that it is still the same host. Then it confirms the change.
func (t *trial) enter(ctx context.Context) (*runner.Outcome, error) {
	limit, cancel := context.WithTimeout(ctx, max(t.after/2, moment))
	defer cancel()
	s, err := t.hosts.open(limit, t.settings)
	if err != nil {
		return nil, err
	}
	t.host.lock.Lock()
	accepted := t.host.accepted
	t.host.lock.Unlock()
	if s.who() != accepted {
		s.close()
		return nil, fmt.Errorf("it says now that it is %s, and it was %s", s.who(), accepted)
	}
	var outcome *runner.Outcome
	err = s.do(limit, &runner.Request{Verb: runner.Confirm, Trial: t.id}, func(a runner.Answer) error {
		if a.Trial != nil {
			outcome = a.Trial
		}
		return nil
	})
	if err == nil && outcome == nil {
		err = errors.New("its runner does not say what became of the change")
	}
	if err != nil {
		s.close()
		return nil, err
	}
	t.host.adopt(s, t.kept)
	return outcome, nil
}

// maxArmed bounds the trials that a host says are under way.
const maxArmed = 16

// prove confirms what was armed before this connection was made, by an engine that has gone away meanwhile: coming in
// by it was the trial. Before that nothing is read, because what is not confirmed does not last.
func (r *remote) prove(ctx context.Context) error {
	r.proving.Lock()
	defer r.proving.Unlock()
	limit := time.After(startWithin)
	for len(r.armed) > 0 {
		state := ""
		request := &runner.Request{Verb: runner.Confirm, Trial: r.armed[0]}
		err := r.do(ctx, request, func(a runner.Answer) error {
			if a.Trial != nil {
				state = a.Trial.State
			}
			return nil
		})
		if err != nil {
			return &modules.Error{Class: modules.Transient, Code: "Unreachable", Err: err,
				Message: "a change that was armed before cannot be confirmed: " + clean(err.Error())}
		}
		if state != runner.Armed {
			r.armed = r.armed[1:]
			continue
		}
		select { // it is still being made, or undone
		case <-time.After(firstTry):
		case <-limit:
			return &modules.Error{Class: modules.Transient, Code: "Unreachable",
				Message: "a change that was armed before is neither made nor undone"}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// adopt makes a new connection the one that is kept, unless the old one is known to be well.
func (k *host) adopt(s session, well bool) {
	k.lock.Lock()
	defer k.lock.Unlock()
	k.failure, k.pause = nil, 0
	switch {
	case k.gone || well && k.session != nil && k.session.alive():
		s.close()
	default:
		if k.session != nil {
			k.session.close()
		}
		k.session = s
		k.met(s)
	}
}

// undone is the error of a change that the host has undone.
func (t *trial) undone(reason string, why error) error {
	return t.failed("the host has undone it, because "+clean(reason), why)
}

func (t *trial) failed(what string, why error) error {
	text := fmt.Sprintf("host %s: %s touches the way in (%s), and %s", t.host.name, t.way.What, t.way.Reason, what)
	if why != nil {
		text += ". The last try to come in anew said: " + clean(why.Error())
	}
	return &modules.Error{Class: modules.Invalid, Code: "Undone",
		Message: text + ". It is not tried again before the row is changed, or SELECT iasql_retry(…) asks for it"}
}

// met notes by what the engine has come in.
func (k *host) met(s session) {
	k.home, k.keys = "", nil
	if r, ok := s.(*remote); ok {
		k.home, k.keys = r.home, r.keys
	}
}

// home returns what the host has said of that last.
func (h *Hosts) home(name string) string {
	k := h.host(name)
	k.lock.Lock()
	defer k.lock.Unlock()
	return k.home
}
