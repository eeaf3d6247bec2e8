package hosts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// key returns a public key that no one has.
func newKey(n string) string { return "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + strings.Repeat(n, 43)[:43] }

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
		INSERT INTO host_group (account, name, gid, members) VALUES ('here', 'apps', 4712, '{root}');
		INSERT INTO host_user (account, name, system) VALUES ('here', 'agent', true); COMMIT`)
	quiet("agent|agent|/home/agent|/bin/sh|system anna|apps|/home/anna|/bin/sh|Anna A.", "agent|999 apps|4712|{root} staff|50",
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
		"agent|999 apps|4712|{root} axe|5000 staff|50", `anna|aa|anna@laptop|from="10.0.0.0/8, x" anna|bb`)
	// Each column changed by SQL.
	w.PSQL(`UPDATE host_user SET grp = 'staff', shell = '/bin/bash', gecos = NULL, home = '/srv/anna', locked = true, uid = 4713 WHERE name = 'anna'`,
		`UPDATE host_group SET gid = 5001, members = '{arno,anna}' WHERE name = 'axe'`)
	w.PSQL(`UPDATE host_authorized_key SET comment = 'second', options = 'no-pty' WHERE key LIKE '%bb'`)
	w.Settled()
	w.row("4713", `SELECT uid FROM host_user WHERE name = 'anna'`)
	w.PSQL(`UPDATE host_user SET home = '/home/anna', locked = false WHERE name = 'anna'`)
	quiet("agent|agent|/home/agent|/bin/sh|system anna|staff|/home/anna|/bin/bash arno|staff|/home/arno|/bin/false|Theirs",
		"agent|999 apps|4712|{root} axe|5001|{anna,arno} staff|50", "")
}

var _ = os.Getenv
var _ = filepath.Join
var _ = harness.Lacking
