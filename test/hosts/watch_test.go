package hosts

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"iasql/internal/test/harness"
)

// within is within what time a change is to be in its table that a host says itself, on a machine that is slow.
const within = 2 * time.Minute

// rarely has nothing be read unless somebody asks for it, or a host says that it has changed.
const rarely = `UPDATE iasql_settings SET value = '1 day' WHERE name IN ('sync_interval', 'max_staleness')`

// watchedRemote starts an engine that watches and a server, and waits until the host is watched.
func watchedRemote(t *testing.T) (*world, *server) {
	t.Helper()
	w, s := remoteOf(t, startAs(t, &world{watched: true}))
	w.Admin(rarely)
	w.confirm()
	w.isWatched("web")
	return w, s
}

// isWatched waits until a host is watched, and what that has begun with is looked into.
func (w *world) isWatched(host string) {
	w.Helper()
	w.Becomes(within, "ok", `SELECT state FROM iasql_event_sources WHERE account = '`+host+`'`)
	w.looked(host)
}

// readsQuietly checks that reading a host is nothing that the host says: what it says ends while it is read again and
// again. (What others have done may be said a moment late.)
func (w *world) readsQuietly(host string) {
	w.Helper()
	w.Eventually(within, "a host that is read says nothing", func() bool {
		w.looked(host)
		before := w.PSQL(`SELECT events FROM iasql_event_sources`)
		w.sync()
		w.sync()
		w.looked(host)
		return w.PSQL(`SELECT events FROM iasql_event_sources`) == before
	})
}

// looked waits until everything is looked into that a host has said.
func (w *world) looked(host string) {
	w.Helper()
	w.Eventually(within, "what the host has said is looked into", func() bool {
		return w.Admin(`SELECT count(*) FROM iasql_internal.hint WHERE account = '`+host+`' AND due IS NOT NULL`) == "0"
	})
}

// listed is how often anything of a host was listed.
func (w *world) listed(host string) string {
	w.Helper()
	return w.Admin(`SELECT max(cycle) FROM iasql_internal.listing WHERE account = '` + host + `'`)
}

// watchers counts the runners that watch over a server's connections.
func (s *server) watchers() (n int) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, at := range all {
		if text, err := os.ReadFile(at); err == nil && strings.Contains(string(text), s.dir+"/") &&
			strings.Contains(string(text), "\x00-watch\x00") {
			n++
		}
	}
	return n
}

// TestWatch: what changes on a host is in its table without a full cycle; a watch comes back with the connection, and
// does not without being asked for.
func TestWatch(t *testing.T) {
	t.Parallel()
	w, s := watchedRemote(t)
	before := w.listed("web")
	is := func(path, want string) {
		t.Helper()
		w.Becomes(within, want, `SELECT content FROM host_file WHERE path LIKE '%/`+path+`'`)
	}
	w.write("etc/f", "theirs")
	is("f", "theirs")
	w.write("etc/f", "theirs again")
	is("f", "theirs again")
	w.mkdir("etc/later/below")
	w.write("etc/later/below/f2", "in a directory that came later")
	is("f2", "in a directory that came later")
	w.do(os.Remove(filepath.Join(w.root, "etc/f")))
	w.Becomes(within, "0", `SELECT count(*) FROM host_file WHERE path LIKE '%/f'`)
	w.write("outside", "1")
	w.write("etc/last", "1")
	is("last", "1")
	w.row("0", `SELECT count(*) FROM host_file WHERE path LIKE '%outside'`)
	if after := w.listed("web"); after != before {
		t.Errorf("cycle %s has listed files, after %s", after, before)
	}
	// What the engine writes itself is read once more, and nothing comes of it.
	w.PSQL(fmt.Sprintf(`INSERT INTO host_file (account, path, content) VALUES ('web', '%s/etc/ours', 'by SQL')`, w.root))
	w.Settled()
	w.looked("web")
	w.row("by SQL|Present", `SELECT f.content, s.state FROM host_file f JOIN iasql_status s ON s.table_name = 'host_file' AND s.record_id = f.id WHERE f.path LIKE '%ours'`)
	w.row("1", `SELECT count(*) FROM iasql_audit_log WHERE change ->> 'content' = 'by SQL' OR change -> 'change' ->> 'content' = 'by SQL'`)

	// The connection is cut, and comes back: what has changed meanwhile shows.
	s.kill()
	w.write("etc/last", "changed while nobody watched")
	s.start()
	is("last", "changed while nobody watched")
	w.isWatched("web")
	w.write("etc/last", "and after that")
	is("last", "and after that")

	// Another scope is watched once there is one.
	w.mkdir("srv")
	w.PSQL(`INSERT INTO host_scope (account, pattern) VALUES ('web', '` + w.root + `/srv/*')`)
	w.Eventually(within, "the new scope is watched", func() bool {
		w.write("srv/f3", "1")
		return w.PSQL(`SELECT content FROM host_file WHERE path LIKE '%/srv/f3'`) == "1"
	})

	// Switched off: nobody watches, and nothing of that is left on the host.
	if n := s.watchers(); n != 1 {
		t.Errorf("%d runners watch", n)
	}
	w.PSQL(`UPDATE host SET is_watched = false`)
	w.Becomes(within, "0", `SELECT count(*) FROM iasql_event_sources`)
	w.Eventually(within, "no runner watches", func() bool { return s.watchers() == 0 })
	w.write("etc/last", "of which nobody says anything")
	w.row("and after that", `SELECT content FROM host_file WHERE path LIKE '%/last'`)
	w.sync()
	is("last", "of which nobody says anything")
	w.PSQL(`UPDATE host SET is_watched = true`)
	w.isWatched("web")
	w.write("etc/last", "watched again")
	is("last", "watched again")
	w.end()
	w.sameWatchers(s, 0)
}

