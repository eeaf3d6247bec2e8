package disasters

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
)

// TestRollingUpgrade: an engine of an earlier version works on, and users edit, while this version migrates their
// database.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	built, _ := filepath.Glob("../../.cache/engine-5d7dfc7*") // that of scripts/earlier-engine.sh
	if len(built) == 0 {
		t.Skip("there is no engine of an earlier version: make test-disasters builds one")
	}
	old := built[0]
	dir := directory(t)
	s := &server{T: t, programs: oldest(t), data: filepath.Join(dir, "data")}
	emptyCluster(t, s.programs, s.data)
	s.start()
	s.exec("postgres", `CREATE DATABASE iasql`)
	migrate(t, old, s.url())
	s.exec("iasql", `GRANT CONNECT ON DATABASE iasql TO iasql_user, iasql_engine`)
	w := s.newWorld()
	log := &harness.Buffer{}
	engine := exec.Command(old, "serve", "--no-migrate")
	engine.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "AWS_") })
	engine.Env = append(engine.Env, w.AWS.Env()...)
	engine.Env = append(engine.Env, "DATABASE_URL="+w.EngineURL)
	engine.Stdout, engine.Stderr = log, log
	if err := engine.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = engine.Process.Kill()
		_ = engine.Wait()
		if t.Failed() {
			t.Logf("the earlier engine said:\n%s", log)
		}
	})
	w.Eventually(20*time.Second, "the earlier engine connects", func() bool { return w.Connected() > 0 })
	w.Install([]string{"us-east-1"}, "aws_sqs", "aws_vpc")
	load := edit(w, w.UserURL)
	time.Sleep(2 * time.Second)
	migrate(t, harness.Engine(), s.url())
	time.Sleep(2 * time.Second)
	if got := w.Connected(); got != 1 {
		t.Errorf("%d engines are connected, wanted the earlier one", got)
	}
	// Asked, it says that it is no longer the newest.
	doctor := exec.Command(old, "doctor", "--only", "database", "--database-url", w.EngineURL)
	doctor.Env = engine.Env
	if out, _ := doctor.CombinedOutput(); !strings.Contains(string(out), "a newer engine has migrated the database") {
		t.Errorf("the earlier engine's doctor says:\n%s", out)
	}
	w.Serve()
	time.Sleep(2 * time.Second)
	load.end()
	w.Settled()
	if strings.Contains(s.log.String(), "deadlock detected") {
		t.Errorf("a deadlock:\n%s", s.log)
	}
	if load.broken > 0 || len(load.queues) < 10 {
		t.Errorf("%d edits failed, %d went through", load.broken, len(load.queues))
	}
	equal(w, load.queues, load.vpcs)
	if why := asked(w); why != "" {
		t.Errorf("it asks: %s", why)
	}
}
