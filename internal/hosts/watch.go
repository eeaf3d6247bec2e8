package hosts

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/client"
	"golang.org/x/time/rate"

	"iasql/internal/hosts/runner"
	"iasql/internal/modules"
)

// Hint is where a host says that something may have changed: the row of a table that has a value in a column, or with
// Column "" any row of the table. It is never a fact (R26).
type Hint struct{ Table, Column, Value string }

// News is what a host says while it is watched.
type News struct {
	Hints []Hint
	// Foreign counts what it has named that no scope does, and Malformed what is no kind or no name.
	Foreign, Malformed int
	// Lacking says what is not watched now, and why; "" if all is that can be.
	Lacking string
}

// What a host may say while it is watched: so many lines a second for long, and so many at once, of so many bytes. One
// that says more waits.
const (
	linesPerSecond = 10
	linesAtOnce    = 100
	maxWatchLine   = 64 << 10
	maxName        = 4096
)

// watched says of each kind of what may change the scopes that name it, its table, and the column by which a name tells
// which row it is; column "": a name does not tell.
var watched = map[string]struct{ scope, table, column string }{
	KindFile:                 {KindFile, "host_file", "path"},
	runner.KindBlock:         {runner.KindBlock, "host_file_block", ""},
	KindPackage:              {KindPackage, "host_package", "name"},
	KindUnit:                 {KindUnit, "host_unit", "name"},
	KindUser:                 {KindUser, "host_user", "name"},
	runner.KindAuthorizedKey: {KindUser, "host_authorized_key", ""},
	KindGroup:                {KindGroup, "host_group", "name"},
	runner.KindSysctl:        {runner.KindSysctl, "host_sysctl", "name"},
	runner.KindSudoer:        {runner.KindSudoer, "host_sudoer", "name"},
	runner.KindCron:          {runner.KindCron, "host_cron", ""},
	runner.KindMount:         {runner.KindMount, "host_mount", ""},
	runner.KindRepository:    {runner.KindRepository, "host_repository", ""},
	runner.KindInterface:     {runner.KindInterface, "host_interface", "name"},
	runner.KindRoute:         {runner.KindRoute, "host_route", ""},
	runner.KindFirewall:      {runner.KindFirewall, "host_firewall_rule", ""},
	runner.KindAddress:       {KindFacts, "host_address", ""},
	KindContainer:            {KindContainer, "host_container", "name"},
	KindImage:                {KindImage, "host_image", ""},
	KindVolume:               {KindVolume, "host_volume", "name"},
	KindContained:            {KindContained, "host_container_network", "name"},
}

// containerKinds are those of which Docker or Podman tells, by what its API calls them.
var containerKinds = map[events.Type]string{events.ContainerEventType: KindContainer, events.ImageEventType: KindImage,
	events.VolumeEventType: KindVolume, events.NetworkEventType: KindContained}

// everything returns hints at all tables of what is watched and in a scope of one of these kinds; none given: of any.
func (s *Settings) everything(scopes ...string) []Hint {
	var hints []Hint
	for _, kind := range slices.Sorted(maps.Keys(watched)) {
		w := watched[kind]
		if (len(scopes) == 0 || slices.Contains(scopes, w.scope)) && len(s.Of(w.scope)) > 0 {
			hints = append(hints, Hint{Table: w.table})
		}
	}
	return hints
}

// take adds what a host says has changed, as far as scopes name it.
func (n *News) take(s *Settings, c runner.Changed) {
	w, known := watched[c.Kind]
	scopes := s.Of(w.scope)
	unprintable := func(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' }
	switch {
	case !known || len(c.Name) > maxName || strings.ContainsFunc(c.Name, unprintable):
		n.Malformed++
	case len(scopes) == 0:
		n.Foreign++
	case c.Name == "" || w.column == "":
		n.Hints = append(n.Hints, Hint{Table: w.table})
	case c.Kind == KindFile && (runner.CheckPath(c.Name) != nil || Named(scopes, c.Name) == nil),
		c.Kind != KindFile && !named(scopes, c.Name):
		n.Foreign++
	default:
		n.Hints = append(n.Hints, Hint{w.table, w.column, c.Name})
	}
}

// watching is a host that is being watched.
type watching struct {
	hosts    *Hosts
	name     string
	settings Settings
	tell     func(News) error

	lock    sync.Mutex
	lacking map[string]string // by kind, why it is not watched
}

// say tells what a host says, by one after the other.
func (w *watching) say(n News) error {
	w.hosts.host(w.name) // its connection is in use
	w.lock.Lock()
	defer w.lock.Unlock()
	var lacking []string
	for _, kind := range slices.Sorted(maps.Keys(w.lacking)) {
		lacking = append(lacking, kind+": "+w.lacking[kind])
	}
	n.Lacking = strings.Join(lacking, "; ")
	return w.tell(n)
}

// lack notes why a kind is not watched; "": it is.
func (w *watching) lack(kind, why string) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if why == "" {
		delete(w.lacking, kind)
	} else {
		w.lacking[kind] = why
	}
}

