package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"
)

// Where systemd listens: itself, for root alone, and by the system's bus.
const (
	privateSocket = "/run/systemd/private"
	busSocket     = "/run/dbus/system_bus_socket"
)

// What systemd is called on the bus: org.freedesktop.systemd1(5).
const (
	systemd     = "org.freedesktop.systemd1"
	managerPath = dbus.ObjectPath("/org/freedesktop/systemd1")
	manager     = systemd + ".Manager."
	getAll      = "org.freedesktop.DBus.Properties.GetAll"
	getOne      = "org.freedesktop.DBus.Properties.Get"
)

// Bounds of what is asked of systemd.
const (
	busWithin = 30 * time.Second // of one answer
	jobWithin = 10 * time.Minute // until a unit is started or stopped
	maxBus    = 128 << 20        // bytes that are read for one request
)

// bus is a connection to systemd.
type bus struct {
	conn   *dbus.Conn
	of     string // the root that it is of
	shared bool   // by the system's bus
}

// openBus connects to the systemd of the host, or to the one below the root. No symbolic link is followed.
func (t *tree) openBus() (*bus, error) {
	tries := []string{busSocket}
	if os.Geteuid() == 0 {
		tries = []string{privateSocket, busSocket}
	}
	var first error
	for _, at := range tries {
		b, err := t.dialBus(at)
		if err == nil {
			return b, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, &Failure{Refused, fmt.Sprintf("systemd cannot be asked about units, if the host has it at all: %v",
		first)}
}

func (t *tree) dialBus(at string) (*bus, error) {
	dir, last, err := t.parent(at)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	fd, err := openat(dir, last, search, 0)
	if err != nil {
		return nil, failure("open", at, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || uint32(st.Mode)&unix.S_IFMT != unix.S_IFSOCK {
		return nil, &Failure{Refused, fmt.Sprintf("%s is no socket", at)}
	}
	dialer := net.Dialer{Timeout: busWithin}
	conn, err := dialer.Dial("unix", fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return nil, failure("connect to", at, err)
	}
	c, err := dbus.NewConn(&boundedConn{conn, maxBus})
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(busWithin))
	err = c.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(os.Geteuid()))})
	if err == nil && at == busSocket {
		err = c.Hello()
	}
	if err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	_ = conn.SetDeadline(time.Time{})
	b := &bus{c, t.root, at == busSocket}
	if err := b.wake(); err != nil {
		b.close()
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	return b, nil
}

// wake has systemd answer for the first time. Where the end of the authentication and the first call arrive together,
// it looks at the call no sooner than something else arrives.
func (b *bus) wake() error {
	pause := 50 * time.Millisecond
	for until := time.Now().Add(busWithin); ; pause = min(2*pause, 2*time.Second) {
		ctx, cancel := context.WithTimeout(context.Background(), pause)
		err := b.conn.Object(systemd, managerPath).CallWithContext(ctx, "org.freedesktop.DBus.Peer.Ping", 0).Err
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || time.Now().After(until) {
			return err
		}
	}
}

// boundedConn is a connection of which no more than so much is read.
type boundedConn struct {
	net.Conn
	left int
}

// Read implements [io.Reader].
func (b *boundedConn) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.Conn.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

func (b *bus) close() { _ = b.conn.Close() }

// call calls a method, and stores what it answers.
func (b *bus) call(at dbus.ObjectPath, method string, to []any, arguments ...any) error {
	ctx, cancel := context.WithTimeout(context.Background(), busWithin)
	defer cancel()
	return b.conn.Object(systemd, at).CallWithContext(ctx, method, 0, arguments...).Store(to...)
}

func (b *bus) ask(method string, to []any, arguments ...any) error {
	return b.call(managerPath, manager+method, to, arguments...)
}

// busFailure says in words what systemd has refused.
func busFailure(what, name string, err error) error {
	var e dbus.Error
	if !errors.As(err, &e) {
		return &Failure{Unspecified, fmt.Sprintf("%s unit %s: %v", what, name, err)}
	}
	f := &Failure{Unspecified, fmt.Sprintf("%s unit %s: systemd says %s", what, name, e.Error())}
	switch e.Name {
	case "org.freedesktop.DBus.Error.AccessDenied", "org.freedesktop.DBus.Error.InteractiveAuthorizationRequired":
		f.Code = Denied
	case systemd + ".NoSuchUnit", "org.freedesktop.DBus.Error.FileNotFound":
		f.Code = NoParent
	case systemd + ".UnitMasked", systemd + ".OnlyByDependency", systemd + ".BadUnitSetting",
		"org.freedesktop.DBus.Error.InvalidArgs", systemd + ".UnitExists":
		f.Code = Invalid
	}
	return f
}

// names returns the names of all units that are loaded or have a file.
func (b *bus) names() (map[string]bool, error) {
	var files []struct{ Path, State string }
	if err := b.ask("ListUnitFiles", []any{&files}); err != nil {
		return nil, busFailure("list", "files", err)
	}
	var units []struct {
		Name, Description, Load, Active, Sub, Following string
		Path                                            dbus.ObjectPath
		Job                                             uint32
		JobType                                         string
		JobPath                                         dbus.ObjectPath
	}
	if err := b.ask("ListUnits", []any{&units}); err != nil {
		return nil, busFailure("list", "s", err)
	}
	all := map[string]bool{}
	for _, f := range files {
		if f.State != "alias" {
			all[path.Base(f.Path)] = true
		}
	}
	for i := range units {
		// What runs although its file has gone is there until it is stopped.
		if u := &units[i]; u.Load != "not-found" || u.Active != "inactive" && u.Active != "failed" {
			all[units[i].Name] = true
		}
	}
	return all, nil
}

// fileState returns the state of a unit's file, "" if there is none.
func (b *bus) fileState(name string) (state string, err error) {
	err = b.ask("GetUnitFileState", []any{&state}, name)
	var e dbus.Error
	if errors.As(err, &e) && (e.Name == "org.freedesktop.DBus.Error.FileNotFound" || e.Name == systemd+".NoSuchUnit") {
		return "", nil
	}
	if err != nil {
		return "", busFailure("look at", name, err)
	}
	return state, nil
}

// loaded is what systemd says of a unit.
type loaded struct {
	at                                                           dbus.ObjectPath
	id, description, loadState, active, sub, fileState, fragment string
	result                                                       string
	needsReload, canReload                                       bool
	invocation                                                   string
	started                                                      time.Time // when it was begun to be started
	unmet                                                        bool      // a condition of its file
}

// running reports whether it is active, or about to be.
func (l *loaded) running() bool {
	return slices.Contains([]string{"active", "activating", "reloading", "refreshing", "maintenance"}, l.active)
}

// alive reports whether there is something of it that could be started anew.
func (l *loaded) alive() bool { return l.running() || l.active == "failed" }

// interfaces are what has the properties of each kind of unit, by the end of its name.
var interfaces = map[string]string{"service": "Service", "socket": "Socket", "timer": "Timer", "path": "Path",
	"mount": "Mount", "automount": "Automount", "swap": "Swap"}

// load returns what systemd says of a unit. One that is not loaded is read for that.
func (b *bus) load(name string) (*loaded, error) {
	l := &loaded{}
	if err := b.ask("LoadUnit", []any{&l.at}, name); err != nil {
		return nil, busFailure("look at", name, err)
	}
	var all map[string]dbus.Variant
	if err := b.call(l.at, getAll, []any{&all}, systemd+".Unit"); err != nil {
		return nil, busFailure("look at", name, err)
	}
	text := func(property string) string {
		s, _ := all[property].Value().(string)
		return plain(s)
	}
	l.id, l.description, l.loadState = text("Id"), text("Description"), text("LoadState")
	l.active, l.sub = text("ActiveState"), text("SubState")
	l.fileState, l.fragment = text("UnitFileState"), text("FragmentPath")
	l.needsReload, _ = all["NeedDaemonReload"].Value().(bool)
	l.canReload, _ = all["CanReload"].Value().(bool)
	if id, is := all["InvocationID"].Value().([]byte); is {
		l.invocation = fmt.Sprintf("%x", id)
	}
	if at, is := all["InactiveExitTimestamp"].Value().(uint64); is {
		l.started = time.UnixMicro(int64(at & (1<<62 - 1)))
	}
	met, _ := all["ConditionResult"].Value().(bool)
	looked, _ := all["ConditionTimestamp"].Value().(uint64)
	l.unmet = looked != 0 && !met
	if of := interfaces[name[strings.LastIndex(name, ".")+1:]]; of != "" && l.loadState == "loaded" {
		if l.active == "failed" || l.active == "activating" {
			l.result = b.property(l.at, of, "Result")
		}
	}
	return l, nil
}

// property returns a property of a unit that is a text.
func (b *bus) property(at dbus.ObjectPath, of, name string) string {
	var v dbus.Variant
	if b.call(at, getOne, []any{&v}, systemd+"."+of, name) != nil {
		return ""
	}
	s, _ := v.Value().(string)
	return plain(s)
}

// plain is a text of up to a thousand characters without control characters.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) > 1000 {
		text = strings.ToValidUTF8(text[:1000], "")
	}
	return text
}

