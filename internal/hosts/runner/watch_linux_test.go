package runner

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

// watched is a directory that is watched.
type watched struct {
	t       *testing.T
	root    string
	answers chan Answer
	seen    []Changed // that nobody has asked for yet
	lacking []Unwatched
}

// watchBelow watches a directory, and returns once that has begun.
func watchBelow(t *testing.T, root string, parts ...Part) *watched {
	t.Helper()
	w := &watched{t: t, root: root, answers: make(chan Answer)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- Watch(ctx, root, &Request{ID: 1, Parts: parts}, func(a Answer) error {
			select {
			case w.answers <- a:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
	})
	w.answer()
	return w
}

func (w *watched) answer() {
	w.t.Helper()
	select {
	case a := <-w.answers:
		w.seen, w.lacking = append(w.seen, a.Changed...), append(w.lacking, a.Unwatched...)
	case <-time.After(time.Minute):
		w.t.Fatalf("it says nothing; before it said %v", w.seen)
	}
}

// tells waits until it has told of something.
func (w *watched) tells(kind, name string) {
	w.t.Helper()
	c := Changed{kind, name}
	for until := time.Now().Add(time.Minute); !slices.Contains(w.seen, c); {
		if time.Now().After(until) {
			w.t.Fatalf("it does not tell of %v, and has of %v", c, w.seen)
		}
		w.answer()
	}
	w.seen = slices.DeleteFunc(w.seen, func(other Changed) bool { return other == c })
}

// tellsOf does something until it has told of it by name: as long as it tells that anything of the kind may have changed,
// it tells of none by name.
func (w *watched) tellsOf(kind, name string, do func()) {
	w.t.Helper()
	c := Changed{kind, name}
	for until := time.Now().Add(time.Minute); time.Now().Before(until); {
		do()
		for again := time.Now().Add(4 * time.Second); time.Now().Before(again); {
			select {
			case a := <-w.answers:
				if slices.Contains(a.Changed, c) {
					return
				}
			case <-time.After(time.Second):
			}
		}
	}
	w.t.Fatalf("it does not tell of %v", c)
}

func (w *watched) write(name, text string) {
	w.t.Helper()
	w.do(os.WriteFile(filepath.Join(w.root, name), []byte(text), 0o644))
}

func (w *watched) mkdir(name string) {
	w.t.Helper()
	w.do(os.MkdirAll(filepath.Join(w.root, name), 0o755))
}

func (w *watched) rename(from, to string) {
	w.t.Helper()
	w.do(os.Rename(filepath.Join(w.root, from), filepath.Join(w.root, to)))
}

func (w *watched) do(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// TestWatchFiles: what changes of what patterns name is told, also in directories that are made or moved later, and
// nothing else is.
func TestWatchFiles(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	before := &watched{t: t, root: root}
	before.mkdir("etc")
	before.mkdir("outside")
	before.write("etc/there", "1")
	before.do(os.Symlink("../outside", filepath.Join(root, "etc/link")))
	w := watchBelow(t, root, Part{Kind: KindFile, Patterns: []string{"/etc/**", "/srv/*/x.conf", "/a/**/b/c", "/one"}})
	w.write("etc/there", "2")
	w.tells(KindFile, "/etc/there")
	w.do(os.Chmod(filepath.Join(root, "etc/there"), 0o600))
	w.tells(KindFile, "/etc/there") // again, once some time is over
	w.write("etc/new", "1")
	w.tells(KindFile, "/etc/new")
	w.rename("etc/new", "etc/newer")
	w.tells(KindFile, "/etc/newer")
	w.do(os.Remove(filepath.Join(root, "etc/newer")))
	w.tells(KindFile, "/etc/newer")
	w.write("one", "1")
	w.tells(KindFile, "/one")
	// Directories that are made later, with what is in them by then.
	w.mkdir("etc/d/e/f")
	w.write("etc/d/e/f/g", "1")
	w.tells(KindFile, "/etc/d/e/f/g")
	w.mkdir("srv/app")
	w.write("srv/app/x.conf", "1")
	w.tells(KindFile, "/srv/app/x.conf")
	w.mkdir("a/p/q/b")
	w.write("a/p/q/b/c", "1")
	w.tells(KindFile, "/a/p/q/b/c")
	// One that is moved: what was in it has gone, whatever it was, and what is in it has come.
	w.rename("etc/d", "etc/moved")
	w.tells(KindFile, "")
	w.tellsOf(KindFile, "/etc/moved/e/f/g", func() { w.write("etc/moved/e/f/g", "2") })
	w.mkdir("elsewhere/app2")
	w.write("elsewhere/app2/x.conf", "1")
	w.rename("elsewhere/app2", "srv/app2")
	w.tells(KindFile, "/srv/app2/x.conf")
	w.do(os.RemoveAll(filepath.Join(root, "srv")))
	w.mkdir("srv/again")
	w.tellsOf(KindFile, "/srv/again/x.conf", func() { w.write("srv/again/x.conf", "1") })
	// What no pattern names, what a link leads to, and what is being written by the runner.
	w.write("outside/f", "1")
	w.write("srv/again/y.conf", "1")
	w.write("etc/"+ours+"x", "1")
	w.write("etc/last", "1")
	w.tells(KindFile, "/etc/last")
	for _, c := range w.seen {
		if strings.HasPrefix(c.Name, "/etc/link/") || strings.HasPrefix(c.Name, "/outside") || c.Kind != KindFile ||
			c.Name == "/srv/again/y.conf" || strings.Contains(c.Name, ours) {
			t.Errorf("it says %v", c)
		}
	}
	if len(w.lacking) > 0 {
		t.Errorf("not watched: %v", w.lacking)
	}
}

// TestWatchKinds: other kinds are watched by their files, and keys in the homes of users that come later.
func TestWatchKinds(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	before := &watched{t: t, root: root}
	for _, dir := range []string{"etc", "var/lib/dpkg", "home/ana/.ssh"} {
		before.mkdir(dir)
	}
	const ana = "ana:x:1000:1000::/home/ana:/bin/sh\n"
	before.write("etc/passwd", ana)
	all := []string{"*"}
	w := watchBelow(t, root, Part{Kind: KindPackage, Patterns: all}, Part{Kind: KindUser, Patterns: []string{"a*"}},
		Part{Kind: KindGroup, Patterns: all}, Part{Kind: KindSudoer, Patterns: all}, Part{Kind: KindCron, Patterns: all},
		Part{Kind: KindSysctl, Patterns: all}, Part{Kind: KindRepository, Patterns: all},
		Part{Kind: KindMount, Patterns: all}, Part{Kind: KindBlock, Patterns: []string{"/etc/hosts"}},
		Part{Kind: "something new", Patterns: all})
	w.write("var/lib/dpkg/status-new", "1")
	w.rename("var/lib/dpkg/status-new", "var/lib/dpkg/status")
	w.tells(KindPackage, "")
	w.mkdir("var/lib/rpm")
	w.write("var/lib/rpm/rpmdb.sqlite", "1")
	w.tells(KindPackage, "")
	w.write("home/ana/.ssh/authorized_keys", "1")
	w.tells(KindAuthorizedKey, "")
	w.write("etc/group", "1")
	w.tells(KindGroup, "")
	w.write("etc/hosts", "1")
	w.tells(KindBlock, "")
	w.write("etc/fstab", "1")
	w.tells(KindMount, "")
	for dir, kind := range map[string]string{"sudoers.d": KindSudoer, "cron.d": KindCron, "sysctl.d": KindSysctl,
		"apt/sources.list.d": KindRepository} {
		w.mkdir("etc/" + dir)
		w.write("etc/"+dir+"/app", "1")
		w.tells(kind, "")
	}
	w.write("etc/passwd", ana+"adam:x:1001:1001::/home/adam:/bin/sh\n")
	w.tells(KindUser, "")
	w.tells(KindAuthorizedKey, "")
	w.mkdir("home/adam/.ssh")
	w.write("home/adam/.ssh/authorized_keys", "1")
	w.tells(KindAuthorizedKey, "")
}

// TestWatchOverflow: where the kernel has lost what has changed, anything may have, and directories are watched that
// were made meanwhile.
func TestWatchOverflow(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil {
		t.Fatal(err)
	}
	var most int
	if _, err := fmt.Sscan(string(text), &most); err != nil || most > 200_000 {
		t.Skipf("the kernel keeps %d events", most)
	}
	root := t.TempDir()
	tree, err := openTree(root)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.close()
	w := &watcher{tree: tree, news: newNews(), parts: []Part{{Kind: KindFile, Patterns: []string{"/**"}}}}
	p, err := w.openPlaces()
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i <= most; i += 2 { // its creation and the end of its being written are an event each, at least
		if err := os.WriteFile(fmt.Sprint(root, "/f", i%1000), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(fmt.Sprint(root, "/f", i%1000)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(root+"/later", 0o755); err != nil { // of which the kernel does not tell any more
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w.working.Go(func() { w.followPlaces(ctx, p) })
	defer w.working.Wait()
	defer cancel()
	await := func(want Changed) {
		t.Helper()
		for until := time.Now().Add(time.Minute); time.Now().Before(until); {
			select {
			case <-w.news.wake:
			case <-time.After(100 * time.Millisecond):
			}
			if changed, _, _ := w.news.take(time.Now()); slices.Contains(changed, want) {
				return
			}
		}
		t.Fatalf("it does not tell of %v", want)
	}
	await(Changed{Kind: KindFile})
	for i := 0; ; i++ { // until it is watched
		name := fmt.Sprint("/later/f", i)
		if err := os.WriteFile(root+name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		select {
		case <-w.news.wake:
		case <-time.After(time.Second):
		}
		changed, _, _ := w.news.take(time.Now())
		if slices.Contains(changed, Changed{KindFile, name}) {
			return
		}
		if i > 60 {
			t.Fatal("what was made meanwhile is not watched")
		}
	}
}

// TestWatchTooMany: beyond a bound directories are not watched, which is said, and the rest is.
func TestWatchTooMany(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for i := range maxPlaces + 10 {
		if err := os.MkdirAll(fmt.Sprint(root, "/etc/d", i), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w := watchBelow(t, root, Part{Kind: KindFile, Patterns: []string{"/etc/**"}})
	for len(w.lacking) == 0 {
		w.answer()
	}
	if why := w.lacking[0]; why.Kind != KindFile && why.Kind != KindBlock || why.Why.Code != TooLarge && why.Why.Code != Full {
		t.Errorf("it says %+v: %v", why, why.Why)
	}
	w.write("etc/f", "1")
	w.tells(KindFile, "/etc/f")
}

// TestNews: of many changes only the kind is told, of one thing once in a while, and nothing is lost.
func TestNews(t *testing.T) {
	t.Parallel()
	n, now := newNews(), time.Now()
	for i := range 100_000 {
		n.add(Changed{KindFile, fmt.Sprint("/f", i)})
	}
	n.add(Changed{KindUnit, "a.service"})
	changed, _, _ := n.take(now)
	if want := []Changed{{Kind: KindFile}, {KindUnit, "a.service"}}; !slices.Equal(changed, want) {
		t.Errorf("it tells of %d: %.200v", len(changed), changed)
	}
	n.add(Changed{KindUnit, "a.service"})
	n.add(Changed{KindUnit, "b.service"})
	changed, _, next := n.take(now.Add(time.Second))
	if want := []Changed{{KindUnit, "b.service"}}; !slices.Equal(changed, want) || next != toldOnce-time.Second {
		t.Errorf("it tells of %v, and again after %s", changed, next)
	}
	changed, _, next = n.take(now.Add(toldOnce))
	if want := []Changed{{KindUnit, "a.service"}}; !slices.Equal(changed, want) || next != 0 {
		t.Errorf("it tells of %v, and again after %s", changed, next)
	}
	if len(n.changed) > 0 || len(n.told) > maxTold {
		t.Errorf("it keeps %d, and %d that were told", len(n.changed), len(n.told))
	}
	// An answer has a bounded size.
	var long []Changed
	for i := range 500 {
		long = append(long, Changed{KindFile, fmt.Sprint("/", strings.Repeat("x", 4000), i)})
	}
	told := 0
	if err := tellNews(1, long, nil, false, func(a Answer) error {
		told += len(a.Changed)
		if text, err := json.Marshal(a); err != nil || len(text) > 2*changedBytes {
			t.Errorf("an answer has %d bytes: %v", len(text), err)
		}
		return nil
	}); err != nil || told != len(long) {
		t.Errorf("%d of %d are told: %v", told, len(long), err)
	}
}

// TestServeWatch: a watch ends with its input, and whoever asks for something else is refused nothing: there is but one
// request.
func TestServeWatch(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	in, ask := io.Pipe()
	said, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- ServeWatch(in, out, root)
		out.Close()
	}()
	lines := bufio.NewReader(said)
	if line, err := lines.ReadString('\n'); err != nil || line != WatchBegins+"\n" {
		t.Fatalf("it begins with %q: %v", line, err)
	}
	if _, err := io.WriteString(ask, `{"id":7,"verb":"watch","parts":[{"kind":"file","patterns":["/**"]}]}`+"\n"); err != nil {
		t.Fatal(err)
	}
	next := func() (a Answer) {
		t.Helper()
		line, err := lines.ReadString('\n')
		if err == nil {
			err = json.Unmarshal([]byte(line), &a)
		}
		if err != nil || a.ID != 7 || !a.More {
			t.Fatalf("it says %q: %v", line, err)
		}
		return a
	}
	next()
	if err := os.WriteFile(root+"/f", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for len(next().Changed) == 0 {
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	ask.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestUnitSignals: of what systemd says, what concerns a unit that is named and has changed is told.
func TestUnitSignals(t *testing.T) {
	t.Parallel()
	s := &unitStates{of: &selection{patterns: []string{"app*"}}, last: map[string]string{}}
	state := func(at, active string) *dbus.Signal {
		return &dbus.Signal{Path: unitsPath + dbus.ObjectPath(at), Name: properties + ".PropertiesChanged",
			Body: []any{systemd + ".Unit", map[string]dbus.Variant{"ActiveState": dbus.MakeVariant(active)}, []string{}}}
	}
	for i, c := range []struct {
		signal *dbus.Signal
		want   Changed
	}{
		{state("/app_2dweb_2eservice", "active"), Changed{KindUnit, "app-web.service"}},
		{state("/app_2dweb_2eservice", "active"), Changed{}},
		{state("/app_2dweb_2eservice", "failed"), Changed{KindUnit, "app-web.service"}},
		{state("/other_2eservice", "active"), Changed{}},
		{state("/app_2edevice", "active"), Changed{}},
		{&dbus.Signal{Name: manager + "UnitNew", Body: []any{"app.service", dbus.ObjectPath("/x")}}, Changed{}},
		{&dbus.Signal{Name: manager + "UnitFilesChanged"}, Changed{Kind: KindUnit}},
		{&dbus.Signal{Name: manager + jobRemoved, Body: []any{uint32(1), dbus.ObjectPath("/j"), "app.timer", "done"}},
			Changed{KindUnit, "app.timer"}},
		{&dbus.Signal{Name: manager + jobRemoved, Body: []any{1}}, Changed{}},
		{&dbus.Signal{Name: properties + ".PropertiesChanged"}, Changed{}},
	} {
		if got, is := s.changed(c.signal); is != (c.want != Changed{}) || is && got != c.want {
			t.Errorf("%d: %v, %t", i, got, is)
		}
	}
	for at, want := range map[string]string{"/app.service": "app.service", "/app.service.d": "app.service",
		"/app.service.d/x.conf": "app.service", "/multi-user.target.wants/app.service": "app.service", "/x.tmp": ""} {
		if got := unitOfFile(ownUnits + at); got != want {
			t.Errorf("%s is of %q", at, got)
		}
	}
}

// TestWatchLeavesNothing: once a watch has ended, none of its descriptors is open.
func TestWatchLeavesNothing(t *testing.T) {
	root := t.TempDir()
	open := func() (n int) {
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range all {
			if to, _ := os.Readlink("/proc/self/fd/" + fd.Name()); strings.Contains(to, "inotify") ||
				strings.HasPrefix(to, root) {
				n++
			}
		}
		return n
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := Watch(ctx, root, &Request{Parts: []Part{{Kind: KindFile, Patterns: []string{"/**"}}}}, func(Answer) error {
		if open() == 0 {
			t.Error("nothing is watched")
		}
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if n := open(); n > 0 {
		t.Errorf("%d are open", n)
	}
}
