package acceptance

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"iasql/internal/test/harness"
)

// engine dev --host-root has a directory of this machine managed as a host, beside the accounts, and once.
func TestDevOfAHost(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	root, dir := t.TempDir(), dataDir(t)
	file := filepath.Join(root, "app.conf")
	if err := os.WriteFile(file, []byte("workers = 2"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, edit := range []string{"workers = 4", "workers = 8"} {
		d := runDev(t, w.AWS.Env(), "--data-dir", dir, "--aws-endpoint", w.AWS.Endpoint, "--host-root", root)
		w.UserURL = d.URL
		if got := w.PSQL(`SELECT name, host_root FROM host`); got != "localhost|"+root {
			t.Errorf("the hosts are %s", got)
		}
		w.Install([]string{"us-east-1"}, "aws_sqs")
		w.PSQL(`INSERT INTO host_scope (account, pattern) VALUES ('localhost', '/*') ON CONFLICT DO NOTHING`)
		w.Becomes(time.Minute, "1", `SELECT count(*) FROM host_file`)
		w.PSQL(`UPDATE host_file SET content = '`+edit+`'`, `INSERT INTO queue (name) VALUES ('q') ON CONFLICT DO NOTHING`)
		w.Settled()
		if got, err := os.ReadFile(file); err != nil || string(got) != edit {
			t.Errorf("the file is %s: %v", got, err)
		}
		// No table of one world is read for an account of the other.
		if got := w.PSQL(`SELECT count(*) FROM iasql_get_errors()`); got != "0" {
			t.Errorf("errors: %s", w.PSQL(`SELECT * FROM iasql_get_errors()`))
		}
		if got := w.PSQL(`SELECT string_agg(kind || ' ' || (held IS NULL), ', ' ORDER BY kind) FROM iasql_worlds`); got != "aws true, host true" {
			t.Errorf("the worlds are %s", got)
		}
		d.stop(t)
	}
}
