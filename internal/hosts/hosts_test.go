package hosts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"iasql/internal/hosts/runner"
	"iasql/internal/modules"
)

// stub is a host that answers what it likes.
type stub struct {
	said    string
	answers []runner.Answer
	err     error
}

func (s *stub) do(_ context.Context, _ *runner.Request, each func(runner.Answer) error) error {
	for _, a := range s.answers {
		if a.Error != nil {
			return a.Error
		}
		if err := each(a); err != nil {
			return err
		}
	}
	return s.err
}
func (s *stub) watch(ctx context.Context, r *runner.Request, each func(runner.Answer) error) error {
	return s.do(ctx, r, each)
}
func (s *stub) who() string { return s.said }
func (s *stub) alive() bool { return true }
func (s *stub) close()      {}

// answering returns hosts of which web answers so.
func answering(s *stub, settings Settings) *Hosts {
	settings.Address = "192.0.2.1"
	h := New(Options{Load: func(context.Context, string) (Settings, error) { return settings, nil }})
	k := h.host("web")
	k.settings, k.loaded, k.session, k.accepted = settings, time.Now(), s, s.said
	return h
}

func files(entries ...runner.Entry) []runner.Answer { return []runner.Answer{{Files: entries}} }

var scoped = Settings{Scopes: []Scope{{Kind: KindFile, Pattern: "/etc/app/**"},
	{Kind: KindFile, Pattern: "/etc/app/*.conf", Prune: true, Validate: "check %s"}}}

// TestHostileAnswers: a host that answers what nobody has asked for is not believed, and its words are harmless.
func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", runner.MaxContent+1)
	one := runner.Entry{Path: "/etc/app/a", Kind: runner.File}
	for what, answers := range map[string][]runner.Answer{
		"a path beyond the scopes":  files(runner.Entry{Path: "/etc/shadow", Kind: runner.File}),
		"a path with dots":          files(runner.Entry{Path: "/etc/app/../shadow", Kind: runner.File}),
		"a path twice":              files(one, one),
		"a kind that there is not":  files(runner.Entry{Path: "/etc/app/a", Kind: "device"}),
		"a content without bounds":  files(runner.Entry{Path: "/etc/app/a", Kind: runner.File, Content: &long}),
		"a path that is no path":    files(runner.Entry{Path: "etc", Kind: runner.File}),
		"an error with escapes":     {{Error: &runner.Failure{Code: "Odd\x1b", Message: "\x1b[2J\n" + long}}},
		"an error of a known class": {{Error: &runner.Failure{Code: runner.Denied, Message: "no"}}},
	} {
		_, _, err := answering(&stub{said: "me", answers: answers}, scoped).ListFiles(t.Context(), "web")
		if err == nil {
			t.Errorf("%s is believed", what)
		} else if strings.ContainsAny(err.Error(), "\x1b\n") || len(err.Error()) > 1500 {
			t.Errorf("%s: it says %q", what, err.Error())
		}
	}
	many := make([]runner.Answer, 0, 801)
	for i := range 801 {
		var some []runner.Entry
		for j := range 250 {
			some = append(some, runner.Entry{Path: fmt.Sprintf("/etc/app/%d-%d", i, j), Kind: runner.File})
		}
		many = append(many, runner.Answer{Files: some, More: true})
	}
	if _, _, err := answering(&stub{said: "me", answers: many}, scoped).ListFiles(t.Context(), "web"); err == nil {
		t.Error("files without end are believed")
	}
	// What was not asked for in a direct read.
	h := answering(&stub{said: "me", answers: files(runner.Entry{Path: "/etc/app/b", Kind: runner.File})}, scoped)
	if _, _, err := h.GetFiles(t.Context(), "web", []string{"/etc/app/a"}); err == nil {
		t.Error("another file is believed")
	}
	// What no scope names is not even asked for.
	h = answering(&stub{said: "me", err: errors.New("it was asked")}, scoped)
	all, _, err := h.GetFiles(t.Context(), "web", []string{"/etc/shadow"})
	if err != nil || len(all) != 1 || all[0].Error == nil ||
		!strings.Contains(all[0].Error.Message, "INSERT INTO host_scope") {
		t.Errorf("%+v, %v", all, err)
	}
}

