package main

import (
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

func TestIdentify(t *testing.T) {
	t.Parallel()
	settings := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123abc"},
		{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"}}
	for _, test := range []struct {
		info                  debug.BuildInfo
		version, commit, date string
		want                  string
	}{
		{debug.BuildInfo{}, "", "", "", "devel  "},
		{debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: settings}, "", "", "",
			"devel 0123abc-dirty 2026-01-02T03:04:05Z"},
		{debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: settings[:2]}, "", "", "",
			"1.2.3 0123abc 2026-01-02T03:04:05Z"},
		{debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: settings}, "9.9.9", "fff", "then",
			"9.9.9 fff then"},
	} {
		version, commit, date := identify(&test.info, test.version, test.commit, test.date)
		if got := version + " " + commit + " " + date; got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

// The linker's words are what the binary says, in one line.
func TestVersion(t *testing.T) {
	if testing.Short() {
		t.Skip("links the engine")
	}
	t.Parallel()
	engine := filepath.Join(t.TempDir(), "engine")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", engine, "-ldflags",
		"-X main.version=1.2.3 -X main.commit=0123abc", ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for arg, want := range map[string]string{"version": "1.2.3",
		"--version": "engine version 1.2.3 (commit 0123abc, go"} {
		out, err := exec.Command(engine, arg).Output()
		if err != nil || !strings.HasPrefix(string(out), want) || strings.Count(string(out), "\n") != 1 {
			t.Errorf("engine %s: %q, %v", arg, out, err)
		}
	}
}
