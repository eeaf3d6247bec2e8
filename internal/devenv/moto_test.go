package devenv

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func startMoto(t *testing.T, opts MotoOptions) *Moto {
	t.Helper()
	m, err := StartMoto(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

// ec2 makes a bare call of the EC2 query API and returns the answer's text.
func ec2(t *testing.T, endpoint, action string, params ...string) string {
	t.Helper()
	form := url.Values{"Action": {action}, "Version": {"2016-11-15"}}
	for i := 0; i < len(params); i += 2 {
		form.Set(params[i], params[i+1])
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint+"/", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization",
		"AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/ec2/aws4_request, SignedHeaders=host, Signature=0")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// the emulator works, is strict, can be emptied, and is gone after Stop.
func TestMoto(t *testing.T) {
	t.Parallel()
	logFile := filepath.Join(t.TempDir(), "moto.log")
	m := startMoto(t, MotoOptions{LogFile: logFile})
	if out := ec2(t, m.URL(), "CreateVpc", "CidrBlock", "10.9.0.0/16"); !strings.Contains(out, "<vpcId>") {
		t.Fatal(out)
	}
	if out := ec2(t, m.URL(), "DescribeVpcs"); !strings.Contains(out, "10.9.0.0/16") {
		t.Error(out)
	}
	if out := ec2(t, m.URL(), "RunInstances", "ImageId", "ami-00000000000000000", "MinCount", "1", "MaxCount", "1"); !strings.Contains(out, "InvalidAMIID") {
		t.Errorf("an unknown AMI is accepted: %s", out)
	}
	if err := m.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out := ec2(t, m.URL(), "DescribeVpcs"); strings.Contains(out, "10.9.0.0/16") {
		t.Errorf("still there after a reset: %s", out)
	}
	if err := m.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-m.Done()
	if err := m.Err(); err != nil {
		t.Errorf("a wanted stop is reported: %v", err)
	}
	l, err := net.Listen("tcp4", strings.TrimPrefix(m.URL(), "http://"))
	if err != nil {
		t.Fatalf("something is left on the port: %v", err)
	}
	l.Close()
	if text, err := os.ReadFile(logFile); err != nil || len(text) == 0 {
		t.Errorf("log: %q, %v", text, err)
	}
	if err := m.Reset(t.Context()); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("reset of a stopped server: %v", err)
	}
}

// a wrapper that does not exec the real server is stopped with it.
func TestMotoWrapper(t *testing.T) {
	t.Parallel()
	real, err := FindTool("moto_server")
	if err != nil {
		t.Fatal(err)
	}
	wrapper := filepath.Join(t.TempDir(), "wrapper")
	if err := os.WriteFile(wrapper, []byte("#!/bin/sh\n'"+real+"' \"$@\"\nexit $?\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	m := startMoto(t, MotoOptions{Binary: wrapper})
	pid := m.proc.cmd.Process.Pid
	if err := m.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(-pid, 0); err == nil {
		// The child may be a zombie for the moment it takes init to reap it;
		// what counts is that nobody holds the port.
		l, err := net.Listen("tcp4", strings.TrimPrefix(m.URL(), "http://"))
		if err != nil {
			t.Fatalf("the wrapped server still runs: %v", err)
		}
		l.Close()
	}
}

func TestMotoDies(t *testing.T) {
	t.Parallel()
	m := startMoto(t, MotoOptions{})
	if err := syscall.Kill(-m.proc.cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-m.Done()
	if err := m.Err(); err == nil {
		t.Error("its death went unnoticed")
	}
}

func TestMotoFailures(t *testing.T) {
	t.Parallel()
	t.Run("port taken", func(t *testing.T) {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		port := l.Addr().(*net.TCPAddr).Port
		_, err = StartMoto(t.Context(), MotoOptions{Port: port})
		wantKind(t, err, ErrPortTaken, fmt.Sprintf("port %d is taken", port), "--aws-port")
	})
	t.Run("no such program", func(t *testing.T) {
		_, err := StartMoto(t.Context(), MotoOptions{Binary: "/nonexistent/moto_server"})
		wantKind(t, err, ErrNoBinaries, "/nonexistent/moto_server", "make deps")
	})
	t.Run("program fails", func(t *testing.T) {
		script := filepath.Join(t.TempDir(), "broken")
		if err := os.WriteFile(script, []byte("#!/bin/sh\necho 'no module named moto' >&2\nexit 1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		_, err := StartMoto(t.Context(), MotoOptions{Binary: script})
		wantKind(t, err, ErrNotStarted, script, "no module named moto")
	})
}

func TestFindTool(t *testing.T) {
	root := t.TempDir()
	tool := filepath.Join(root, ".venv", "bin", "some_tool")
	if err := os.MkdirAll(filepath.Dir(tool), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(tool, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	below := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(below)
	got, err := FindTool("some_tool")
	if err != nil {
		t.Fatal(err)
	}
	if resolved, _ := filepath.EvalSymlinks(tool); got != tool && got != resolved {
		t.Errorf("got %s, want %s", got, tool)
	}
	_, err = FindTool("another_tool")
	wantKind(t, err, ErrNoBinaries, "another_tool", "make deps")
}
