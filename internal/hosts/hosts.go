package hosts

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"iasql/internal/hosts/runner"
	"iasql/internal/modules"
)

// Provider is the [modules.Table.Provider] of hosts' tables.
const Provider = "host"

// Settings are what the tables say of a host.
type Settings struct {
	Name       string
	Address    string // "": it is a directory of this machine
	Port       int
	User       string
	Become     bool // by sudo
	PrivateKey string
	// IdentityAgent: the keys are those of the engine's SSH agent.
	IdentityAgent bool
	// SSHConfig: the engine's configuration of OpenSSH says of the address how it is reached.
	SSHConfig     bool
	Certificate   string // of the user, for a key; "": it is let in without one
	CertAuthority string // whose host certificates are believed, a public key a line; "": the host key is confirmed
	Root          string // the directory
	UndoAfter     int    // seconds, of a change that touches the way in
	Socket        string // of Docker or Podman; "": that which is there
	LockedBy      string // "": by nobody
	RegistryAuth  string // a config.json of Docker; "": images are public
	MayReboot     bool   // the engine may reboot it
	// HostKeyAlias is what a host certificate has to name instead of the address, and Agent the socket of the agent
	// instead of the engine's, where that configuration says so.
	HostKeyAlias, Agent string
	JumpHost            string // by whose connection it is reached; "": directly
	Confirmed           string // who it is, as has been confirmed; "": nobody has
	Scopes              []Scope
	// Keys are those of authorized_keys that may have let the engine in, as the connection knows.
	Keys []string
}

// Scope is a part of a host that is looked at.
type Scope struct {
	Kind, Pattern string
	Prune         bool   // what has no record may be deleted
	Validate      string // the command that has to accept a file; "" for none
	Secret        bool   // the contents of files are
}

// Of returns the scopes of a kind.
func (s *Settings) Of(kind string) []Scope {
	var list []Scope
	for _, scope := range s.Scopes {
		if scope.Kind == kind {
			list = append(list, scope)
		}
	}
	return list
}

// Options say how hosts are reached.
type Options struct {
	// Load returns what the tables say of a host, an [modules.Error] of class Denied if there is none.
	Load func(ctx context.Context, host string) (Settings, error)
	// Roots are the directories of this machine that may be hosts.
	Roots []string
	// Recovery returns what is to be done after failures of a container of a host; nil: nothing is.
	Recovery func(ctx context.Context, host, container string) (Recovery, error)
	// AgentSocket is the socket of the engine's SSH agent, ssh-agent(1); "": it has none.
	AgentSocket string
	// SSHConfig is the file of OpenSSH's configuration that hosts may be reached by, ssh_config(5); "": there is none.
	SSHConfig string
	// Sources are where contents of files may come from.
	Sources Sources
	// Secrets keeps the secret contents of files; nil: there are none.
	Secrets SecretContents
	// Runner returns the runner for an architecture of GOARCH; nil: the one that is built in.
	Runner func(arch string) ([]byte, error)
}

// Bounds of time.
const (
	dialWithin  = 10 * time.Second // to connect, log in and start the runner
	startWithin = 60 * time.Second // the same where the runner is put there first
	helloWithin = 5 * time.Second  // to say that it is still there
	moment      = time.Second      // of a connection that could not be made the last time
	idleWithin  = 30 * time.Second // between two answers
	firstPause  = 2 * time.Second  // after a connection that could not be made
	mostPause   = 30 * time.Second
	loadedFor   = time.Second // settings are read anew
	unusedFor   = time.Hour   // a connection is closed, as that of a host that is not in the tables any more
)

// Hosts implements [modules.World].
type Hosts struct {
	options Options
	lock    sync.Mutex
	known   map[string]*host
	swept   time.Time
}

// New returns the hosts that Load knows.
func New(options Options) *Hosts {
	if options.Runner == nil {
		options.Runner = embeddedRunner
	}
	roots := make([]string, len(options.Roots))
	for i, root := range options.Roots {
		roots[i] = root
		if absolute, err := filepath.Abs(root); err == nil {
			roots[i] = absolute
		}
	}
	options.Roots = roots
	return &Hosts{options: options, known: map[string]*host{}}
}

