//go:build linux

package runner

import (
	"encoding/json"
	"testing"
)

// TestFacts: what is read of a machine is what patterns name, and a directory has none of it.
func TestFacts(t *testing.T) {
	ask := serve(t, "/")
	read := func(kind, pattern string) (all []json.RawMessage) {
		for _, a := range ask(Request{Verb: List, Parts: []Part{{Kind: kind, Patterns: []string{pattern}}}}) {
			all = append(all, a.Items...)
			for _, u := range a.Unread {
				t.Errorf("%s %s: %v", kind, u.Name, u.Error)
			}
		}
		return all
	}
	var one Process
	for _, item := range read(KindProcess, "process:*") {
		var p Process
		if err := json.Unmarshal(item, &p); err != nil || p.Name == "" || p.Started.IsZero() {
			t.Errorf("%s", item)
		}
		if p.PID == 1 {
			one = p
		}
	}
	if one.Name == "" {
		t.Error("the first process is not there")
	}
	if got := read(KindProcess, "process:"+one.Name+"x"); len(got) != 0 {
		t.Errorf("it is also called %s", got)
	}
	if got := read(KindAddress, "address:lo"); len(got) == 0 {
		t.Error("the machine has no address of its own")
	}
	if got := read(KindDisk, "disk:/"); len(got) != 1 {
		t.Errorf("it has the disks %s", got)
	}
	systems := read(KindSystem, "system:*")
	var system System
	if len(systems) != 1 || json.Unmarshal(systems[0], &system) != nil || len(system.BootID) != 36 || system.HostName == "" ||
		system.Kernel == "" || system.Architecture == "" || system.Memory < 1<<20 || system.Processors < 1 ||
		system.Booted.IsZero() || system.OS == "" {
		t.Errorf("the system is %s", systems)
	}
	if got := read(KindSystem, "system:"+system.HostName+"x"); len(got) != 0 {
		t.Errorf("it is also called %s", got)
	}
	all := serve(t, t.TempDir())(Request{Verb: List, Parts: []Part{{Kind: KindPort, Patterns: []string{"port:*"}}}})
	if len(all[0].Unread) != 1 || all[0].Unread[0].Error.Code != Refused {
		t.Errorf("%+v", all)
	}
}

func TestProcNet(t *testing.T) {
	for text, want := range map[string]string{"0100007F:1F90": "127.0.0.1:8080", "00000000:0016": "0.0.0.0:22",
		"00000000000000000000000001000000:0035": "[::1]:53", "xx:0016": "", "0100007F": "", "01:02": ""} {
		at, ok := address(text)
		if ok && at.String() != want || !ok && want != "" {
			t.Errorf("%s is %s, %t", text, at, ok)
		}
	}
	if got := unescaped(`/mnt/a\040b\134c\9`); got != `/mnt/a b\c\9` {
		t.Error(got)
	}
}

func TestRelease(t *testing.T) {
	var s System
	s.release("# of a vendor\nNAME=\"Debian GNU/Linux\"\nID=debian\nVERSION_ID=\"12\"\nPRETTY_NAME='Debian GNU/Linux 12 (bookworm)'\nBROKEN\n")
	if s != (System{OS: "debian", OSVersion: "12", OSName: "Debian GNU/Linux 12 (bookworm)"}) {
		t.Errorf("%+v", s)
	}
	for text, want := range map[string]int64{"MemTotal:        2048 kB\nMemFree: 1 kB\n": 2 << 20, "": 0, "MemTotal: x kB\n": 0} {
		if got := memTotal(text); got != want {
			t.Errorf("%q has %d", text, got)
		}
	}
}
