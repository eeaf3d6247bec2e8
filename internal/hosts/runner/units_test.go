package runner

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestUnitNames: what is no name of a unit that can be managed reaches neither a path nor the bus, and what a host cannot
// be without is not changed.
func TestUnitNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "app", ".service/..", "../app.service", "app/x.service", "app service.service", "app.device",
		"session-1.scope", "app\x00.service", "app.service\n", strings.Repeat("a", 300) + ".service"} {
		if checkUnit(name) == nil {
			t.Errorf("%q passes", name)
		}
	}
	for _, name := range []string{"app.service", `dev-disk-by\x2duuid.swap`, "app@.service", "app@1:2.timer", "-.mount"} {
		if err := checkUnit(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"-.mount", "dbus.service", "systemd-logind.service", "systemd-journald.socket", "reboot.target",
		"emergency.service", "user@1000.service", "multi-user.target", "init.scope"} {
		if neededUnit(name) == "" {
			t.Errorf("%s may be changed", name)
		}
	}
	for _, name := range []string{"ssh.service", "systemd-networkd.service", "app.service", "nginx.service", "home.mount"} {
		if why := neededUnit(name); why != "" {
			t.Errorf("%s may not be changed: %s", name, why)
		}
	}
	for name, want := range map[string]string{"a@b.service": "a@.service", "a@b.c.timer": "a@.timer", "a@.service": "", "a.service": ""} {
		if got := templateOf(name); got != want {
			t.Errorf("%s is an instance of %q", name, got)
		}
	}
}

// TestTriggers: what has changed since a unit was started is told by contents, and by times only where somebody else has
// started it since.
func TestTriggers(t *testing.T) {
	t.Parallel()
	tree := treeOf(t)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(tree.root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(tree.root, "etc/app"), 0o755); err != nil {
		t.Fatal(err)
	}
	write("etc/app/a", "a")
	write("etc/app/b", "b")
	r := &unitReader{tree: tree, files: tree.reader()}
	triggers := []string{"/etc/app/*"}
	seen, err := r.triggered("app.service", triggers)
	if err != nil {
		t.Fatal(err)
	}
	kept := &keptUnit{RestartOn: []string{"/etc/app/a"}, ReloadOn: triggers, Seen: seen, Invocation: "1"}
	now := func() *loaded {
		return &loaded{id: "app.service", active: "active", invocation: "1", started: time.Now()}
	}
	check := func(what string, l *loaded, restart bool, want ...string) {
		t.Helper()
		d, err := r.due(l, kept)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(d.changed, want) || d.restart != restart {
			t.Errorf("%s: %v %t, want %v %t", what, d.changed, d.restart, want, restart)
		}
	}
	check("at first", now(), false)
	write("etc/app/a", "a")
	check("written anew with the same content", now(), false)
	early := now()
	time.Sleep(2 * coarse)
	write("etc/app/b", "b2")
	check("what reloads", now(), false, "/etc/app/b")
	write("etc/app/a", "a2")
	check("what restarts", now(), true, "/etc/app/a", "/etc/app/b")
	time.Sleep(2 * coarse)
	other := now()
	other.invocation = "2"
	check("started by another since", other, false)
	early.invocation = "2"
	check("started by another before", early, true, "/etc/app/a", "/etc/app/b")
	other.active = "failed"
	check("failed to start since", other, true, "/etc/app/a", "/etc/app/b")
	kept.Seen, kept.Pending = seen, true
	write("etc/app/a", "a")
	write("etc/app/b", "b")
	check("put right after it has failed", other, true, "its last start, which has failed")
	kept.Pending = false
	if err := os.Remove(filepath.Join(tree.root, "etc/app/a")); err != nil {
		t.Fatal(err)
	}
	check("deleted", now(), true, "/etc/app/a")
	// It is kept below the root, for nobody else to read, and goes with the triggers.
	if err := r.keep("app.service", kept); err != nil {
		t.Fatal(err)
	}
	again, known, err := r.kept("app.service")
	if err != nil || !known || again.Invocation != "1" || len(again.Seen) != 2 {
		t.Errorf("%+v %t %v", again, known, err)
	}
	at := filepath.Join(tree.root, keptAt("app.service"))
	if info, err := os.Stat(at); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if err := r.keep("app.service", &keptUnit{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(at); !os.IsNotExist(err) {
		t.Error(err)
	}
}

// TestHostileBus: what is no socket, or leads elsewhere, or says something else than systemd, is no systemd.
func TestHostileBus(t *testing.T) {
	t.Parallel()
	elsewhere := filepath.Join(t.TempDir(), "socket")
	listener, err := net.Listen("unix", elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for range 1000 {
					if _, err := c.Write(bytes.Repeat([]byte("OK "), 10_000)); err != nil {
						return
					}
				}
			}()
		}
	}()
	for what, make := range map[string]func(at string) error{
		"nothing": func(string) error { return nil },
		"a link":  func(at string) error { return os.Symlink(elsewhere, at) },
		"a file":  func(at string) error { return os.WriteFile(at, []byte("OK"), 0o600) },
		"another": func(at string) error { return os.Link(elsewhere, at) },
	} {
		tree := treeOf(t)
		for _, at := range []string{privateSocket, busSocket} {
			to := filepath.Join(tree.root, at)
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := make(to); err != nil {
				t.Fatal(err)
			}
		}
		begun := time.Now()
		b, err := tree.openBus()
		if err == nil {
			b.close()
			t.Errorf("%s passes", what)
		}
		if took := time.Since(begun); took > busWithin {
			t.Errorf("%s takes %s", what, took)
		}
	}
}

// treeOf is an empty directory.
func treeOf(t *testing.T) *tree {
	t.Helper()
	tree, err := openTree(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tree.close)
	return tree
}
