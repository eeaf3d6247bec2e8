package hosts

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"iasql/internal/hosts/runner"
)

// patiently is how long something may take that is tried less and less often.
const patiently = 5 * time.Minute

// TestRecoveryAsks: after so many failures in succession a container is not tried again before a person acts, whichever
// engine has counted them. What is lost on the way is no failure.
func TestRecoveryAsks(t *testing.T) {
	t.Parallel()
	w, d, image := containers(t, false)
	b := d.between()
	w.PSQL(`UPDATE host SET container_socket = '`+b.socket+`'`, `INSERT INTO host_image (account, name) VALUES ('here', '`+image+`')`)
	w.rests()
	tries := func() string {
		w.Helper()
		return w.PSQL(`SELECT count(*) FROM iasql_operations WHERE table_name = 'host_container' AND kind <> 'delete'`)
	}
	stays := func() {
		w.Helper()
		before := tries()
		w.sync()
		w.row(before, `SELECT count(*) FROM iasql_operations WHERE table_name = 'host_container' AND kind <> 'delete'`)
	}
	says := func(want string) {
		w.Helper()
		w.Becomes(patiently, "t", `SELECT coalesce(bool_or(review AND message LIKE '%cannot be started%/nowhere%It has failed `+want+` times in succession, and host_recovery says to ask%'), false)
			FROM iasql_status WHERE table_name = 'host_container'`)
	}
	w.refused("host_recovery", `INSERT INTO host_recovery (account, pattern, after, action) VALUES ('here', 'app*', 0, 'ask')`)
	w.refused("host_recovery", `INSERT INTO host_recovery (account, pattern, after, action) VALUES ('here', 'app*', 1, 'pray')`)
	// The longest pattern counts alone.
	w.PSQL(`INSERT INTO host_recovery (account, pattern, after, action) VALUES ('here', 'app*', 1, 'ask'), ('here', 'app-w*', 1, 'retry'), ('here', 'app-w*', 2, 'ask')`)
	w.PSQL(`INSERT INTO host_container (account, name, image, networks, entrypoint) VALUES ('here', 'app-web', '` + image + `', '{none}', '{/nowhere}')`)
	says("2")
	w.row("2", `SELECT count(*) FROM iasql_operations WHERE table_name = 'host_container' AND result = 'failed'`)
	w.row("t", `SELECT needs_you FROM iasql_problems WHERE record LIKE 'host_container %'`)
	stays()
	// Another engine knows of them, too, and a person has it tried once.
	w.end()
	w.begin()
	stays()
	w.row("t", `SELECT iasql_retry('host_container', id) FROM host_container`)
	says("3")
	stays()
	if n := d.count(); n != 0 {
		t.Errorf("there are %d containers", n)
	}
	// A change of the row, and a success, begin anew.
	w.PSQL(`UPDATE host_container SET command = '{x}'`)
	says("2")
	w.PSQL(`UPDATE host_container SET entrypoint = NULL, command = NULL`)
	w.rests()
	w.PSQL(`UPDATE host_container SET entrypoint = '{/nowhere}'`)
	says("2")
	// No failure is what gets lost before it is answered.
	w.PSQL(`DELETE FROM host_recovery`, `INSERT INTO host_recovery (account, pattern, after, action) VALUES ('here', '*', 1, 'ask')`)
	lost := once("POST", "/containers/create")
	cuts := func(r *http.Request) bool { return (*lost)(r) }
	b.before.Store(&cuts)
	w.PSQL(`UPDATE host_container SET entrypoint = NULL`)
	w.rests()
	w.row("running", `SELECT status FROM host_container`)
	// Without a row it is tried again and again.
	w.PSQL(`DELETE FROM host_recovery`, `UPDATE host_container SET entrypoint = '{/nowhere}'`)
	w.Becomes(patiently, "t", `SELECT NOT review AND attempts >= 2 AND message LIKE '%/nowhere%' AND message NOT LIKE '%in succession%' FROM iasql_status WHERE table_name = 'host_container'`)
}

