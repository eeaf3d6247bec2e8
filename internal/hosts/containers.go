package hosts

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
	"golang.org/x/crypto/ssh"

	"iasql/internal/hosts/runner"
	"iasql/internal/modules"
)

// What runs containers, Docker or Podman, is spoken to over a socket of the host by the API that both have. It is not
// trusted more than the host is: what it answers is bounded, and no answer leads the engine anywhere else.

// sockets are those of Docker and Podman, unless the host says another.
var sockets = []string{"/var/run/docker.sock", "/run/podman/podman.sock"}

// Bounds of what runs containers.
const (
	maxAnswered = 32 << 20 // bytes of one answer
	maxHeaders  = 64 << 10
	// maxDialled bounds the connections at once, of which one tells of changes: a server of SSH allows ten sessions on
	// one connection.
	maxDialled    = 4
	dialledWithin = 10 * time.Second
	unusedDial    = 30 * time.Second // a connection is closed
)

// runtime is what runs the containers of a host.
type runtime struct {
	session   session
	asked     string // the setting
	socket    string
	client    *client.Client
	transport *http.Transport
}

func (r *runtime) close() { r.transport.CloseIdleConnections() }

// Containers returns a client of what runs the containers of a host.
func (h *Hosts) Containers(ctx context.Context, name string) (*client.Client, error) {
	k := h.host(name)
	s, err := h.reach(ctx, k)
	if err != nil {
		return nil, err
	}
	k.lock.Lock()
	known, settings := k.runtime, k.settings
	k.lock.Unlock()
	if known != nil && known.session == s && known.asked == settings.Socket {
		return known.client, nil
	}
	r := &runtime{session: s, asked: settings.Socket, socket: settings.Socket}
	switch {
	case r.socket != "":
	case known != nil && known.asked == "":
		r.socket = known.socket // while one of them is stopped, the other is not taken for it
	default:
		if r.socket, err = findSocket(ctx, &settings, s); err != nil {
			return nil, err
		}
	}
	r.transport = &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			limit, cancel := context.WithTimeout(ctx, dialledWithin)
			defer cancel()
			conn, err := dialSocket(limit, &settings, s, r.socket)
			if err != nil {
				return nil, unreached(name, r.socket, err)
			}
			return conn, nil
		},
		MaxIdleConns: 1, MaxConnsPerHost: maxDialled, IdleConnTimeout: unusedDial, DisableCompression: true,
		MaxResponseHeaderBytes: maxHeaders, ReadBufferSize: 4 << 10, WriteBufferSize: 4 << 10,
	}
	r.client, err = client.New(client.WithHTTPClient(
		&http.Client{Transport: &bound{r.transport}, CheckRedirect: client.CheckRedirect}))
	if err != nil {
		return nil, err
	}
	k.lock.Lock()
	defer k.lock.Unlock()
	if k.runtime != nil {
		k.runtime.close()
	}
	k.runtime = r
	return r.client, nil
}

// unreached is the error of a socket that does not open. The client passes it on unless its text or its cause looks
// like
// the net package's.
func unreached(name, socket string, err error) error {
	text := err.Error()
	if at := strings.LastIndex(text, ": "); at >= 0 && strings.HasPrefix(text, "dial ") {
		text = text[at+2:]
	}
	switch {
	case strings.Contains(text, "connection refused"):
		text = "nobody answers there"
	case errors.Is(err, context.DeadlineExceeded):
		text = fmt.Sprintf("nobody has answered there for %s", dialledWithin)
	}
	return &modules.Error{Class: modules.Transient, Code: "NoRuntime",
		Message: fmt.Sprintf("host %s: %s cannot be reached: %s", name, socket, clean(text))}
}

// bound bounds what is answered.
type bound struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (b *bound) RoundTrip(request *http.Request) (*http.Response, error) {
	answered := traced(request.Context())
	response, err := b.next.RoundTrip(request)
	answered()
	if err != nil {
		return nil, err
	}
	response.Body = &boundedBody{response.Body, maxAnswered}
	if request.Method == http.MethodGet && strings.Contains(request.URL.Path, "/networks") {
		// Podman spells an address that there is not as Go prints it (4.3).
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil {
			return nil, err
		}
		text = bytes.ReplaceAll(text, []byte(`"\u003cnil\u003e"`), []byte(`""`))
		response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	}
	return response, nil
}

type boundedBody struct {
	io.ReadCloser
	left int
}

// Read implements [io.Reader].
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= n; b.left < 0 {
		return 0, fmt.Errorf("its answer is longer than %d MiB", maxAnswered>>20)
	}
	return n, err
}

