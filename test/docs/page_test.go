package docs

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// page is a page of the documentation that says how to change the project, with what it changes.
type page struct {
	path string
	text string
	// content has the files that the page makes or changes, as they are then.
	content map[string]string
	lines   int // of the files that it makes
}

var (
	// `path/of/file.go`:  and then all of it
	files = regexp.MustCompile("(?m)`([^`\n]+)`:\n\n(?:<!--.*-->\n)?```(?:go|sql)\n((?s:.*?))^```$")
	// what changes in a file: lines that are there, that go and that come
	diffs = regexp.MustCompile("(?m)^```diff\n\\+\\+\\+ (\\S+)\n((?s:.*?))^```$")
	// what is typed into a shell, and the rule that the simulator must find broken by it
	commands = regexp.MustCompile("(?m)^```sh(?: fails=(R[0-9]+))?\n((?s:.*?))^```$")
)

// readPage reads a page, and applies to the repository what stands in it before the offset end; -1 is the end of the
// page.
func readPage(t *testing.T, root, path string, end int) page {
	t.Helper()
	p := page{path: path, text: read(t, filepath.Join(root, path)), content: map[string]string{}}
	if end >= 0 {
		p.text = p.text[:end]
	}
	for _, m := range files.FindAllStringSubmatch(p.text, -1) {
		if _, err := os.Stat(filepath.Join(root, m[1])); err == nil {
			t.Errorf("%s is there already", m[1])
		}
		p.content[m[1]] = m[2]
		p.lines += strings.Count(m[2], "\n")
	}
	for _, m := range diffs.FindAllStringSubmatch(p.text, -1) {
		path := m[1]
		if _, changed := p.content[path]; !changed {
			p.content[path] = read(t, filepath.Join(root, path))
		}
		var before, after strings.Builder
		for line := range strings.Lines(m[2]) {
			if line == "\n" { // the space before an empty line
				line = " \n"
			}
			if line[0] != '+' {
				before.WriteString(line[1:])
			}
			if line[0] != '-' {
				after.WriteString(line[1:])
			}
		}
		if n := strings.Count(p.content[path], before.String()); n != 1 {
			t.Fatalf("%s: %s has %d places like this:\n%s", p.path, path, n, before.String())
		}
		p.content[path] = strings.Replace(p.content[path], before.String(), after.String(), 1)
	}
	return p
}

// overlay writes the files apart, and returns the path of a file for the flag -overlay of the go command, which then
// sees them in the repository. What is embedded, such as SQL, is seen, too.
func (p page) overlay(t *testing.T, root string) string {
	t.Helper()
	dir, replace := t.TempDir(), map[string]string{}
	for path, text := range p.content {
		copied := filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
		if err := os.WriteFile(copied, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(path, ".go") {
			if out, err := exec.CommandContext(t.Context(), "gofmt", "-l", copied).CombinedOutput(); err != nil ||
				len(out) > 0 {
				t.Errorf("%s: %s is not formatted: %v", p.path, path, err)
			}
		}
		replace[filepath.Join(root, path)] = copied
	}
	overlay := filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err == nil {
		err = os.WriteFile(overlay, list, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return overlay
}

// tryRun runs a program for which, and for what it starts, the flags of go hold.
func tryRun(t *testing.T, dir string, flags []string, program string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "IASQL_TEST_ENGINE=") // which has not what the page adds
	})
	cmd.Env = append(cmd.Env, "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" "+strings.Join(flags, " ")))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// run is tryRun of what must not fail.
func run(t *testing.T, dir string, flags []string, program string, args ...string) string {
	t.Helper()
	out, err := tryRun(t, dir, flags, program, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return out
}
