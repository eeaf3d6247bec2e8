package runner

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestSysctlLines reads lines as sysctl.d(5) has them.
func TestSysctlLines(t *testing.T) {
	for line, want := range map[string]string{
		"net.ipv4.ip_forward=1":                    "net.ipv4.ip_forward 1",
		" net/ipv4/ip_forward = 1 ":                "net.ipv4.ip_forward 1",
		"net.ipv4.conf.eth0/1.forwarding = 0":      "net.ipv4.conf.eth0/1.forwarding 0",
		"net/ipv4/conf/eth0.1/forwarding = 0":      "net.ipv4.conf.eth0/1.forwarding 0",
		"/proc/sys/kernel/sysrq = 1":               "kernel.sysrq 1",
		"-kernel.core_pattern = |/bin/core %p = x": "kernel.core_pattern |/bin/core %p = x",
		"kernel.core_pattern =":                    "kernel.core_pattern ",
		"# a = b":                                  "",
		"; a = b":                                  "",
		"":                                         "",
		"net.ipv4.conf.*.rp_filter = 2":            "",
		"-net.ipv4.conf.all.rp_filter":             "",
		"what is this":                             "",
		"a b = c":                                  "",
	} {
		name, value, ok := parseSysctl(line)
		if got := name + " " + value; ok && got != want || ok == (want == "") {
			t.Errorf("%q is %q, %t", line, got, ok)
		}
	}
}

