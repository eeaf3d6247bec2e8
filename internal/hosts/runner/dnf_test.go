package runner

import (
	"reflect"
	"strings"
	"testing"
)

// TestTransactionTable: what dnf would do is read of the table that it prints, also where names are wider than a column.
func TestTransactionTable(t *testing.T) {
	t.Parallel()
	const said = `Last metadata expiration check: 0:00:01 ago on Mon Nov 30 13:16:19 2026.
Dependencies resolved.
=======================================================
 Package        Arch    Version
                                Repo      Size
=======================================================
Installing:
 a-name-that-is-wider-than-its-column
                noarch  1.0-1   local    6.7 k
     replacing  three.noarch 1.0-1
 one            i686    2.0-1
                                local    6.1 k
Upgrading:
 four           x86_64  2.0-1   local    6.1 k
     replacing  four.x86_64 1.0-1
Installing dependencies:
 five           noarch  1:2.0-1 local    6.1 k
Removing:
 six            x86_64  1.0-1   @local   4
Removing dependent packages:
 seven          i686    1.0-1   @local   4
Skipping packages with conflicts:
(add '--best --allowerasing' to command line to force their upgrade):
 eight          noarch  1.0-1   local    6.2 k

Transaction Summary
=======================================================
Install  4 Packages
 nine           noarch  1.0-1   local    6.2 k
Operation aborted.
`
	would := parseTransaction(said, (&rpms{native: "x86_64"}).rowName)
	if got, want := strings.Join(would.install, " "), "a-name-that-is-wider-than-its-column one:i686 four five"; got != want {
		t.Errorf("it would install %s, not %s", got, want)
	}
	if got, want := strings.Join(would.remove, " "), "three six seven:i686"; got != want {
		t.Errorf("it would remove %s, not %s", got, want)
	}
	if would := parseTransaction("Dependencies resolved.\nNothing to do.\nComplete!\n", nil); would.install != nil || would.remove != nil {
		t.Errorf("of nothing to do it is %v", would)
	}
}

// TestRPMs: the database's words are read as a whole, or not at all.
func TestRPMs(t *testing.T) {
	t.Parallel()
	now, err := parseRPMs("warning: x\ngpg-pubkey\t0:1-2\t(none)\t5\nrpm\t0:4-1\tx86_64\t7\nkernel\t0:5-1\tx86_64\t7\nkernel\t0:6-1\tx86_64\t7\n" +
		"glibc\t2:1-1\ti686\t9\n")
	want := []rpm{{"glibc", "2:1-1", "i686", 9}, {"kernel", "6-1", "x86_64", 7}, {"kernel", "5-1", "x86_64", 7}, {"rpm", "4-1", "x86_64", 7}}
	if err != nil || !reflect.DeepEqual(now.all, want) || now.rowName("glibc", "i686") != "glibc:i686" ||
		now.rowName("rpm", "x86_64") != "rpm" || now.rowName("a", "noarch") != "a" {
		t.Errorf("%v, %v", now, err)
	}
	for _, said := range []string{"", "warning: x\n", "error: rpmdb is broken\nrpm\t0:4-1\tx86_64\t7\n", "rpm\t0:4-1\tx86_64\n",
		"rpm\t0:4-1\tx86_64\tlate\n", strings.Repeat("rpm\t0:4-1\tx86_64\t7\n", maxSaid/19+1)} {
		if now, err := parseRPMs(said); err == nil {
			t.Errorf("of %.40q it reads %v", said, now)
		}
	}
}

// TestVersionlocks: a lock is about the package that the plugin takes it for.
func TestVersionlocks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lock, name string
		is         bool
	}{
		{"bash-0:5.0.7-1.fc30.*", "bash", true},
		{"bash-5.*", "bash", true},
		{"bash", "bash", true},
		{"bash.x86_64", "bash", true},
		{"bash-completion", "bash", false},
		{"bash-completion-1:2.7-5.el8.*", "bash-completion", true},
		{"bash-completion-1:2.7-5.el8.*", "bash", false},
		{"java-1.8.0-openjdk-1:1.8.0.1-1.el8.*", "java", false},
		{"java-1.8.0-openjdk-1:1.8.0.1-1.el8.*", "java-1.8.0-openjdk", true},
		{"kernel*", "kernel-core", true},
		{"bash-", "bash", false},
		{"-", "bash", false},
	} {
		if is := isLocked(c.lock, c.name); is != c.is {
			t.Errorf("%s is about %s: %v", c.lock, c.name, is)
		}
	}
}

// TestPackager: a host is dpkg's if dpkg has installed itself, and else rpm's if that has a database.
func TestPackager(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		files string
		want  string
	}{
		{"", "apt-get"},
		{"var/lib/dpkg/status", "apt-get"},
		{"var/lib/dpkg/info/dpkg.list var/lib/rpm/rpmdb.sqlite usr/bin/dnf", "apt-get"},
		{"var/lib/dpkg/status var/lib/rpm/rpmdb.sqlite usr/bin/dnf", "dnf"},
		{"var/lib/rpm/Packages usr/bin/dnf", "dnf"},
		{"usr/lib/sysimage/rpm/rpmdb.sqlite usr/bin/dnf", "dnf"},
		{"var/lib/rpm/rpmdb.sqlite", "no /usr/bin/dnf"},
	} {
		root := t.TempDir()
		for _, file := range strings.Fields(c.files) {
			write(t, root, file, "x")
		}
		tree, err := openTree(root)
		if err != nil {
			t.Fatal(err)
		}
		m, err := tree.packager()
		if err != nil && !strings.Contains(err.Error(), c.want) || err == nil && m.name() != c.want {
			t.Errorf("of %s it is %v, %v", c.files, m, err)
		}
		tree.close()
	}
}