// TestClasses: what a failure means for the record.
func TestClasses(t *testing.T) {
	t.Parallel()
	want := &runner.Entry{Path: "/etc/app/a", Kind: runner.File}
	apply := func(h *Hosts, want *runner.Entry) error {
		return h.ApplyFile(t.Context(), "web", modules.Entry{}, &FileChange{Want: want})
	}
	for code, class := range map[runner.Code]modules.Class{
		runner.Conflict: modules.Transient, runner.Exists: modules.Exists, runner.NoParent: modules.Dependency, runner.NotEmpty: modules.Dependency, runner.Invalid: modules.Invalid,
		runner.Denied: modules.Denied, runner.Full: modules.Transient, "else": modules.Transient} {
		failed := []runner.Answer{{Error: &runner.Failure{Code: code, Message: "m"}}}
		if err := apply(answering(&stub{said: "me", answers: failed}, scoped), want); modules.ClassOf(err) != class {
			t.Errorf("%s: %v", code, err)
		}
	}
	lost := answering(&stub{said: "me", err: errLost}, scoped)
	if err := apply(lost, want); modules.ClassOf(err) != modules.MayHaveHappened {
		t.Errorf("an answer that was lost: %v", err)
	}
	if _, _, err := lost.ListFiles(t.Context(), "web"); modules.ClassOf(err) != modules.Transient {
		t.Errorf("a listing that was lost: %v", err)
	}
	locked := scoped
	locked.LockedBy = "me"
	if err := apply(answering(&stub{said: "me"}, locked), want); modules.ClassOf(err) != modules.Dependency {
		t.Errorf("locked: %v", err)
	}
	beyond := &runner.Entry{Path: "/etc/shadow", Kind: runner.File}
	if err := apply(answering(&stub{said: "me"}, scoped), beyond); modules.ClassOf(err) != modules.Invalid {
		t.Errorf("beyond the scopes: %v", err)
	}
	never := answering(&stub{said: "me"}, scoped)
	never.host("web").accepted = ""
	if _, _, err := never.ListFiles(t.Context(), "web"); err == nil {
		t.Error("a host that has not said who it is was asked")
	}
}

// TestNamed: of several scopes the one that validates holds, and anyone may prune.
func TestNamed(t *testing.T) {
	t.Parallel()
	if s := Named(scoped.Scopes, "/etc/app/a.conf"); s == nil || s.Validate == "" ||
		!Pruned(scoped.Scopes, "/etc/app/a.conf") {
		t.Errorf("%+v", s)
	}
	if s := Named(scoped.Scopes, "/etc/app/d/a"); s == nil || s.Validate != "" ||
		Pruned(scoped.Scopes, "/etc/app/d/a") {
		t.Errorf("%+v", s)
	}
	if Named(scoped.Scopes, "/etc/app") != nil {
		t.Error("a folder is not what is in it")
	}
}

// TestSweep: a connection that nobody uses is closed, and no other.
func TestSweep(t *testing.T) {
	t.Parallel()
	h := answering(&stub{said: "me"}, scoped)
	h.host("other").session = &stub{said: "other"}
	h.host("other").used = time.Now().Add(-2 * unusedFor)
	h.swept = time.Time{}
	if h.host("web").session == nil || h.known["other"].session != nil {
		t.Errorf("%+v, %+v", h.known["web"], h.known["other"])
	}
}

// TestMissingRunner: an engine that was built without the runners says so.
func TestMissingRunner(t *testing.T) {
	t.Parallel()
	if _, err := embeddedRunner("mips"); err == nil || !strings.Contains(err.Error(), "make build") {
		t.Errorf("it says %v", err)
	}
	for _, arch := range architectures {
		program, err := embeddedRunner(arch)
		if err == nil && !strings.HasPrefix(string(program), "\x7fELF") ||
			err != nil && !strings.Contains(err.Error(), "make build") {
			t.Errorf("%s: %d bytes, %v", arch, len(program), err)
		}
	}
}

// TestLockedSince: a host that was locked after it was looked at is locked.
func TestLockedSince(t *testing.T) {
	t.Parallel()
	asked := &stub{said: "host key a"}
	h := answering(asked, scoped)
	locked := scoped
	locked.Address, locked.LockedBy = "192.0.2.1", "the night shift"
	h.options.Load = func(context.Context, string) (Settings, error) { return locked, nil }
	err := h.ApplyFile(t.Context(), "web", modules.Entry{},
		&FileChange{Want: &runner.Entry{Path: "/etc/app/a", Kind: runner.File}})
	if e := new(modules.Error); !errors.As(err, &e) || e.Code != "Locked" {
		t.Errorf("a host that is locked: %v", err)
	}
}