// jobRemoved is the signal that says how a job ended.
const jobRemoved = "JobRemoved"

// work asks systemd for a job, such as StartUnit, and waits until it has ended. It returns how: done, failed,
// dependency, and so on; "" if systemd has not said.
func (b *bus) work(method, name string) (string, error) {
	signals := make(chan *dbus.Signal, 256)
	b.conn.Signal(signals)
	defer b.conn.RemoveSignal(signals)
	if b.shared {
		_ = b.conn.AddMatchSignal(dbus.WithMatchInterface(systemd+".Manager"), dbus.WithMatchMember(jobRemoved))
	}
	_ = b.ask("Subscribe", nil) // on a connection that has subscribed it fails, and does no harm
	var job dbus.ObjectPath
	if err := b.ask(method, []any{&job}, name, "replace"); err != nil {
		return "", busFailure(strings.ToLower(strings.TrimSuffix(method, "Unit")), name, err)
	}
	over, look := time.NewTimer(jobWithin), time.NewTicker(time.Second)
	defer over.Stop()
	defer look.Stop()
	for {
		select {
		case s, open := <-signals:
			if !open {
				return "", &Failure{Unspecified, fmt.Sprintf("unit %s: systemd has ended the connection", name)}
			}
			if s.Name != systemd+".Manager."+jobRemoved || len(s.Body) < 4 || s.Body[1] != job {
				continue
			}
			result, _ := s.Body[3].(string)
			return plain(result), nil
		case <-look.C:
			var v dbus.Variant
			if err := b.call(job, getOne, []any{&v}, systemd+".Job", "State"); err != nil && len(signals) == 0 {
				return "", nil // there is no such job any more
			}
		case <-over.C:
			return "", &Failure{Busy, fmt.Sprintf("unit %s: systemd has not ended the job (%s) within %s", name, method,
				jobWithin)}
		}
	}
}

// Keys of a map in order, for texts.
func ordered[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
