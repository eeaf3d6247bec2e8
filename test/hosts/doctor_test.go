package hosts

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// doctor runs engine doctor on the world's hosts, and returns what it prints and with what it ends.
func (w *world) doctor(arguments ...string) (said string, code int) {
	w.Helper()
	engine := os.Getenv("IASQL_TEST_ENGINE")
	if engine == "" {
		harness.Lacking(w.T, "an engine with a runner in it, which make test builds (IASQL_TEST_ENGINE)")
	}
	login, err := harness.EngineLogin(w.Context(), w.AdminURL)
	w.do(err)
	c := exec.CommandContext(w.Context(), engine, append([]string{"doctor"}, arguments...)...)
	c.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "AWS_") })
	c.Env = append(c.Env, "DATABASE_URL="+login)
	out, err := c.Output()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		w.Fatal(err)
	}
	return string(out), c.ProcessState.ExitCode()
}

// TestDoctor: engine doctor says of each host what is so and what to do, in a line each, and changes nothing.
func TestDoctor(t *testing.T) {
	t.Parallel()
	w, s := remote(t)
	checked := func(code int, arguments []string, lines ...string) {
		t.Helper()
		said, ended := w.doctor(append([]string{"--only", "hosts"}, arguments...)...)
		for _, line := range lines {
			if !strings.Contains(said, line) {
				t.Errorf("it does not say %q", line)
			}
		}
		if ended != code || strings.Contains(said, "127.0.0.1") || strings.Contains(said, "PRIVATE") {
			t.Errorf("it ends with %d, not %d", ended, code)
		}
		if t.Failed() {
			t.Fatalf("doctor %s:\n%s", strings.Join(arguments, " "), said)
		}
	}
	named := []string{"--hosts", "web"}
	confirm := "To do: compare says_it_is in iasql_worlds with what ssh-keygen -lf prints on the host, then " +
		"SELECT iasql_confirm('identity', 'web')"
	// Nobody has confirmed it. If it is not named, that is a warning.
	checked(0, nil, "ok       web.reached: it lets the engine in", "warning  web.key: nobody has confirmed", confirm,
		"web.become: it works", "ok       web.clock: its clock agrees", "web.disk: ", "web.has: it ")
	checked(1, named, "failure  web.key: nobody has confirmed", confirm)
	w.confirm()
	before := w.PSQL(`SELECT count(*) FROM iasql_audit_log`)
	checked(0, named, "ok       web.key: its host key and machine id are those that were confirmed", "Go on")
	checked(1, []string{"--hosts", "web,nope"}, "ok       web.key", "failure  nope.reached: there is no such host")
	w.row(before, `SELECT count(*) FROM iasql_audit_log`)

	// What a module needs, of which a scope names something, and the host does not have.
	w.PSQL(`UPDATE host SET container_socket = '/nowhere/docker.sock'`)
	checked(0, named, "Go on")
	w.PSQL(`INSERT INTO host_scope (account, kind, pattern) VALUES ('web', 'container', 'x*')`)
	checked(1, named, "failure  web.host_containers: Docker or Podman is missing", "container_socket")
	w.PSQL(`DELETE FROM host_scope WHERE kind = 'container'`)

	// No password for sudo.
	bin := filepath.Join(s.dir, "bin")
	w.do(os.Mkdir(bin, 0o755))
	w.do(os.WriteFile(filepath.Join(bin, "sudo"), []byte("#!/bin/sh\necho 'sudo: a password is required' >&2; exit 1\n"), 0o755))
	w.PSQL(`UPDATE host SET become = true`)
	checked(1, named, "ok       web.reached: it lets the engine in", "failure  web.become: the login is let in, and may not "+
		"become root", "NOPASSWD")
	w.PSQL(`UPDATE host SET become = false`)

	// Another way in that does not let in, another host, and silence; and what is behind a silent one.
	w.PSQL(fmt.Sprintf(`UPDATE host SET private_key = '%s'`, s.keygen("other")))
	checked(1, named, "failure  web.reached: it answers, and the engine does not get in")
	w.PSQL(fmt.Sprintf(`UPDATE host SET private_key = '%s'`, s.key))
	s.kill()
	s.keygen("host")
	s.start()
	checked(1, named, "failure  web.key: it is another than was confirmed")
	s.kill()
	w.PSQL(`INSERT INTO host (name, address, private_key, jump_host) SELECT 'inner', '192.0.2.1', 'x', 'web'`)
	checked(0, nil, "warning  web.reached: it does not answer: connection refused", "warning  inner.reached: ")
	w.PSQL(fmt.Sprintf(`UPDATE host SET private_key = '%s' WHERE name = 'inner'`, s.key))
	checked(0, nil, "warning  inner.reached: its jump host web is in the way", "mend that first")
}
