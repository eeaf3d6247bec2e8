package hosts

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"iasql/internal/hosts"
)

// artifacts is a file source of that name in a directory of its own, beside which lies what nobody may get.
func artifacts(t *testing.T) (dir string, sources hosts.Sources) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "artifacts")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	sources = hosts.Sources{}
	if err := sources.Add("artifacts=" + dir); err != nil {
		t.Fatal(err)
	}
	return dir, sources
}

// put writes a file of a source, and returns its sum.
func put(t *testing.T, at, content string) string {
	t.Helper()
	if err := os.WriteFile(at, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return sum(content)
}

// sum is the SHA-256 of a content.
func sum(content string) string {
	s := sha256.Sum256([]byte(content))
	return hex.EncodeToString(s[:])
}

// large is a content that no column takes.
func large(c string) string { return strings.Repeat(c, 1_000_000) }

// TestSources takes a file whose content is in a source through its life.
func TestSources(t *testing.T) {
	t.Parallel()
	dir, sources := artifacts(t)
	one, two := put(t, filepath.Join(dir, "app-1"), large("1\x00")), put(t, filepath.Join(dir, "app-2"), large("2"))
	w := startAs(t, &world{sources: sources})
	w.PSQL(`INSERT INTO host (name, host_root) VALUES ('here', '`+w.root+`')`,
		`INSERT INTO host_scope (account, pattern) VALUES ('here', '/etc/**')`)
	w.mkdir("etc")
	w.sync()
	is := func(source, sum, content string) {
		t.Helper()
		w.Settled()
		w.sync()
		w.has("etc/app", content)
		w.row(source+"|"+sum, `SELECT source, sha256 FROM host_file WHERE path = '/etc/app'`)
		before := w.PSQL(`SELECT count(*) FROM iasql_operations`)
		w.sync()
		w.row(before, `SELECT count(*) FROM iasql_operations`)
		if left, err := filepath.Glob(filepath.Join(w.root, "etc/.iasql-new-*")); err != nil || len(left) > 0 {
			t.Errorf("left over: %q, %v", left, err)
		}
	}
	undo := func() {
		t.Helper()
		w.PSQL(`CALL iasql_undo(`+w.PSQL(`SELECT max(id) FROM iasql_batches`)+`)`, `CALL iasql_commit()`)
	}
	app := func(set string) string { return `UPDATE host_file SET ` + set + ` WHERE path = '/etc/app'` }

	w.PSQL(`INSERT INTO host_file (account, path, mode, source, sha256) VALUES ('here', '/etc/app', '0750', 'artifacts/app-1', '` + one + `')`)
	is("artifacts/app-1", one, large("1\x00"))
	w.row("t|t|2000000|0750", `SELECT content IS NULL, bytes IS NULL, size, mode FROM host_file WHERE path = '/etc/app'`)

	// Another one, and back.
	w.PSQL(`CALL iasql_begin()`, app(`source = 'artifacts/app-2', sha256 = '`+two+`'`), `CALL iasql_commit()`)
	is("artifacts/app-2", two, large("2"))
	undo()
	is("artifacts/app-1", one, large("1\x00"))

	// The source is not looked at while nothing is to be written. What somebody else writes shows, and the pair brings it back.
	w.do(os.Rename(filepath.Join(dir, "app-1"), filepath.Join(dir, "moved")))
	w.distrust()
	w.write("etc/app", large("3"))
	is("artifacts/app-1", sum(large("3")), large("3"))
	w.PSQL(app(`source = 'artifacts/moved', sha256 = '` + one + `'`))
	is("artifacts/moved", one, large("1\x00"))
	if said := w.Warnings(app(`source = 'artifacts/app-2'`)); !strings.Contains(said, "the file stays as it is") {
		t.Errorf("it says %q", said)
	}
	is("artifacts/app-2", one, large("1\x00"))

	// A text of the table takes its place, and what is undone comes from the source again.
	w.PSQL(app(`source = 'artifacts/moved'`), `CALL iasql_begin()`, app(`content = 'mine'`), `CALL iasql_commit()`)
	is("", sum("mine"), "mine")
	undo()
	is("artifacts/moved", one, large("1\x00"))

	// So does a file that is deleted, and one whose path changes.
	w.PSQL(`CALL iasql_begin()`, `DELETE FROM host_file WHERE path = '/etc/app'`, `CALL iasql_commit()`)
	w.has("etc/app", "-")
	undo()
	is("artifacts/moved", one, large("1\x00"))
	w.PSQL(app(`path = '/etc/other'`), `SELECT iasql_wait_for_all(60)`, `UPDATE host_file SET path = '/etc/app' WHERE path = '/etc/other'`)
	is("artifacts/moved", one, large("1\x00"))

	// In ENFORCE it is mended, and what nobody has is not: it stays, and the record says why.
	w.PSQL(`INSERT INTO iasql_mode (table_name, mode) VALUES ('host_file', 'ENFORCE')`)
	w.sync()
	w.distrust()
	w.write("etc/app", large("4"))
	_, _ = w.TryPSQL(w.UserURL, `SELECT iasql_sync_now()`)
	is("artifacts/moved", one, large("1\x00"))
	w.do(os.Remove(filepath.Join(dir, "moved")))
	w.distrust()
	w.write("etc/app", large("5"))
	_, _ = w.TryPSQL(w.UserURL, `SELECT iasql_sync_now()`)
	w.Becomes(3*shortly, "t", `SELECT bool_or(message LIKE '%/etc/app is not written: source artifacts/moved cannot be read%') FROM iasql_status WHERE table_name = 'host_file'`)
	w.has("etc/app", large("5"))
	w.PSQL(app(`sha256 = NULL, source = NULL`))
	w.Settled()
	w.has("etc/app", large("5"))

	// A text that a source has shows in content as any other.
	small := put(t, filepath.Join(dir, "small"), "a small text")
	w.PSQL(app(`source = 'artifacts/small', sha256 = '` + small + `'`))
	is("artifacts/small", small, "a small text")
	w.row("a small text", `SELECT content FROM host_file WHERE path = '/etc/app'`)
	empty := put(t, filepath.Join(dir, "empty"), "")
	w.PSQL(app(`source = 'artifacts/empty', sha256 = '` + empty + `'`))
	is("artifacts/empty", empty, "")
}

// TestSourcesRefused: a source gives nothing but the regular files of its directory, and nothing but what is asked for.
func TestSourcesRefused(t *testing.T) {
	t.Parallel()
	dir, sources := artifacts(t)
	w := startAs(t, &world{sources: sources})
	w.PSQL(`INSERT INTO host (name, host_root) VALUES ('here', '`+w.root+`')`,
		`INSERT INTO host_scope (account, pattern) VALUES ('here', '/etc/**')`)
	w.mkdir("etc")
	w.sync()
	secret := put(t, filepath.Join(dir, "../secret"), "the engine's own")
	w.do(os.Symlink("../secret", filepath.Join(dir, "link")))
	w.do(os.Symlink(filepath.Join(dir, "../secret"), filepath.Join(dir, "absolute")))
	w.do(os.Symlink("..", filepath.Join(dir, "up")))
	w.do(unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	w.do(os.Mkdir(filepath.Join(dir, "directory"), 0o755))
	there := put(t, filepath.Join(dir, "there"), large("1"))
	w.do(os.WriteFile(filepath.Join(dir, "huge"), nil, 0o600))
	w.do(os.Truncate(filepath.Join(dir, "huge"), 64<<20+1))

	insert := func(path, source, sum string) string {
		return fmt.Sprintf(`INSERT INTO host_file (account, path, source, sha256) VALUES ('here', '/etc/%s', '%s', '%s')`, path, source, sum)
	}
	for statement, want := range map[string]string{
		insert("a", "artifacts/../secret", secret): "host_file_source_check",
		insert("a", "/etc/passwd", secret):         "host_file_source_check",
		insert("a", "artifacts", secret):           "host_file_source_check",
		insert("a", "artifacts/there", "ABC"):      "host_file_sha256_check",
		`INSERT INTO host_file (account, path, source) VALUES ('here', '/etc/a', 'artifacts/there')`:                                             "Set sha256 as well",
		`INSERT INTO host_file (account, path, content, source, sha256) VALUES ('here', '/etc/a', 'x', 'artifacts/there', '` + there + `')`:      "Give content, or bytes, or source and sha256",
		`INSERT INTO host_file (account, path, content, sha256) VALUES ('here', '/etc/a', 'x', '` + there + `')`:                                 "Give content, or bytes, or source and sha256",
		`INSERT INTO host_file (account, path, kind, source, sha256) VALUES ('here', '/etc/a', 'directory', 'artifacts/there', '` + there + `')`: "host_file_check_2",
	} {
		w.refused(want, statement)
	}
	for source, want := range map[string]string{
		"artifacts/link": "cannot be read", "artifacts/absolute": "cannot be read", "artifacts/up/secret": "cannot be read",
		"artifacts/missing": "cannot be read (no such file or directory)", "artifacts/pipe": "it is no regular file",
		"artifacts/directory": "it is no regular file", "artifacts/huge": "64 MiB are the most",
		"artifacts/there": "has the SHA-256 " + there + ", and the row asks for " + secret,
		"others/there":    "no file source \"others\", but [artifacts]: start it with --file-source others=DIRECTORY",
	} {
		name := strings.ReplaceAll(source, "/", "-")
		w.PSQL(insert(name, source, secret))
		w.Becomes(3*shortly, "t", `SELECT bool_or(strpos(message, '`+want+`') > 0) FROM iasql_status WHERE table_name = 'host_file'`)
		w.has("etc/"+name, "-")
	}
	w.PSQL(`INSERT INTO host_file (account, path, sha256) VALUES ('here', '/etc/none', '` + there + `')`)
	w.Becomes(3*shortly, "t", `SELECT bool_or(message LIKE '%which the row does not have: set source%') FROM iasql_status WHERE table_name = 'host_file'`)
	w.has("etc/none", "-")
	if all, err := os.ReadDir(filepath.Join(w.root, "etc")); err != nil || len(all) > 0 {
		t.Errorf("on the host there is %v, %v", all, err)
	}
	if strings.Contains(w.PSQL(`SELECT string_agg(message, ' ') FROM iasql_status`), filepath.Dir(dir)) {
		t.Error("an error names a directory of the engine's machine")
	}
}

// TestSourcesBySSH: a content goes in chunks to a host by SSH, where a command accepts it, and connections that are cut
// in between leave the file that was there.
func TestSourcesBySSH(t *testing.T) {
	t.Parallel()
	dir, sources := artifacts(t)
	w, s := remoteOf(t, startAs(t, &world{sources: sources}))
	w.PSQL(`UPDATE host_scope SET validate = 'grep -qaz good %s'`)
	w.confirm()
	content := func(n int) string { return strings.Repeat(fmt.Sprint("good ", n, "\x00"), 2<<20) }
	at := "'" + w.root + "/etc/app'"
	w.PSQL(`INSERT INTO host_file (account, path, content) VALUES ('web', ` + at + `, 'good old')`)
	w.Settled()
	const rounds = 3
	for n := range rounds {
		app := put(t, filepath.Join(dir, fmt.Sprint("app-", n)), content(n))
		before := w.PSQL(`SELECT sha256 FROM host_file`)
		w.PSQL(fmt.Sprintf(`UPDATE host_file SET source = 'artifacts/app-%d', sha256 = '%s'`, n, app))
		w.Eventually(3*shortly, "a chunk has arrived", func() bool { return len(arriving(t, w.root)) > 0 || sumOf(t, w.root) != before })
		s.kill()
		if got := sumOf(t, w.root); got != before && got != app {
			t.Errorf("after a cut it has the sum %s", got)
		}
		s.start()
		w.becomesWithin(longest, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
		if got := sumOf(t, w.root); got != app {
			t.Errorf("it has the sum %s", got)
		}
	}
	bad := put(t, filepath.Join(dir, "bad"), large("bad"))
	before := sumOf(t, w.root)
	left := len(arriving(t, w.root))
	w.PSQL(`UPDATE host_file SET source = 'artifacts/bad', sha256 = '` + bad + `'`)
	w.Becomes(3*shortly, "t", `SELECT bool_or(message LIKE '%grep does not accept the new content%') FROM iasql_status WHERE table_name = 'host_file'`)
	if sumOf(t, w.root) != before || len(arriving(t, w.root)) > left {
		t.Error("what is not accepted is there")
	}
}

// arriving are the files of the host that are being written.
func arriving(t *testing.T, root string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(root, "etc/.iasql-new-*"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// sumOf is the sum of the file app.
func sumOf(t *testing.T, root string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "etc/app"))
	if err != nil {
		t.Fatal(err)
	}
	return sum(string(text))
}

// TestContentsDeclared: what is declared again changes nothing, whichever way its content is said, and mends what others
// have changed.
func TestContentsDeclared(t *testing.T) {
	t.Parallel()
	dir, sources := artifacts(t)
	app := put(t, filepath.Join(dir, "app"), large("1\x00"))
	w := startAs(t, &world{sources: sources})
	w.PSQL(`INSERT INTO host (name, host_root) VALUES ('here', '`+w.root+`')`,
		`INSERT INTO host_scope (account, pattern) VALUES ('here', '/etc/**')`)
	w.mkdir("etc")
	w.sync()
	declare := func() {
		t.Helper()
		w.PSQL(`CALL iasql_declare('app')`,
			`INSERT INTO host_file (account, path, bytes) VALUES ('here', '/etc/bytes', '`+hexOf(binary)+`') ON CONFLICT (account, path) DO UPDATE SET bytes = excluded.bytes`,
			`INSERT INTO host_file (account, path, content) VALUES ('here', '/etc/text', 'a text') ON CONFLICT (account, path) DO UPDATE SET content = excluded.content`,
			`INSERT INTO host_file (account, path, source, sha256) VALUES ('here', '/etc/app', 'artifacts/app', '`+app+`') ON CONFLICT (account, path) DO UPDATE SET source = excluded.source, sha256 = excluded.sha256`,
			`CALL iasql_declared()`, `SELECT iasql_wait_for_all(60)`)
		w.has("etc/bytes", binary)
		w.has("etc/text", "a text")
		w.has("etc/app", large("1\x00"))
	}
	declare()
	w.sync()
	before := w.PSQL(`SELECT count(*) FROM iasql_operations`)
	declare()
	w.row(before, `SELECT count(*) FROM iasql_operations`)
	w.distrust()
	w.write("etc/bytes", "a text of theirs")
	w.write("etc/text", "\xff")
	w.write("etc/app", "small")
	w.sync()
	declare()
	w.sync()
	w.row("/etc/app artifacts/app,/etc/bytes NULL,/etc/text NULL", `SELECT string_agg(path || ' ' || coalesce(source, 'NULL'), ',' ORDER BY path) FROM host_file`)
}