// TestRecoveryRestarts: the unit that runs the containers is restarted once for each rung, by a real systemd.
func TestRecoveryRestarts(t *testing.T) {
	t.Parallel()
	boots := bootSystemd(t)
	images := serveImages(t)
	d := runDaemon(t, false, images)
	w := start(t, boots.root)
	w.PSQL(`INSERT INTO host (name, host_root, container_socket) VALUES ('here', '`+boots.root+`', '`+d.socket+`')`,
		`INSERT INTO host_scope (account, kind, pattern) VALUES ('here', 'container', 'app*'), ('here', 'image', '`+images+`/*')`,
		`INSERT INTO host_image (account, name) VALUES ('here', '`+images+`/app:1')`)
	w.rests()
	// There is no such unit yet, which the record says.
	w.PSQL(`INSERT INTO host_recovery (account, pattern, after, action) VALUES ('here', '*', 1, 'restart_runtime'), ('here', '*', 2, 'ask')`,
		`INSERT INTO host_container (account, name, image, networks, entrypoint) VALUES ('here', 'app-web', '`+images+`/app:1', '{none}', '{/nowhere}')`)
	w.Becomes(patiently, "t", `SELECT coalesce(bool_or(error LIKE '%failed 1 times in succession, and host_recovery says to restart what runs it, which has failed:%docker.service%'), false) FROM iasql_operations`)
	w.Becomes(patiently, "t", `SELECT coalesce(bool_or(review), false) FROM iasql_status WHERE table_name = 'host_container'`)
	boots.must("cat > /etc/systemd/system/docker.service <<'END'\n" + service("docker") + "END\nsystemctl daemon-reload; systemctl start docker.service")
	w.PSQL(`DELETE FROM host_recovery`,
		`INSERT INTO host_recovery (account, pattern, after, action) VALUES ('here', '*', 2, 'restart_runtime'), ('here', '*', 3, 'ask')`,
		`UPDATE host_container SET command = '{x}'`)
	w.Becomes(patiently, "t", `SELECT coalesce(bool_or(message LIKE '%failed 3 times in succession, and host_recovery says to ask%'), false) FROM iasql_status WHERE table_name = 'host_container'`)
	w.row("1", `SELECT count(*) FROM iasql_operations WHERE error LIKE '%failed 2 times in succession, and host_recovery says to restart what runs it: docker.service was restarted' AND action = 'RestartRuntime'`)
	if n := boots.starts("docker"); n != 2 {
		t.Errorf("it was started %d times", n)
	}
	// What has ended by itself is started.
	boots.must("systemctl stop docker.service")
	before := w.PSQL(`SELECT max(id) FROM iasql_operations`)
	w.PSQL(`UPDATE host_container SET command = '{y}'`)
	w.Becomes(patiently, "t", `SELECT coalesce(bool_or(error LIKE '%failed 3 times in succession, and host_recovery says to ask%'), false) FROM iasql_operations WHERE id > `+before)
	if n := boots.starts("docker"); n != 3 {
		t.Errorf("it was started %d times", n)
	}
	// Nothing is restarted on a host that is locked.
	w.PSQL(`UPDATE host SET locked_by = 'anna'`, `UPDATE host_container SET command = '{z}'`)
	w.Becomes(patiently, "t", `SELECT coalesce(bool_or(message LIKE '%is locked by anna%'), false) FROM iasql_status WHERE table_name = 'host_container'`)
	w.sync()
	if n := boots.starts("docker"); n != 3 {
		t.Errorf("it was started %d times", n)
	}
}

// TestRecoveryReboots: a host is rebooted where its row allows it, once in an hour by its own record.
func TestRecoveryReboots(t *testing.T) {
	t.Parallel()
	boots := bootSystemd(t)
	images := serveImages(t)
	d := runDaemon(t, false, images)
	w := start(t, boots.root)
	w.PSQL(`INSERT INTO host (name, host_root, container_socket) VALUES ('here', '`+boots.root+`', '`+d.socket+`')`,
		`INSERT INTO host_scope (account, kind, pattern) VALUES ('here', 'container', 'app*'), ('here', 'image', '`+images+`/*')`,
		`INSERT INTO host_image (account, name) VALUES ('here', '`+images+`/app:1')`)
	w.rests()
	w.PSQL(`INSERT INTO host_recovery (account, pattern, after, action) VALUES ('here', '*', 1, 'reboot'), ('here', '*', 2, 'ask')`,
		`INSERT INTO host_container (account, name, image, networks, entrypoint) VALUES ('here', 'app-web', '`+images+`/app:1', '{none}', '{/nowhere}')`)
	w.Becomes(patiently, "t", `SELECT coalesce(bool_or(error LIKE '%host_recovery says to reboot it, which has failed:%may not be rebooted: UPDATE host SET may_reboot = true%'), false) FROM iasql_operations`)
	w.Becomes(patiently, "t", `SELECT coalesce(bool_or(review), false) FROM iasql_status WHERE table_name = 'host_container'`)
	w.row("0", `SELECT count(*) FROM iasql_operations WHERE action = 'RebootHost'`)
	select {
	case <-boots.ended:
		t.Fatal("it was rebooted although it may not be")
	default:
	}
	w.PSQL(`UPDATE host SET may_reboot = true`, `UPDATE host_container SET command = '{x}'`)
	w.Becomes(patiently, "1", `SELECT count(*) FROM iasql_operations WHERE action = 'RebootHost' AND error LIKE '%host_recovery says to reboot it, which has begun'`)
	boots.reboots(patiently)
	// It knows that it was, and is not rebooted again, whoever asks.
	var why *runner.Failure
	err := runner.Do(boots.root, &runner.Request{Verb: runner.Check, Paths: []string{"/var/lib/iasql-runner/rebooted"}}, func(a runner.Answer) error {
		if why = a.Error; why == nil && len(a.Files) != 1 {
			t.Errorf("it has no record: %+v", a)
		}
		return nil
	})
	if err != nil || why != nil {
		t.Errorf("%v, %v", err, why)
	}
	for until := time.Now().Add(patiently); time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		// Its systemd answers once it is there.
		err = runner.Do(boots.root, &runner.Request{Verb: runner.Reboot}, func(a runner.Answer) error {
			why = a.Error
			return nil
		})
		if why == nil || !strings.Contains(why.Message, "systemd cannot be asked") {
			break
		}
	}
	if err != nil || why == nil || why.Code != runner.Refused || !strings.Contains(why.Message, "is rebooted once in 1h0m0s at most") {
		t.Errorf("%v, %v", err, why)
	}
}