// Close ends all connections.
func (h *Hosts) Close() {
	h.lock.Lock()
	defer h.lock.Unlock()
	for _, known := range h.known {
		known.lock.Lock()
		known.gone = true
		known.lock.Unlock()
		known.drop()
	}
}

// host is what is known of one host.
type host struct {
	name string
	turn chan struct{} // of capacity 1: who connects, or loads

	lock     sync.Mutex
	settings Settings
	loaded   time.Time
	used     time.Time
	session  session
	accepted string        // who it was when it was asked last; "" before
	dialing  chan struct{} // closed when a connection that is being made is there, or is not; nil: none is
	gone     bool          // nobody connects any more
	home     string        // of the login, as the host has said it last
	keys     []string      // that may have let the engine in last
	failure  error         // of the last try to connect
	failed   time.Time
	pause    time.Duration
	joining  *listing      // that others may join; nil: none is
	trial    chan struct{} // of capacity 1: whose change is armed
	upload   chan struct{} // of capacity 1: whose content is being sent in chunks
	runtime  *runtime      // what runs containers; nil before it is asked
}

// session answers requests.
type session interface {
	// do makes a request, and gives each of its answers to each.
	do(ctx context.Context, request *runner.Request, each func(runner.Answer) error) error
	// watch makes a request to watch, and gives what the host says to each, until ctx ends, each fails or it breaks
	// off.
	watch(ctx context.Context, request *runner.Request, each func(runner.Answer) error) error
	// who is who the host has said it is.
	who() string
	// alive reports whether it can be asked.
	alive() bool
	close()
}

func (h *Hosts) host(name string) *host {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.sweep()
	k := h.known[name]
	if k == nil {
		k = &host{name: name, turn: make(chan struct{}, 1), trial: make(chan struct{}, 1),
			upload: make(chan struct{}, 1)}
		h.known[name] = k
	}
	k.lock.Lock()
	defer k.lock.Unlock()
	k.used = time.Now()
	return k
}

// sweep closes connections that nobody has used for long. It looks once a minute.
func (h *Hosts) sweep() {
	if time.Since(h.swept) < time.Minute {
		return
	}
	h.swept = time.Now()
	for _, k := range h.known {
		k.lock.Lock()
		if k.session != nil && time.Since(k.used) > unusedFor {
			k.session.close()
			k.session = nil
		}
		if k.runtime != nil && k.session != k.runtime.session {
			k.runtime.close()
		}
		k.lock.Unlock()
	}
}

func (k *host) drop() {
	k.lock.Lock()
	defer k.lock.Unlock()
	if k.session != nil {
		k.session.close()
		k.session = nil
	}
}

