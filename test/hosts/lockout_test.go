package hosts

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"iasql/internal/test/harness"
)

// lockOut is a change that would lock everybody out, and one of the same kind that does not. In their texts $M is the
// machine, $A its address, $E the engine's, $L the login.
type lockOut struct {
	what   string
	given  string // what is done on the machine before
	scopes string // kind and pattern of what is looked at, with commas between
	good   string // SQL
	bad    string // SQL
	holds  string // what is so on the machine after the good change, and again after the bad one
	says   string // of the record, after the bad one
}

const (
	undone  = `touches the way in .*the host has undone it, because nobody has confirmed it`
	config  = `Port 22\nHostKey /etc/ssh/ssh_host_ed25519_key\nPidFile /run/sshd.pid\nUsePAM no\nPasswordAuthentication no\nLogLevel ERROR\n`
	setFile = `UPDATE host_file SET content = E'%s' WHERE account = '$M' AND path = '%s'`
	addUp   = `ip link add br0 type bridge && ip link set br0 up`
)

func sets(path, content string) string { return fmt.Sprintf(setFile, content, path) }

var lockOuts = []lockOut{
	{what: "wrong address", scopes: "interface eth*",
		good:  `UPDATE host_interface SET addresses = '{$A/24,192.0.2.7/32}' WHERE account = '$M'`,
		bad:   `UPDATE host_interface SET addresses = '{192.0.2.7/32}' WHERE account = '$M'`,
		holds: `ip address show eth0 | grep -q 'inet $A/24' && ip address show eth0 | grep -q 192.0.2.7/32`, says: undone},
	{what: "wrong route", given: addUp, scopes: "route *",
		good:  `INSERT INTO host_route (account, destination, gateway) VALUES ('$M', '198.51.100.0/24', '$E')`,
		bad:   `INSERT INTO host_route (account, destination, interface) VALUES ('$M', '$E/32', 'br0')`,
		holds: `ip route show 198.51.100.0/24 | grep -q 'via $E dev eth0' && ! ip route show | grep -q '^$E'`, says: undone},
	{what: "firewall drop", scopes: "firewall *",
		good:  `INSERT INTO host_firewall_rule (account, name, position, protocol, port, action) VALUES ('$M', 'ssh', 10, 'tcp', '22', 'accept')`,
		bad:   `INSERT INTO host_firewall_rule (account, name, position, protocol, port, action) VALUES ('$M', 'all', 5, 'tcp', '1-1000', 'drop')`,
		holds: `nft list table inet iasql | grep -q 'tcp dport 22 accept' && ! nft list table inet iasql | grep -q drop`, says: undone},
	{what: "firewall rejects what goes out", scopes: "firewall out*",
		good:  `INSERT INTO host_firewall_rule (account, name, chain, states, action) VALUES ('$M', 'out', 'output', '{invalid}', 'drop')`,
		bad:   `UPDATE host_firewall_rule SET states = NULL, destination = '$E/32', action = 'reject' WHERE account = '$M'`,
		holds: `nft list table inet iasql | grep -q 'ct state invalid drop' && ! nft list table inet iasql | grep -q reject`, says: undone},
	{what: "sshd port changed", scopes: "file /etc/ssh/sshd_config",
		good: sets("/etc/ssh/sshd_config", config+`MaxAuthTries 5\n`), bad: sets("/etc/ssh/sshd_config", strings.Replace(config, "22", "2222", 1)),
		holds: `grep -q 'MaxAuthTries 5' /etc/ssh/sshd_config && grep -q 'Port 22$' /etc/ssh/sshd_config`, says: undone},
	{what: "broken sshd_config", scopes: "file /etc/ssh/*",
		good: sets("/etc/ssh/sshd_config", config+`MaxAuthTries 4\n`), bad: sets("/etc/ssh/sshd_config", config+`Prot 22\n`),
		holds: `grep -q 'MaxAuthTries 4' /etc/ssh/sshd_config`, says: `sshd -t does not accept what is there with the change, and it was undone .*Bad configuration option: Prot`},
	{what: "sshd that allows no key", scopes: "file /etc/ssh/sshd_config",
		good: sets("/etc/ssh/sshd_config", config+`PubkeyAuthentication yes\n`), bad: sets("/etc/ssh/sshd_config", config+`PubkeyAuthentication no\n`),
		holds: `grep -q 'PubkeyAuthentication yes' /etc/ssh/sshd_config`, says: undone + `.*does not let the key in`},
	{what: "a block of sshd_config that allows no key", scopes: "block /etc/ssh/sshd_config",
		good:  `INSERT INTO host_file_block (account, name, path, content) VALUES ('$M', 'b', '/etc/ssh/sshd_config', 'MaxAuthTries 5')`,
		bad:   `UPDATE host_file_block SET content = 'PubkeyAuthentication no' WHERE account = '$M'`,
		holds: `grep -q 'MaxAuthTries 5' /etc/ssh/sshd_config && ! grep -q Pubkey /etc/ssh/sshd_config`, says: undone + `.*does not let the key in`},
	{what: "sshd that ends because it listens on an address that there is not", scopes: "file /etc/ssh/sshd_config",
		good: sets("/etc/ssh/sshd_config", config+`ListenAddress 0.0.0.0\n`), bad: sets("/etc/ssh/sshd_config", config+`ListenAddress 203.0.113.9\n`),
		holds: `grep -q 'ListenAddress 0.0.0.0' /etc/ssh/sshd_config`, says: `the SSH server does not take up "/etc/ssh/sshd_config", and it was undone: it has ended`},
	{what: "sudoers broken", scopes: "file /etc/sudoers.d/*",
		good: sets("/etc/sudoers.d/login", login+` ALL=(ALL:ALL) NOPASSWD: ALL\n`), bad: sets("/etc/sudoers.d/login", login+` ALL=ALL) NOPASSWD ALL\n`),
		holds: `grep -q 'ALL:ALL' /etc/sudoers.d/login`, says: `visudo -c does not accept what is there with the change, and it was undone`},
	{what: "sudo asks for a password", scopes: "file /etc/sudoers.d/*",
		good: sets("/etc/sudoers.d/login", login+` ALL=(ALL:ALL) NOPASSWD: ALL\n`), bad: sets("/etc/sudoers.d/login", login+` ALL=(ALL) ALL\n`),
		holds: `grep -q 'ALL:ALL' /etc/sudoers.d/login`, says: undone + `.*sudo: a password is required`},
	{what: "key removed from authorized_keys", scopes: "file /home/$L/.ssh/**",
		good:  `UPDATE host_file SET content = content || E'# ours\n' WHERE account = '$M' AND path LIKE '%/authorized_keys'`,
		bad:   `UPDATE host_file SET content = E'# none\n' WHERE account = '$M' AND path LIKE '%/authorized_keys'`,
		holds: `grep -q ed25519 /home/$L/.ssh/authorized_keys && grep -q ours /home/$L/.ssh/authorized_keys`, says: undone + `.*does not let the key in`},
	{what: "authorized_keys deleted", scopes: "file /home/$L/.ssh/*",
		good:  `UPDATE host_file SET mode = '0400' WHERE account = '$M' AND path LIKE '%/authorized_keys'`,
		bad:   `DELETE FROM host_file WHERE account = '$M' AND path LIKE '%/authorized_keys'`,
		holds: `stat -c '%a %u' /home/$L/.ssh/authorized_keys | grep -q '400 4242'`, says: undone},
	{what: "wrong mode of .ssh", scopes: "file /home/$L/.ssh",
		good: `UPDATE host_file SET mode = '0755' WHERE account = '$M'`, bad: `UPDATE host_file SET mode = '0777' WHERE account = '$M'`,
		holds: `stat -c %a /home/$L/.ssh | grep -q 755`, says: undone},
	{what: "home of another", scopes: "file /home/*",
		good: `UPDATE host_file SET mode = '0750' WHERE account = '$M'`, bad: `UPDATE host_file SET owner = '4711' WHERE account = '$M'`,
		holds: `stat -c '%a %u' /home/$L | grep -q '750 4242'`, says: undone},
	{what: "shell changed in /etc/passwd", scopes: "file /etc/passwd",
		good:  `UPDATE host_file SET content = replace(content, ':/home/$L:/bin/sh', ':/home/$L:/bin/bash') WHERE account = '$M'`,
		bad:   `UPDATE host_file SET content = replace(content, ':/home/$L:/bin/bash', ':/home/$L:/bin/false') WHERE account = '$M'`,
		holds: `grep -q '^$L.*:/bin/bash$' /etc/passwd`, says: undone},
	{what: "login deleted from /etc/passwd", scopes: "file /etc/passwd",
		good:  `UPDATE host_file SET content = content || E'guest:x:4343:4343::/:/bin/false\n' WHERE account = '$M'`,
		bad:   `UPDATE host_file SET content = regexp_replace(content, '$L:[^\n]*\n', '') WHERE account = '$M'`,
		holds: `grep -q '^$L:' /etc/passwd && grep -q '^guest:' /etc/passwd`, says: undone},
	{what: "nologin", scopes: "file /etc/*login*",
		good:  `INSERT INTO host_file (account, path, content) VALUES ('$M', '/etc/alogin', 'no')`,
		bad:   `INSERT INTO host_file (account, path, content) VALUES ('$M', '/etc/nologin', 'no')`,
		holds: `test -f /etc/alogin && ! test -e /etc/nologin`, says: undone},
	{what: "bridge swallows the uplink", given: addUp + ` && echo 1 > /proc/sys/net/ipv4/conf/all/rp_filter && ip link add v0 type veth peer name v1`, scopes: "interface *",
		good:  `UPDATE host_interface SET master = 'br0', up = true WHERE account = '$M' AND name = 'v0'`,
		bad:   `UPDATE host_interface SET master = 'br0' WHERE account = '$M' AND name = 'eth0'`,
		holds: `ip link show v0 | grep -q 'master br0' && ! ip link show eth0 | grep -q master`, says: undone},
	{what: "interface down", given: `ip route add 198.51.100.0/24 via $E`, scopes: "interface eth0",
		good: `UPDATE host_interface SET mtu = 1400 WHERE account = '$M'`, bad: `UPDATE host_interface SET up = false WHERE account = '$M'`,
		holds: `ip link show eth0 | grep -q 'mtu 1400.*state UP' && ip route show 198.51.100.0/24 | grep -q 'via $E'`, says: undone},
	// The way to the engine is another than the one by which it comes, which is well until the kernel asks for the same.
	{what: "a setting of the kernel that drops what comes in", scopes: "sysctl net.ipv4.*",
		given: addUp + ` && ip route add $E/32 dev br0 && ip rule add fwmark 1 lookup 100 && ip route add $E/32 dev eth0 table 100 && nft 'add table inet way; add chain inet way out { type route hook output priority 0; }; add rule inet way out ip daddr $E meta mark set 1' && for i in all eth0; do echo 0 > /proc/sys/net/ipv4/conf/$i/rp_filter; done`,
		good:  `INSERT INTO host_sysctl (account, name, value) VALUES ('$M', 'net.ipv4.ip_forward', '1')`,
		bad:   `INSERT INTO host_sysctl (account, name, value) VALUES ('$M', 'net.ipv4.conf.all.rp_filter', '1')`,
		holds: `grep -qx 1 /proc/sys/net/ipv4/ip_forward && grep -qx 0 /proc/sys/net/ipv4/conf/all/rp_filter && grep -q '^net.ipv4.ip_forward = 1' /etc/sysctl.d/zz-iasql.conf && ! grep -q rp_filter /etc/sysctl.d/zz-iasql.conf`, says: undone},
	{what: "MTU absurd", scopes: "interface eth0",
		good: `UPDATE host_interface SET mtu = 1400 WHERE account = '$M'`, bad: `UPDATE host_interface SET mtu = 68 WHERE account = '$M'`,
		holds: `ip link show eth0 | grep -q 'mtu 1400'`, says: undone},
}

