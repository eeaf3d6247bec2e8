package hosts

import (
	"fmt"
	"os/exec"
	"strconv"
	"testing"
)

// moveBehind has a machine be reached from another alone: our end of its cable becomes the other's.
func (m *machine) moveBehind(other *machine) {
	m.t.Helper()
	move := []string{"link", "set", m.cable, "netns", strconv.Itoa(other.holder.Process.Pid)}
	if out, err := exec.Command("ip", move...).CombinedOutput(); err != nil {
		m.t.Fatalf("%v: %s", err, out)
	}
	if out, err := other.run(fmt.Sprintf("ip address add %s/24 dev %s && ip link set %[2]s up", m.ours, m.cable)); err != nil {
		m.t.Fatalf("%v: %s", err, out)
	}
}

// TestJumpHosts: a host is reached by way of another, and that by way of a third. Each key is checked; a jump host that
// is silent, or is another than it was, leaves what is behind it as it is, and is named; a circle is refused.
func TestJumpHosts(t *testing.T) {
	t.Parallel()
	gate := boot(t, "gate")
	inner, deep := boot(t, "inner"), boot(t, "deep")
	inner.moveBehind(gate)
	deep.moveBehind(inner)
	for _, m := range []*machine{inner, deep} {
		if m.enter() == nil {
			t.Fatalf("%s is reached directly", m.name)
		}
	}
	w := start(t)
	const patient = 600 // seconds: no trial ends for want of time
	held := func(host, want string) {
		t.Helper()
		w.becomesWithin(longest, "t", fmt.Sprintf(`SELECT held LIKE '%s' FROM iasql_worlds WHERE account = '%s'`, want, host))
	}
	content := func(m *machine, want string) {
		t.Helper()
		if got, err := m.run("cat /etc/app.conf"); err != nil || got != want {
			t.Errorf("%s has %q: %v", m.name, got, err)
		}
	}
	w.PSQL(gate.sql(patient), inner.sql(patient), deep.sql(patient),
		`UPDATE host SET jump_host = 'gate' WHERE name = 'inner'`, `UPDATE host SET jump_host = 'inner' WHERE name = 'deep'`,
		`INSERT INTO host_scope (account, pattern) SELECT name, '/etc/app.conf' FROM host`)
	// Nobody goes by way of a host that nobody has vouched for.
	held("inner", "%its jump host gate is in the way: host gate says that it is host key%nobody has confirmed that%")
	held("deep", "%its jump host inner is in the way: %its jump host gate is in the way:%")
	for _, m := range []*machine{gate, inner, deep} {
		held(m.name, "%it says that it is host key%nobody has confirmed that yet%")
		w.Admin(`SELECT iasql_confirm('identity', '` + m.name + `')`)
	}
	w.sync()
	w.PSQL(`INSERT INTO host_file (account, path, content) SELECT name, '/etc/app.conf', name FROM host`)
	w.Settled()
	for _, m := range []*machine{gate, inner, deep} {
		content(m, m.name)
	}
	// A trial comes in anew by the same way.
	w.PSQL(`INSERT INTO host_scope (account, pattern) VALUES ('deep', '/etc/sudoers.d/extra')`,
		`INSERT INTO host_file (account, path, content, mode) VALUES ('deep', '/etc/sudoers.d/extra', E'# nothing\n', '0440')`)
	w.Settled()
	if out, err := deep.run("cat /etc/sudoers.d/extra"); out != "# nothing" {
		t.Errorf("it has %q: %v", out, err)
	}
	// What leads nowhere is refused.
	w.refused("gate by way of deep by way of inner by way of gate", `UPDATE host SET jump_host = 'deep' WHERE name = 'gate'`)
	w.refused("host", `UPDATE host SET jump_host = name WHERE name = 'gate'`)
	w.refused("host", `UPDATE host SET jump_host = 'nowhere' WHERE name = 'gate'`)
	w.refused("host", `DELETE FROM host WHERE name = 'gate'`)

	// The jump host is silent: what is behind it is unknown.
	gate.cut(true)
	w.PSQL(`UPDATE host_file SET content = 'later' WHERE path = '/etc/app.conf'`)
	held("gate", "%host gate % does not answer%")
	held("inner", "%its jump host gate is in the way: host gate % does not answer%")
	held("deep", "%its jump host gate is in the way: host gate % does not answer%")
	w.row("4", `SELECT count(*) FROM host_file`)
	content(deep, "deep")
	gate.cut(false)
	w.becomesWithin(longest, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	content(inner, "later")
	content(deep, "later")

	// The jump host is another than it was.
	gate.powerOff()
	if out, err := gate.run("rm /etc/ssh/ssh_host_*; ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/ssh_host_ed25519_key; " +
		"echo theirs > /etc/app.conf; /usr/sbin/sshd"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	held("gate", "%it says that it is host key%and it was host key%")
	held("inner", "%its jump host gate is in the way: host gate says that it is host key%nobody has confirmed that%")
	w.PSQL(`UPDATE host_file SET content = 'last' WHERE path = '/etc/app.conf'`)
	w.Refused(`SELECT iasql_sync_now()`)
	content(inner, "later")
	w.Admin(`SELECT iasql_confirm('identity', 'gate')`)
	w.becomesWithin(longest, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	content(deep, "last")
}
