package runner

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// serve starts a runner, and returns what asks it.
func serve(t *testing.T, root string) func(Request) []Answer {
	t.Helper()
	toRunner, requests := io.Pipe()
	answers, fromRunner := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Serve(toRunner, fromRunner, root) }()
	t.Cleanup(func() {
		requests.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	out := json.NewDecoder(answers)
	var hello Answer
	if err := out.Decode(&hello); err != nil || hello.Host == nil || hello.Host.Version != Version {
		t.Fatalf("%+v, %v", hello, err)
	}
	var id int64
	return func(r Request) (all []Answer) {
		t.Helper()
		id++
		r.ID = id
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = requests.Write(append(line, '\n')) }()
		for {
			var a Answer
			if err := out.Decode(&a); err != nil || a.ID != id {
				t.Fatalf("%+v, %v", a, err)
			}
			if all = append(all, a); !a.More {
				return all
			}
		}
	}
}

func write(t *testing.T, root, path, content string) {
	t.Helper()
	at := filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func files(all []Answer) map[string]Entry {
	found := map[string]Entry{}
	for _, a := range all {
		for _, e := range a.Files {
			found[e.Path] = e
		}
	}
	return found
}

func code(all []Answer) Code {
	if e := all[len(all)-1].Error; e != nil {
		return e.Code
	}
	return ""
}

func text(s string) *string { return &s }

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		is            bool
	}{
		{"/etc/hosts", "/etc/hosts", true}, {"/etc/hosts", "/etc/hostsx", false}, {"/etc/*", "/etc/hosts", true},
		{"/etc/*", "/etc/a/b", false}, {"/etc/*", "/etc", false}, {"/etc/**", "/etc/a/b", true}, {"/etc/**", "/etc", false},
		{"/etc/**/x", "/etc/x", true}, {"/etc/**/x", "/etc/a/b/x", true}, {"/etc/**/x", "/etc/a/b/y", false},
		{"/a/**/**/b", "/a/b", true}, {"/a/?.c", "/a/b.c", true}, {"/a/?.c", "/a/bb.c", false}, {"/a/*.c", "/a/.c", true},
		{"/a/*b*c", "/a/xbybzc", true}, {"/a/*b*c", "/a/xbybz", false}, {"/a/[x]", "/a/x", false}, {"/a/[x]", "/a/[x]", true},
		{"/a/**", "/a/\n\x1b", true}, {"/a.b", "/aXb", false}, {"/a/*", "/a/\n", true},
	} {
		if got := Matches(c.pattern, c.path); got != c.is {
			t.Errorf("%s, %q: %t", c.pattern, c.path, got)
		}
	}
}

// TestList: what patterns name is listed, once, and nothing else.
func TestList(t *testing.T) {
	root := t.TempDir()
	for _, path := range []string{"etc/app/a.conf", "etc/app/sub/b.conf", "etc/app/sub/deep/c.conf", "etc/other"} {
		write(t, root, path, path)
	}
	if err := os.Symlink("a.conf", filepath.Join(root, "etc/app/l")); err != nil {
		t.Fatal(err)
	}
	write(t, root, "etc/app/"+ours+"x", "half")
	ask := serve(t, root)
	for patterns, want := range map[string]string{
		"/etc/app/**": "/etc/app/a.conf /etc/app/l /etc/app/sub /etc/app/sub/b.conf /etc/app/sub/deep " +
			"/etc/app/sub/deep/c.conf",
		"/etc/app/**/*.conf":         "/etc/app/a.conf /etc/app/sub/b.conf /etc/app/sub/deep/c.conf",
		"/etc/app/**/deep/c.conf":    "/etc/app/sub/deep/c.conf",
		"/etc/app/*":                 "/etc/app/a.conf /etc/app/l /etc/app/sub",
		"/etc/app/a.conf /etc/app/*": "/etc/app/a.conf /etc/app/l /etc/app/sub",
		"/etc/*/sub/?.conf":          "/etc/app/sub/b.conf",
		"/etc/missing/**":            "",
	} {
		found := files(ask(Request{Verb: List, Patterns: strings.Fields(patterns)}))
		var got []string
		for path := range found {
			got = append(got, path)
			if !slices.ContainsFunc(strings.Fields(patterns), func(p string) bool { return Matches(p, path) }) {
				t.Errorf("%s: %s is listed, and not named", patterns, path)
			}
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s", patterns, got)
		}
	}
	e := files(ask(Request{Verb: Check, Paths: []string{"/etc/app/a.conf", "/etc/none", "/etc/app/l"}}))
	if a := e["/etc/app/a.conf"]; len(e) != 2 || *a.Content != "etc/app/a.conf" || a.Mode != "0644" ||
		a.SHA256 != sumOf(*a.Content) || e["/etc/app/l"].Target != "a.conf" {
		t.Errorf("%+v", e)
	}
}

