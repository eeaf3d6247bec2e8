package hosts

import "testing"

// TestNotMounted: what is below a mount point at which nothing is mounted, although the host says that something should
// be, is unknown: nobody has deleted it, what is in its place is not looked at, and nothing is written there. Once it is
// mounted again all goes on.
func TestNotMounted(t *testing.T) {
	t.Parallel()
	const mount = `mount -a; mount --bind /run/homes /home/all`
	w, m := machined(t, "file /srv/data/**", "file /etc/app/*", "user ann")
	m.must(`mkdir -p /etc/app /run/disk/in /run/homes/ann/.ssh; echo here > /etc/app/here
		mount -t tmpfs -o mode=755 tmpfs /srv; mkdir -p /srv/data/in; echo beneath > /srv/data/beneath; useradd -M -d /home/all/ann ann; mkdir /home/all
		for name in a b in/c; do echo $name > /run/disk/$name; done; echo '` + newKey("a") + `' > /run/homes/ann/.ssh/authorized_keys
		echo '/run/disk /srv/data none bind 0 0' > /etc/fstab
		mkdir -p /etc/systemd/system/local-fs.target.wants; ln -s ../home-all.mount /etc/systemd/system/local-fs.target.wants; ` + mount)
	w.PSQL(`UPDATE host_scope SET prune = true`)
	all := `SELECT string_agg(id || path, ' ' ORDER BY path) || ' ' || (SELECT string_agg(id || user_name, ' ') FROM host_authorized_key) FROM host_file`
	w.sync()
	before := w.PSQL(all)
	for _, mode := range []string{"NORMAL", "TRACK", "ENFORCE"} {
		w.PSQL(`DELETE FROM iasql_mode`, `INSERT INTO iasql_mode (mode, table_name) VALUES ('`+mode+`', 'host_file'), ('`+mode+`', 'host_authorized_key')`)
		w.sync()
		m.must(`umount -l /srv/data /home/all`)
		w.sync()
		w.sync()
		if got := w.PSQL(all); got != before {
			t.Errorf("in %s there is %s and not %s", mode, got, before)
		}
		w.row("5", `SELECT count(*) FROM iasql_status WHERE table_name IN ('host_file', 'host_authorized_key') AND state <> 'Present' AND message LIKE '%nothing is mounted%'`)
		if got := m.must(`find /srv/data /home/all -type f | xargs cat`); got != "beneath" {
			t.Errorf("in %s there is %q beneath", mode, got)
		}
		m.must(mount)
		w.sync()
		w.Settled()
		if got := w.PSQL(all); got != before {
			t.Errorf("after %s there is %s and not %s", mode, got, before)
		}
	}
	w.PSQL(`DELETE FROM iasql_mode`)
	// What is written meanwhile waits, and is done in the right place.
	m.must(`umount -l /srv/data /home/all`)
	w.PSQL(`INSERT INTO host_file (account, path, content) VALUES ('web', '/srv/data/new', 'new')`,
		`UPDATE host_file SET content = 'changed' WHERE path = '/srv/data/a'`, `DELETE FROM host_file WHERE path = '/srv/data/b'`,
		`INSERT INTO host_authorized_key (account, user_name, key) VALUES ('web', 'ann', '`+newKey("b")+`')`)
	w.sync()
	if got := m.must(`find /srv/data /home/all -type f | xargs cat`); got != "beneath" {
		t.Errorf("there is %q beneath", got)
	}
	m.must(mount)
	w.becomesWithin(longest, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	if got := m.must(`cd /srv/data; cat a new; test -e b || echo gone; wc -l < /home/all/ann/.ssh/authorized_keys`); got != "changednewgone\n2" {
		t.Errorf("there is %s", got)
	}
}