// Watch calls tell with what may have changed on a host of what its scopes name, as its runner says, and Docker or
// Podman, over the connection that is kept. First it tells of everything, since something may have changed while nobody
// watched; with no hints it tells that the host is still there. It ends with ctx, with the connection, if tell fails,
// or if it cannot begin. The host has to be the one that was confirmed.
func (h *Hosts) Watch(ctx context.Context, name string, tell func(News) error) error {
	s, settings, err := h.confirmed(ctx, name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &watching{hosts: h, name: name, settings: settings, tell: tell, lacking: map[string]string{}}
	var others sync.WaitGroup
	defer others.Wait()
	defer cancel()
	request := &runner.Request{ID: 1, Verb: runner.Watching, Parts: parts(settings.Scopes)}
	lines := rate.NewLimiter(linesPerSecond, linesAtOnce)
	begun := false
	err = s.watch(ctx, request, func(a runner.Answer) error {
		if a.Error != nil {
			return a.Error
		}
		n := News{}
		if !begun {
			begun, n.Hints = true, settings.everything()
			others.Go(func() { w.watchContainers(ctx) })
		}
		for _, c := range a.Changed {
			n.take(&settings, c)
		}
		for _, u := range a.Unwatched {
			if of, known := watched[u.Kind]; !known || len(settings.Of(of.scope)) == 0 {
				continue
			}
			why := ""
			if u.Why != nil {
				why = clean(u.Why.Message)
			}
			w.lack(u.Kind, why)
		}
		if err := w.say(n); err != nil {
			return err
		}
		return lines.Wait(ctx)
	})
	return classify(name, runner.Watching, err)
}

// confirmed returns the session of a host that says that it is who was confirmed, and what the tables say of it.
func (h *Hosts) confirmed(ctx context.Context, name string) (session, Settings, error) {
	k := h.host(name)
	release, err := k.take(ctx)
	if err != nil {
		return nil, Settings{}, err
	}
	defer release()
	if err := h.load(ctx, k, true); err != nil {
		return nil, Settings{}, err
	}
	s, err := h.connect(ctx, k)
	if err != nil {
		return nil, Settings{}, err
	}
	k.lock.Lock()
	defer k.lock.Unlock()
	if s.who() != k.settings.Confirmed {
		return nil, Settings{}, &modules.Error{Class: modules.Denied, Code: "AnotherHost", Message: fmt.Sprintf(
			"host %s says that it is %s, and nobody has confirmed that", name, s.who())}
	}
	k.accepted = s.who()
	return s, k.settings, nil
}

// parts are what a request to watch names of scopes.
func parts(scopes []Scope) []runner.Part {
	var list []runner.Part
	for _, kind := range ScopeKinds {
		var p []string
		for _, s := range scopes {
			if s.Kind == kind {
				p = append(p, s.Pattern)
			}
		}
		if len(p) > 0 {
			list = append(list, runner.Part{Kind: kind, Patterns: p})
		}
	}
	return list
}

// watch implements [session]: a runner of its own says it, in another channel of the same connection, so that what it
// says is not in the way of answers.
func (r *remote) watch(ctx context.Context, request *runner.Request, each func(runner.Answer) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers, ended := make(chan runner.Answer), make(chan error, 1)
	go func() {
		ended <- r.watchLines(ctx, request, func(a runner.Answer) error {
			select {
			case answers <- a:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	idle := time.NewTimer(idleWithin)
	defer idle.Stop()
	for {
		select {
		case a := <-answers:
			if err := each(a); err != nil {
				return err
			}
			idle.Reset(idleWithin)
		case err := <-ended:
			return err
		case <-idle.C:
			err := fmt.Errorf("it has not said for %s that it still watches", idleWithin)
			r.fail(err)
			return err
		case <-r.dead:
			return r.failure()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// watchLines starts a runner that watches, and reads what it says. It ends with ctx or the connection.
func (r *remote) watchLines(ctx context.Context, request *runner.Request, each func(runner.Answer) error) error {
	line, in, lines, err := r.run(r.launch(" -watch"))
	if err != nil {
		return err
	}
	defer in.Close()
	stop := context.AfterFunc(ctx, func() { _ = in.Close() })
	defer stop()
	if strings.TrimSpace(line) != runner.WatchBegins {
		return errors.New("its runner does not watch")
	}
	text, err := json.Marshal(request)
	if err != nil {
		return err
	}
	if _, err := in.Write(append(text, '\n')); err != nil {
		return err
	}
	for {
		line, err := readLine(lines, maxWatchLine)
		if err != nil {
			return err
		}
		var a runner.Answer
		if err := json.Unmarshal(line, &a); err != nil {
			return err
		}
		if err := each(a); err != nil {
			return err
		}
	}
}

// watch implements [session].
func (l *local) watch(ctx context.Context, request *runner.Request, each func(runner.Answer) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers, ended := make(chan runner.Answer), make(chan error, 1)
	go func() {
		ended <- runner.Watch(ctx, l.root, request, func(a runner.Answer) error {
			select {
			case answers <- a:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	for {
		select {
		case a := <-answers:
			if err := each(a); err != nil {
				return err
			}
		case err := <-ended:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// askRuntime is how long it is until what runs containers is asked again that could not be, or has ended the
// connection.
const askRuntime = 15 * time.Second

// watchContainers tells what Docker or Podman says of changes, if a scope names containers or what they are made of,
// until ctx ends.
func (w *watching) watchContainers(ctx context.Context) {
	kinds := slices.Sorted(maps.Values(containerKinds))
	if len(w.settings.everything(kinds...)) == 0 {
		return
	}
	for again := false; ctx.Err() == nil; again = true {
		err := w.followContainers(ctx, again)
		if ctx.Err() != nil {
			return
		}
		w.lack(KindContainer, clean(err.Error()))
		if w.say(News{}) != nil {
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(askRuntime):
		}
	}
}

// followContainers tells what Docker or Podman says of changes until the connection to it ends. missed: something may
// have changed before.
func (w *watching) followContainers(ctx context.Context, missed bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c, err := w.hosts.Containers(ctx, w.name)
	if err != nil {
		return err
	}
	followed := c.Events(ctx, client.EventsListOptions{})
	select {
	case err := <-followed.Err:
		return cmp.Or(err, errLost)
	default:
	}
	w.lack(KindContainer, "")
	n := News{}
	if missed {
		n.Hints = w.settings.everything(slices.Sorted(maps.Values(containerKinds))...)
	}
	if err := w.say(n); err != nil {
		return err
	}
	lines := rate.NewLimiter(linesPerSecond, linesAtOnce)
	for {
		select {
		case err := <-followed.Err:
			return cmp.Or(err, errLost)
		case m := <-followed.Messages:
			if err := lines.Wait(ctx); err != nil {
				return err
			}
			changed := containersChanged(&m)
			if len(changed) == 0 {
				continue
			}
			n := News{}
			for _, c := range changed {
				n.take(&w.settings, c)
			}
			if err := w.say(n); err != nil {
				return err
			}
		}
	}
}

// containersChanged returns what has changed as an event of Docker or Podman says: nothing by a program that is run in
// a container, such as that which looks whether it is well.
func containersChanged(m *events.Message) []runner.Changed {
	kind, known := containerKinds[m.Type]
	if !known || strings.HasPrefix(string(m.Action), "exec_") {
		return nil
	}
	name := m.Actor.Attributes["name"]
	switch kind {
	case KindImage:
		return []runner.Changed{{Kind: kind}}
	case KindVolume:
		name = m.Actor.ID
	}
	changed := []runner.Changed{{Kind: kind, Name: name}}
	if old := strings.TrimPrefix(m.Actor.Attributes["oldName"], "/"); old != "" { // it was renamed
		changed = append(changed, runner.Changed{Kind: kind, Name: old})
	}
	return changed
}

// Watched returns the tables of whose rows hosts say that they may have changed, each with the column by which they
// name one; "": they name none.
func Watched() iter.Seq2[string, string] {
	return func(yield func(table, column string) bool) {
		for _, w := range watched {
			if !yield(w.table, w.column) {
				return
			}
		}
	}
}