// TestHostile: a root that somebody else has prepared leads nowhere else, and hangs nobody.
func TestHostile(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	write(t, outside, "secret", "outside")
	write(t, root, "s/plain", "x")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Symlink(outside, filepath.Join(root, "s/out")))
	must(os.Symlink(filepath.Join(outside, "secret"), filepath.Join(root, "s/file")))
	must(os.Symlink(".", filepath.Join(root, "s/loop")))
	must(unix.Mkfifo(filepath.Join(root, "s/pipe"), 0o666))
	write(t, root, "s/\x1b[31m\nname", "y")
	write(t, root, "s/bad\xff", "z")
	write(t, root, "s/binary", "a\x00b")
	huge, err := os.Create(filepath.Join(root, "s/huge"))
	must(err)
	must(huge.Truncate(maxHashed + 1))
	must(huge.Close())
	write(t, root, "s/large", strings.Repeat("x", MaxContent+1))
	write(t, root, "s/program", strings.Repeat("\x00", MaxBytes+1))
	ask := serve(t, root)
	found := files(ask(Request{Verb: List, Patterns: []string{"/s/**"}}))
	for path, e := range found {
		if e.Content != nil && strings.Contains(*e.Content, "outside") ||
			strings.HasPrefix(path, "/s/out/") || strings.HasPrefix(path, "/s/loop/") {
			t.Errorf("%q led outside: %+v", path, e)
		}
	}
	if found["/s/out"].Kind != Link || found["/s/file"].Kind != Link || found["/s/pipe"].Kind != "" {
		t.Errorf("%+v", found)
	}
	if e := found["/s/\x1b[31m\nname"]; e.Content == nil || *e.Content != "y" {
		t.Errorf("a name with a newline: %+v", e)
	}
	if e := found["/s/bad\uFFFD"]; e.Error == nil {
		t.Errorf("a name that is not UTF-8: %+v", e)
	}
	if e := found["/s/binary"]; e.Content != nil || string(e.Bytes) != "a\x00b" || e.SHA256 != sumOf("a\x00b") {
		t.Errorf("binary: %+v", e)
	}
	if e := found["/s/program"]; e.Content != nil || e.Bytes != nil || e.SHA256 == "" {
		t.Errorf("a program: %d bytes, %q", len(e.Bytes), e.SHA256)
	}
	if e := found["/s/huge"]; e.Content != nil || e.SHA256 != "" || e.Size != maxHashed+1 {
		t.Errorf("huge: %+v", e)
	}
	if e := found["/s/large"]; e.Content != nil || e.SHA256 == "" {
		t.Errorf("large: %+v", e)
	}
	apply := func(want, have *Entry) Code {
		t.Helper()
		return code(ask(Request{Verb: Apply, Want: want, Have: have}))
	}
	for _, path := range []string{"/s/out/new", "/s/loop/new", "/../x", "/s/../x", "s/x", "/", "/s//x", "/s/"} {
		if got := apply(&Entry{Path: path, Kind: File, Content: text("evil")}, nil); got != Refused {
			t.Errorf("%s: %s", path, got)
		}
	}
	if got := apply(nil, &Entry{Path: "/s/out/secret", Kind: File}); got != Refused {
		t.Errorf("deleting through a link: %s", got)
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) != 1 {
		t.Errorf("outside: %v, %v", left, err)
	}
	// A pipe is neither opened nor replaced.
	pipe := &Entry{Path: "/s/pipe", Kind: File, Content: text("x")}
	if got := apply(pipe, nil); got != Exists {
		t.Errorf("a pipe: %s", got)
	}
	if got := apply(pipe, &Entry{Path: "/s/pipe", Kind: File}); got != Conflict {
		t.Errorf("a pipe: %s", got)
	}
	if got := code(ask(Request{Verb: "boast"})); got != Refused {
		t.Errorf("an unknown verb: %s", got)
	}
}