// undoAfter is after how many seconds the machines of the tests undo a change.
const undoAfter = 4

// TestNobodyIsLockedOut makes changes that lock everybody out of real SSH servers. In all of them one gets in again by
// the time that the host was given, the record says why and is not tried again, and a good change of the same kind
// stays.
func TestNobodyIsLockedOut(t *testing.T) {
	t.Parallel()
	all := make([]*machine, len(lockOuts))
	var booting sync.WaitGroup
	all[0] = boot(t, "m0") // which skips the test where it cannot be
	for i := 1; i < len(lockOuts); i++ {
		booting.Go(func() { all[i] = boot(t, fmt.Sprint("m", i)) })
	}
	booting.Wait()
	if t.Failed() {
		t.FailNow()
	}
	w := start(t)
	insert := []string{}
	for i, m := range all {
		l := &lockOuts[i]
		if out, err := m.run(m.fill(l.given)); l.given != "" && err != nil {
			t.Fatalf("%s: %v: %s", l.what, err, out)
		}
		insert = append(insert, m.sql(undoAfter))
		for scope := range strings.SplitSeq(l.scopes, ",") {
			kind, pattern, _ := strings.Cut(m.fill(scope), " ")
			insert = append(insert, fmt.Sprintf(`INSERT INTO host_scope (account, kind, pattern) VALUES ('%s', '%s', '%s')`, m.name, kind, pattern))
		}
	}
	w.PSQL(insert...)
	w.Becomes(3*shortly, fmt.Sprint(len(all)), `SELECT count(*) FROM iasql_worlds WHERE held LIKE '%nobody has confirmed%'`)
	w.Admin(`SELECT iasql_confirm('identity', name) FROM host`)
	w.sync()
	t.Run("trials", func(t *testing.T) {
		var trials sync.WaitGroup // they wait for most of the time, and t.Parallel would run as many as there are cores
		defer trials.Wait()
		for i, m := range all {
			trials.Go(func() {
				t.Run(lockOuts[i].what, func(t *testing.T) {
					sub := &world{World: &harness.World{T: t, AdminURL: w.AdminURL, UserURL: w.UserURL}, root: w.root}
					sub.lockOut(&lockOuts[i], m)
				})
			})
		}
	})
	// None is tried again by itself.
	before := w.PSQL(`SELECT count(*) FROM iasql_operations`)
	w.sync()
	w.row(before, `SELECT count(*) FROM iasql_operations`)
}

