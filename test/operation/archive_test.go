package operation

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// audit runs engine audit, and returns what it prints.
func audit(w *harness.World, args ...string) (string, error) {
	w.Helper()
	cmd := exec.CommandContext(w.Context(), harness.Engine(), append([]string{"audit"}, args...)...)
	cmd.Env = append(os.Environ(), "DATABASE_URL="+w.AdminURL)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestArchive: the months of the audit log are exported, each once; what is deleted then comes back whole, and so does
// the past that iasql_as_of shows. What cannot be right is refused, and changes nothing.
func TestArchive(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, []string{"us-east-1"}, "aws_sqs")
	w.Admin(`UPDATE iasql_settings SET value = '10 years' WHERE name = 'audit_retention'`)
	w.PSQL(`INSERT INTO queue (name, delay_seconds, tags) VALUES ('a', 1, '{"say": "\"x\",\n\\ é"}'), ('b', 1, NULL)`)
	w.Settled()
	w.PSQL(`UPDATE queue SET delay_seconds = 2 WHERE name = 'a'`)
	w.Settled()
	w.PSQL(`DELETE FROM queue WHERE name = 'b'`)
	w.Settled()
	w.PSQL(`UPDATE queue SET delay_seconds = 3 WHERE name = 'a'`)
	w.Settled()
	// What was so far was in the last months, and the UPDATEs and the DELETE two months later than the rest.
	w.Admin(`UPDATE iasql_audit_log SET ts = ts - CASE WHEN change_type IN ('UPDATE', 'DELETE') AND origin = 'user'
		THEN interval '62 days' ELSE interval '124 days' END, settled_at = settled_at - interval '62 days'`)
	before := w.Admin(`SELECT l FROM iasql_audit_log l ORDER BY id`)
	at := w.Admin(`SELECT now() - interval '100 days'`)
	past := w.Admin(`SELECT record - 'id' FROM iasql_as_of('queue', '` + at + `') ORDER BY 1`)
	if strings.Count(past, `"name"`) != 2 || !strings.Contains(past, `"delay_seconds": 1`) {
		t.Fatalf("100 days ago: %s", past)
	}
	dir := filepath.Join(t.TempDir(), "log [of] *")

	out, err := audit(w, "export", dir)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	files, _ := filepath.Glob(filepath.Join(strings.NewReplacer("[", `\[`, "*", `\*`).Replace(dir), "*.csv.gz"))
	// Those of 124 days ago to the last that has ended.
	months := w.Admin(`SELECT count(*) FROM generate_series(
		date_trunc('month', (SELECT min(ts) FROM iasql_audit_log), 'UTC') AT TIME ZONE 'UTC',
		date_trunc('month', now(), 'UTC') AT TIME ZONE 'UTC' - interval '1 month', interval '1 month')`)
	if n := strconv.Itoa(len(files)); n != months || strings.Count(out, "csv.gz") != len(files) ||
		strings.Contains(out, "was there") {
		t.Errorf("%s files of %s months:\n%s", n, months, out)
	}
	if again, err := audit(w, "export", dir); err != nil || strings.Count(again, "was there") != len(files) {
		t.Errorf("again: %v: %s", err, again)
	}

	// What is deleted cannot be asked for any more, and exporting again loses nothing of it. (The newest stays: an
	// engine that has seen it within the hour would take the database for one that has gone back.)
	w.PSQL(`UPDATE queue SET delay_seconds = 4`)
	w.Settled()
	w.Admin(`UPDATE iasql_settings SET value = '31 days' WHERE name = 'audit_retention'`)
	if out, err := audit(w, "export", dir); err == nil || !strings.Contains(out, "is shorter than a month") {
		t.Errorf("of 31 days: %v: %s", err, out)
	}
	w.Admin(`UPDATE iasql_settings SET value = '40 days' WHERE name = 'audit_retention'`,
		`SELECT iasql_internal.prune()`)
	if n := w.Admin(`SELECT count(*) FROM iasql_audit_log WHERE ts < now() - interval '40 days'`); n != "0" {
		t.Fatalf("%s rows are left", n)
	}
	if _, err := w.TryPSQL(w.AdminURL, `SELECT iasql_as_of('queue', '`+at+`')`); err == nil {
		t.Error("the past can be shown without the log")
	}
	if out, err := audit(w, "export", dir); err != nil || strings.Contains(out, "csv.gz") {
		t.Errorf("after the deletion: %v: %s", err, out)
	}

	refused := func(why string, args ...string) {
		t.Helper()
		was := w.Admin(`SELECT l FROM iasql_audit_log l ORDER BY id`)
		out, err := audit(w, append([]string{"restore", dir}, args...)...)
		if err == nil || !strings.Contains(out, why) {
			t.Errorf("restored, or not refused for %q: %v: %s", why, err, out)
		}
		if now := w.Admin(`SELECT l FROM iasql_audit_log l ORDER BY id`); now != was {
			t.Errorf("%s: the log is another one now", why)
		}
	}
	refused("audit_retention (40 days)")
	refused("is no month", "--from", "August")
	refused("has no month to restore", "--from", "2999-01")
	w.Admin(`UPDATE iasql_settings SET value = '10 years' WHERE name = 'audit_retention'`)
	newest := files[len(files)-1]
	whole, err := os.ReadFile(newest)
	if err != nil {
		t.Fatal(err)
	}
	spoil := func(path string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	spoil(newest, whole[:len(whole)/2])
	refused("audit_log-")
	spoil(newest, recompressed(t, whole))
	refused("is not as it was exported")
	spoil(newest, whole)
	manifest := strings.TrimSuffix(newest, ".csv.gz") + ".json"
	described, err := os.ReadFile(manifest)
	if err != nil {
		t.Fatal(err)
	}
	spoil(manifest, []byte(strings.Replace(string(described), `"installation": "`, `"installation": "0`, 1)))
	refused("of another database")
	spoil(manifest, described)
	aside := t.TempDir()
	for _, file := range files[1:] {
		file = strings.TrimSuffix(file, ".csv.gz") + ".json"
		if err := os.Rename(file, filepath.Join(aside, filepath.Base(file))); err != nil {
			t.Fatal(err)
		}
	}
	refused("is missing")
	for _, file := range files[1:] {
		file = filepath.Join(aside, strings.TrimSuffix(filepath.Base(file), ".csv.gz")+".json")
		if err := os.Rename(file, filepath.Join(dir, filepath.Base(file))); err != nil {
			t.Fatal(err)
		}
	}

	for range 2 { // the second adds nothing
		if out, err := audit(w, "restore", dir); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		after := w.Admin(`SELECT l FROM iasql_audit_log l WHERE ts < now() - interval '1 day' ORDER BY id`)
		if after != before {
			t.Errorf("the log is\n%s\nand was\n%s", after, before)
		}
	}
	if now := w.Admin(`SELECT record - 'id' FROM iasql_as_of('queue', '` + at + `') ORDER BY 1`); now != past {
		t.Errorf("the past is\n%s\nand was\n%s", now, past)
	}
}

// recompressed returns the same rows, compressed otherwise.
func recompressed(t *testing.T, data []byte) []byte {
	t.Helper()
	from, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	to, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
