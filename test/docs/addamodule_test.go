// Package docs follows the documentation to the letter.
package docs

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What docs/add-a-module.md says, done in this repository by way of an overlay,
// makes a resource that works: its own test passes, and it conforms.
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

	// The folder of the module's test is not there, so that go test cannot run
	// in it.
	program := filepath.Join(t.TempDir(), "awsssm.test")
	run(t, root, overlay, "go", "test", "-c", "-vet=off", "-o", program, "./internal/modules/awsssm")
	run(t, t.TempDir(), overlay, program)
	out := run(t, root, overlay, "go", "test", "-count=1", "-v", "./test/conformance", "-run", "TestConformance/aws_ssm$")
	if !strings.Contains(out, "--- PASS: TestConformance/aws_ssm/") || strings.Contains(out, "--- SKIP") {
		t.Errorf("the new table was not put through the conformance suite:\n%s", out)
	}
}

var (
	files = regexp.MustCompile("(?m)^`([^`\n]+)`:\n\n```(?:go|sql)\n((?s:.*?))^```$")
	diffs = regexp.MustCompile("(?m)^```diff\n\\+\\+\\+ (\\S+)\n((?s:.*?))^```$")
)

// follow makes the files of the document and the changes it makes to others,
// and returns the path of an overlay in which they are.
func follow(t *testing.T, root, text string) string {
	t.Helper()
	content := map[string]string{}
	for _, m := range files.FindAllStringSubmatch(text, -1) {
		content[m[1]] = m[2]
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
	if len(content) < 7 {
		t.Fatalf("the document has only %d files", len(content))
	}
	dir, replace := t.TempDir(), map[string]string{}
	for path, text := range content {
		if _, err := os.Stat(filepath.Join(root, path)); err == nil && !strings.Contains(text, "awsssm") && !strings.Contains(text, "awsSSM") {
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

// run runs a program for which, and for what it starts, the overlay holds.
func run(t *testing.T, dir, overlay, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlay))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}
