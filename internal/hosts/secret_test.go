package hosts

import (
	"context"
	"errors"
	"strings"
	"testing"

	"iasql/internal/hosts/runner"
	"iasql/internal/modules"
)

// kept are secret contents of one host in memory.
type kept struct {
	sent     SentContents
	versions map[string]string
}

func (k *kept) Sent(context.Context, string) (*SentContents, error) { return &k.sent, nil }

func (k *kept) Take(_ context.Context, _, _, version string) (string, bool, error) {
	content, ok := k.versions[version]
	return content, ok, nil
}

// TestVersions: a content that was sent is known by its version, and one that was not by what tells nothing of it and
// is the same for the same content of the same file alone.
func TestVersions(t *testing.T) {
	t.Parallel()
	s := &SentContents{Key: []byte("k"), Versions: map[string]map[string]string{"/a": {"5e": "first"}}}
	other := &SentContents{Key: []byte("another")}
	if got := s.version("/a", "5e"); got != "first" {
		t.Errorf("what was sent has the version %s", got)
	}
	unknown := s.version("/a", "ff")
	if !strings.HasPrefix(unknown, "hmac:") || strings.Contains(unknown, "ff\x00") || s.version("/a", "ff") != unknown {
		t.Errorf("what was not sent has the version %s", unknown)
	}
	for what, got := range map[string]string{"another content": s.version("/a", "fe"), "another file": s.version("/b", "ff"),
		"another host": other.version("/a", "ff"), "no content": s.version("/a", "")} {
		if got == unknown {
			t.Errorf("%s has the same version", what)
		}
	}
}

// TestSecretAnswers: a host that answers a secret content is asked for none, and what it tells is not passed on. A change
// is not made of what has changed since, nor by a content that nobody keeps.
func TestSecretAnswers(t *testing.T) {
	t.Parallel()
	content, digest := "hidden", strings.Repeat("ab", 32)
	settings := Settings{Scopes: []Scope{{Kind: KindFile, Pattern: "/etc/*"}, {Kind: KindFile, Pattern: "/etc/s*", Secret: true}}}
	secrets := &kept{sent: SentContents{Key: []byte("k")}, versions: map[string]string{"first": "one"}}
	s := &recorder{stub: stub{said: "me", answers: files(
		runner.Entry{Path: "/etc/secret", Kind: runner.File, Content: &content, SHA256: digest, Size: 6})}}
	h := answering(&s.stub, settings)
	h.options.Secrets = secrets
	h.host("web").session = s
	all, _, err := h.GetFiles(t.Context(), "web", []string{"/etc/secret"})
	if err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	if f := all[0]; f.Content != nil || f.SHA256 != "" || f.Size != 0 || !f.Secret || !strings.HasPrefix(f.Version, "hmac:") {
		t.Errorf("it is shown as %+v", f)
	}
	if len(s.asked.Secrets) != 1 || s.asked.Secrets[0] != "/etc/s*" {
		t.Errorf("secret are %v", s.asked.Secrets)
	}
	file := runner.Entry{Path: "/etc/secret", Kind: runner.File}
	shown := file
	shown.Content = &content
	for _, c := range []struct {
		change FileChange
		code   string
	}{
		{FileChange{Want: &file, Have: &file, Version: "first", Seen: all[0].Version}, ""},
		{FileChange{Have: &file, Seen: all[0].Version}, ""},
		{FileChange{Want: &file, Version: "first"}, ""},
		{FileChange{Want: &file, Have: &file, Version: "first", Seen: "earlier"}, "Conflict"},
		{FileChange{Have: &file, Seen: "earlier"}, "Conflict"},
		{FileChange{Want: &file, Version: "second"}, "NotKept"},
		{FileChange{Want: &shown}, "Secret"},
		{FileChange{Want: &runner.Entry{Path: "/etc/open", Kind: runner.File}, Version: "first"}, "NotKept"},
		{FileChange{Have: &runner.Entry{Path: "/etc/open", Kind: runner.File}, Seen: "first"}, "Conflict"},
	} {
		err := h.ApplyFile(t.Context(), "web", modules.Entry{}, &c.change)
		known := new(modules.Error)
		if errors.As(err, &known); known.Code != c.code || (err == nil) != (c.code == "") {
			t.Errorf("%+v: %v", c.change, err)
		}
		if c.code != "" {
			continue
		}
		if !s.asked.Secret || c.change.Have != nil && s.asked.Have.SHA256 != digest {
			t.Errorf("%+v: it is asked for %+v", c.change, s.asked)
		}
		if want := s.asked.Want; want != nil && (*want.Content != "one" || c.change.Have == nil && want.Mode != "0600") {
			t.Errorf("%+v: wanted is %+v", c.change, want)
		}
	}
	if file.Content != nil || file.SHA256 != "" {
		t.Error("the secret is left in what was given")
	}
}

// recorder keeps what it was asked last.
type recorder struct {
	stub
	asked runner.Request
}

func (r *recorder) do(ctx context.Context, request *runner.Request, each func(runner.Answer) error) error {
	r.asked = *request
	return r.stub.do(ctx, request, each)
}
