package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// attribute gives a file an extended attribute. The test is skipped where the file system takes none.
func attribute(t *testing.T, at, name, value string) {
	t.Helper()
	err := unix.Lsetxattr(at, name, []byte(value), 0)
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EPERM) {
		t.Skipf("%s cannot have the attribute %s: %v", at, name, err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// capability is that to listen at ports below 1024, capabilities(7).
const capability = "\x01\x00\x00\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// TestXattrs: extended attributes are told as texts, as far as they are of the kinds that are told, and within bounds.
func TestXattrs(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, name := range []string{"f", "many", "none", "d/x"} {
		write(t, root, name, "content")
	}
	at := filepath.Join(root, "f")
	for name, value := range map[string]string{"user.text": "a täxt", "user.empty": "", "user.control": "a\x1b[31m",
		"user.bytes": "\xff", "user.like": "0sAAAA", "user.\xffname": "1", "user.long": strings.Repeat("x", maxXattr+1)[:2000],
		"trusted.x": "not told", "security.selinux": "a:b:c\x00", "security.capability": capability} {
		attribute(t, at, name, value)
	}
	attribute(t, filepath.Join(root, "d"), "user.d", "of a directory")
	if err := os.Symlink("f", filepath.Join(root, "l")); err != nil {
		t.Fatal(err)
	}
	for n := range MaxXattrs + 10 {
		attribute(t, filepath.Join(root, "many"), fmt.Sprintf("user.%03d", n), "1")
	}
	all := files(serve(t, root)(Request{Verb: List, Patterns: []string{"/*"}}))
	for name, want := range map[string]string{"user.text": "a täxt", "user.empty": "", "user.control": "0sYRtbMzFt",
		"user.bytes": "0s/w==", "user.like": "0sMHNBQUFB", "user.\uFFFDname": "1", "security.selinux": "a:b:c",
		"user.long": strings.Repeat("x", 2000), "security.capability": "0sAQAAAgAEAAAAAAAAAAAAAAAAAAA="} {
		if got := all["/f"].Xattrs[name]; got == nil || *got != want {
			t.Errorf("%s is %v", name, got)
		}
	}
	if n := len(all["/f"].Xattrs); n != 9 {
		t.Errorf("it has %d", n)
	}
	if n := len(all["/many"].Xattrs); n != MaxXattrs || all["/many"].Xattrs["user.063"] == nil {
		t.Errorf("of many there are %d", n)
	}
	if got := all["/d"].Xattrs["user.d"]; got == nil || *got != "of a directory" {
		t.Errorf("the directory's is %v", got)
	}
	for _, name := range []string{"/none", "/l"} {
		if all[name].Xattrs != nil {
			t.Errorf("%s has %v", name, all[name].Xattrs)
		}
	}
}

// TestXattrsStay: a file that is written anew has the extended attributes that it had, also if it is another's.
func TestXattrsStay(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "f", "old")
	at := filepath.Join(root, "f")
	if err := os.Chown(at, 4711, 4712); err != nil {
		t.Skip("only root gives files away")
	}
	attribute(t, at, "security.capability", capability)
	attribute(t, at, "user.a", "1")
	ask := serve(t, root)
	was := files(ask(Request{Verb: Check, Paths: []string{"/f"}}))["/f"]
	if got := code(ask(Request{Verb: Apply, Have: &Entry{Path: "/f", Kind: File, SHA256: sumOf("old")},
		Want: &Entry{Path: "/f", Kind: File, Content: text("new"), Mode: "0751"}})); got != "" {
		t.Fatal(got)
	}
	is := files(ask(Request{Verb: Check, Paths: []string{"/f"}}))["/f"]
	if len(was.Xattrs) != 2 || fmt.Sprint(spelled(was)) != fmt.Sprint(spelled(is)) || is.Owner != "4711" || is.Mode != "0751" {
		t.Errorf("it had %v, and has %v: %+v", spelled(was), spelled(is), is)
	}
}

// spelled are a file's attributes as text.
func spelled(e Entry) map[string]string {
	all := map[string]string{}
	for name, value := range e.Xattrs {
		all[name] = *value
	}
	return all
}
