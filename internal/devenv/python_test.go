package devenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestPythonProgram(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	for first, want := range map[string]string{
		"#!" + python:               python,
		"#! " + python:              python,
		"#!/usr/bin/env python3":    python,
		"#!/bin/sh":                 "",
		"#!/usr/bin/env -S python3": "", // with arguments
		"print(1)":                  "",
		"":                          "",
	} {
		path := filepath.Join(t.TempDir(), "a-program-of-this-test")
		if err := os.WriteFile(path, []byte(first+"\nprint(1)\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		interpreter, program, err := PythonProgram(path)
		if interpreter != want || (err == nil) != (want != "") || err == nil && program != path {
			t.Errorf("%q: %q %q %v, wanted %q", first, interpreter, program, err, want)
		}
	}
}

// What the launcher of moto_server does once is what this version of moto does for every request: another version that
// has changed its names would run as slowly as without it.
func TestMotoLauncherFits(t *testing.T) {
	t.Parallel()
	binary, err := findMoto("")
	if err != nil {
		t.Fatal(err)
	}
	interpreter, _, err := PythonProgram(binary)
	if err != nil {
		t.Skipf("the emulator here is no program in Python, and not launched by one: %v", err)
	}
	code := strings.ReplaceAll(motoLauncher, "except (ImportError, AttributeError):\n    pass", "finally:\n    pass")
	code, _, _ = strings.Cut(code, "sys.argv = ")
	if out, err := exec.Command(interpreter, "-c", code).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
