package runner

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSecrets: the content of what is secret is not answered, by whichever verb, and its digest is; nor is what a
// program says that has read it.
func TestSecrets(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "etc/secret", "hidden")
	write(t, root, "etc/secret-bytes", "\x00hidden")
	write(t, root, "etc/open", "shown")
	ask := serve(t, root)
	for _, r := range []Request{{Verb: List, Patterns: []string{"/etc/*"}},
		{Verb: Check, Paths: []string{"/etc/secret", "/etc/secret-bytes", "/etc/open"}}} {
		r.Secrets = []string{"/etc/s*"}
		all := files(ask(r))
		if e := all["/etc/secret"]; e.Content != nil || e.SHA256 != sumOf("hidden") {
			t.Errorf("%s: the secret file is %+v", r.Verb, e)
		}
		if e := all["/etc/secret-bytes"]; e.Bytes != nil || e.SHA256 != sumOf("\x00hidden") {
			t.Errorf("%s: the secret bytes are %+v", r.Verb, e)
		}
		if e := all["/etc/open"]; e.Content == nil || *e.Content != "shown" {
			t.Errorf("%s: the other file is %+v", r.Verb, e)
		}
	}
	// A digest is enough to change what is there, and only that.
	content := "another"
	change := Request{Verb: Apply, Secret: true, Want: &Entry{Path: "/etc/secret", Kind: File, Content: &content},
		Have: &Entry{Path: "/etc/secret", Kind: File, SHA256: sumOf("hidden")}}
	if got := code(ask(change)); got != "" {
		t.Errorf("it is not changed: %s", got)
	}
	content = "a third"
	if got := code(ask(change)); got != Conflict {
		t.Errorf("what is another is changed: %s", got)
	}
	if text, err := os.ReadFile(filepath.Join(root, "etc/secret")); err != nil || string(text) != "another" {
		t.Errorf("it is %q, %v", text, err)
	}

	check := []string{"ls", filepath.Join(root, "hidden")} // which says that there is no such file
	for secret, want := range map[bool]string{false: "No such file", true: unsaid} {
		var f *Failure
		if err := passes(check, secret); !errors.As(err, &f) || f.Code != Invalid || !strings.Contains(f.Message, want) ||
			secret && strings.Contains(f.Message, "No such file") {
			t.Errorf("of a secret (%t) it says %v", secret, err)
		}
	}
}
