package edges

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"iasql/internal/devenv"
	"iasql/internal/testaws"
	"iasql/test/harness"
)

// temporary makes a directory that PostgreSQL may reach, whose user is another
// than root.
func temporary(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "iasql-edges")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// cluster starts a PostgreSQL of the test's own.
func cluster(t *testing.T, dir string) *devenv.Postgres {
	t.Helper()
	pg, err := devenv.StartPostgres(context.Background(), devenv.PostgresOptions{DataDir: dir, FastUnsafe: true})
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
// on when there is room again. The log of transactions is on another disk, since
// PostgreSQL ends where that is full (manual, section 30.4).
func TestDiskFull(t *testing.T) {
	t.Parallel()
	dir := temporary(t)
	small := filepath.Join(dir, "small")
	if err := os.Mkdir(small, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=400m,mode=755"); err != nil {
		t.Skipf("a disk that can be full takes the right to mount one (CAP_SYS_ADMIN): %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(small, syscall.MNT_DETACH) })
	data := filepath.Join(small, "cluster")
	if err := cluster(t, data).Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	wal := filepath.Join(data, "pgdata", "pg_wal")
	if out, err := exec.Command("sh", "-c", `cp -a "$1" "$2/wal" && rm -r "$1" && ln -s "$2/wal" "$1"`, "sh", wal, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w := on(t, cluster(t, data))

	filler := filepath.Join(small, "filler")
	fill(t, filler)
	long := incompressible(200_000)
	var failure error
	for range 20 {
		if _, failure = w.TryPSQL(w.UserURL, `INSERT INTO queue (name, tags) VALUES ('q' || floor(random() * 1e9)::bigint, jsonb_build_object('long', '`+long[:50]+`', 'more', repeat(md5(random()::text), 3000)))`); failure != nil {
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
	if err := os.Remove(filler); err != nil {
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

// fill writes a file until there is no room.
func fill(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 1<<20); len(block) > 0; {
		if _, err := f.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
}

// The clock of the database jumps a day back, two days ahead, and comes right.
// Waiting records, the schedule and users' waiting functions go on.
func TestClock(t *testing.T) {
	libraries, _ := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	if len(libraries) == 0 {
		t.Skip("libfaketime is not installed: make deps installs it where there is apt-get")
	}
	dir := temporary(t)
	clock := filepath.Join(dir, "clock")
	jump := func(by string) {
		t.Helper()
		// Renamed into place: it is read at every look at the clock.
		if err := os.WriteFile(clock+".new", []byte(by+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(clock+".new", clock); err != nil {
			t.Fatal(err)
		}
	}
	jump("+0")
	preload := map[string]string{"LD_PRELOAD": libraries[0], "FAKETIME_TIMESTAMP_FILE": clock, "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
	// What PostgreSQL inherits is set for the whole process: not yet in parallel.
	for name, value := range preload {
		if err := os.Setenv(name, value); err != nil {
			t.Fatal(err)
		}
		defer os.Unsetenv(name)
	}
	pg := cluster(t, filepath.Join(dir, "cluster"))
	for name := range preload {
		os.Unsetenv(name)
	}
	t.Parallel()
	w := on(t, pg)
	w.PSQL(`UPDATE iasql_settings SET value = '5 seconds' WHERE name = 'sync_interval'`)
	for _, by := range []string{"-1d", "+1d", "+0"} {
		name := strings.NewReplacer("-1d", "back", "+1d", "ahead", "+0", "right").Replace(by)
		heal := w.refuse("CreateQueue", failing)
		w.PSQL(`INSERT INTO queue (name) VALUES ('` + name + `')`)
		w.Becomes(10*time.Second, "t", `SELECT count(*) > 0 FROM iasql_status WHERE table_name = 'queue' AND state = 'Creating' AND attempts > 0`)
		jump(by)
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