// sameWatchers waits until so many runners watch.
func (w *world) sameWatchers(s *server, n int) {
	w.Helper()
	w.Eventually(within, strconv.Itoa(n)+" runners watch", func() bool { return s.watchers() == n })
}

// TestWatchHandedOver: one engine watches a host, and another does when that ends.
func TestWatchHandedOver(t *testing.T) {
	t.Parallel()
	w, s := watchedRemote(t)
	first := w.PSQL(`SELECT engine FROM iasql_event_sources`)
	end := w.end
	w.engine()
	w.Eventually(within, "a second engine is there", func() bool { return w.PSQL(`SELECT count(*) FROM iasql_engines()`) == "2" })
	w.write("etc/f", "1")
	w.Becomes(within, "1", `SELECT content FROM host_file`)
	w.row(first, `SELECT engine FROM iasql_event_sources`)
	w.sameWatchers(s, 1)
	end()
	w.Becomes(within, "t", `SELECT engine <> '`+first+`' FROM iasql_event_sources`)
	w.sameWatchers(s, 1)
	w.write("etc/f", "2")
	w.Becomes(within, "2", `SELECT content FROM host_file`)
}

// flooding is a runner that lies without an end once there is a file flood beside it.
const flooding = `#!/bin/sh
case "$1" in -watch) if [ -e "$HOME/flood" ]; then
	echo 'iasql-runner watches'
	while :; do cat "$HOME/flood" || exit; done
fi;; esac
exec "$HOME/real" "$@"
`

