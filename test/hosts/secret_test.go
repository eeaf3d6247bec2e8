package hosts

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// planted is in every secret content.
const planted = "planted-and-not-to-be-seen"

// secret starts an engine and an SSH server, and says that the files below a directory of it are secret.
func secret(t *testing.T) (*world, *server) {
	t.Helper()
	w, s := remote(t)
	w.mkdir("etc/secret")
	w.PSQL(`INSERT INTO host_scope (account, pattern, secret) VALUES ('web', '` + w.root + `/etc/secret/*', true)`)
	w.confirm()
	return w, s
}

// file is the name of a secret file, as a literal of SQL.
func (w *world) file(name string) string { return "'" + w.root + "/etc/secret/" + name + "'" }

// version is the content_version of a secret file.
func (w *world) version(name string) string {
	w.Helper()
	return w.PSQL(`SELECT content_version FROM host_file WHERE path = ` + w.file(name))
}

// TestSecretFiles: a content that is secret gets to the host and to nobody else; what others make of it shows without
// telling it, and an earlier content comes back.
func TestSecretFiles(t *testing.T) {
	t.Parallel()
	w, _ := secret(t)
	watched := watchProcesses(t)
	one, two, three := planted+"-1\n", planted+"-2\n", planted+"-3\n"

	w.PSQL(`INSERT INTO host_file (account, path, secret_content) VALUES ('web', ` + w.file("token") + `, '` + one + `')`)
	w.Settled()
	w.has("etc/secret/token", one)
	info, err := os.Stat(filepath.Join(w.root, "etc/secret/token"))
	w.do(err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("it has the mode %s", info.Mode())
	}
	w.row("t|t|t|t|t|0600", `SELECT content IS NULL, secret_content IS NULL, sha256 IS NULL, size IS NULL,
		content_version ~ '^[0-9a-f-]{36}$', mode FROM host_file WHERE path = `+w.file("token"))
	first := w.version("token")
	quiet := w.PSQL(`SELECT count(*) FROM iasql_operations`)
	w.sync()
	w.row(quiet, `SELECT count(*) FROM iasql_operations`)

	// Other columns change without it, and what others write shows as another version.
	w.PSQL(`UPDATE host_file SET mode = '0640' WHERE path = ` + w.file("token"))
	w.Settled()
	w.has("etc/secret/token", one)
	w.write("etc/secret/token", two)
	w.sync()
	drifted := w.version("token")
	if !strings.HasPrefix(drifted, "hmac:") {
		t.Errorf("what others have written has the version %s", drifted)
	}
	w.row("engine", `SELECT origin FROM iasql_audit_log WHERE change -> 'change' ->> 'content_version' = '`+drifted+`'`)
	// What the engine has sent is kept, and what it has never had is not.
	w.PSQL(`UPDATE host_file SET content_version = '` + first + `' WHERE path = ` + w.file("token"))
	w.Settled()
	w.has("etc/secret/token", one)
	w.PSQL(`UPDATE host_file SET content_version = '` + drifted + `' WHERE path = ` + w.file("token"))
	w.Becomes(3*shortly, "t", `SELECT bool_or(message LIKE '%is not kept, so that it cannot be brought back%') FROM iasql_status WHERE table_name = 'host_file'`)
	w.has("etc/secret/token", one)
	w.PSQL(`UPDATE host_file SET content_version = NULL WHERE path = ` + w.file("token"))
	w.Settled()
	w.row(first, `SELECT content_version FROM host_file WHERE path = `+w.file("token"))

	// A change in between is not overwritten unseen.
	w.write("etc/secret/token", planted+"-theirs")
	w.PSQL(`UPDATE host_file SET secret_content = '` + three + `' WHERE path = ` + w.file("token"))
	w.Settled()
	w.has("etc/secret/token", three)
	w.row("t", `SELECT cloud_value::text LIKE '%hmac:%' FROM iasql_conflicts WHERE column_name = 'content_version'`)

	undo := func() {
		t.Helper()
		w.PSQL(`CALL iasql_undo(`+w.PSQL(`SELECT max(id) FROM iasql_batches`)+`)`, `CALL iasql_commit()`)
	}
	// A batch, undone; a batch, rolled back.
	w.PSQL(`CALL iasql_begin()`, `UPDATE host_file SET secret_content = '`+two+`' WHERE path = `+w.file("token"), `CALL iasql_commit()`)
	w.Settled()
	w.has("etc/secret/token", two)
	undo()
	w.Settled()
	w.has("etc/secret/token", three)
	w.PSQL(`CALL iasql_begin('test')`, `UPDATE host_file SET secret_content = '`+planted+`-never' WHERE path = `+w.file("token"), `INSERT INTO host_file (account, path, secret_content) VALUES ('web', `+w.file("never")+`, '`+planted+`-never')`)
	if preview := w.Joined(`SELECT * FROM iasql_preview()`); !strings.Contains(preview, "content_version") || strings.Contains(preview, planted) {
		t.Errorf("the preview is %s", preview)
	}
	w.Joined(`CALL iasql_rollback()`)
	w.sync()
	w.has("etc/secret/token", three)
	w.has("etc/secret/never", "-")
	if got := w.Admin(`SELECT count(*) FROM iasql_internal.kept_secret WHERE sent IS NULL`); got != "0" {
		t.Errorf("%s contents are kept that nobody asks for", got)
	}

	// Deleted, and brought back.
	w.PSQL(`CALL iasql_begin()`, `DELETE FROM host_file WHERE path = `+w.file("token"), `CALL iasql_commit()`)
	w.has("etc/secret/token", "-")
	undo()
	w.Settled()
	w.has("etc/secret/token", three)

	w.looksForSecrets()
	watched()
}