// TestSysctlOrder: the later name has the last word, whatever its directory; one hides those of its name in later
// directories.
func TestSysctlOrder(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{
		"etc/sysctl.d/50-b.conf":     "a.a = etc\n",
		"usr/lib/sysctl.d/50-b.conf": "a.b = hidden\n",
		"usr/lib/sysctl.d/60-c.conf": "a.a = lib\na.c = one\na.c = two\n",
		"run/sysctl.d/10-a.conf":     "a.c = run\na.d = run\n",
		"etc/sysctl.d/README":        "a.e = no\n",
	} {
		at := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tree, err := openTree(root)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.close()
	all, err := tree.settings("")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for name, s := range all {
		got[name] = *s.Value + " " + s.File
	}
	if want := map[string]string{"a.a": "lib /usr/lib/sysctl.d/60-c.conf", "a.c": "two /usr/lib/sysctl.d/60-c.conf",
		"a.d": "run /run/sysctl.d/10-a.conf"}; !maps.Equal(got, want) {
		t.Errorf("there is %v", got)
	}
}

// TestSudoersWho reads to whom rules of sudoers(5) give something.
func TestSudoersWho(t *testing.T) {
	for content, want := range map[string]struct {
		who     []string
		without bool
	}{
		"anna ALL=(ALL) ALL":                                          {[]string{"anna"}, false},
		"%ops,bob , +net\tweb1,web2 = NOPASSWD: /bin/a":               {[]string{"%ops", "bob", "+net"}, true},
		`"%domain users" ALL = ALL`:                                   {[]string{"%domain users"}, false},
		`%domain\ users ALL = PASSWD: A, NOPASSWD : B`:                {[]string{`%domain\ users`}, true},
		"# anna ALL=(ALL) NOPASSWD: ALL\n#include /x\n":               {nil, false},
		"#0 ALL=(ALL) ALL":                                            {[]string{"#0"}, false},
		"Defaults env_reset\nUser_Alias A = b\n@includedir /x\nA H=C": {[]string{"A"}, false},
		"anna \\\n ALL = \\\n NOPASSWD: ALL\nanna ALL = B\n":          {[]string{"anna"}, true},
		"what is this\n":                                              {nil, false},
	} {
		if who, without := parseSudoers(content); !slices.Equal(who, want.who) || without != want.without {
			t.Errorf("%q: %q, %t", content, who, without)
		}
	}
}

// TestSchedules: what crontab(5) has as a schedule, and what it does not.
func TestSchedules(t *testing.T) {
	for schedule, want := range map[string]bool{
		"* * * * *": true, "0 0 1 1 0": true, "59 23 31 12 7": true, "*/5 0-23/2 1,15,31 jan-mar,DEC mon-fri": true,
		"@reboot": true, "@daily": true, "@every": false, "": false, "* * * *": false, "* * * * * *": false,
		"60 * * * *": false, "* 24 * * *": false, "* * 0 * *": false, "* * * 13 * ": false, "* * * * 8": false,
		"5-1 * * * *": false, "*/0 * * * *": false, "5/2 * * * *": false, "-1 * * * *": false, "1, * * * *": false,
		"* * * * monday": false, "+1 * * * *": false,
	} {
		if got := validSchedule(schedule); got != want {
			t.Errorf("%q: %t", schedule, got)
		}
	}
}

// TestFstabLines reads lines as fstab(5) has them, and spells them again so that they are read alike.
func TestFstabLines(t *testing.T) {
	for line, want := range map[string]string{
		"UUID=1 / ext4":                 "UUID=1\t/\text4\tdefaults\t0 0\n",
		"\t/dev/a /b\\040c xfs ro 1 2 ": "/dev/a\t/b\\040c\txfs\tro\t1 2\n",
		"a\\134b\\043 /x none bind":     "a\\134b\\043\t/x\tnone\tbind\t0 0\n",
		"# a /b c":                      "",
		"a none swap sw 0 0":            "",
		"a /x/../y ext4 defaults":       "",
		"a /b":                          "",
		"a /b c d e":                    "",
		"a /b\\012c ext4 ro":            "",
	} {
		m := parseFstab(line)
		switch {
		case m == nil && want == "":
		case m == nil || m.line() != want:
			t.Errorf("%q is %v", line, m)
		default:
			if again := parseFstab(m.line()); again == nil || mountDifference(again, m) != "" || again.Point != m.Point {
				t.Errorf("%q is %v", m.line(), again)
			}
		}
	}
}

// TestKeptMounts: what a host is none without is not changed.
func TestKeptMounts(t *testing.T) {
	for point, want := range map[string]bool{"/": true, "/boot": true, "/boot/efi": true, "/usr": true, "/usr/local": true,
		"/var": true, "/var/lib": true, "/var/lib/docker": false, "/lib": true, "/lib64": true, "/etc/x": true, "/proc": true,
		"/dev/shm": true, "/run/x": true, "/home": false, "/srv": false, "/library": false, "/bootleg": false, "/opt": false,
		"/tmp": true, "/tmp/x": false, "/root": true} {
		if got := keptMounts.MatchString(point); got != want {
			t.Errorf("%s: %t", point, got)
		}
	}
}

// TestStanzas: what is not changed of a file of deb822(5) stays, byte by byte.
func TestStanzas(t *testing.T) {
	const text = "# head\n\nTypes: deb\n# within\nURIs:\n a:b\n# in a value\n c:d\nSUITES: x\nX-Other: 1\n\n#\n\nTypes: deb-src\nEnabled: Off"
	before, all, err := parseStanzas("x.sources", text)
	if err != nil || len(all) != 2 || before != "# head\n\n" {
		t.Fatalf("%q %v %v", before, all, err)
	}
	written := before
	for _, s := range all {
		for _, f := range s.fields {
			written += f.text
		}
	}
	if written != text {
		t.Errorf("it is %q", written)
	}
	if got := all[0].value("uris"); got != "a:b\n c:d" {
		t.Errorf("the value is %q", got)
	}
	all[0].set("suites", "y z")
	all[0].set("X-Other", "")
	all[0].set("Components", "main")
	written = before
	for _, f := range all[0].fields {
		written += f.text
	}
	if want := "# head\n\nTypes: deb\n# within\nURIs:\n a:b\n# in a value\n c:d\nsuites: y z\nComponents: main\n\n#\n\n"; written != want {
		t.Errorf("it is %q", written)
	}
	if *all[1].repository("x").Enabled || !*all[0].repository("x").Enabled {
		t.Error("what is enabled is not read")
	}
	for _, text := range []string{" a\n", "Types\n", "Types: deb\n\n more\n", "A B: c\n", ": c\n"} {
		if _, _, err := parseStanzas("x.sources", text); err == nil {
			t.Errorf("%q is read", text)
		}
	}
}