// TestApply: files are made, changed and deleted as a whole, and only if they are what was seen.
func TestApply(t *testing.T) {
	root := t.TempDir()
	ask := serve(t, root)
	do := func(want, have *Entry) Code {
		t.Helper()
		return code(ask(Request{Verb: Apply, Want: want, Have: have}))
	}
	is := func(got, want Code) {
		t.Helper()
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	has := func(path, want string) {
		t.Helper()
		if got, err := os.ReadFile(filepath.Join(root, path)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	is(do(&Entry{Path: "/d/f", Kind: File, Content: text("1")}, nil), NoParent)
	is(do(&Entry{Path: "/d", Kind: Directory, Mode: "0750"}, nil), "")
	is(do(&Entry{Path: "/d", Kind: Directory}, nil), Exists)
	is(do(&Entry{Path: "/d/f", Kind: File, Content: text("1"), Mode: "0640"}, nil), "")
	is(do(&Entry{Path: "/d/f", Kind: File, Content: text("2")}, nil), Exists)
	has("d/f", "1")
	seen := &Entry{Path: "/d/f", Kind: File, SHA256: sumOf("1"), Mode: "0640"}
	is(do(&Entry{Path: "/d/f", Kind: File, Content: text("2")}, seen), "")
	has("d/f", "2")
	if st, err := os.Stat(filepath.Join(root, "d/f")); err != nil || st.Mode() != 0o640 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	is(do(&Entry{Path: "/d/f", Kind: File, Content: text("3")}, seen), Conflict)
	is(do(nil, seen), Conflict)
	has("d/f", "2")
	now := &Entry{Path: "/d/f", Kind: File, SHA256: sumOf("2")}
	is(do(&Entry{Path: "/d/f", Kind: File, Mode: "600"}, now), "")
	is(do(&Entry{Path: "/d/f", Kind: File, Mode: "999"}, now), Refused)
	is(do(&Entry{Path: "/d/f", Kind: File, Owner: "nobody-of-that-name"}, now), Refused)
	is(do(nil, &Entry{Path: "/d", Kind: Directory}), NotEmpty)
	is(do(&Entry{Path: "/d/l", Kind: Link, Target: "f"}, nil), "")
	is(do(&Entry{Path: "/d/l", Kind: Link, Target: "g"}, nil), Exists)
	is(do(&Entry{Path: "/d/l", Kind: Link, Target: "g"}, &Entry{Path: "/d/l", Kind: Link, Target: "f"}), "")
	if target, err := os.Readlink(filepath.Join(root, "d/l")); err != nil || target != "g" {
		t.Errorf("%s, %v", target, err)
	}
	is(do(nil, &Entry{Path: "/d/l", Kind: Link, Target: "g"}), "")
	// What its names share is not parted.
	if err := os.Link(filepath.Join(root, "d/f"), filepath.Join(root, "d/g")); err != nil {
		t.Fatal(err)
	}
	is(do(&Entry{Path: "/d/f", Kind: File, Content: text("4")}, now), Refused)
	is(do(nil, now), "")
	is(do(nil, now), "")
	is(do(&Entry{Path: "/d/f", Kind: File, Content: text("5")}, now), Gone)
	validated := &Entry{Path: "/d/v", Kind: File, Content: text("v")}
	if got := code(ask(Request{Verb: Apply, Validate: "true %s", Want: validated})); got != Refused {
		t.Errorf("a command below another root than /: %s", got)
	}
	same := ask(Request{Verb: Assert, Want: &Entry{Path: "/d/g", Kind: File, Content: text("2")}})
	if !same[0].Same || ask(Request{Verb: Assert, Want: &Entry{Path: "/d/g", Kind: File, Mode: "0644"}})[0].Same {
		t.Errorf("%+v", same)
	}
	all, err := os.ReadDir(filepath.Join(root, "d"))
	if err != nil || len(all) != 1 {
		t.Errorf("left over: %v, %v", all, err)
	}
}

// TestValidate: what the command does not accept does not get there.
func TestValidate(t *testing.T) {
	dir := t.TempDir()
	ask := serve(t, "/")
	path := filepath.Join(dir, "sudoers")
	apply := func(content string, have *Entry) Code {
		want := &Entry{Path: path, Kind: File, Content: &content}
		return code(ask(Request{Verb: Apply, Validate: "grep -q good %s", Want: want, Have: have}))
	}
	if got := apply("bad", nil); got != Invalid {
		t.Errorf("got %s", got)
	}
	if got := apply("good", nil); got != "" {
		t.Errorf("got %s", got)
	}
	if got := apply("bad", &Entry{Path: path, Kind: File, SHA256: sumOf("good")}); got != Invalid {
		t.Errorf("got %s", got)
	}
	if all, err := os.ReadDir(dir); err != nil || len(all) != 1 {
		t.Errorf("left over: %v, %v", all, err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "good" {
		t.Errorf("%s, %v", got, err)
	}
}

// TestTidy: what a runner has left that was ended while it wrote is no file, and goes after a while.
func TestTidy(t *testing.T) {
	root := t.TempDir()
	write(t, root, "d/"+ours+"old", "half")
	ask := serve(t, root)
	apply := func(name string) {
		t.Helper()
		if got := code(ask(Request{Verb: Apply, Want: &Entry{Path: name, Kind: File, Content: text("1")}})); got != "" {
			t.Errorf("got %s", got)
		}
	}
	apply("/d/a")
	if len(files(ask(Request{Verb: List, Patterns: []string{"/d/**"}}))) != 1 {
		t.Error("half a file is listed")
	}
	if _, err := os.Stat(filepath.Join(root, "d/"+ours+"old")); err != nil {
		t.Errorf("somebody may be writing it: %v", err)
	}
}

// TestChanging: a file that changes while it is read is never shown half one way and half the other.
func TestChanging(t *testing.T) {
	root := t.TempDir()
	a, b := strings.Repeat("a", 200_000), strings.Repeat("b", 200_000)
	write(t, root, "f", a)
	stop := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				_ = os.WriteFile(filepath.Join(root, "f"), []byte([]string{a, b}[i%2]), 0o644)
			}
		}
	}()
	defer func() { close(stop); <-ended }()
	ask := serve(t, root)
	until := time.Now().Add(time.Second)
	for time.Now().Before(until) {
		for _, e := range files(ask(Request{Verb: List, Patterns: []string{"/f"}})) {
			switch {
			case e.Error != nil && e.Error.Code == Changing:
			case e.Error != nil:
				t.Fatalf("%+v", e.Error)
			case strings.Trim(*e.Content, "a") != "" && strings.Trim(*e.Content, "b") != "":
				t.Fatalf("%d bytes of both", len(*e.Content))
			}
		}
	}
}

func BenchmarkList500(b *testing.B) {
	root := b.TempDir()
	for i := range 500 {
		at := filepath.Join(root, fmt.Sprint("f", i))
		if err := os.WriteFile(at, []byte(strings.Repeat("x", 1000)), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		n := 0
		err := Do(root, &Request{Verb: List, Patterns: []string{"/*"}}, func(a Answer) error {
			n += len(a.Files)
			return nil
		})
		if err != nil || n != 500 {
			b.Fatal(n, err)
		}
	}
}