// findSocket returns the socket that is there.
func findSocket(ctx context.Context, settings *Settings, s session) (string, error) {
	var found []string
	r, far := s.(*remote)
	if far {
		all, err := r.there(ctx, sockets)
		if err != nil {
			return "", classify(settings.Name, runner.List, err)
		}
		found = all
	} else {
		found = slices.DeleteFunc(slices.Clone(sockets), func(socket string) bool {
			at, err := below(settings.Root, socket)
			if err != nil {
				return true
			}
			info, err := os.Stat(at)
			return err != nil || info.Mode().Type() != os.ModeSocket
		})
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", &modules.Error{Class: modules.Transient, Code: "NoRuntime", Message: fmt.Sprintf(
			"host %s has neither %s: start Docker or Podman (systemctl enable --now podman.socket), or say which "+
				"socket it has: UPDATE host SET container_socket = '…'", settings.Name,
			strings.Join(sockets, " nor "))}
	}
	return "", &modules.Error{Class: modules.Invalid, Code: "TwoRuntimes", Message: fmt.Sprintf(
		"host %s has %s: say which of them is meant: UPDATE host SET container_socket = '%s'", settings.Name,
		strings.Join(found, " and "), found[0])}
}

// below returns where a path of a directory is that is a host, which no symbolic link leads out of.
func below(root, path string) (string, error) {
	base, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", err
	}
	at, err := filepath.EvalSymlinks(filepath.Join(base, path))
	if err != nil {
		return "", err
	}
	if rest, err := filepath.Rel(base, at); err != nil || rest == ".." || strings.HasPrefix(rest, "../") {
		return "", fmt.Errorf("%s leads out of the directory %s", path, root)
	}
	return at, nil
}

