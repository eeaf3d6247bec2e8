package runner

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMountPoints: what says that something is to be mounted is read as mount(8) and systemd(1) read it.
func TestMountPoints(t *testing.T) {
	fstab := "# /no /no none\nUUID=1 / ext4 defaults 0 1\nUUID=2 none swap sw\n/dev/sdb1 /srv/a\\040b/ ext4\nserver:/x /home nfs noauto 0 0\nwhat\n"
	if got := pointsOfFstab(fstab); !slices.Equal(got, []string{"/srv/a b", "/home"}) {
		t.Errorf("fstab has %q", got)
	}
	for name, want := range map[string]string{"-.mount": "/", "srv-data.mount": "/srv/data",
		`srv-my\x2ddata\x20x.mount`: "/srv/my-data x", `srv-\xzz.mount`: `/srv/\xzz`} {
		if got := pointOfUnit(name); got != want {
			t.Errorf("%s is of %q", name, got)
		}
	}
	if !within("/srv/a", "/srv/a") || !within("/srv/a/b", "/srv/a") || within("/srv/ab", "/srv/a") || !within("/a", "/") {
		t.Error("what is within a directory is not known")
	}
}

// asked lists and checks a kind, and returns what is there and of what it is unknown whether it is; or the error.
func asked(t *testing.T, root, kind, pattern string, names ...string) (listed, checked string) {
	t.Helper()
	say := func(verb string, part Part) string {
		var said []string
		err := Do(root, &Request{Verb: verb, Parts: []Part{part}}, func(a Answer) error {
			for _, item := range a.Items {
				said = append(said, strings.Split(string(item), `"`)[3])
			}
			for _, u := range a.Unread {
				said = append(said, strings.TrimSpace(u.Name+" unknown"))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(said)
		return strings.Join(said, ", ")
	}
	return say(List, Part{Kind: kind, Patterns: []string{pattern}}), say(Check, Part{Kind: kind, Names: names})
}

// TestDamaged: what files that were emptied or cut off no longer say is unknown, and not gone.
func TestDamaged(t *testing.T) {
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGmUVhYX"
	root := t.TempDir()
	whole := func() {
		write(t, root, "etc/passwd", "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\n")
		write(t, root, "etc/shadow", "root:*:1:0:1::::\nann:*:1:0:1::::\n")
		write(t, root, "etc/group", "root:x:0:\nann:x:1000:\n")
		write(t, root, "etc/gshadow", "root:*::\nann:!::\n")
		write(t, root, "home/ann/.ssh/authorized_keys", key+"\n")
		write(t, root, "var/lib/dpkg/arch", "amd64\n")
		write(t, root, "var/lib/dpkg/status", "Package: dpkg\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1\n\n"+
			"Package: tree\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1\n")
		write(t, root, "var/lib/dpkg/info/tree:amd64.list", "/.\n")
	}
	is := func(what, kind, name, want string) {
		t.Helper()
		listed, checked := asked(t, root, kind, "*", name)
		if got := listed + " | " + checked; got != want {
			t.Errorf("%s: there is %s", what, got)
		}
	}
	whole()
	is("whole", KindUser, "ann", "ann, root | ann")
	is("whole", KindGroup, "ann", "ann, root | ann")
	is("whole", KindAuthorizedKey, "ann/"+key, "ann | ann")
	is("whole", KindPackage, "tree", "dpkg, tree | tree")
	for _, file := range []string{"etc/passwd", "etc/group"} {
		write(t, root, file, "")
		kind := map[string]string{"etc/passwd": KindUser, "etc/group": KindGroup}[file]
		is(file+" is empty", kind, "ann", "unknown | unknown")
		if found := files(serve(t, root)(Request{Verb: List, Patterns: []string{"/home/**"}})); len(found) != 1 || found["/home/**"].Error == nil {
			t.Errorf("with %s empty there are %v", file, found)
		}
		whole()
	}
	write(t, root, "etc/passwd", "root:x:0:0::/root:/bin/sh\n")
	is("cut off", KindUser, "ann", "ann unknown, root | ann unknown")
	is("cut off", KindAuthorizedKey, "ann/"+key, "ann unknown | ann unknown")
	whole()
	write(t, root, "etc/group", "root:x:0:\n")
	is("cut off", KindGroup, "ann", "ann unknown, root | ann unknown")
	whole()
	write(t, root, "var/lib/dpkg/status", "Package: dpkg\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1\n")
	is("cut off", KindPackage, "tree", "dpkg, tree unknown | tree unknown")
	whole()
	if err := os.RemoveAll(filepath.Join(root, "home/ann")); err != nil {
		t.Fatal(err)
	}
	is("no home", KindAuthorizedKey, "ann/"+key, " | ann unknown")
}