// TestHostileWatch: a host that says without an end that everything has changed, also what is not there, is in no scope
// or is nothing at all, has nothing be deleted, and holds up no other host.
func TestHostileWatch(t *testing.T) {
	t.Parallel()
	w := startAs(t, &world{watched: true, runner: func(string) ([]byte, error) { return []byte(flooding), nil }})
	w.Admin(rarely)
	w.mkdir("etc")
	w.mkdir("srv")
	for i := range 50 {
		w.write(fmt.Sprint("etc/f", i), "1")
	}
	w.write("srv/f", "1")
	program, err := built()
	w.do(err)
	manage := func(name, pattern string) *server {
		s := listen(t)
		w.do(os.WriteFile(filepath.Join(s.dir, "real"), program, 0o755))
		s.start()
		w.PSQL(fmt.Sprintf(`INSERT INTO host (name, address, port, private_key) VALUES ('%s', '127.0.0.1', %d, '%s')`, name, s.port, s.key),
			fmt.Sprintf(`INSERT INTO host_scope (account, pattern) VALUES ('%s', '%s%s')`, name, w.root, pattern))
		w.Eventually(within, name+" is confirmed", func() bool {
			_, _ = w.TryPSQL(w.UserURL, `SELECT iasql_sync_now()`)
			_, err := w.TryPSQL(w.AdminURL, `SELECT iasql_confirm('identity', '`+name+`')`)
			return err == nil
		})
		return s
	}
	liar := manage("web", "/etc/**")
	manage("honest", "/srv/**")
	w.Eventually(within, "both hosts are read", func() bool {
		_, err := w.TryPSQL(w.UserURL, `SELECT iasql_sync_now()`)
		return err == nil && w.PSQL(`SELECT count(*) FROM host_file`) == "51"
	})
	w.isWatched("honest")
	w.isWatched("web")
	var lies strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&lies, `{"id":1,"more":true,"changed":[{"kind":"file","name":"%s/etc/f%d"},{"kind":"file","name":"%[1]s/srv/f"},{"kind":"file","name":"/etc/shadow"},`+
			`{"kind":"moon"},{"kind":"unit"},{"kind":"file","name":"a\u0000b"},{"kind":"package","name":"';--"}]}`+"\n", w.root, i)
	}
	w.do(os.WriteFile(filepath.Join(liar.dir, "flood"), []byte(lies.String()), 0o644))
	w.PSQL(`UPDATE host SET is_watched = false WHERE name = 'web'`)
	w.Becomes(within, "0", `SELECT count(*) FROM iasql_event_sources WHERE account = 'web'`)
	w.PSQL(`UPDATE host SET is_watched = true WHERE name = 'web'`)
	counts := `SELECT events > 0 AND foreign_events > 0 AND malformed > 0 FROM iasql_event_sources WHERE account = 'web'`
	w.Becomes(within, "t", counts)
	for i := range 5 {
		text := fmt.Sprint("changed ", i)
		w.write("srv/f", text)
		w.Becomes(within, text, `SELECT content FROM host_file WHERE account = 'honest'`)
		w.PSQL(fmt.Sprintf(`UPDATE host_file SET content = 'edited %d' WHERE path LIKE '%%/f7'`, i))
		w.Becomes(within, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
		w.has("etc/f7", fmt.Sprint("edited ", i))
	}
	w.row("50", `SELECT count(*) FROM host_file WHERE account = 'web'`)
	w.row("0", `SELECT count(*) FROM iasql_audit_log WHERE origin = 'engine' AND change_type = 'DELETE'`)
	w.row("0", `SELECT count(*) FROM iasql_operations WHERE kind = 'delete'`)
	if kept := w.Admin(`SELECT count(*) FROM iasql_internal.hint WHERE account = 'web'`); len(kept) > 4 {
		t.Errorf("%s hints are kept", kept)
	}
	// Once it is honest again, a new watch tells as ever.
	w.do(os.Remove(filepath.Join(liar.dir, "flood")))
	w.PSQL(`UPDATE host SET is_watched = false WHERE name = 'web'`)
	w.Becomes(within, "0", `SELECT count(*) FROM iasql_event_sources WHERE account = 'web'`)
	w.PSQL(`UPDATE host SET is_watched = true WHERE name = 'web'`)
	w.isWatched("web")
	w.write("etc/f9", "honest")
	w.Becomes(within, "honest", `SELECT content FROM host_file WHERE path LIKE '%/f9'`)
}

// TestWatchOthers: packages, users, groups and keys of a small Debian are in their tables when somebody else has
// changed them.
func TestWatchOthers(t *testing.T) {
	t.Parallel()
	w := debianAs(t, &world{watched: true})
	w.PSQL(`INSERT INTO host (name, host_root) VALUES ('here', '` + w.root + `')`)
	w.publish(deb{"one", "1.0", "", nil})
	w.Admin(rarely)
	w.PSQL(`INSERT INTO host_scope (account, kind, pattern) VALUES ('here', 'package', 'one'), ('here', 'user', 'a*'), ('here', 'group', 'a*'), ('here', 'cron', 'app'), ('here', 'block', '/etc/hosts')`)
	w.inside("/usr/bin/apt-get", "update")
	w.sync()
	w.isWatched("here")
	w.inside("/usr/bin/apt-get", "install", "-y", "one")
	w.Becomes(within, "1.0", `SELECT version FROM host_package`)
	w.inside("/usr/sbin/useradd", "-m", "-s", "/bin/false", "arno")
	w.Becomes(within, "/bin/false", `SELECT shell FROM host_user WHERE name = 'arno'`)
	w.Becomes(within, "1", `SELECT count(*) FROM host_group WHERE name = 'arno'`)
	w.mkdir("home/arno/.ssh")
	w.write("home/arno/.ssh/authorized_keys", newKey("a")+" arno@laptop\n")
	w.Becomes(within, "arno@laptop", `SELECT comment FROM host_authorized_key`)
	w.mkdir("etc/cron.d")
	w.write("etc/cron.d/app", "0 3 * * * root /bin/true\n")
	w.Becomes(within, "app", `SELECT file FROM host_cron`)
	w.write("etc/hosts", "# BEGIN IASQL MANAGED BLOCK databases\n10.0.3.7 db-1\n# END IASQL MANAGED BLOCK databases\n")
	w.Becomes(within, "10.0.3.7 db-1", `SELECT rtrim(content, E'\n') FROM host_file_block`)
	w.inside("/usr/sbin/userdel", "-r", "arno")
	w.Becomes(within, "0", `SELECT (SELECT count(*) FROM host_user WHERE name = 'arno') + (SELECT count(*) FROM host_authorized_key)`)
	w.inside("/usr/bin/apt-get", "remove", "-y", "one")
	w.Becomes(within, "0", `SELECT count(*) FROM host_package`)
}

