package likeness

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
	"iasql/internal/test/likeness"
)

// takes is what an application's file says that it takes.
var takes = regexp.MustCompile(`aws_[a-z0-9_]+`)

// Whole applications come up by one transaction each, network and all, in an account with all regions, with nothing for a
// person to do, and go by another. What is there afterwards is what was there before.
func TestApplications(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../examples/applications/*.sql")
	if err != nil || len(files) < 6 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".sql"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			opening, _, _ := strings.Cut(string(text), "BEGIN;")
			up, down, cut := strings.Cut(string(text), "\n-- And away, by one DELETE.")
			modules := takes.FindAllString(opening, -1)
			if !cut || len(modules) == 0 || strings.Count(up, "COMMIT;") != 1 || strings.Count(down, "DELETE ") != 1 {
				t.Fatalf("not written like an application: %s", opening)
			}
			w := harness.NewWorld(t)
			l := likeness.Start(t, w.AWS.Endpoint, likeness.AWS(w.AWS.Endpoint, speed)...)
			w.Endpoint = l.URL
			w.Serve()
			w.PSQL(`SELECT * FROM iasql_install('` + strings.Join(modules, "','") + `')`)
			w.PSQL(`UPDATE aws_account SET account_id = '` + w.AWS.ID + `'`)
			w.PSQL(fmt.Sprintf(`UPDATE iasql_settings SET value = '%d milliseconds' WHERE name = 'consistency_window'`,
				likeness.Window(speed).Milliseconds()))
			w.Admin(`UPDATE iasql_settings SET value = '1' WHERE name = 'max_delete_ratio'`)
			regions := w.PSQL(`SELECT count(*) FROM aws_regions WHERE is_enabled`)
			w.PSQL(`SELECT iasql_sync_now()`)
			before := w.Admin(there)
			begun := time.Now()
			shown := run(t, w, up)
			if strings.Contains(shown, "f|") || strings.HasSuffix(shown, "|f") {
				t.Errorf("it came up otherwise: %s", shown)
			}
			settles(t, w, "everything to be there")
			t.Logf("%s regions; up in %s: %s; %s operations, of which %s failed at first", regions, time.Since(begun).Round(time.Second),
				shown[strings.LastIndexByte(shown, '\n')+1:], w.PSQL(`SELECT count(*) FROM iasql_operations`),
				w.PSQL(`SELECT count(*) FROM iasql_operations WHERE result = 'failed'`))
			begun = time.Now()
			run(t, w, "-- And away, by one DELETE."+down)
			if w.PSQL(`SELECT string_agg(name, ' ') FROM iasql_configurations`) == "site-logs" {
				logs := w.PSQL(`SELECT b.name FROM iasql_mentions m JOIN bucket b ON b.id = m.record_id WHERE m.table_name = 'bucket'`)
				w.AWS.CLI(t, "s3", "rm", "s3://"+logs, "--recursive") // AWS deletes no bucket that is not empty
				w.PSQL(`DELETE FROM iasql_configurations`)
			}
			gone(t, w, before, begun)
		})
	}
}

// gone waits until nothing is left of what was taken down, and nothing comes back.
func gone(t *testing.T, w *harness.World, before string, begun time.Time) {
	t.Helper()
	settles(t, w, "nothing to be left")
	w.PSQL(`SELECT iasql_sync_now()`)
	settles(t, w, "nothing to come back")
	if kept := w.PSQL(kept); kept != "" {
		t.Errorf("what was made and is still there: %s", kept)
	}
	if after := w.Admin(there); after != before {
		t.Errorf("there was %s and is %s", before, after)
	}
	t.Logf("down in %s", time.Since(begun).Round(time.Second))
}

// there tells how many records each table has, but for those of which AWS makes some by itself that stay: service-linked
// roles, and RDS's default parameter groups.
const there = `SELECT string_agg(table_name || ' ' || n, ', ' ORDER BY table_name) FROM (SELECT table_name, count(*) AS n FROM iasql_internal.records
	WHERE table_name NOT IN ('iam_role', 'parameter_group') GROUP BY 1) r`

// kept tells of which tables more was made than deleted.
const kept = `SELECT string_agg(table_name || ' ' || n, ', ') FROM (SELECT table_name, count(*) FILTER (WHERE kind = 'create') - count(*) FILTER (WHERE kind = 'delete') AS n
	FROM iasql_operations WHERE result = 'ok' AND table_name IN ('iam_role', 'parameter_group', 'bucket', 'vpc', 'rds', 'lambda_function', 'eks_cluster', 'domain') GROUP BY 1) o WHERE n > 0`

// run has psql run a script as the plain user, and returns what it prints.
func run(t *testing.T, w *harness.World, script string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-f", "-", w.UserURL)
	command.Stdin = strings.NewReader(script)
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v:\n%s\n%s", err, &said, w.PSQL(`SELECT string_agg(concat_ws(' ', started::time(3), ended::time(3), action, table_name, record_id, result, columns, error), E'\n' ORDER BY id) FROM iasql_operations`))
	}
	return strings.TrimSpace(string(out))
}
