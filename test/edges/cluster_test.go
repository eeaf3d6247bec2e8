package edges

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iasql/internal/devenv"
	"iasql/internal/test/harness"
	"iasql/internal/test/testaws"
)

// cluster starts a PostgreSQL of the test's own.
func cluster(t *testing.T, dir string, env ...string) *devenv.Postgres {
	t.Helper()
	pg, err := devenv.StartPostgres(context.Background(),
		devenv.PostgresOptions{DataDir: dir, FastUnsafe: true, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pg.Stop(context.Background()) })
	return pg
}

// on starts a world on a cluster.
func on(t *testing.T, pg *devenv.Postgres) *world {
	t.Helper()
	if out, err := exec.Command(harness.Engine(), "migrate", "--database-url", pg.AdminURL()).CombinedOutput(); err != nil {
		t.Fatalf("migrate: %v\n%s", err, out)
	}
	w := &world{World: &harness.World{T: t, AdminURL: pg.AdminURL(), UserURL: pg.UserURL(), AWS: testaws.NewAccount(t)}}
	w.Admin(`GRANT iasql_user TO iasql`)
	w.begin()
	return w
}

// The disk is full: users are told, the engine stays and does no harm, and goes
// on when there is room again.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	disk, err := harness.NewDisk(t, "400m")
	if err != nil {
		t.Skip(err)
	}
	w := on(t, cluster(t, disk.Cluster(t)))
	if err := disk.Fill(); err != nil {
		t.Fatal(err)
	}
	long := incompressible(200_000)
	var failure error
	for range 20 {
		if _, failure = w.TryPSQL(w.UserURL,
			`INSERT INTO queue (name, tags) VALUES ('q' || floor(random() * 1e9)::bigint, jsonb_build_object('long', '`+
				long[:50]+`', 'more', repeat(md5(random()::text), 3000)))`); failure != nil {
			break
		}
	}
	if failure == nil || !strings.Contains(failure.Error(), "53100") {
		t.Fatalf("the user is not told that the disk is full: %v", failure)
	}
	w.create("meanwhile", nil, nil)
	_, _ = w.TryPSQL(w.UserURL, `SELECT iasql_sync_now()`) // may or may not find room
	before := w.cloud()
	time.Sleep(2 * time.Second)
	if after := w.cloud(); after < before {
		t.Errorf("there were %d queues and are %d", before, after)
	}
	if err := disk.Free(); err != nil {
		t.Fatal(err)
	}
	w.Eventually(15*time.Second, "the engine is there", func() bool { return w.Connected() == 1 })
	w.unharmed()
	w.sync()
	if got := w.PSQL(`SELECT count(*) FROM queue WHERE name = 'meanwhile'`); got != "1" {
		t.Error("what the cloud has made meanwhile is not found")
	}
	w.Settled()
	w.quiet()
	w.oneLineLog()
}

// The clock of the database jumps a day back, two days ahead, and comes right.
// Waiting records, the schedule and users' waiting functions go on.
func TestClock(t *testing.T) {
	if testing.Short() {
		t.Skip("it needs libfaketime: make test-all runs it")
	}
	t.Parallel()
	clock, err := harness.NewClock(t)
	if err != nil {
		harness.Lacking(t, "libfaketime")
	}
	w := on(t, cluster(t, filepath.Join(harness.Temporary(t), "cluster"), clock.Env...))
	w.PSQL(`UPDATE iasql_settings SET value = CASE name WHEN 'sync_interval' THEN '5 seconds' ELSE '0' END WHERE name IN ('sync_interval', 'max_staleness')`)
	for _, by := range []string{"-1d", "+1d", "+0"} {
		name := strings.NewReplacer("-1d", "back", "+1d", "ahead", "+0", "right").Replace(by)
		heal := w.refuse("CreateQueue", failing)
		w.PSQL(`INSERT INTO queue (name) VALUES ('` + name + `')`)
		w.Becomes(10*time.Second, "t",
			`SELECT count(*) > 0 FROM iasql_status WHERE table_name = 'queue' AND state = 'Creating' AND attempts > 0`)
		clock.Jump(t, by)
		heal()
		w.Becomes(20*time.Second, "t", `SELECT url IS NOT NULL FROM queue WHERE name = '`+name+`'`)
		w.unharmed()
		w.PSQL(`SELECT iasql_wait_for_all(20)`)
		w.create("found-"+name, nil, nil)
		w.Becomes(20*time.Second, "1", `SELECT count(*) FROM queue WHERE name = 'found-`+name+`'`)
	}
	w.Settled()
	w.oneLineLog()
}
