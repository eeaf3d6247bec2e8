package hosts

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"iasql/internal/hosts/runner"
	"iasql/internal/modules"
)

// pretend starts a server of SSH whose shell does what is given, and returns hosts of which web is it.
func pretend(t *testing.T, shell func(ssh.Channel)) *Hosts {
	t.Helper()
	key := func() (ed25519.PrivateKey, ssh.Signer) {
		_, private, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		signer, err := ssh.NewSignerFromKey(private)
		if err != nil {
			t.Fatal(err)
		}
		return private, signer
	}
	config := &ssh.ServerConfig{PublicKeyCallback: func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) {
		return &ssh.Permissions{}, nil
	}}
	_, signer := key()
	config.AddHostKey(signer)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go answerSSH(conn, config, shell)
		}
	}()
	login, _ := key()
	block, err := ssh.MarshalPrivateKey(login, "")
	if err != nil {
		t.Fatal(err)
	}
	settings := Settings{Name: "web", Address: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, User: "me",
		PrivateKey: string(pem.EncodeToMemory(block)), Scopes: scoped.Scopes}
	h := New(Options{Load: func(context.Context, string) (Settings, error) { return settings, nil },
		Runner: func(string) ([]byte, error) { return []byte("a runner"), nil }})
	t.Cleanup(h.Close)
	return h
}

func answerSSH(conn net.Conn, config *ssh.ServerConfig, shell func(ssh.Channel)) {
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		channel, asked, err := offered.Accept()
		if err != nil {
			return
		}
		go func() {
			for r := range asked {
				_ = r.Reply(r.Type == "exec", nil)
				if r.Type == "exec" {
					go func() { shell(channel); channel.Close() }()
				}
			}
		}()
	}
}

const hello = `{"id":0,"host":{"version":5,"machine":"m"}}` + "\n"

// TestHostileServer: what an SSH server says instead of a runner ends soon, in words, and within bounds.
func TestHostileServer(t *testing.T) {
	t.Parallel()
	endless := func(c ssh.Channel, text string) {
		for block := []byte(strings.Repeat(text, 1000)); ; {
			if _, err := c.Write(block); err != nil {
				return
			}
		}
	}
	says := func(text string) func(ssh.Channel) {
		return func(c ssh.Channel) { _, _ = c.Write([]byte(text)) }
	}
	for what, c := range map[string]struct {
		shell func(ssh.Channel)
		want  string // of the identity, or of the listing where that is given
	}{
		"nothing":         {says(""), "does not answer"},
		"noise":           {func(c ssh.Channel) { endless(c, "motd\n") }, "says too much"},
		"a line":          {func(c ssh.Channel) { endless(c, "x") }, "a line of more than"},
		"another version": {says(`{"id":0,"host":{"version":9}}` + "\n"), "does not say who it is"},
		"no machine":      {says("iasql-runner none Plan9 mips\n"), "no runner for its kind of machine, Plan9 mips"},
		"escapes":         {says("iasql-runner none \x1b[2J x\n"), "no runner for its kind of machine, \\u001b[2J x"},
		"needed for ever": {says("iasql-runner needed x86_64\n"), "runner"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			said, err := pretend(t, c.shell).Identify(ctx, modules.Scope{Account: "web"}, true)
			if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), c.want) ||
				strings.Contains(err.Error(), "\x1b") {
				t.Errorf("%+v, %v", said, err)
			}
		})
	}
	for what, c := range map[string]struct {
		answer func(c ssh.Channel, line []byte)
		want   string
	}{
		"a line without end": {func(c ssh.Channel, _ []byte) { endless(c, "x") }, "a line of more than"},
		"no JSON":            {func(c ssh.Channel, _ []byte) { _, _ = c.Write([]byte("]\n")) }, "invalid character"},
		"an end":             {func(c ssh.Channel, _ []byte) { c.Close() }, "lost"},
		"other paths": {func(c ssh.Channel, _ []byte) {
			_, _ = c.Write([]byte(`{"id":1,"files":[{"path":"/etc/shadow","kind":"file"}]}` + "\n"))
		}, "nobody has asked for"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			h := pretend(t, func(ch ssh.Channel) {
				_, _ = ch.Write([]byte("motd\n" + hello))
				line := make([]byte, 4096)
				if n, err := ch.Read(line); err == nil {
					c.answer(ch, line[:n])
				}
				_, _ = io.Copy(io.Discard, ch)
			})
			said, err := h.Identify(t.Context(), modules.Scope{Account: "web"}, true)
			if err != nil || !strings.Contains(said.Said, "machine id m") || !said.Unproven {
				t.Fatalf("%+v, %v", said, err)
			}
			_, _, err = h.ListFiles(t.Context(), "web")
			if err == nil || !strings.Contains(err.Error(), c.want) || modules.ClassOf(err) != modules.Transient {
				t.Errorf("it says %v", err)
			}
		})
	}
}

// TestServedOverSSH: a runner at the other end answers, and a connection that breaks is made anew, if it is to the same
// host.
func TestServedOverSSH(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	broken := make(chan ssh.Channel, 10)
	h := pretend(t, func(c ssh.Channel) {
		broken <- c
		_ = runner.Serve(c, c, root)
	})
	if _, _, err := h.ListFiles(t.Context(), "web"); err == nil {
		t.Error("it was asked before it has said who it is")
	}
	for range 2 {
		if _, err := h.Identify(t.Context(), modules.Scope{Account: "web"}, false); err != nil {
			t.Fatal(err)
		}
		if all, _, err := h.ListFiles(t.Context(), "web"); err != nil || len(all) != 0 {
			t.Errorf("%v, %v", all, err)
		}
		(<-broken).Close()
		for h.known["web"].current() != nil {
			time.Sleep(time.Millisecond)
		}
	}
	h.known["web"].accepted = "another"
	_, _, err := h.ListFiles(t.Context(), "web")
	if modules.ClassOf(err) != modules.Denied || !strings.Contains(err.Error(), "and it was another") {
		t.Errorf("it says %v", err)
	}
}

// TestBounded: what a script says on the side is kept in part.
func TestBounded(t *testing.T) {
	t.Parallel()
	b := &bounded{}
	for range 10 {
		if n, err := b.Write(bytes.Repeat([]byte("x"), 999)); n != 999 || err != nil {
			t.Fatal(n, err)
		}
	}
	if got := len(b.String()); got != 2000 {
		t.Errorf("%d bytes are kept", got)
	}
}

// TestAdvice: what shells and sudo say about a runner that does not start has an answer, whichever shell says it.
func TestAdvice(t *testing.T) {
	for said, want := range map[string]string{
		"bash: line 9: exec: sudo: not found":                                     "install sudo",
		"sh: 10: exec: sudo: Permission denied":                                   "install sudo",
		"sudo: sorry, you must have a tty to run sudo":                            "Defaults:ann !requiretty",
		"bash: line 9: /home/ann/.iasql-runner/b145: Permission denied":           "noexec",
		"sudo: unable to execute /home/ann/.iasql-runner/b145: Permission denied": "noexec",
		"mkdir: cannot create directory '/home/ann/.iasql-runner': File exists":   "a home that it may write to",
		"Unmatched '''.": "such as /bin/sh",
	} {
		if got := advice(said, "ann"); !strings.Contains(got, want) {
			t.Errorf("%s: %s", said, got)
		}
	}
	if got := advice("Segmentation fault", "ann"); got != "" {
		t.Errorf("it says %s", got)
	}
}
