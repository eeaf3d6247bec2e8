package batches

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// A folder of SQL in a repository is the truth: it is previewed, applied, applied again to no effect, and what is taken
// out of it goes. What fails leaves nothing behind, and says where.
func TestApply(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	w.Settled()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@t"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	ends := func(want int, says string, args ...string) string {
		t.Helper()
		out, problem, code := command(t, w, append([]string{"apply"}, args...)...)
		if code != want || !strings.Contains(out+problem, says) {
			t.Errorf("engine apply %s ends with %d instead of %d, or does not say %q:\n%s%s", strings.Join(args, " "),
				code, want, says, out, problem)
		}
		return out
	}
	open := func() {
		t.Helper()
		if got := w.PSQL(`SELECT count(*) FROM iasql_batches WHERE outcome IS NULL`); got != "0" {
			t.Errorf("%s batches are open", got)
		}
	}

	write("1-queues.sql", "INSERT INTO queue (name) VALUES ('a'), ('b')\n    ON CONFLICT DO NOTHING;\n")
	write("more/2-queues.sql", "INSERT INTO queue (name) VALUES ('c') ON CONFLICT DO NOTHING;")
	write("README.md", "not SQL")
	ends(2, "3 to create", "shop", dir, "--preview", "--exit-code")
	open()
	if got := w.PSQL(`SELECT count(*) FROM queue`) + queues(w); got != "0" {
		t.Errorf("the preview left %s", got)
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "x")
	head := git("rev-parse", "HEAD")
	ends(0, "configuration shop: committed", "shop", dir)
	if got := queues(w); got != "a b c" {
		t.Errorf("applied: %s", got)
	}
	if got := w.PSQL(`SELECT revision FROM iasql_configurations`); got != head {
		t.Errorf("the revision is %s, want %s", got, head)
	}
	before := w.PSQL(`SELECT count(*) FROM iasql_audit_log WHERE table_name = 'queue'`)
	ends(0, "nothing to do", "shop", dir)
	ends(0, "nothing to do", "shop", dir, "--preview", "--exit-code")
	if got := w.PSQL(`SELECT count(*) FROM iasql_audit_log WHERE table_name = 'queue'`); got != before {
		t.Errorf("a second run wrote: %s rows, before %s", got, before)
	}

	// Somebody edits beside it: what the files say is put back where they say it, and what they do not say stays.
	w.PSQL(`INSERT INTO queue (name) VALUES ('beside')`, `UPDATE queue SET delay_seconds = 7 WHERE name = 'a'`)
	w.Settled()
	write("1-queues.sql", "INSERT INTO queue (name, delay_seconds) VALUES ('a', 5)\n    ON CONFLICT (account, region, name) DO UPDATE SET delay_seconds = excluded.delay_seconds;\n")
	var plan struct {
		Hash, Revision, Outcome string
		Changes                 []struct{ Action, Description string }
	}
	if err := json.Unmarshal([]byte(ends(0, "", "shop", dir, "--preview", "--json")), &plan); err != nil {
		t.Fatal(err)
	}
	if len(plan.Changes) != 2 || plan.Outcome != "previewed" || plan.Revision != head+"-dirty" {
		t.Errorf("the plan is %+v", plan)
	}
	ends(5, "is not the one of --preview-hash", "shop", dir, "--preview-hash", "abc")
	open()
	ends(0, "committed", "shop", dir, "--preview-hash", plan.Hash)
	if got := queues(w) + w.PSQL(`SELECT delay_seconds FROM queue WHERE name = 'a'`); got != "a beside c5" {
		t.Errorf("after the edit beside it: %s", got)
	}

	// What fails.
	write("more/3-wrong.sql", "INSERT INTO queue (name) VALUES ('d');\n\nINSERT INTO queue (nome) VALUES ('e');")
	ends(1, "3-wrong.sql:3: 42703", "shop", dir)
	write("more/3-wrong.sql", "BEGIN; INSERT INTO queue (name) VALUES ('d');")
	ends(1, "begins a transaction and does not end it", "shop", dir)
	write("more/3-wrong.sql", "CALL iasql_rollback();")
	ends(1, "3-wrong.sql has ended the declaration", "shop", dir)
	write("more/3-wrong.sql", "CALL iasql_commit();")
	ends(1, "IA031", "shop", dir)
	empty := t.TempDir()
	ends(1, "has no file *.sql", "shop", empty)
	ends(1, "no such file", "shop", filepath.Join(empty, "x.sql"))
	open()
	if got := w.PSQL(`SELECT string_agg(name, ' ' ORDER BY name) FROM queue`); got != "a beside c" {
		t.Errorf("after what failed: %s", got)
	}

	// The guard holds what nobody has looked at.
	w.Admin(`UPDATE iasql_settings SET value = '0' WHERE name = 'max_deletes'`)
	file := filepath.Join(dir, "1-queues.sql")
	ends(1, "give its hash to --preview-hash", "shop", file)
	open()
	hash := regexp.MustCompile(`hash (\w+)`).FindStringSubmatch(ends(0, "1 to delete", "shop", file, "--preview"))[1]
	ends(0, "committed", "shop", file, "--preview-hash", hash)
	if got := queues(w); got != "a beside" {
		t.Errorf("after a file was left out: %s", got)
	}

	// One that was cut off.
	s := user(w)
	s.do(`CALL iasql_declare('shop')`, `INSERT INTO queue (name) VALUES ('half')`)
	ends(1, "IA020", "shop", file)
	ends(0, "nothing to do", "shop", file, "--replace")
	if got := w.PSQL(`SELECT string_agg(name, ' ' ORDER BY name) FROM queue`); got != "a beside" {
		t.Errorf("after --replace: %s", got)
	}
	open()
	w.Settled()
}
