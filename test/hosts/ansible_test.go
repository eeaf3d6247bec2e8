package hosts

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"iasql/internal/test/harness"
)

// besideAnsible is how many files of each host Ansible looks at; 0: it is not measured.
var besideAnsible = flag.Int("ansible", 0, "measure beside ansible-playbook, with so many files a host")

// Of each of the fleet's hosts.
const (
	fleetHosts    = 20
	fleetFiles    = 500
	fleetPackages = 50
)

// fleet boots the hosts, with files and the packages of this machine, and returns the names of some of those.
func fleet(t *testing.T) (all []*machine, packages []string) {
	t.Helper()
	listed, err := exec.Command("dpkg-query", "-W", "-f", "${Package}\\n").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages = slices.Compact(slices.Sorted(strings.FieldsSeq(string(listed))))[:fleetPackages]
	all = make([]*machine, fleetHosts)
	all[0] = boot(t, "m0")
	var booting sync.WaitGroup
	for i := 1; i < len(all); i++ {
		booting.Go(func() { all[i] = boot(t, fmt.Sprint("m", i)) })
	}
	booting.Wait()
	if t.Failed() {
		t.FailNow()
	}
	status, err := os.ReadFile("/var/lib/dpkg/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		m.must(fmt.Sprintf(`mkdir -p /etc/app /var/lib/dpkg
			head -c 1000 /dev/zero | tr '\0' x > /etc/app/f1
			for i in $(seq 2 %d); do cp /etc/app/f1 /etc/app/f$i; done`, fleetFiles))
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/root/var/lib/dpkg/status", m.holder.Process.Pid), status, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return all, packages
}

// TestBesideAnsible measures, in one run, what it takes to see that nothing has changed on a fleet, and how soon an edit
// has its effect.
func TestBesideAnsible(t *testing.T) {
	if *besideAnsible == 0 {
		t.Skip("takes minutes, and Ansible: make compare-ansible runs it")
	}
	if _, err := exec.LookPath("ansible-playbook"); err != nil {
		harness.Lacking(t, "ansible-playbook")
	}
	all, packages := fleet(t)
	w := start(t)
	var insert []string
	for _, m := range all {
		insert = append(insert, m.sql(60))
	}
	w.PSQL(append(insert, `INSERT INTO host_scope (account, kind, pattern) SELECT name, 'file', '/etc/app/*' FROM host`,
		`INSERT INTO host_scope (account, kind, pattern) SELECT h.name, 'package', p
			FROM host h, unnest(string_to_array('`+strings.Join(packages, " ")+`', ' ')) p`)...)
	w.Becomes(3*shortly, fmt.Sprint(fleetHosts), `SELECT count(*) FROM iasql_worlds WHERE held LIKE '%nobody has confirmed%'`)
	w.Admin(`SELECT iasql_confirm('identity', name) FROM host`)
	begun := time.Now()
	w.sync()
	t.Logf("first import of %d hosts with %d files and %d packages each: %s", fleetHosts, fleetFiles, fleetPackages, time.Since(begun))
	w.row(fmt.Sprintf("%d|%d", fleetHosts*fleetFiles, fleetHosts*fleetPackages),
		`SELECT (SELECT count(*) FROM host_file), (SELECT count(*) FROM host_package)`)
	ours := median(t, "a quiet read of all of it", 5, func(int) { w.sync() })

	theirs := median(t, fmt.Sprintf("ansible-playbook --check --diff of %d files a host, and its packages", *besideAnsible), 1,
		func(int) { playbook(t, all, *besideAnsible) })
	t.Logf("%.0f times as fast, with %d times the files", theirs.Seconds()/ours.Seconds(), fleetFiles / *besideAnsible)
	if theirs < 20*ours {
		t.Errorf("a quiet read takes %s, and Ansible's %s", ours, theirs)
	}
	w.edits(t, all)
}

// edits measures how soon an edit of a file is on its host.
func (w *world) edits(t *testing.T, all []*machine) {
	conn, err := pgx.Connect(t.Context(), w.UserURL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	took := median(t, "an edit to its effect", 60, func(i int) {
		m, text := all[i%len(all)], fmt.Sprint("edit ", i)
		if _, err := conn.Exec(t.Context(),
			`UPDATE host_file SET content = $1 WHERE account = $2 AND path = '/etc/app/f7'`, text, m.name); err != nil {
			t.Fatal(err)
		}
		path := fmt.Sprintf("/proc/%d/root/etc/app/f7", m.holder.Process.Pid)
		for until := time.Now().Add(shortly); ; time.Sleep(time.Millisecond) {
			if got, err := os.ReadFile(path); err == nil && string(got) == text {
				return
			} else if time.Now().After(until) {
				t.Fatalf("%s is not there: %q, %v", text, got, err)
			}
		}
	})
	if took > 150*time.Millisecond {
		t.Errorf("half of the edits take longer than %s", took)
	}
}

// median does something several times, and returns how long it takes in half of the cases.
func median(t *testing.T, what string, times int, do func(i int)) time.Duration {
	t.Helper()
	took := make([]time.Duration, times)
	for i := range took {
		begun := time.Now()
		do(i)
		took[i] = time.Since(begun)
	}
	slices.Sort(took)
	t.Logf("%s: median %s, from %s to %s", what, took[times/2], took[0], took[times-1])
	return took[times/2]
}

// playbook has Ansible look at files of the machines, and at their packages. It gets what is best for it: a fork for
// each host, pipelining, kept connections, and no gathering of facts.
func playbook(t *testing.T, all []*machine, files int) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var inventory strings.Builder
	for _, m := range all {
		write(m.name, m.key)
		fmt.Fprintf(&inventory, "%s ansible_host=%s ansible_user=%s ansible_ssh_private_key_file=%s/%[1]s ansible_python_interpreter=/usr/bin/python3\n",
			m.name, m.address, login, dir)
	}
	write("inventory", inventory.String())
	write("ansible.cfg", fmt.Sprintf("[defaults]\nforks = %d\nhost_key_checking = False\ngathering = explicit\nlocal_tmp = %s/tmp\n[ssh_connection]\npipelining = True\n",
		len(all), dir))
	write("site.yml", fmt.Sprintf(`- hosts: all
  become: true
  tasks:
    - copy:
        dest: "/etc/app/f{{ item }}"
        content: "{{ 'x' * 1000 }}"
      loop: "{{ range(1, %d) | list }}"
    - package_facts:
`, files+1))
	command := exec.Command("ansible-playbook", "--check", "--diff", "-i", dir+"/inventory", dir+"/site.yml")
	command.Env = append(os.Environ(), "ANSIBLE_CONFIG="+dir+"/ansible.cfg", "HOME="+dir, "LC_ALL=C.UTF-8")
	out, err := command.CombinedOutput()
	if err != nil || strings.Contains(string(out), "changed=1") || !strings.Contains(string(out), "ok=2") {
		t.Fatalf("ansible-playbook: %v\n%s", err, out[max(0, len(out)-3000):])
	}
}