// dialSocket connects to a socket of the host.
func dialSocket(ctx context.Context, settings *Settings, s session, socket string) (net.Conn, error) {
	r, far := s.(*remote)
	if !far {
		at, err := below(settings.Root, socket)
		if err != nil {
			return nil, err
		}
		return (&net.Dialer{}).DialContext(ctx, "unix", at)
	}
	if !r.alive() {
		return nil, errLost
	}
	type made struct {
		conn net.Conn
		err  error
	}
	done := make(chan made, 1)
	go func() {
		conn, err := r.dial(socket, settings.Become)
		done <- made{conn, err}
	}()
	select {
	case m := <-done:
		return m.conn, m.err
	case <-ctx.Done():
		go func() {
			if m := <-done; m.conn != nil {
				_ = m.conn.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

// dial connects to a socket of the host by the rights of the login, or by the runner as root.
func (r *remote) dial(socket string, become bool) (net.Conn, error) {
	if !become {
		conn, err := r.client.Dial("unix", socket)
		var refused *ssh.OpenChannelError
		if !errors.As(err, &refused) || refused.Reason != ssh.Prohibited {
			return conn, err
		} // the server forwards nothing
	}
	line, in, lines, err := r.run(r.launch(" -dial " + quoted(socket)))
	if err != nil {
		return nil, err
	}
	if line = strings.TrimSpace(line); line != runner.Dialled {
		_ = in.Close()
		return nil, errors.New(strings.TrimPrefix(line, "iasql-runner refused "))
	}
	return &piped{lines: lines, in: in}, nil
}

// there returns those of the sockets that there are.
func (r *remote) there(ctx context.Context, sockets []string) ([]string, error) {
	s, err := r.client.NewSession()
	if err != nil {
		return nil, err
	}
	defer s.Close()
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	var script strings.Builder
	for i, socket := range sockets {
		fmt.Fprintf(&script, "test -S %s && echo there %d\n", quoted(socket), i)
	}
	said := &bounded{}
	s.Stdout = said
	if err := s.Run("exec sh -c " + quoted(script.String()+"exit 0")); err != nil {
		return nil, err
	}
	var found []string
	for i, socket := range sockets {
		if strings.Contains(said.String(), fmt.Sprintf("there %d\n", i)) {
			found = append(found, socket)
		}
	}
	return found, nil
}

// piped is a connection by the input and output of a program on the host.
type piped struct {
	lines *bufio.Reader
	in    io.WriteCloser
}

func (p *piped) Read(b []byte) (int, error)  { return p.lines.Read(b) }
func (p *piped) Write(b []byte) (int, error) { return p.in.Write(b) }
func (p *piped) Close() error                { return p.in.Close() }
func (p *piped) LocalAddr() net.Addr         { return &net.UnixAddr{Net: "unix"} }
func (p *piped) RemoteAddr() net.Addr        { return &net.UnixAddr{Net: "unix"} }

// SetDeadline, SetReadDeadline and SetWriteDeadline implement [net.Conn]: a request ends with its context instead.
func (p *piped) SetDeadline(time.Time) error      { return nil }
func (p *piped) SetReadDeadline(time.Time) error  { return nil }
func (p *piped) SetWriteDeadline(time.Time) error { return nil }

// ScopesOf returns the scopes of a kind that a host has. anew: those of this moment.
func (h *Hosts) ScopesOf(ctx context.Context, name, kind string, anew bool) ([]Scope, error) {
	settings, err := h.settings(ctx, name, anew)
	return settings.Of(kind), err
}

// NamedFor reports whether a scope names what belongs to an owner of others, such as a project of Docker Compose. A
// pattern has to begin with the owner's name then: * alone names nothing that is others'. An owner of "" is nobody.
func NamedFor(scopes []Scope, name, owner string) bool {
	return slices.ContainsFunc(scopes, func(s Scope) bool {
		return runner.MatchesName(s.Pattern, name) && (owner == "" || startsLiterally(s.Pattern, owner))
	})
}

func startsLiterally(pattern, owner string) bool {
	if i := strings.IndexAny(pattern, "*?"); i >= 0 {
		pattern = pattern[:i]
	}
	return strings.HasPrefix(pattern, owner)
}

// Change makes a change of what runs containers: of a thing that a scope names, on a host that nobody has locked.
func (h *Hosts) Change(ctx context.Context, m *modules.Mutation, kind, action, thing string,
	do func(*client.Client) error) error {
	name := m.Scope.Account
	return m.Permit.Do(ctx, modules.Call{Service: Provider, Action: action}, func(entry modules.Entry) error {
		settings, err := h.writable(ctx, name)
		if err != nil {
			return err
		}
		if !named(settings.Of(kind), thing) {
			return outOfScope(name, kind, thing)
		}
		c, err := h.Containers(ctx, name)
		if err != nil {
			return err
		}
		if entry.Late() {
			return errLate
		}
		return Answered(name, true, do(c))
	})
}

// Answered returns what an error of what runs containers means for the record that it happened to. changing: the
// request may have changed something.
func Answered(name string, changing bool, err error) error {
	var known *modules.Error
	if err == nil || errors.As(err, &known) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	e := &modules.Error{Class: modules.Transient, Code: CodeRuntime, Err: err,
		Message: fmt.Sprintf("host %s: %s", name, Words(err))}
	switch {
	case client.IsErrConnectionFailed(err):
		e.Code = "Unreachable"
		if changing {
			e.Class = modules.MayHaveHappened
		}
	case errdefs.IsNotFound(err):
		e.Class = modules.NotFound
	case errdefs.IsConflict(err), errdefs.IsAlreadyExists(err):
		e.Class = modules.Exists
	case errdefs.IsInvalidArgument(err):
		e.Class = modules.Invalid
	case errdefs.IsPermissionDenied(err), errdefs.IsUnauthorized(err):
		e.Class, e.Permission = modules.Denied, true
	}
	return e
}

// Words returns what an error of what runs containers says, for people.
func Words(err error) string {
	text := err.Error()
	for _, prefix := range []string{"Error response from daemon: ", "error during connect: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return clean(text)
}

// Failure returns the error of a class that says something of a host.
func Failure(class modules.Class, code, name, format string, args ...any) error {
	return &modules.Error{Class: class, Code: code,
		Message: fmt.Sprintf("host %s: %s", name, clean(fmt.Sprintf(format, args...)))}
}

// OthersOwn is the error of what a scope names, and which is others'.
func OthersOwn(name, kind, thing, owner string) error {
	return Failure(modules.Denied, "OthersOwn", name, "%s %s belongs to %s, which others look after: it is looked at "+
		"only if a scope begins with that: INSERT INTO host_scope (account, kind, pattern) VALUES ('%s', '%s', '%s')",
		kind, thing, owner, name, kind, thing)
}

// ownContainer matches what Docker and Podman mount into each container from where they keep it. (proc(5): the root of
// a mount, and where it is. What the host itself mounts for containers is elsewhere.)
var ownContainer = regexp.MustCompile(
	`(?m)^\S+ \S+ \S+ \S*/(?:overlay-)?containers/([0-9a-f]{64})/\S* /etc/(?:hostname|hosts|resolv\.conf) `)

// OwnContainer returns the id of the container in which the engine itself runs; "" if it does in none.
func OwnContainer() string {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	return containerOf(string(mounts))
}

func containerOf(mounts string) string {
	if found := ownContainer.FindStringSubmatch(mounts); found != nil {
		return found[1]
	}
	return ""
}
