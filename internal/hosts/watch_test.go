package hosts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/events"
	"golang.org/x/crypto/ssh"

	"iasql/internal/hosts/runner"
)

// watchedScopes are those of a host that is watched in tests.
var watchedScopes = Settings{Confirmed: "me", Scopes: []Scope{{Kind: KindFile, Pattern: "/etc/app/**"},
	{Kind: KindUnit, Pattern: "app*"}, {Kind: KindUser, Pattern: "a*"}}}

// everything are the hints with which its watch begins.
var everything = []Hint{{Table: "host_authorized_key"}, {Table: "host_file"}, {Table: "host_unit"}, {Table: "host_user"}}

// TestWatchHints: what a host names is a hint if a scope names it, and nothing else is.
func TestWatchHints(t *testing.T) {
	t.Parallel()
	s := &stub{said: "me", err: errLost, answers: []runner.Answer{{More: true}, {More: true, Changed: []runner.Changed{
		{Kind: KindFile, Name: "/etc/app/a"}, {Kind: KindFile, Name: "/etc/shadow"}, {Kind: KindFile, Name: "/etc/app/../shadow"},
		{Kind: KindFile, Name: "/etc/app/a\x00b"}, {Kind: KindFile}, {Kind: KindFile, Name: "/etc/app/" + strings.Repeat("x", maxName)},
		{Kind: KindUnit, Name: "app.service"}, {Kind: KindUnit, Name: "ssh.service"}, {Kind: runner.KindAuthorizedKey, Name: "x"},
		{Kind: KindPackage, Name: "nginx"}, {Kind: "moon", Name: "x"}, {Kind: KindUnit, Name: "app\x1b[2J"}}},
		{More: true, Unwatched: []runner.Unwatched{{Kind: KindUnit, Why: &runner.Failure{Message: "no\x1bbus"}},
			{Kind: KindPackage, Why: &runner.Failure{Message: "is in no scope"}}, {Kind: "moon"}}},
		{More: true, Unwatched: []runner.Unwatched{{Kind: KindUnit}}}}}
	h := answering(s, watchedScopes)
	var got News
	var lacking []string
	err := h.Watch(t.Context(), "web", func(n News) error {
		got.Hints = append(got.Hints, n.Hints...)
		got.Foreign, got.Malformed = got.Foreign+n.Foreign, got.Malformed+n.Malformed
		lacking = append(lacking, n.Lacking)
		return nil
	})
	if err == nil || !strings.Contains(err.Error(), "lost") {
		t.Errorf("it ended with %v", err)
	}
	want := append(slices.Clone(everything), Hint{"host_file", "path", "/etc/app/a"}, Hint{Table: "host_file"},
		Hint{"host_unit", "name", "app.service"}, Hint{Table: "host_authorized_key"})
	if !slices.Equal(got.Hints, want) || got.Foreign != 4 || got.Malformed != 4 {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if want := []string{"", "", `unit: no\u001bbus`, ""}; !slices.Equal(lacking, want) {
		t.Errorf("not watched are %q", lacking)
	}
	// Whoever was not confirmed is not listened to.
	s.said = "another"
	if err := h.Watch(t.Context(), "web", func(News) error { t.Error("it is listened to"); return nil }); err == nil ||
		!strings.Contains(err.Error(), "nobody has confirmed") {
		t.Errorf("it says %v", err)
	}
}

// TestHostileWatcher: what an SSH server says instead of a runner that watches ends soon, and in words; and one that
// says more than it may is read no faster than it may say.
func TestHostileWatcher(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct{ says, want string }{
		"no watch":    {"iasql-runner refused\n", "does not watch"},
		"a long line": {runner.WatchBegins + "\n" + strings.Repeat("x", 2*maxWatchLine), "a line of more than"},
		"no JSON":     {runner.WatchBegins + "\nmoon\n", "invalid character"},
		"nothing":     {"", "does not"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			h := watchedServer(t, func(channel ssh.Channel) {
				if _, err := channel.Write([]byte(c.says)); err == nil && c.says != "" {
					_, _ = io.Copy(io.Discard, channel)
				}
			})
			err := h.Watch(t.Context(), "web", func(News) error { return nil })
			if err == nil || !strings.Contains(err.Error(), c.want) && what != "nothing" {
				t.Errorf("it says %v", err)
			}
		})
	}
	t.Run("a flood", func(t *testing.T) {
		t.Parallel()
		h := watchedServer(t, func(c ssh.Channel) {
			_, _ = c.Write([]byte(runner.WatchBegins + "\n"))
			for i := 0; ; i++ {
				if _, err := fmt.Fprintf(c, `{"id":1,"more":true,"changed":[{"kind":"file","name":"/etc/app/%d"}]}`+"\n", i); err != nil {
					return
				}
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		lines, begun := 0, time.Now()
		err := h.Watch(ctx, "web", func(News) error {
			if lines++; lines == linesAtOnce+2*linesPerSecond {
				cancel()
			}
			return nil
		})
		// It takes no less than that: how much longer does not matter.
		if took := time.Since(begun); !errors.Is(err, context.Canceled) || took < time.Second {
			t.Errorf("%d lines took %s: %v", lines, took, err)
		}
	})
}

// watchedServer returns hosts of which web is a server whose runner says who it is and, where it is to watch, what is
// given.
func watchedServer(t *testing.T, watch func(ssh.Channel)) *Hosts {
	t.Helper()
	first := make(chan struct{}, 1)
	h := pretend(t, func(c ssh.Channel) {
		select {
		case first <- struct{}{}: // the runner that answers
			_, _ = c.Write([]byte(hello))
			buffer := make([]byte, 1)
			for {
				if _, err := c.Read(buffer); err != nil {
					return
				}
			}
		default:
			watch(c)
		}
	})
	settings, err := h.options.Load(t.Context(), "web")
	if err != nil {
		t.Fatal(err)
	}
	s, err := h.open(t.Context(), &settings)
	if err != nil {
		t.Fatal(err)
	}
	settings.Confirmed, settings.Scopes = s.who(), watchedScopes.Scopes
	h.options.Load = func(context.Context, string) (Settings, error) { return settings, nil }
	k := h.host("web")
	k.settings, k.loaded, k.session = settings, time.Now(), s
	return h
}

// TestContainerEvents: what Docker tells of changes names what has changed; a program that is run in a container changes
// nothing.
func TestContainerEvents(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		event events.Message
		want  []runner.Changed
	}{
		{events.Message{Type: "container", Action: "die", Actor: events.Actor{ID: "1", Attributes: map[string]string{"name": "web"}}},
			[]runner.Changed{{Kind: KindContainer, Name: "web"}}},
		{events.Message{Type: "container", Action: "rename",
			Actor: events.Actor{Attributes: map[string]string{"name": "new", "oldName": "/old"}}},
			[]runner.Changed{{Kind: KindContainer, Name: "new"}, {Kind: KindContainer, Name: "old"}}},
		{events.Message{Type: "container", Action: "exec_start: sh", Actor: events.Actor{Attributes: map[string]string{"name": "web"}}}, nil},
		{events.Message{Type: "volume", Action: "create", Actor: events.Actor{ID: "data"}}, []runner.Changed{{Kind: KindVolume, Name: "data"}}},
		{events.Message{Type: "image", Action: "pull", Actor: events.Actor{ID: "x"}}, []runner.Changed{{Kind: KindImage}}},
		{events.Message{Type: "network", Action: "connect", Actor: events.Actor{Attributes: map[string]string{"name": "net"}}},
			[]runner.Changed{{Kind: KindContained, Name: "net"}}},
		{events.Message{Type: "daemon", Action: "reload"}, nil},
	} {
		if got := containersChanged(&c.event); !slices.Equal(got, c.want) {
			t.Errorf("%d: %v", i, got)
		}
	}
}
