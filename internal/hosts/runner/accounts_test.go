package runner

import (
	"strings"
	"testing"
)

func TestParseKey(t *testing.T) {
	key := "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGmUVhYX"
	for line, want := range map[string][3]string{
		key:                       {key, "", ""},
		"  " + key + "  a b \r\n": {key, "a b", ""},
		`command="a \"b\" c",no-pty ` + key + " x": {key, "x", `command="a \"b\" c",no-pty`},
		"no-pty\t" + key:    {key, "", "no-pty"},
		"# " + key:          {},
		"":                  {},
		"ssh-ed25519":       {},
		"no-pty x " + key:   {},
		`command="a ` + key: {},
		strings.Replace(key, "AAAAC3", "\x00AAAA", 1): {},
	} {
		k := parseKey("anna", line)
		switch {
		case k == nil && want[0] != "":
			t.Errorf("%q is no key", line)
		case k != nil && [3]string{k.Key, *k.Comment, *k.Options} != want:
			t.Errorf("%q is %q %q %q", line, k.Key, *k.Comment, *k.Options)
		}
	}
}

// TestNeeded: what a host cannot be without is never removed.
func TestNeeded(t *testing.T) {
	all := installed{"tar": {Name: "tar", Essential: true}, "nginx": {Name: "nginx"}}
	for name, is := range map[string]bool{"tar": true, "nginx": false, "sudo": true, "openssh-server": true,
		"systemd": true, "linux-image-amd64": true, "linux-image-5.10.0-1-amd64": false, "libc6:i386": true,
		"linux-image-": true} {
		if got := needed(&apt{}, name, all) != ""; got != is {
			t.Errorf("%s: %t", name, got)
		}
	}
	would := &plan{remove: []string{"nginx", "two"}}
	nginx := &Package{Name: "nginx"}
	if err := wouldRemove(&apt{}, &step{of: nginx, remove: true}, would, all); codeOf(err) != InUse {
		t.Errorf("%v", err)
	}
	nginx.MayRemove = []string{"two"}
	if err := wouldRemove(&apt{}, &step{of: nginx, remove: true}, would, all); err != nil {
		t.Errorf("%v", err)
	}
	nginx.MayRemove = []string{"two", "tar"}
	would.remove = append(would.remove, "tar")
	if err := wouldRemove(&apt{}, &step{of: nginx, remove: true}, would, all); codeOf(err) != Refused {
		t.Errorf("%v", err)
	}
}

// TestUnfinished: what dpkg has begun and not ended shows, also where it has not written it to its file yet.
func TestUnfinished(t *testing.T) {
	root := t.TempDir()
	write(t, root, "var/lib/dpkg/arch", "amd64\n")
	write(t, root, "var/lib/dpkg/status", "Package: a\nStatus: hold ok installed\nArchitecture: amd64\nVersion: 1\n\n"+
		"Package: b\nStatus: install ok half-configured\nArchitecture: i386\nVersion: 2\nDescription: x\n Package: no\n\n"+
		"Package: c\nStatus: deinstall ok config-files\nArchitecture: all\nVersion: 3\n\n"+
		"Package: d\nStatus: install ok installed\nArchitecture: all\nVersion: 4\n\n"+
		"Package: e\nStatus: install reinstreq half-configured\nArchitecture: all\nVersion: 1\n\n"+
		"Package: f\nStatus: deinstall ok half-installed\nArchitecture: all\nVersion: 1\n\n"+
		"Package: g\nStatus: purge ok config-files\nArchitecture: all\nVersion: 1\n\n"+
		"Package: h\nStatus: purge ok not-installed\nArchitecture: all\n")
	write(t, root, "var/lib/dpkg/updates/0001", "Package: d\nStatus: install ok unpacked\nArchitecture: all\nVersion: 5\n")
	write(t, root, "var/lib/apt/extended_states", "Package: a\nArchitecture: amd64\nAuto-Installed: 1\n")
	tree, err := openTree(root)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.close()
	all, err := (&apt{tree}).packages()
	if err != nil || len(all) != 6 || !*all["a"].Held || !*all["a"].Automatic || all["b:i386"] == nil || all["d"].Version != "5" {
		t.Errorf("%v, %v", all, err)
	}
	if got := strings.Join(all.unfinished(false), " "); got != "b:i386 d g" {
		t.Errorf("it is at %s", got)
	}
	if got := strings.Join(all.unfinished(true), " "); got != "e f" {
		t.Errorf("torn are %s", got)
	}
}
