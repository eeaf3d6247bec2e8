// Package docs follows the documentation to the letter.
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

// What docs/add-a-module.md says, done in this repository by way of an overlay,
// makes a resource that works: it conforms, and it is short.
func TestAddAModule(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs/add-a-module.md"))
	if err != nil {
		t.Fatal(err)
	}
	overlay := follow(t, root, string(text))

	// What the page adds to go.mod is added to a copy.
	modfile := filepath.Join(t.TempDir(), "go.mod")
	for name, to := range map[string]string{"go.mod": modfile, "go.sum": strings.TrimSuffix(modfile, ".mod") + ".sum"} {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err == nil {
			err = os.WriteFile(to, content, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	flags := []string{"-overlay=" + overlay, "-modfile=" + modfile}
	get := regexp.MustCompile("(?m)^```sh\ngo (get .*)\n```$").FindStringSubmatch(string(text))
	if get == nil {
		t.Fatal("the page does not say which package to get")
	}
	run(t, root, flags[1:], "go", strings.Fields(get[1])...)
	// Vet goes into the folders of packages, and the overlay's are none.
	out := run(t, root, flags, "go", "test", "-vet=off", "-count=1", "-v", "./test/conformance", "-run",
		"TestConformance/aws_resource_groups$")
	if !strings.Contains(out, "--- PASS: TestConformance/aws_resource_groups/") || strings.Contains(out, "--- SKIP") {
		t.Errorf("the new table was not put through the conformance suite:\n%s", out)
	}
}

// What the page adds, the test included, is as little as it says.
const mostLines = 80

var (
	files = regexp.MustCompile("(?m)^`([^`\n]+)`:\n\n(?:<!--.*-->\n)?```(?:go|sql)\n((?s:.*?))^```$")
	diffs = regexp.MustCompile("(?m)^```diff\n\\+\\+\\+ (\\S+)\n((?s:.*?))^```$")
)

// follow makes the files of the document and the changes it makes to others,
// and returns the path of an overlay in which they are.
func follow(t *testing.T, root, text string) string {
	t.Helper()
	content := map[string]string{}
	lines := 0
	for _, m := range files.FindAllStringSubmatch(text, -1) {
		content[m[1]] = m[2]
		lines += strings.Count(m[2], "\n")
	}
	if lines >= mostLines {
		t.Errorf("the module has %d lines, and should have fewer than %d", lines, mostLines)
	}
	for _, m := range diffs.FindAllStringSubmatch(text, -1) {
		path := m[1]
		if _, changed := content[path]; !changed {
			old, err := os.ReadFile(filepath.Join(root, path))
			if err != nil {
				t.Fatal(err)
			}
			content[path] = string(old)
		}
		var before, after strings.Builder
		for _, line := range strings.SplitAfter(strings.TrimSuffix(m[2], "\n"), "\n") {
			line = strings.TrimSuffix(line, "\n") + "\n"
			if line[0] == ' ' {
				before.WriteString(line[1:])
			}
			after.WriteString(line[1:])
		}
		if n := strings.Count(content[path], before.String()); n != 1 {
			t.Fatalf("%s has %d places like this:\n%s", path, n, before.String())
		}
		content[path] = strings.Replace(content[path], before.String(), after.String(), 1)
	}
	if len(content) < 5 {
		t.Fatalf("the document has only %d files", len(content))
	}
	dir, replace := t.TempDir(), map[string]string{}
	for path, text := range content {
		if _, err := os.Stat(filepath.Join(root, path)); err == nil && !strings.Contains(text, "awsresourcegroups") &&
			!strings.Contains(text, "awsResourceGroups") {
			t.Errorf("%s is there already", path)
		}
		copied := filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
		if err := os.WriteFile(copied, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(path, ".go") {
			if out, err := exec.Command("gofmt", "-l", copied).CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%s is not formatted: %v", path, err)
			}
			replace[filepath.Join(root, path)] = copied
		}
	}
	overlay := filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, list, 0o644); err != nil {
		t.Fatal(err)
	}
	return overlay
}

// run runs a program for which, and for what it starts, the flags of go hold.
func run(t *testing.T, dir string, flags []string, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "IASQL_TEST_ENGINE=") // which has not what the page adds
	})
	cmd.Env = append(cmd.Env, "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" "+strings.Join(flags, " ")))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}
