package upgrade

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
	"iasql/internal/test/stopwatch"
)

// TestMigrationGivesWay: a migration that has to wait for somebody's transaction does not let all others wait behind it
// until that has ended.
func TestMigrationGivesWay(t *testing.T) {
	t.Parallel()
	url := restore(t, "testdata/5684cbb.sql.gz")
	reader, writer := connect(t, url), connect(t, url)
	tx, err := reader.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), `SELECT count(*) FROM public.iasql_audit_log`); err != nil {
		t.Fatal(err)
	}
	migrated := make(chan error, 1)
	go func() {
		out, err := exec.Command(harness.Engine(), "migrate", "--database-url", url).CombinedOutput()
		if err != nil {
			t.Logf("migrate: %s", out)
		}
		migrated <- err
	}()
	var longest time.Duration
	for begun := time.Now(); time.Since(begun) < 6*time.Second; time.Sleep(50 * time.Millisecond) {
		edit := stopwatch.Start()
		if _, err := writer.Exec(t.Context(), `UPDATE public.queue SET delay_seconds = delay_seconds WHERE id = 1`); err != nil {
			t.Fatal(err)
		}
		longest = max(longest, edit.Took())
	}
	select {
	case err := <-migrated:
		t.Fatalf("the migration has ended while somebody reads what it changes: %v", err)
	default:
	}
	if longest > 2*time.Second {
		t.Errorf("a writer has waited for %s behind the migration", longest)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-migrated; err != nil {
		t.Errorf("once nobody reads any more: %v", err)
	}
}

// TestMissingMigration: where two lines of work have met, a database may have what has the higher number only.
func TestMissingMigration(t *testing.T) {
	t.Parallel()
	url := restore(t, "testdata/5684cbb.sql.gz")
	migrate(t, url)
	for _, statement := range []string{
		`DROP TABLE public.iasql_queries CASCADE`, // as the migration does on its way down
		`DELETE FROM iasql_internal.goose_db_version WHERE version_id = 320`,
		`DELETE FROM iasql_internal.applied_sql`,
	} {
		admin(t, url, statement)
	}
	migrate(t, url)
	if got := admin(t, url, `SELECT coalesce(to_regclass('public.iasql_queries')::text, 'none')`); got != "iasql_queries" {
		t.Errorf("the table of the missing migration: %s", got)
	}
}

// TestStepBack: an engine that is older than the database leaves it as it is, says so, and works beside newer ones.
func TestStepBack(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	migrate(t, w.AdminURL) // gives the copy a loopback role of its own
	first := w.Serve()
	w.Install([]string{"us-east-1"}, "aws_sqs")
	first.Stop()
	w.Admin(`INSERT INTO iasql_internal.goose_db_version (version_id, is_applied) VALUES (99999, true)`,
		`UPDATE iasql_internal.installation SET version = 'v99'`,
		`CREATE OR REPLACE FUNCTION public.iasql_version() RETURNS TABLE (version text) LANGUAGE sql AS $$SELECT 'newer'$$`,
		`UPDATE iasql_internal.applied_sql SET sha256 = '' WHERE path = 'functions/iasql_version.sql'`)
	out, err := exec.Command(harness.Engine(), "migrate", "--database-url", w.AdminURL).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "a newer engine (v99) has migrated the database") ||
		!strings.Contains(string(out), "--no-migrate") {
		t.Errorf("engine migrate: %v\n%s", err, out)
	}
	w.Args = []string{"--no-migrate=false", "--migrate"} // the harness has --no-migrate before these
	engine := w.Serve()
	w.PSQL(`INSERT INTO queue (name) VALUES ('beside')`, `SELECT iasql_sync_now()`)
	w.Settled()
	if !strings.Contains(engine.Log(), "this one leaves it as it is") {
		t.Errorf("engine serve said:\n%s", engine.Log())
	}
	if got := w.Admin(`SELECT version FROM iasql_version()`); got != "newer" {
		t.Errorf("a function of the newer engine was replaced: %s", got)
	}
}
