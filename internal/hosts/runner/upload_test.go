package runner

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// uploads returns the files that are being written in a directory.
func uploads(t *testing.T, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, ours+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestUpload: a content that comes in chunks takes its place as a whole, if it is the one that is wanted and the file is
// the one that was seen; and nothing is left of it otherwise.
func TestUpload(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	content := strings.Repeat("a chunk of it\x00\xff\n", 45_000)
	write(t, root, "d/old", "old")
	write(t, root, "elsewhere", "not to be written")
	ask := serve(t, root)
	send := func(id, path string, chunks ...string) Code {
		t.Helper()
		offset := int64(0)
		for _, chunk := range chunks {
			got := code(ask(Request{Verb: Upload, Upload: id, Want: &Entry{Path: path}, Offset: offset, Chunk: []byte(chunk)}))
			if got != "" {
				return got
			}
			offset += int64(len(chunk))
		}
		return ""
	}
	halves := []string{content[:MaxContent], content[MaxContent : 2*MaxContent], content[2*MaxContent:]}
	apply := func(id, path, sum string, have *Entry) Code {
		t.Helper()
		return code(ask(Request{Verb: Apply, Upload: id, Have: have,
			Want: &Entry{Path: path, Kind: File, Size: int64(len(content)), SHA256: sum, Mode: "0640"}}))
	}
	old := &Entry{Path: "/d/old", Kind: File, SHA256: sumOf("old")}
	for what, c := range map[string]struct {
		send  func(id string) Code
		path  string
		sum   string
		have  *Entry
		wants Code
	}{
		"a new file":           {func(id string) Code { return send(id, "/d/new", halves...) }, "/d/new", sumOf(content), nil, ""},
		"a part of it":         {func(id string) Code { return send(id, "/d/x", halves[:2]...) }, "/d/x", sumOf(content), nil, Changing},
		"another content":      {func(id string) Code { return send(id, "/d/x", halves...) }, "/d/x", sumOf("another"), nil, Changing},
		"none":                 {func(string) Code { return "" }, "/d/x", sumOf(content), nil, Changing},
		"a file that is there": {func(id string) Code { return send(id, "/d/old", halves...) }, "/d/old", sumOf(content), nil, Exists},
		"a file that is another": {func(id string) Code { return send(id, "/d/old", halves...) }, "/d/old", sumOf(content),
			&Entry{Path: "/d/old", Kind: File, SHA256: sumOf("older")}, Conflict},
	} {
		id := strings.ToUpper(strings.ReplaceAll(what, " ", ""))
		if got := c.send(id); got != "" {
			t.Errorf("%s: it is not taken: %s", what, got)
		}
		if got := apply(id, c.path, c.sum, c.have); got != c.wants {
			t.Errorf("%s: got %q, want %q", what, got, c.wants)
		}
		if left := uploads(t, filepath.Join(root, "d")); len(left) > 0 {
			t.Errorf("%s: left over: %q", what, left)
		}
	}
	if got := send("REPLACES", "/d/old", halves...) + apply("REPLACES", "/d/old", sumOf(content), old); got != "" {
		t.Errorf("it is not replaced: %s", got)
	}
	for _, name := range []string{"d/old", "d/new"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		info, statErr := os.Stat(filepath.Join(root, name))
		if err != nil || statErr != nil || !bytes.Equal(text, []byte(content)) || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: %d bytes, %v, %v", name, len(text), err, statErr)
		}
	}

	// What is no chunk of it is refused, and what somebody has put in its place is not written to.
	for what, r := range map[string]Request{
		"no name":         {Upload: "", Want: &Entry{Path: "/d/x"}, Chunk: []byte("x")},
		"a path for one":  {Upload: "../x", Want: &Entry{Path: "/d/x"}, Chunk: []byte("x")},
		"no file":         {Upload: "A", Chunk: []byte("x")},
		"nothing":         {Upload: "A", Want: &Entry{Path: "/d/x"}},
		"too much":        {Upload: "A", Want: &Entry{Path: "/d/x"}, Chunk: make([]byte, MaxContent+1)},
		"before it":       {Upload: "A", Want: &Entry{Path: "/d/x"}, Offset: -1, Chunk: []byte("x")},
		"too much of all": {Upload: "A", Want: &Entry{Path: "/d/x"}, Offset: MaxUpload, Chunk: []byte("x")},
		"a later one":     {Upload: "A", Want: &Entry{Path: "/d/x"}, Offset: 7, Chunk: []byte("x")},
		"out of the root": {Upload: "A", Want: &Entry{Path: "/../x"}, Chunk: []byte("x")},
	} {
		r.Verb = Upload
		if got := code(ask(r)); got == "" {
			t.Errorf("%s is taken", what)
		}
	}
	for what, put := range map[string]func(at string) error{
		"a link":      func(at string) error { return os.Symlink("../elsewhere", at) },
		"a hard link": func(at string) error { return os.Link(filepath.Join(root, "elsewhere"), at) },
		"a pipe":      func(at string) error { return unix.Mkfifo(at, 0o600) },
		"a directory": func(at string) error { return os.Mkdir(at, 0o700) },
	} {
		at := filepath.Join(root, "d", ours+"B")
		if err := put(at); err != nil {
			t.Fatal(err)
		}
		for _, offset := range []int64{0, int64(len("not to be written"))} {
			r := Request{Verb: Upload, Upload: "B", Want: &Entry{Path: "/d/x"}, Offset: offset, Chunk: []byte("x")}
			if got := code(ask(r)); got == "" {
				t.Errorf("%s is written to", what)
			}
		}
		if err := os.Remove(at); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(root, "elsewhere")); err != nil || string(text) != "not to be written" {
		t.Errorf("it is %q, %v", text, err)
	}
}