// fill fills in the names of a text.
func (m *machine) fill(text string) string {
	return strings.NewReplacer("$M", m.name, "$A", m.address, "$E", m.ours, "$L", login).Replace(text)
}

func (w *world) lockOut(l *lockOut, m *machine) {
	holds := func(when string) {
		w.Helper()
		if out, err := m.run(m.fill(l.holds)); err != nil {
			state, _ := m.run(`ip address; ip route; nft list ruleset`)
			w.Errorf("%s it is not so: %s: %v %s\n%s", when, m.fill(l.holds), err, out, state)
		}
	}
	failed := fmt.Sprintf(`SELECT message FROM iasql_status WHERE account = '%s' AND state LIKE '%%Failed'`, m.name)
	// A good change has time, however busy this machine is.
	within := `UPDATE host SET undo_after = %d WHERE name = '` + m.name + `'`
	w.PSQL(fmt.Sprintf(within, 60), m.fill(l.good))
	w.Becomes(3*shortly, "0|0", fmt.Sprintf(`SELECT (SELECT count(*) FROM iasql_audit_log WHERE account = '%s' AND NOT settled) || '|' || (SELECT count(*) FROM iasql_status WHERE account = '%[1]s' AND state <> 'Present')`, m.name))
	holds("after the good change")
	w.PSQL(fmt.Sprintf(within, undoAfter), m.fill(l.bad))
	begun := time.Now()
	locked := false
	var back time.Duration
	message := ""
	w.Eventually(3*shortly, "the record of "+l.what+" says why", func() bool {
		if err := m.enter(); err != nil {
			locked, back = true, 0
		} else if back == 0 {
			back = time.Since(begun)
		}
		said, err := w.TryPSQL(w.UserURL, failed)
		message = said
		return err == nil && said != ""
	})
	if err := m.enter(); err != nil {
		w.Errorf("nobody gets in: %v", err)
	} else if back == 0 {
		back = time.Since(begun)
	}
	if back > undoAfter*time.Second+shortly {
		w.Errorf("one gets in again only after %s", back)
	}
	w.Logf("locked out %t, one gets in again after %s, and after %s the record says: %s", locked, back.Round(time.Millisecond), time.Since(begun).Round(time.Millisecond), message)
	if !regexp.MustCompile(l.says).MatchString(message) {
		w.Errorf("the record does not say %s", l.says)
	}
	holds("after the bad change")
}
