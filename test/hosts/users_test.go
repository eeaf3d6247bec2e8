package hosts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// key returns a public key that no one has.
func newKey(n string) string {
	return "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + strings.Repeat(n, 43)[:43]
}

// TestUsers takes host_user, host_group and host_authorized_key through their lives, step by step, from both sides.
// Every step is followed by a full cycle that has nothing left to do.
func TestUsers(t *testing.T) {
	t.Parallel()
	w := debian(t)
	w.PSQL(`INSERT INTO host_scope (account, kind, pattern) VALUES ('here', 'user', 'a*'), ('here', 'user', 'root'), ('here', 'group', 'a*'), ('here', 'group', 'staff')`)
	w.sync()
	w.row("root|0|root|/root|/bin/bash|root|f|t", `SELECT name, uid, grp, home, shell, gecos, locked, system FROM host_user`)
	w.row("adm|4||t audio|29||t staff|50||t", `SELECT string_agg(concat_ws('|', name, gid, coalesce(members::text, ''), CASE WHEN system THEN 't' END), ' ' ORDER BY name) FROM host_group`)
	quiet := func(users, groups, keys string) {
		t.Helper()
		w.Settled()
		w.sync()
		w.row(users, `SELECT string_agg(concat_ws('|', name, grp, home, shell, gecos, CASE WHEN locked THEN 'locked' END, CASE WHEN system THEN 'system' END), ' ' ORDER BY name) FROM host_user WHERE name <> 'root'`)
		w.row(groups, `SELECT string_agg(concat_ws('|', name, gid, members::text), ' ' ORDER BY name) FROM host_group WHERE name NOT LIKE 'a_m' AND name <> 'audio'`)
		w.row(keys, `SELECT string_agg(concat_ws('|', user_name, right(key, 2), comment, options), ' ' ORDER BY user_name, key) FROM host_authorized_key`)
		w.row("", `SELECT table_name, state, message FROM iasql_status WHERE state <> 'Present'`)
		before := w.PSQL(`SELECT count(*) FROM iasql_operations`)
		w.sync()
		w.row(before, `SELECT count(*) FROM iasql_operations`)
		w.row("0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	}
	file := "home/anna/.ssh/authorized_keys"
	// Created by SQL, in one transaction: the key waits for the user, and that for its group.
	w.PSQL(`BEGIN; INSERT INTO host_authorized_key (account, user_name, key, comment, options) VALUES ('here', 'anna', '` + newKey("a") + `', 'anna@laptop', 'restrict,command="/bin/echo a b"');
		INSERT INTO host_user (account, name, uid, grp, shell, gecos) VALUES ('here', 'anna', 4711, 'apps', '/bin/sh', 'Anna A.');
		INSERT INTO host_group (account, name, gid, members) VALUES ('here', 'apps', 4712, '{nobody}');
		INSERT INTO host_user (account, name, system) VALUES ('here', 'agent', true); COMMIT`)
	quiet("agent|agent|/home/agent|/bin/sh|system anna|apps|/home/anna|/bin/sh|Anna A.", "agent|999 apps|4712|{nobody} staff|50",
		`anna|aa|anna@laptop|restrict,command="/bin/echo a b"`)
	w.has(file, `restrict,command="/bin/echo a b" `+newKey("a")+" anna@laptop\n")
	if got := w.inside("/usr/bin/stat", "-c", "%U %G %a", "/home/anna/.ssh", "/"+file); got != "anna apps 700\nanna apps 600\n" {
		t.Errorf("it is %s", got)
	}
	// Created by others.
	w.inside("/usr/sbin/useradd", "-M", "-g", "staff", "-s", "/bin/false", "-c", "Theirs", "arno")
	w.inside("/usr/sbin/groupadd", "-g", "5000", "axe")
	w.write(file, "# ours\n"+newKey("b")+"\nfrom=\"10.0.0.0/8, x\" "+newKey("a")+" anna@laptop\nwhat is this\n")
	quiet("agent|agent|/home/agent|/bin/sh|system anna|apps|/home/anna|/bin/sh|Anna A. arno|staff|/home/arno|/bin/false|Theirs",
		"agent|999 apps|4712|{nobody} axe|5000 staff|50", `anna|aa|anna@laptop|from="10.0.0.0/8, x" anna|bb`)
	// Each column changed by SQL.
	w.PSQL(`UPDATE host_user SET grp = 'staff', shell = '/bin/bash', gecos = NULL, locked = true, uid = 4713 WHERE name = 'anna'`,
		`UPDATE host_user SET home = '/srv/arno', gecos = 'Arno' WHERE name = 'arno'`,
		`UPDATE host_group SET gid = 5001, members = '{arno,anna}' WHERE name = 'axe'`, `UPDATE host_group SET members = NULL WHERE name = 'apps'`,
		`UPDATE host_authorized_key SET comment = 'second', options = 'no-pty' WHERE key LIKE '%bb'`, `UPDATE host_authorized_key SET options = NULL WHERE key LIKE '%aa'`)
	quiet("agent|agent|/home/agent|/bin/sh|system anna|staff|/home/anna|/bin/bash|locked arno|staff|/srv/arno|/bin/false|Arno",
		"agent|999 apps|4712 axe|5001|{arno,anna} staff|50", `anna|aa|anna@laptop anna|bb|second|no-pty`)
	w.row("4713", `SELECT uid FROM host_user WHERE name = 'anna'`)
	w.has(file, "# ours\nno-pty "+newKey("b")+" second\n"+newKey("a")+" anna@laptop\nwhat is this\n")
	if got := w.inside("/usr/bin/id", "anna"); got != "uid=4713(anna) gid=50(staff) groups=50(staff),5001(axe)\n" {
		t.Errorf("she is %s", got)
	}
	// Each by others.
	w.distrust()
	w.inside("/usr/sbin/usermod", "-s", "/bin/sh", "-c", "A.", "-e", "", "-g", "apps", "anna")
	w.inside("/usr/bin/gpasswd", "-d", "arno", "axe")
	w.write(file, newKey("b")+" third\n")
	quiet("agent|agent|/home/agent|/bin/sh|system anna|apps|/home/anna|/bin/sh|A. arno|staff|/srv/arno|/bin/false|Arno",
		"agent|999 apps|4712 axe|5001|{anna} staff|50", `anna|bb|third`)
	// Deleted by SQL, and by others. A home stays.
	w.PSQL(`DELETE FROM host_authorized_key`)
	w.Settled()
	w.has(file, "")
	w.distrust()
	w.PSQL(`DELETE FROM host_user WHERE name = 'anna'`, `DELETE FROM host_group WHERE name = 'apps'`)
	w.inside("/usr/sbin/userdel", "arno")
	w.inside("/usr/sbin/groupdel", "axe")
	quiet("agent|agent|/home/agent|/bin/sh|system", "agent|999 staff|50", "")
	if _, err := os.Stat(filepath.Join(w.root, "home/anna")); err != nil {
		t.Error(err)
	}
	// What is there already is adopted.
	w.inside("/usr/sbin/useradd", "-m", "-s", "/bin/false", "alf")
	w.PSQL(`INSERT INTO host_user (account, name, shell) VALUES ('here', 'alf', '/bin/sh')`)
	quiet("agent|agent|/home/agent|/bin/sh|system alf|alf|/home/alf|/bin/sh", "agent|999 alf|1000 staff|50", "")
}

// TestUsersRefused: nobody is let out of the system, nor in by what is no name, and no hash of a password is shown.
func TestUsersRefused(t *testing.T) {
	t.Parallel()
	w := debian(t)
	w.inside("/bin/sh", "-c", "useradd -m ann; echo ann:secret | chpasswd; mkdir -p /home/ann/.ssh /root/.ssh; groupadd ops; gpasswd -a root ops")
	w.PSQL(`INSERT INTO host_scope (account, kind, pattern) VALUES ('here', 'user', 'ann'), ('here', 'user', 'root'), ('here', 'group', 'ops'), ('here', 'group', 'ann')`)
	w.sync()
	w.row("ann root", `SELECT string_agg(name, ' ' ORDER BY name) FROM host_user`)
	for _, statement := range []string{
		`INSERT INTO host_user (account, name) VALUES ('here', '-D')`, `INSERT INTO host_user (account, name) VALUES ('here', 'a b')`,
		`UPDATE host_user SET shell = E'/bin/sh\nroot::0:0::/:/bin/sh'`, `UPDATE host_user SET gecos = 'a:b'`, `UPDATE host_user SET home = 'x'`,
		`INSERT INTO host_authorized_key (account, user_name, key) VALUES ('here', 'ann', 'x')`,
		`INSERT INTO host_authorized_key (account, user_name, key, comment) VALUES ('here', 'ann', '` + newKey("a") + `', E'x\n` + newKey("b") + `')`,
		`INSERT INTO host_authorized_key (account, user_name, key, options) VALUES ('here', 'ann', '` + newKey("a") + `', E'x\n')`} {
		w.refused("host_", statement)
	}
	w.refused("no scope of host here", `INSERT INTO host_user (account, name) VALUES ('here', 'bob')`)
	w.refused("no scope of host here", `INSERT INTO host_authorized_key (account, user_name, key) VALUES ('here', 'bob', '`+newKey("a")+`')`)
	says := func(want, statement, back string) {
		t.Helper()
		w.PSQL(statement)
		w.Becomes(shortly, "t", `SELECT coalesce(bool_or(message LIKE '%`+want+`%'), false) FROM iasql_status WHERE state <> 'Present'`)
		w.PSQL(back)
		w.Settled()
	}
	says("user root is root, or the one by which the engine gets in", `UPDATE host_user SET locked = true WHERE name = 'root'`, `UPDATE host_user SET locked = false WHERE name = 'root'`)
	says("it stays in its groups", `UPDATE host_group SET members = '{ann}' WHERE name = 'ops'`, `UPDATE host_group SET members = '{root}' WHERE name = 'ops'`)
	says("no line of authorized_keys", `INSERT INTO host_authorized_key (account, user_name, key, options) VALUES ('here', 'ann', '`+newKey("a")+`', 'a b')`, `DELETE FROM host_authorized_key`)
	// Never through a link.
	w.do(os.Symlink("/root/.ssh/authorized_keys", filepath.Join(w.root, "home/ann/.ssh/authorized_keys")))
	says("is a symbolic link, and none is followed", `INSERT INTO host_authorized_key (account, user_name, key) VALUES ('here', 'ann', '`+newKey("a")+`')`, `DELETE FROM host_authorized_key`)
	w.has("root/.ssh/authorized_keys", "-")
	w.do(os.Remove(filepath.Join(w.root, "home/ann/.ssh/authorized_keys")))
	// Where somebody else than root may write, no program is run.
	w.do(os.Chmod(w.root, 0o777))
	w.PSQL(`UPDATE host_user SET gecos = 'x' WHERE name = 'ann'`)
	w.Becomes(shortly, "1", `SELECT count(*) FROM iasql_status WHERE message LIKE '%nothing is run there'`)
	w.do(os.Chmod(w.root, 0o755))
	w.PSQL(`SELECT iasql_retry('host_user', id) FROM host_user WHERE name = 'ann'`)
	w.Settled()
	// Nor deleted.
	w.PSQL(`DELETE FROM host_user WHERE name = 'root'`, `DELETE FROM host_group WHERE name = 'ops'`)
	w.Becomes(shortly, "2", `SELECT count(*) FROM iasql_status WHERE message LIKE '%it is neither changed nor deleted' OR message LIKE '%it stays in its groups'`)
	w.inside("/usr/bin/getent", "passwd", "root")
	w.inside("/usr/bin/getent", "group", "ops")
	hash := strings.Split(strings.Split(w.inside("/usr/bin/getent", "shadow", "ann"), ":")[1], "$")
	if got := w.Admin(`SELECT count(*) FROM host_user AS u WHERE u::text LIKE '%$%'`, `SELECT count(*) FROM iasql_audit_log AS l WHERE l::text LIKE '%`+hash[len(hash)-1]+`%'`); strings.TrimSpace(got) != "0\n0" {
		t.Errorf("it shows %s", got)
	}
}
