package batches

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
)

// folder is a configuration of queues as files of SQL.
type folder struct {
	dir   string
	names []string
}

// write writes the folder's files, a hundred queues in each.
func (f *folder) write(t *testing.T) {
	t.Helper()
	old, err := filepath.Glob(filepath.Join(f.dir, "*.sql"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	for i, part := range slices.Collect(slices.Chunk(f.names, 100)) {
		text := "INSERT INTO queue (name) VALUES ('" + strings.Join(part, "'), ('") + "') ON CONFLICT DO NOTHING;\n"
		if err := os.WriteFile(filepath.Join(f.dir, fmt.Sprintf("%d.sql", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Three hundred records as a folder: applied, edited, applied again beside an edit of a batch, a second configuration, and
// a crash in each step. Just what was taken out of the folder is deleted.
func TestFolderOfThreeHundred(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	engine := w.Serve()
	w.CLI("sqs", "create-queue", "--queue-name", "theirs")
	w.Install(east, "aws_sqs")
	w.Admin(`UPDATE iasql_settings SET value = '1000' WHERE name = 'max_deletes'`, `UPDATE iasql_settings SET value = '1' WHERE name = 'max_delete_ratio'`)
	f := &folder{dir: t.TempDir()}
	for i := range 300 {
		f.names = append(f.names, fmt.Sprintf("q%03d", i))
	}
	f.write(t)
	want := func(when string, beside ...string) {
		t.Helper()
		names := slices.Sorted(slices.Values(append(append([]string{"theirs"}, f.names...), beside...)))
		if got := w.PSQL(`SELECT string_agg(name, ' ' ORDER BY name COLLATE "C") FROM queue`); got != strings.Join(names, " ") {
			t.Fatalf("%s the table has\n%s\nwant\n%s", when, got, strings.Join(names, " "))
		}
		if got := queues(w); got != strings.Join(names, " ") {
			t.Fatalf("%s the cloud has\n%s\nwant\n%s", when, got, strings.Join(names, " "))
		}
	}
	apply := func(code int, args ...string) {
		t.Helper()
		if out, problem, got := command(t, w, append([]string{"apply", "shop", f.dir}, args...)...); got != code {
			t.Fatalf("engine apply %s ends with %d, want %d:\n%s%s", strings.Join(args, " "), got, code, out, problem)
		}
	}
	// cut kills an apply in the middle: of its files, or of its commit.
	cut := func(during string, when func() bool) {
		t.Helper()
		cmd := exec.Command(harness.Engine(), "apply", "shop", f.dir) // #nosec G204 -- the engine under test
		cmd.Env = append(os.Environ(), "DATABASE_URL="+w.UserURL)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		w.Eventually(time.Minute, "apply is cut off "+during, when)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	apply(0)
	want("At first")
	before := w.PSQL(`SELECT max(id) FROM iasql_audit_log`)
	apply(0)
	if got := w.PSQL(`SELECT count(*) FROM iasql_audit_log WHERE table_name IS NOT NULL AND id > ` + before); got != "0" {
		t.Errorf("the second run has written %s changes", got)
	}

	// A second configuration has ten of them, and somebody is editing one in the console: a batch that is not committed.
	s, console := user(w), user(w)
	s.declare("mail", `SELECT iasql_mention('queue', id) FROM queue WHERE name < 'q010'`)
	console.do(`CALL iasql_begin('console')`, `UPDATE queue SET delay_seconds = 3 WHERE name = 'q150'`)
	f.names = append(slices.Clone(f.names[20:]), "new0", "new1")
	f.write(t)
	shared := strings.Fields("q000 q001 q002 q003 q004 q005 q006 q007 q008 q009")
	apply(0)
	want("Beside a batch and another configuration", shared...)
	if got := console.get(`SELECT delay_seconds FROM queue WHERE name = 'q150'`); got != "3" {
		t.Errorf("the console's edit is %s", got)
	}
	console.do(`CALL iasql_commit()`)

	// What a batch has changed and the folder lets go of is an error, which leaves all as it is.
	console.do(`CALL iasql_begin('console')`, `UPDATE queue SET delay_seconds = 4 WHERE name = 'q020'`)
	kept := f.names
	f.names = f.names[10:]
	f.write(t)
	apply(1)
	f.names = kept
	want("After a refusal", shared...)
	console.do(`CALL iasql_commit()`)

	// Cut off among the files: nothing of it is left but its batch, which the next one replaces.
	f.names = f.names[10:]
	f.write(t)
	if err := os.WriteFile(filepath.Join(f.dir, "1a.sql"), []byte("SELECT pg_sleep(30)"), 0o600); err != nil {
		t.Fatal(err)
	}
	cut("among the files", func() bool {
		return w.Admin(`SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(30)%' AND pid <> pg_backend_pid()`) != "0"
	})
	w.Admin(`SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(30)%' AND pid <> pg_backend_pid()`)
	now := f.names
	f.names = kept
	if got := w.PSQL(`SELECT count(*) FROM iasql_mentions WHERE configuration = 'shop'`); got != "282" {
		t.Errorf("cut off among the files: shop has %s records", got)
	}
	want("Cut off among the files", shared...)
	f.names = now
	f.write(t)
	apply(1)
	// The end has been committed, and the batch has not: so it is undone with it.
	apply(0, "--replace")
	want("After it was replaced", shared...)

	// Cut off within the commit: the engine goes on with that. Then the engine itself is killed there, and the next goes on.
	for i, during := range []string{"by hand within the commit", "with the engine within the commit"} {
		ops := w.PSQL(`SELECT coalesce(max(id), 0) FROM iasql_operations`)
		f.names = f.names[30:]
		for n := range 30 {
			f.names = append(f.names, fmt.Sprintf("made%d-%02d", i, n))
		}
		f.write(t)
		cut(during, func() bool { return w.PSQL(`SELECT count(*) >= 5 FROM iasql_operations WHERE id > `+ops) == "t" })
		if i == 1 {
			engine.Kill()
			engine = w.Serve()
		}
		w.Becomes(2*time.Minute, "0", `SELECT count(*) FROM iasql_batches WHERE outcome IS NULL`)
		w.Settled()
		want("Cut off "+during, shared...)
		apply(0)
		want("And applied again", shared...)
	}
	s.do(`DELETE FROM iasql_configurations`, `SELECT iasql_wait_for_all(120)`)
	f.names = nil
	want("In the end")
}
