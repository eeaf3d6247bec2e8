package hosts

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// containers starts an engine, and a real Docker or Podman that is on the host here.
func containers(t *testing.T, podman bool) (*world, *daemon, string) {
	t.Helper()
	return containersOf(t, start(t), podman)
}

// containersOf starts a real Docker or Podman that is on the host here.
func containersOf(t *testing.T, w *world, podman bool) (*world, *daemon, string) {
	t.Helper()
	images := serveImages(t)
	d := runDaemon(t, podman, images)
	w.PSQL(`INSERT INTO host (name, host_root, container_socket) VALUES ('here', '/', '`+d.socket+`')`,
		`INSERT INTO host_scope (account, kind, pattern) VALUES ('here', 'container', 'app*'), ('here', 'image', '`+images+`/*'), ('here', 'volume', 'app*'), ('here', 'container_network', 'app*')`)
	w.sync()
	return w, d, images + "/app:1"
}

// free returns a port that nobody uses.
func free(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// rests has everything settled, and checks that a further full cycle does nothing.
func (w *world) rests() {
	w.Helper()
	w.Settled()
	w.sync()
	w.row("", `SELECT table_name, state, message FROM iasql_status WHERE state <> 'Present'`)
	before := w.PSQL(`SELECT (SELECT count(*) FROM iasql_operations) + (SELECT count(*) FROM iasql_audit_log)`)
	w.sync()
	if after := w.PSQL(`SELECT (SELECT count(*) FROM iasql_operations) + (SELECT count(*) FROM iasql_audit_log)`); after != before {
		w.Errorf("a quiet cycle has written: %s", w.PSQL(`SELECT table_name, origin, change_type, change FROM iasql_audit_log ORDER BY id DESC LIMIT 5`))
	}
}

// inspect returns a container as the daemon shows it.
func (d *daemon) inspect(name string) *container.InspectResponse {
	d.t.Helper()
	one, err := d.ContainerInspect(d.t.Context(), name, client.ContainerInspectOptions{})
	if err != nil {
		d.t.Fatal(err)
	}
	return &one.Container
}

// count returns how many containers there are.
func (d *daemon) count() int {
	d.t.Helper()
	all, err := d.ContainerList(d.t.Context(), client.ContainerListOptions{All: true})
	if err != nil {
		d.t.Fatal(err)
	}
	return len(all.Items)
}

func TestDocker(t *testing.T) {
	t.Parallel()
	w, d, image := containers(t, false)
	conformContainers(t, w, d, image)
}

func TestPodman(t *testing.T) {
	t.Parallel()
	w, d, image := containers(t, true)
	conformContainers(t, w, d, image)
}

// conformContainers takes each table through its life, from both sides.
func conformContainers(t *testing.T, w *world, d *daemon, image string) {
	ctx := t.Context()
	// All of it in one transaction.
	w.PSQL(strings.Join([]string{`INSERT INTO host_container (account, name, image, environment, secret_environment, ports, mounts, networks, restart_policy, labels, memory, cpus, options)
		VALUES ('here', 'app-web', '` + image + `', '{"A": "b"}', E'PASSWORD=hush=hush\nTOKEN=t', '{127.0.0.1:` + fmt.Sprint(free(t)) + `:80/tcp}',
			'{"/data": {"volume": "app-data"}, "/ro": {"bind": "/usr", "read_only": true}}', '{app-net}', 'on-failure:3', '{"x": "y"}', 67108864, 0.5, '{"CapAdd": ["NET_ADMIN"]}')`,
		`INSERT INTO host_image (account, name) VALUES ('here', '` + image + `')`,
		`INSERT INTO host_volume (account, name, labels) VALUES ('here', 'app-data', '{"keep": "yes"}')`,
		`INSERT INTO host_container_network (account, name, subnet, internal) VALUES ('here', 'app-net', '10.213.77.0/24', true)`}, "; "))
	w.Settled()
	w.rests()
	one := d.inspect("app-web")
	if !one.State.Running || !strings.Contains(strings.Join(one.Config.Env, " "), "PASSWORD=hush=hush") || one.HostConfig.Memory != 67108864 {
		t.Errorf("it is %+v, %+v", one.State, one.Config)
	}
	w.row("running|running|{PASSWORD,TOKEN}|{app-data}|{app-net}|t|t|t", `SELECT concat_ws('|', state, status, secret_names, volumes, networks, image_record IS NOT NULL, volumes_records[1] IS NOT NULL, networks_records[1] IS NOT NULL) FROM host_container`)
	w.row("", `SELECT secret_environment FROM host_container`)
	w.row(`{"A": "b"}|{"x": "y"}|f`, `SELECT concat_ws('|', environment, labels, EXISTS (SELECT FROM iasql_audit_log l WHERE to_jsonb(l)::text LIKE '%hush%')) FROM host_container`)
	w.row("t|t", `SELECT concat_ws('|', digest LIKE 'sha256:%', size > 1000) FROM host_image`)
	w.row("10.213.77.0/24|t", `SELECT concat_ws('|', subnet, internal) FROM host_container_network`)

	// What others make: named by a scope; named by none; and of a project of Docker Compose, which no scope means.
	options := func(name string, labels map[string]string) client.ContainerCreateOptions {
		return client.ContainerCreateOptions{Name: name, Config: &container.Config{Image: image, Labels: labels},
			HostConfig: &container.HostConfig{NetworkMode: "none"}}
	}
	project := map[string]string{"com.docker.compose.project": "app-shop"}
	if _, err := d.VolumeCreate(ctx, client.VolumeCreateOptions{Name: "app-found"}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.NetworkCreate(ctx, "app-found", client.NetworkCreateOptions{Driver: "bridge", Internal: true}); err != nil {
		t.Fatal(err)
	}
	for name, labels := range map[string]map[string]string{"app-theirs": nil, "other": nil, "app-shop-db-1": project} {
		its := options(name, labels)
		if name == "other" {
			its.HostConfig.Binds, its.HostConfig.NetworkMode = []string{"app-found:/data"}, "app-found"
		}
		if _, err := d.ContainerCreate(ctx, its); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.ContainerStart(ctx, "other", client.ContainerStartOptions{}); err != nil {
		t.Fatal(err)
	}
	w.rests()
	w.row("app-theirs app-web", `SELECT string_agg(name, ' ' ORDER BY name) FROM host_container`)
	w.row("stopped|created||{none}", `SELECT concat_ws('|', state, status, environment, '', networks) FROM host_container WHERE name = 'app-theirs'`)
	w.row("app-data app-found", `SELECT string_agg(name, ' ' ORDER BY name) FROM host_volume`)
	w.row("app-found app-net", `SELECT string_agg(name, ' ' ORDER BY name) FROM host_container_network`)
	w.refused("no scope of host here names it", `INSERT INTO host_container (account, name, image) VALUES ('here', 'other', '`+image+`')`)
	w.PSQL(`INSERT INTO host_scope (account, kind, pattern) VALUES ('here', 'container', 'app-shop*')`)
	w.rests()
	w.row("app-shop-db-1 app-theirs app-web", `SELECT string_agg(name, ' ' ORDER BY name) FROM host_container`)

	// In place: the container stays.
	id := one.ID
	w.PSQL(`UPDATE host_container SET state = 'running' WHERE name = 'app-theirs'`)
	w.rests()
	w.PSQL(`UPDATE host_container SET state = 'stopped' WHERE name = 'app-web'`)
	w.rests()
	if d.inspect("app-web").State.Running || !d.inspect("app-theirs").State.Running {
		t.Error("a state is not what was asked for")
	}
	w.row("exited|0", `SELECT concat_ws('|', status, exit_code) FROM host_container WHERE name = 'app-web'`)
	w.PSQL(`UPDATE host_container SET state = 'running', networks = '{app-net,app-found}' WHERE name = 'app-web'`)
	w.rests()
	w.row("t", `SELECT networks @> '{app-found,app-net}' FROM host_container WHERE name = 'app-web'`)
	w.PSQL(`UPDATE host_container SET networks = '{app-net}' WHERE name = 'app-web'`)
	w.rests()
	if d.podman {
		w.PSQL(`UPDATE host_container SET memory = 134217728 WHERE name = 'app-web'`)
		w.Becomes(shortly, "t", `SELECT bool_or(message LIKE '%this Podman changes neither limits nor the restart policy%') FROM iasql_status WHERE table_name = 'host_container'`)
		w.PSQL(`UPDATE host_container SET memory = 67108864 WHERE name = 'app-web'`)
	} else {
		w.PSQL(`UPDATE host_container SET memory = 134217728, cpus = 0.25, restart_policy = 'unless-stopped' WHERE name = 'app-web'`)
		w.rests()
		if its := d.inspect("app-web").HostConfig; its.Memory != 134217728 || its.NanoCPUs != 250000000 || its.RestartPolicy.Name != "unless-stopped" {
			t.Errorf("it is %+v", its)
		}
	}
	w.rests()
	if now := d.inspect("app-web").ID; now != id {
		t.Errorf("it was replaced: %s, %s", id, now)
	}

	// By others, in place: the table follows.
	if _, err := d.ContainerStop(ctx, "app-web", client.ContainerStopOptions{}); err != nil {
		t.Fatal(err)
	}
	w.distrust()
	w.rests()
	w.row("stopped", `SELECT state FROM host_container WHERE name = 'app-web'`)

	// What is fixed replaces it, once its secrets are said again.
	w.refused("nobody can read its secret variables from the old one: PASSWORD, TOKEN", `UPDATE host_container SET environment = '{"A": "c"}' WHERE name = 'app-web'`)
	w.PSQL(`UPDATE host_container SET environment = '{"A": "c"}', secret_environment = 'PASSWORD=new', state = 'running' WHERE name = 'app-web'`)
	w.rests()
	one = d.inspect("app-web")
	if text := strings.Join(one.Config.Env, " "); one.ID == id || !strings.Contains(text, "PASSWORD=new") || strings.Contains(text, "TOKEN") || !one.State.Running {
		t.Errorf("it is %s, with %s", one.ID, text)
	}
	w.row("{PASSWORD}", `SELECT secret_names FROM host_container WHERE name = 'app-web'`)

	// What is in use is not deleted, and says so; once it is not, it goes.
	w.refused("is still in volumes_records of", `DELETE FROM host_volume WHERE name = 'app-data'`)
	w.refused("23503", `DELETE FROM host_image`)
	w.PSQL(`DELETE FROM host_container`)
	w.becomes("0", `SELECT count(*) FROM host_container`)
	if n := d.count(); n != 1 {
		t.Errorf("there are %d containers", n)
	}
	w.PSQL(`DELETE FROM host_image`, `DELETE FROM host_volume`, `DELETE FROM host_container_network`)
	for _, table := range []string{"host_image", "host_volume", "host_container_network"} {
		w.Becomes(2*shortly, "t", `SELECT bool_or(message LIKE '%is in use, and is not deleted meanwhile%') FROM iasql_status WHERE table_name = '`+table+`'`)
	}
	if other := d.inspect("other"); len(other.Mounts) != 1 || !other.State.Running {
		t.Errorf("what was in use has gone: %+v", other)
	}
	if _, err := d.ContainerRemove(ctx, "other", client.ContainerRemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	w.becomes("0", `SELECT (SELECT count(*) FROM host_image) + (SELECT count(*) FROM host_volume) + (SELECT count(*) FROM host_container_network)`)
	w.rests()

	// A pull that fails is told in the registry's words, and one that succeeds later heals.
	missing := strings.TrimSuffix(image, ":1") + ":9"
	w.PSQL(`INSERT INTO host_image (account, name) VALUES ('here', '` + missing + `')`)
	w.Becomes(shortly, "t", `SELECT bool_or(message LIKE '%cannot be pulled%manifest unknown%') FROM iasql_status WHERE table_name = 'host_image'`)
	w.PSQL(`DELETE FROM host_image WHERE name = '` + missing + `'`)
	w.PSQL(`INSERT INTO host_container (account, name, image, command) VALUES ('here', 'app-job', '` + image + `', '{3}')`)
	w.Becomes(shortly, "t", `SELECT bool_or(message LIKE '%there is no image % yet%') FROM iasql_status WHERE table_name = 'host_container'`)
	w.PSQL(`INSERT INTO host_image (account, name) VALUES ('here', '` + image + `')`)
	// One that fails says so, and one that cannot be started is not left behind. What is mended is made anew.
	w.becomes("running|exited|3", `SELECT concat_ws('|', state, status, exit_code) FROM host_container`)
	w.rests()
	w.PSQL(`UPDATE host_container SET entrypoint = '{/nowhere}'`)
	w.Becomes(2*shortly, "t", `SELECT bool_or(message LIKE '%cannot be started%/nowhere%') FROM iasql_status WHERE table_name = 'host_container'`)
	if n := d.count(); n != 0 {
		t.Errorf("there are %d containers", n)
	}
	w.PSQL(`UPDATE host_container SET entrypoint = NULL, command = '{0}', job = true`)
	w.becomes("running|exited|0", `SELECT concat_ws('|', state, status, exit_code) FROM host_container`)
	w.rests()
	// What somebody removes is removed here.
	if _, err := d.ContainerRemove(ctx, "app-job", client.ContainerRemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	w.distrust()
	w.rests()
	w.row("0", `SELECT count(*) FROM host_container`)
}

// TestContainerCuts: wherever the connection is cut, or the engine ends, there is one container in the end, and it runs.
func TestContainerCuts(t *testing.T) {
	t.Parallel()
	w, d, image := containers(t, false)
	b := d.between()
	w.PSQL(`UPDATE host SET container_socket = '`+b.socket+`'`, `INSERT INTO host_image (account, name) VALUES ('here', '`+image+`')`)
	w.rests()
	first := true
	for _, cut := range []struct {
		name          string
		before, after *func(*http.Request) bool
	}{
		{"before it is made", once("POST", "/containers/create"), nil},
		{"once it is made, before that is answered", nil, once("POST", "/containers/create")},
		{"before it is started", once("POST", "/start"), nil},
		{"once it is started, before that is answered", nil, once("POST", "/start")},
	} {
		b.before.Store(cut.before)
		b.after.Store(cut.after)
		w.PSQL(`INSERT INTO host_container (account, name, image, networks) VALUES ('here', 'app-web', '` + image + `', '{none}')`)
		w.becomes("0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
		if one := d.inspect("app-web"); !one.State.Running || d.count() != 1 {
			t.Errorf("%s: %d, %+v", cut.name, d.count(), one.State)
		}
		if first { // a replacement, too: between the old one and the new one
			first = false
			b.before.Store(once("POST", "/containers/create"))
			w.PSQL(`UPDATE host_container SET environment = '{"A": "b"}'`)
			w.becomes("0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
			if one := d.inspect("app-web"); !one.State.Running || !strings.Contains(strings.Join(one.Config.Env, " "), "A=b") {
				t.Errorf("replaced: %+v", one.State)
			}
		}
		w.PSQL(`DELETE FROM host_container`)
		w.becomes("0", `SELECT count(*) FROM host_container`)
		w.becomes("0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	}

	// The engine ends while a container is made, and is not started yet.
	reached, go_on := make(chan struct{}), make(chan struct{})
	starts := once("POST", "/start")
	hold := func(r *http.Request) bool {
		if (*starts)(r) {
			close(reached)
			<-go_on
			return true
		}
		return false
	}
	b.before.Store(&hold)
	b.after.Store(nil)
	w.PSQL(`INSERT INTO host_container (account, name, image, networks) VALUES ('here', 'app-web', '` + image + `', '{none}')`)
	<-reached
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.end()
	}()
	time.Sleep(100 * time.Millisecond)
	close(go_on)
	<-ended
	w.begin()
	w.becomes("0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	if one := d.inspect("app-web"); !one.State.Running || d.count() != 1 {
		t.Errorf("there are %d, %+v", d.count(), one.State)
	}
	w.rests()
}

// TestContainersBySSH: the socket is reached over the host's connection, by the login's own rights, and as root by the
// runner where the host says so.
func TestContainersBySSH(t *testing.T) {
	t.Parallel()
	images := serveImages(t)
	d := runDaemon(t, false, images)
	w, s := remote(t)
	w.PSQL(`UPDATE host SET container_socket = '` + d.socket + `'`)
	w.confirm()
	w.PSQL(`INSERT INTO host_scope (account, kind, pattern) VALUES ('web', 'container', 'app*'), ('web', 'image', '*')`,
		`INSERT INTO host_image (account, name) VALUES ('web', '`+images+`/app:1')`,
		`INSERT INTO host_container (account, name, image, networks) VALUES ('web', 'app-web', '`+images+`/app:1', '{none}')`)
	w.rests()
	if !d.inspect("app-web").State.Running {
		t.Error("it does not run")
	}
	at := filepath.Join(s.dir, "bin")
	w.do(os.Mkdir(at, 0o755))
	w.do(os.WriteFile(filepath.Join(at, "sudo"), []byte("#!/bin/sh\n[ \"$1 $2\" = '-n --' ] && shift 2 && echo \"$*\" >> '"+s.dir+"/became' && exec \"$@\"\n"), 0o755))
	w.PSQL(`UPDATE host SET become = true`)
	w.becomes("t", `SELECT held IS NULL FROM iasql_worlds WHERE account = 'web'`)
	w.PSQL(`UPDATE host_container SET state = 'stopped'`)
	w.rests()
	if d.inspect("app-web").State.Running {
		t.Error("it runs")
	}
	if said, err := os.ReadFile(filepath.Join(s.dir, "became")); err != nil || !strings.Contains(string(said), "-dial "+d.socket) {
		t.Errorf("the runner did not dial: %v: %s", err, said)
	}
	// Neither is there: told in words.
	w.PSQL(`UPDATE host SET container_socket = '/nowhere/sock'`)
	w.becomes("t", `SELECT bool_or(message LIKE '%/nowhere/sock cannot be reached%') FROM iasql_status`)
	w.row("1", `SELECT count(*) FROM host_container`)
}
