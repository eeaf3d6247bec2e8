package hosts

import (
	"testing"
)

// The designs that this project unites, each with what it promises, on hosts.

// TestSettlesGarbageCollection: a host's files are as they were declared last. What a declaration no longer names goes,
// if the one before named it; what others have put there stays, and what no scope names is not touched (R37).
func TestSettlesGarbageCollection(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.mkdir("etc/app")
	w.mkdir("srv")
	w.write("etc/app/theirs", "by hand")
	w.write("srv/b.conf", "out of scope")
	w.PSQL(`INSERT INTO host (name, host_root) VALUES ('here', '`+w.root+`')`,
		`INSERT INTO host_scope (account, pattern) VALUES ('here', '/etc/app/**')`)
	w.sync()
	declare := func(names ...string) {
		t.Helper()
		statements := []string{`CALL iasql_declare('app')`}
		for _, name := range names {
			statements = append(statements, `INSERT INTO host_file (account, path, content) VALUES ('here', '/etc/app/`+
				name+`', 'declared') ON CONFLICT DO NOTHING`)
		}
		w.PSQL(append(statements, `CALL iasql_declared()`, `SELECT iasql_wait_for_all(60)`)...)
	}
	declare("a.conf", "b.conf", "c.conf")
	for _, name := range []string{"a.conf", "b.conf", "c.conf"} {
		w.has("etc/app/"+name, "declared")
	}
	before := w.PSQL(`SELECT count(*) FROM iasql_operations`)
	declare("a.conf", "b.conf", "c.conf")
	w.row(before, `SELECT count(*) FROM iasql_operations`)

	declare("a.conf", "d.conf")
	w.has("etc/app/a.conf", "declared")
	w.has("etc/app/b.conf", "-")
	w.has("etc/app/c.conf", "-")
	w.has("etc/app/d.conf", "declared")
	w.has("etc/app/theirs", "by hand")
	w.has("srv/b.conf", "out of scope")
	w.row("a.conf d.conf", `SELECT string_agg(replace(f.path, '/etc/app/', ''), ' ' ORDER BY f.path)
		FROM iasql_mentions m JOIN host_file f ON f.id = m.record_id AND m.table_name = 'host_file'`)

	// All of it goes with the configuration.
	w.PSQL(`DELETE FROM iasql_configurations WHERE name = 'app'`, `SELECT iasql_wait_for_all(60)`)
	w.has("etc/app/a.conf", "-")
	w.has("etc/app/d.conf", "-")
	w.has("etc/app/theirs", "by hand")
}

// TestOpenDuTsJoin: what is joined to a bridge waits until the bridge is there, whichever is made first; and a bridge
// goes after what was joined to it.
func TestOpenDuTsJoin(t *testing.T) {
	t.Parallel()
	w, m := networked(t)
	w.PSQL(`INSERT INTO host_interface (account, name, kind, peer, master) VALUES ('web', 'v5', 'veth', 'v6', 'br5')`)
	w.Becomes(3*shortly, "t", `SELECT count(*) > 0 FROM iasql_status WHERE table_name = 'host_interface' AND state <> 'Present'`)
	if out := m.must(`ip -o link show v5 2>&1 || true`); out != `Device "v5" does not exist.` {
		t.Errorf("without its bridge there is %s", out)
	}
	w.PSQL(`INSERT INTO host_interface (account, name) VALUES ('web', 'br5')`)
	w.quiet("br5 v5 v6", `SELECT string_agg(name, ' ' ORDER BY name) FROM host_interface`)
	if out := m.must(`ip -o link show master br5 | cut -d: -f2`); out != "v5@v6" {
		t.Errorf("joined are %q", out)
	}
	w.PSQL(`DELETE FROM host_interface`)
	w.quiet("", `SELECT string_agg(name, ' ') FROM host_interface`)
	if out := m.must(`ip -o link | wc -l`); out != "2" {
		t.Errorf("left over: %s", m.must("ip link"))
	}
}