// TestSecretFilesUnderEnforce: what others have made of a secret file is mended.
func TestSecretFilesUnderEnforce(t *testing.T) {
	t.Parallel()
	w, _ := secret(t)
	w.PSQL(`INSERT INTO host_file (account, path, secret_content) VALUES ('web', ` + w.file("a") + `, '` + planted + `')`)
	w.Settled()
	w.PSQL(`INSERT INTO iasql_mode (table_name, mode) VALUES ('host_file', 'ENFORCE')`)
	w.sync()
	w.distrust()
	w.write("etc/secret/a", "theirs")
	w.Eventually(3*shortly, "it is mended", func() bool {
		_, _ = w.TryPSQL(w.UserURL, `SELECT iasql_sync_now()`)
		got, err := os.ReadFile(filepath.Join(w.root, "etc/secret/a"))
		return err == nil && string(got) == planted
	})
	w.Settled()
}

// TestSecretFilesRefused: what would show a secret is refused, and nothing that is refused or left is kept.
func TestSecretFilesRefused(t *testing.T) {
	t.Parallel()
	w, _ := secret(t)
	open := "'" + w.root + "/etc/open'"
	w.write("etc/secret/theirs", planted+"-theirs")
	w.write("etc/shown", planted+"-shown")
	w.sync()
	w.row("t|t", `SELECT content IS NULL, content_version LIKE 'hmac:%' FROM host_file WHERE path = `+w.file("theirs"))
	w.PSQL(`DELETE FROM host_file WHERE path LIKE '%shown'`)
	w.Settled()

	for statement, want := range map[string]string{
		`INSERT INTO host_file (account, path, secret_content) VALUES ('web', ` + open + `, '` + planted + `')`:                           "no scope of host web says that its content is secret",
		`INSERT INTO host_file (account, path, content) VALUES ('web', ` + w.file("b") + `, '` + planted + `')`:                           "its content is secret",
		`INSERT INTO host_file (account, path, kind, secret_content) VALUES ('web', ` + w.file("b") + `, 'directory', '` + planted + `')`: "secret_content is of a file",
		`INSERT INTO host_file (account, path, secret_content) VALUES ('web', ` + w.file("b") + `, repeat('` + planted + `', 20000))`:     "256 KiB",
		`INSERT INTO host_file (account, path, secret_content) VALUES ('web', ` + w.file("c/d") + `, '` + planted + `')`:                  "no scope",
		`INSERT INTO host_file (account, path, secret_content) VALUES ('web', NULL, '` + planted + `')`:                                   "no scope",
		`UPDATE host_file SET path = ` + w.file("elsewhere") + ` WHERE path = ` + w.file("theirs"):                                        "nobody can read it to make the file anew",
		`UPDATE host_file SET content = '` + planted + `' WHERE path = ` + w.file("theirs"):                                               "its content is secret",
		`INSERT INTO host_scope (account, kind, pattern, secret) VALUES ('web', 'package', 'x', true)`:                                    "host_scope_check_3",
		`SELECT value FROM iasql_internal.kept_secret`:                                                                                    "42501",
		`SELECT iasql_internal.host_file_forget()`:                                                                                        "42501",
		`INSERT INTO host_file (account, path, secret_content) VALUES ('web', ` + w.file("theirs") + `, '` + planted + `')`:               "23505",
	} {
		if got := w.Refused(statement); !strings.Contains(got, want) || strings.Contains(strings.Split(got, "LINE ")[0], planted) {
			t.Errorf("%.120s: it says %.500s", statement, got)
		}
	}
	// What has lost in an upsert is not kept; what has won is.
	w.PSQL(`INSERT INTO host_file (account, path, secret_content) VALUES ('web', ` + w.file("theirs") + `, '` + planted + `-lost') ON CONFLICT DO NOTHING`)
	w.row("0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	w.PSQL(`INSERT INTO host_file (account, path, secret_content) VALUES ('web', ` + w.file("theirs") + `, '` + planted + `-won') ON CONFLICT (account, path) DO UPDATE SET secret_content = excluded.secret_content`)
	w.Settled()
	w.has("etc/secret/theirs", planted+"-won")
	// What a form writes back unchanged changes nothing.
	before := w.version("theirs")
	w.PSQL(`UPDATE host_file SET secret_content = secret_content, content = content, content_version = content_version`)
	w.Settled()
	w.row(before, `SELECT content_version FROM host_file WHERE path = `+w.file("theirs"))
	if got := w.Admin(`SELECT string_agg(value, ' ') FROM iasql_internal.kept_secret`); got != planted+"-won" {
		t.Errorf("kept are %s", got)
	}

	// A command that validates may say what it likes.
	w.PSQL(`UPDATE host_scope SET validate = 'diff /dev/null %s' WHERE secret`,
		`UPDATE host_file SET secret_content = '`+planted+`-refused' WHERE path = `+w.file("theirs"))
	w.Becomes(3*shortly, "t", `SELECT bool_or(message LIKE '%diff does not accept the new content%what it says is left out%') FROM iasql_status WHERE table_name = 'host_file'`)
	w.row("0", `SELECT count(*) FROM iasql_status WHERE message LIKE '%`+planted+`%'`)
	w.has("etc/secret/theirs", planted+"-won")
	w.PSQL(`UPDATE host_file SET content_version = '` + before + `' WHERE path = ` + w.file("theirs"))
	w.Settled()

	// What has been read before it was secret is said.
	w.PSQL(`INSERT INTO host_file (account, path, content) VALUES ('web', ` + open + `, 'seen')`)
	w.Settled()
	if said := w.Warnings(`INSERT INTO host_scope (account, pattern, secret) VALUES ('web', ` + open + `, true)`); !strings.Contains(said, "1 files of web") {
		t.Errorf("it says %q", said)
	}
	w.becomes("t|t", `SELECT content IS NULL, content_version LIKE 'hmac:%' FROM host_file WHERE path = `+open)

	// All of a host goes with it.
	w.PSQL(`SELECT iasql_forget('host_file', id) FROM host_file`)
	w.Eventually(3*shortly, "the host goes", func() bool { // a cycle may be in its way
		_, err := w.TryPSQL(w.UserURL, `DELETE FROM host WHERE name = 'web'`)
		return err == nil
	})
	if got := w.Admin(`SELECT (SELECT count(*) FROM iasql_internal.kept_secret) + (SELECT count(*) FROM iasql_internal.account_secret)`); got != "0" {
		t.Errorf("%s secrets are left of the host", got)
	}
}

// looksForSecrets looks for what was planted in all of the database but where the engine alone reads, in the engine's
// log, and in every file of the host but the secret ones.
func (w *world) looksForSecrets() {
	w.Helper()
	w.Admin(`ANALYZE`)
	dump, err := exec.Command("pg_dump", "--exclude-table-data=iasql_internal.kept_secret", w.AdminURL).Output()
	w.do(err)
	if at := bytes.Index(dump, []byte(planted)); at >= 0 {
		w.Errorf("the database has it: %s", dump[max(0, at-300):at+100])
	}
	if !bytes.Contains(dump, []byte("content_version")) {
		w.Error("the dump has too little")
	}
	w.row("0", `SELECT count(*) FROM iasql_search('`+planted+`')`)
	if got := w.Admin(`SELECT count(*) FROM pg_stats s WHERE s::text LIKE '%` + planted + `%'`); got != "0" {
		w.Error("the planner's statistics have it")
	}
	if strings.Contains(w.said.String(), planted) {
		w.Error("the engine's log has it")
	}
	w.do(filepath.WalkDir(w.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(path, planted) || bytes.Contains(text, []byte(planted)) && filepath.Base(path) != "token" {
			w.Errorf("%s has it", path)
		}
		return err
	}))
}

// watchProcesses looks at the arguments and the environment of all processes until what it returns is called.
func watchProcesses(t *testing.T) (ended func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	looks := 0
	go func() {
		defer close(done)
		for ; ctx.Err() == nil; looks++ {
			all, _ := filepath.Glob("/proc/[0-9]*")
			for _, process := range all {
				for _, name := range []string{"cmdline", "environ"} {
					if text, err := os.ReadFile(filepath.Join(process, name)); err == nil && bytes.Contains(text, []byte(planted)) {
						t.Errorf("%s of %s has it", name, process)
					}
				}
			}
			select {
			case <-ctx.Done():
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() {
		t.Helper()
		cancel()
		<-done
		if looks == 0 {
			t.Error("no process was looked at")
		}
	}
}