// TestWatchUnits: what others do with units of a real systemd is in their table, and reading them is no reason to read
// them again.
func TestWatchUnits(t *testing.T) {
	t.Parallel()
	b := bootSystemd(t)
	w := startAs(t, &world{watched: true}, b.root)
	w.root = b.root
	w.Admin(rarely)
	w.PSQL(`INSERT INTO host (name, host_root) VALUES ('here', '`+b.root+`')`,
		`INSERT INTO host_scope (account, kind, pattern) VALUES ('here', 'unit', 'app*')`)
	b.must(`mkdir -p /etc/app`)
	w.sync()
	w.isWatched("here")
	w.write("etc/systemd/system/app.service", service("app"))
	w.Becomes(within, "stopped", `SELECT active FROM host_unit WHERE name = 'app.service'`)
	b.must(`systemctl daemon-reload && systemctl start app.service`)
	w.Becomes(within, "running", `SELECT active FROM host_unit WHERE name = 'app.service'`)
	b.must(`systemctl enable app.service`)
	w.Becomes(within, "enabled", `SELECT enabled FROM host_unit WHERE name = 'app.service'`)
	b.must(`systemctl stop app.service`)
	w.Becomes(within, "stopped", `SELECT active FROM host_unit WHERE name = 'app.service'`)
	w.readsQuietly("here")
}

// TestWatchNetwork: interfaces, routes and rules of the firewall that others make are in their tables.
func TestWatchNetwork(t *testing.T) {
	t.Parallel()
	m := boot(t, "web")
	w := startAs(t, &world{watched: true})
	w.Admin(rarely)
	w.PSQL(m.sql(60), `INSERT INTO host_scope (account, kind, pattern) VALUES ('web', 'interface', 'br*'), ('web', 'route', '198.51.100.*'), ('web', 'firewall', '*'), ('web', 'facts', 'address:br*')`)
	w.confirm()
	w.isWatched("web")
	m.must(`ip link add br0 type bridge && ip link set br0 up`)
	w.Becomes(within, "t", `SELECT up FROM host_interface WHERE name = 'br0'`)
	m.must(`ip address add 192.0.2.1/24 dev br0`)
	w.Becomes(within, "{192.0.2.1/24}|1", `SELECT concat_ws('|', i.addresses, (SELECT count(*) FROM host_address WHERE host(address) = '192.0.2.1')) FROM host_interface i`)
	m.must(`ip route add 198.51.100.0/24 dev br0`)
	w.Becomes(within, "br0", `SELECT interface FROM host_route`)
	m.must(`nft 'add table inet iasql; add chain inet iasql input { type filter hook input priority 0; }; add rule inet iasql input ip saddr 198.51.100.7 drop comment "1 theirs"'`)
	w.Becomes(within, "theirs", `SELECT name FROM host_firewall_rule`)
	m.must(`ip link del br0`)
	w.Becomes(within, "0", `SELECT count(*) FROM host_interface`)
}

// TestWatchContainers: what others do with containers of a real Docker and a real Podman is in their tables, also after
// the daemon's connection was lost.
func TestWatchContainers(t *testing.T) {
	t.Parallel()
	for _, podman := range []bool{false, true} {
		t.Run(map[bool]string{false: "docker", true: "podman"}[podman], func(t *testing.T) {
			t.Parallel()
			if os.Getuid() != 0 {
				harness.Lacking(t, "the right to run containers (root)")
			}
			w, d, image := containersOf(t, startAs(t, &world{watched: true}), podman)
			w.Admin(rarely)
			w.isWatched("here")
			w.PSQL(`INSERT INTO host_image (account, name) VALUES ('here', '` + image + `')`)
			w.Settled()
			if _, err := d.ContainerCreate(t.Context(), client.ContainerCreateOptions{Name: "app-theirs", Config: &container.Config{Image: image},
				HostConfig: &container.HostConfig{NetworkMode: "none"}}); err != nil {
				t.Fatal(err)
			}
			w.Becomes(within, "created", `SELECT status FROM host_container WHERE name = 'app-theirs'`)
			if _, err := d.ContainerStart(t.Context(), "app-theirs", client.ContainerStartOptions{}); err != nil {
				t.Fatal(err)
			}
			w.Becomes(within, "running", `SELECT status FROM host_container WHERE name = 'app-theirs'`)
			d.clear()
			w.Becomes(within, "0", `SELECT count(*) FROM host_container`)
		})
	}
}