// take waits for the host's turn.
func (k *host) take(ctx context.Context) (release func(), err error) {
	select {
	case k.turn <- struct{}{}:
		return func() { <-k.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// load reads what the tables say of the host, unless that was done a moment ago. It has the turn.
func (h *Hosts) load(ctx context.Context, k *host, anew bool) error {
	k.lock.Lock()
	recent := time.Since(k.loaded) < loadedFor
	k.lock.Unlock()
	if recent && !anew {
		return nil
	}
	settings, err := h.options.Load(ctx, k.name)
	if err != nil {
		if modules.ClassOf(err) == modules.Denied {
			k.drop()
		}
		return err
	}
	k.lock.Lock()
	defer k.lock.Unlock()
	if !sameWay(&settings, &k.settings) {
		// What was known of the way in is of another.
		k.failure, k.pause, k.dialing = nil, 0, nil
		if k.session != nil {
			k.session.close()
			k.session = nil
		}
	}
	k.settings, k.loaded = settings, time.Now()
	return nil
}

// sameWay reports whether the way into the host is the same.
func sameWay(a, b *Settings) bool {
	return a.Address == b.Address && a.Port == b.Port && a.User == b.User && a.Become == b.Become &&
		a.PrivateKey == b.PrivateKey && a.IdentityAgent == b.IdentityAgent &&
		a.SSHConfig == b.SSHConfig && a.Certificate == b.Certificate && a.CertAuthority == b.CertAuthority &&
		a.Root == b.Root && a.JumpHost == b.JumpHost
}

// settings returns what the tables say of a host, or, unless that is read anew, said a moment ago.
func (h *Hosts) settings(ctx context.Context, name string, anew bool) (Settings, error) {
	k := h.host(name)
	release, err := k.take(ctx)
	if err != nil {
		return Settings{}, err
	}
	defer release()
	if err := h.load(ctx, k, anew); err != nil {
		return Settings{}, err
	}
	k.lock.Lock()
	defer k.lock.Unlock()
	return k.settings, nil
}

// Identify implements [modules.World]: a host is its SSH host key, or the authority that certifies it, and its machine
// id, machine-id(5). Only its own word proves a key; that of an authority which its row names proves the host.
func (h *Hosts) Identify(ctx context.Context, scope modules.Scope, fresh bool) (modules.Identity, error) {
	k := h.host(scope.Account)
	release, err := k.take(ctx)
	if err != nil {
		return modules.Identity{}, err
	}
	defer release()
	if err := h.load(ctx, k, true); err != nil {
		return modules.Identity{}, err
	}
	k.lock.Lock()
	if fresh && k.settings.Root != "" && k.session != nil {
		k.session.close() // opening a directory is asking it
		k.session = nil
	}
	k.lock.Unlock()
	ask := h.connect
	if fresh {
		ask = h.answering
	}
	s, err := ask(ctx, k)
	if err != nil {
		return modules.Identity{}, err
	}
	k.lock.Lock()
	defer k.lock.Unlock()
	k.accepted = s.who()
	return modules.Identity{Said: k.accepted, Vouched: true,
		Unproven: k.settings.Root == "" && k.settings.CertAuthority == ""}, nil
}

// current returns the session, nil if there is none that could be asked.
func (k *host) current() session {
	k.lock.Lock()
	defer k.lock.Unlock()
	if k.session != nil && k.session.alive() {
		return k.session
	}
	return nil
}

// connect returns the host's session, which is made in the background if there is none. Who waits for a host that has
// not answered the last time waits for a moment only: a cycle of a silent host delays no other. It has the turn.
func (h *Hosts) connect(ctx context.Context, k *host) (session, error) {
	if s := k.current(); s != nil {
		return s, nil
	}
	k.lock.Lock()
	patience := startWithin
	if k.failure != nil {
		if time.Since(k.failed) < k.pause {
			defer k.lock.Unlock()
			return nil, k.failure
		}
		patience = moment
	}
	if k.dialing == nil {
		k.dialing = make(chan struct{})
		go h.dial(k, k.settings, k.dialing)
	}
	dialing := k.dialing
	k.lock.Unlock()
	select {
	case <-dialing:
	case <-time.After(patience):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s := k.current(); s != nil {
		return s, nil
	}
	k.lock.Lock()
	defer k.lock.Unlock()
	if k.failure == nil { // the settings have changed meanwhile
		return nil, &modules.Error{Class: modules.Transient, Code: "Unreachable",
			Message: fmt.Sprintf("host %s has not been reached yet", k.name)}
	}
	return nil, k.failure
}

// answering returns the host's session as connect does, once the host has answered by it.
func (h *Hosts) answering(ctx context.Context, k *host) (session, error) {
	had := k.current()
	s, err := h.connect(ctx, k)
	if err != nil || s != had { // it was asked when the connection was made
		return s, err
	}
	limit, cancel := context.WithTimeout(ctx, helloWithin)
	defer cancel()
	err = s.do(limit, &runner.Request{Verb: runner.Hello}, func(runner.Answer) error { return nil })
	if err != nil && ctx.Err() == nil {
		k.drop()
		return h.connect(ctx, k)
	}
	return s, err
}

// dial makes the host's session, and closes ended.
func (h *Hosts) dial(k *host, settings Settings, ended chan struct{}) {
	ctx, cancel := context.WithTimeout(context.Background(), startWithin)
	defer cancel()
	s, err := h.open(ctx, &settings)
	k.lock.Lock()
	defer k.lock.Unlock()
	if k.dialing == ended {
		k.dialing = nil
	}
	close(ended)
	switch {
	case !sameWay(&settings, &k.settings) || k.gone:
		if s != nil {
			s.close()
		}
	case err != nil:
		k.failure, k.failed = err, time.Now()
		k.pause = min(max(2*k.pause, firstPause), mostPause)
	default:
		k.failure, k.pause, k.session = nil, 0, s
		k.met(s)
	}
}

// open makes a session.
func (h *Hosts) open(ctx context.Context, settings *Settings) (session, error) {
	if settings.Root != "" {
		return openLocal(settings, h.options.Roots)
	}
	dial := (&net.Dialer{}).DialContext
	if settings.JumpHost != "" {
		var err error
		if dial, err = h.through(ctx, settings); err != nil {
			return nil, err
		}
	}
	return openSSH(ctx, settings, dial, &h.options)
}

// reach returns the session of a host that has been identified before, once that is sure to be the same host.
func (h *Hosts) reach(ctx context.Context, k *host) (session, error) {
	name := k.name
	release, err := k.take(ctx)
	if err != nil {
		return nil, err
	}
	k.lock.Lock()
	accepted := k.accepted
	k.lock.Unlock()
	var s session
	if accepted == "" {
		err = &modules.Error{Class: modules.Transient, Code: "NotIdentified",
			Message: fmt.Sprintf("host %s has not said yet who it is", name)}
	} else {
		s, err = h.connect(ctx, k)
	}
	release()
	if err == nil && s.who() != accepted {
		err = &modules.Error{Class: modules.Denied, Code: "AnotherHost",
			Message: fmt.Sprintf("host %s says now that it is %s, and it was %s", name, s.who(), accepted)}
	}
	if r, ok := s.(*remote); ok && err == nil {
		err = r.prove(ctx)
	}
	return s, err
}

// ask makes a request of a host, and gives each of its answers to each. The host has been identified before.
func (h *Hosts) ask(ctx context.Context, name string, request *runner.Request, each func(runner.Answer) error) error {
	s, err := h.reach(ctx, h.host(name))
	if err != nil {
		return err
	}
	answered := traced(ctx)
	err = s.do(ctx, request, func(a runner.Answer) error {
		answered()
		return each(a)
	})
	answered()
	if err != nil {
		return classify(name, request.Verb, err)
	}
	return nil
}

// errLost is the error of a request whose answer did not come.
var errLost = errors.New("the connection is lost")

// classify says what an error means for the record that it happened to.
func classify(name, verb string, err error) error {
	var known *modules.Error
	if errors.As(err, &known) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var f *runner.Failure
	if !errors.As(err, &f) {
		e := &modules.Error{Class: modules.Transient, Code: "Unreachable", Err: err,
			Message: fmt.Sprintf("host %s: %s", name, clean(err.Error()))}
		if verb == runner.Apply || verb == runner.Reboot {
			e.Class = modules.MayHaveHappened
		}
		return e
	}
	return Failed(name, f)
}

// classes are those of the runner's failures.
var classes = map[runner.Code]modules.Class{runner.Exists: modules.Exists, runner.Gone: modules.NotFound,
	runner.Conflict: modules.Transient, runner.NoParent: modules.Dependency, runner.NotEmpty: modules.Dependency,
	runner.Denied: modules.Denied, runner.Refused: modules.Invalid, runner.Invalid: modules.Invalid,
	runner.TooLarge: modules.Invalid, runner.Changing: modules.Transient, runner.Full: modules.Transient,
	runner.Busy: modules.Transient, runner.InUse: modules.Dependency, runner.Unmounted: modules.Dependency}

// Failed returns what a failure on a host means for the record that it happened to.
func Failed(name string, f *runner.Failure) error {
	class, known := classes[f.Code]
	code := string(f.Code)
	if !known {
		class, code = modules.Transient, string(runner.Unspecified)
	}
	return &modules.Error{Class: class, Code: code, Permission: class == modules.Denied,
		Message: fmt.Sprintf("host %s: %s", name, clean(f.Message))}
}

// clean spells out what is not printable in a host's text, and cuts it.
func clean(text string) string {
	const most = 1000
	var b strings.Builder
	for _, r := range text {
		switch {
		case b.Len() > most:
			return b.String() + "…"
		case r == '\n':
			b.WriteString("; ")
		case r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x202e || r == 0x2066 || r == 0x2067:
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// traced returns what tells whoever traces calls that something has come from a host.
func traced(ctx context.Context) func() { return func() { modules.Traced(ctx, modules.Attempt{}) } }

// allowed reports whether a directory of this machine may be a host.
func allowed(root string, roots []string) bool { return slices.Contains(roots, filepath.Clean(root)) }
