package hosts

import (
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// binary is a content that no column of type text can hold.
const binary = "\x7fELF\x00\xff\xfe"

// hexOf is a content as a value of type bytea.
func hexOf(content string) string { return `\x` + hex.EncodeToString([]byte(content)) }

// TestBinaryContents takes a content that is no text through its life, from both sides.
func TestBinaryContents(t *testing.T) {
	t.Parallel()
	w := local(t)
	is := func(content, bytes string) {
		t.Helper()
		w.Settled()
		w.sync()
		w.row(content+"|"+bytes, `SELECT content, bytes FROM host_file WHERE path = '/etc/b'`)
		w.row("", `SELECT table_name, state, message FROM iasql_status WHERE state <> 'Present'`)
		w.row("t", `SELECT bool_and(sha256 = encode(sha256(coalesce(bytes, convert_to(content, 'UTF8'))), 'hex')) FROM host_file WHERE kind = 'file'`)
		before := w.PSQL(`SELECT count(*) FROM iasql_operations`)
		w.sync()
		w.row(before, `SELECT count(*) FROM iasql_operations`)
	}
	w.PSQL(`INSERT INTO host_file (account, path, bytes, mode) VALUES ('here', '/etc/b', '` + hexOf(binary) + `', '0750')`)
	is("", hexOf(binary))
	w.has("etc/b", binary)

	// Somebody else makes it another binary, a text, and a binary again.
	w.distrust()
	w.write("etc/b", binary+"2")
	is("", hexOf(binary+"2"))
	w.distrust()
	w.write("etc/b", "a text\n")
	is("a text\n", "")
	w.distrust()
	w.write("etc/b", "\xff")
	is("", `\xff`)

	// A text takes the place of bytes, and bytes that of a text, without a conflict.
	w.PSQL(`UPDATE host_file SET content = 'mine' WHERE path = '/etc/b'`)
	w.row("mine|", `SELECT content, bytes FROM host_file WHERE path = '/etc/b'`)
	is("mine", "")
	w.has("etc/b", "mine")
	w.PSQL(`UPDATE host_file SET bytes = '` + hexOf(binary) + `' WHERE path = '/etc/b'`)
	is("", hexOf(binary))
	w.has("etc/b", binary)
	w.row("0", `SELECT count(*) FROM iasql_conflicts`)

	// NULL leaves it as it is, also where the path changes, and the other columns change without it.
	w.PSQL(`UPDATE host_file SET bytes = NULL, mode = '0700' WHERE path = '/etc/b'`)
	is("", hexOf(binary))
	w.PSQL(`UPDATE host_file SET path = '/etc/c' WHERE path = '/etc/b'`)
	w.Settled()
	w.has("etc/c", binary)
	w.PSQL(`UPDATE host_file SET path = '/etc/b' WHERE path = '/etc/c'`)
	is("", hexOf(binary))

	// Both sides change it: the record wins, and the conflict has both values.
	w.distrust()
	w.write("etc/b", "\x00theirs")
	w.PSQL(`UPDATE host_file SET bytes = '` + hexOf("\x00mine") + `' WHERE path = '/etc/b'`)
	is("", hexOf("\x00mine"))
	w.row(`"\\x006d696e65"|"\\x00746865697273"`, `SELECT database_value, cloud_value FROM iasql_conflicts WHERE column_name = 'bytes'`)

	// What text columns have of it is the same, whatever the session says of bytea: the log, previews, what is undone.
	w.PSQL(`CALL iasql_begin('test')`, `SET bytea_output = 'escape'`, `UPDATE host_file SET content = 'in a batch' WHERE path = '/etc/b'`)
	if preview := w.Joined(`SELECT changes FROM iasql_preview() WHERE table_name = 'host_file'`); !strings.Contains(preview, "in a batch") {
		t.Errorf("the preview is %s", preview)
	}
	w.Joined(`CALL iasql_commit()`)
	is("in a batch", "")
	w.row(`\x006d696e65|`, `SELECT change -> 'original' ->> 'bytes', change -> 'change' ->> 'bytes' FROM iasql_audit_log WHERE change -> 'change' ->> 'content' = 'in a batch'`)
	w.PSQL(`CALL iasql_undo(`+w.PSQL(`SELECT max(id) FROM iasql_batches`)+`)`, `CALL iasql_commit()`)
	is("", hexOf("\x00mine"))
	w.has("etc/b", "\x00mine")
	w.PSQL(`DELETE FROM host_file WHERE path = '/etc/b'`)
	w.Settled()
	w.has("etc/b", "-")
	w.PSQL(`DO $$ DECLARE l iasql_audit_log; BEGIN
		SELECT * INTO l FROM iasql_audit_log WHERE change_type = 'DELETE' AND origin = 'user' ORDER BY id DESC LIMIT 1;
		CALL iasql_restore('host_file', l.record_id, l.ts - interval '1 microsecond'); END $$`, `CALL iasql_commit()`)
	is("", hexOf("\x00mine"))
	w.has("etc/b", "\x00mine")
}

// TestBinaryContentsEnforced: what others have made of a binary file is mended, a text among it.
func TestBinaryContentsEnforced(t *testing.T) {
	t.Parallel()
	w := local(t)
	w.PSQL(`INSERT INTO host_file (account, path, bytes) VALUES ('here', '/etc/b', '`+hexOf(binary)+`')`,
		`INSERT INTO host_file (account, path, content) VALUES ('here', '/etc/t', 'a text')`)
	w.Settled()
	w.PSQL(`INSERT INTO iasql_mode (table_name, mode) VALUES ('host_file', 'ENFORCE')`)
	w.sync()
	w.distrust()
	w.write("etc/b", "a text of theirs")
	w.write("etc/t", "\x00bytes of theirs")
	w.Becomes(3*shortly, "t", `SELECT iasql_sync_now() IS NOT NULL AND NOT EXISTS (SELECT FROM iasql_status WHERE state <> 'Present')`)
	w.Settled()
	w.has("etc/b", binary)
	w.has("etc/t", "a text")
	w.row("/etc/b||"+hexOf(binary)+" /etc/t|a text|", `SELECT string_agg(concat_ws('|', path, coalesce(content, ''), coalesce(bytes::text, '')), ' ' ORDER BY path) FROM host_file`)
}

// TestLargeContentsEnforced: of a file whose content nobody has but the host, ENFORCE keeps the rest. It is not made anew
// with an empty content.
func TestLargeContentsEnforced(t *testing.T) {
	t.Parallel()
	w := local(t)
	w.write("etc/large", large("1"))
	w.sync()
	w.PSQL(`INSERT INTO iasql_mode (table_name, mode) VALUES ('host_file', 'ENFORCE')`)
	w.distrust()
	w.write("etc/large", large("2"))
	w.do(os.Chmod(filepath.Join(w.root, "etc/large"), 0o600))
	w.sync()
	w.Settled()
	w.sync()
	w.has("etc/large", large("2"))
	w.row("0644|"+sum(large("2")), `SELECT mode, sha256 FROM host_file`)
	info, err := os.Stat(filepath.Join(w.root, "etc/large"))
	if err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("it has the mode %v: %v", info.Mode(), err)
	}
	w.distrust()
	w.do(os.Remove(filepath.Join(w.root, "etc/large")))
	_, _ = w.TryPSQL(w.UserURL, `SELECT iasql_sync_now()`)
	w.Becomes(3*shortly, "t", `SELECT bool_or(message LIKE '%which the row does not have: set source%') FROM iasql_status WHERE table_name = 'host_file'`)
	w.has("etc/large", "-")
	w.PSQL(`UPDATE host_file SET content = 'a new one'`)
	w.Settled()
	w.has("etc/large", "a new one")
}

// TestContentsHeld: where a person decides about what both sides have changed, one word decides about the content, in
// whichever columns it is.
func TestContentsHeld(t *testing.T) {
	t.Parallel()
	w := local(t)
	w.PSQL(`UPDATE iasql_settings SET value = 'hold' WHERE name = 'conflict_policy'`,
		`INSERT INTO host_file (account, path, content) VALUES ('here', '/etc/cloud', 'old'), ('here', '/etc/database', 'old')`)
	w.Settled()
	w.distrust()
	w.PSQL(`INSERT INTO iasql_mode (table_name, mode) VALUES ('host_file', 'PAUSE')`)
	w.write("etc/cloud", binary)
	w.write("etc/database", binary)
	w.PSQL(`UPDATE host_file SET content = 'mine'`, `DELETE FROM iasql_mode`)
	w.Becomes(3*shortly, "2", `SELECT count(*) FROM iasql_conflicts WHERE resolved IS NULL AND column_name = 'content'`)
	w.has("etc/cloud", binary)
	for _, side := range []string{"cloud", "database"} {
		w.PSQL(`UPDATE iasql_conflicts SET resolved = '` + side + `' WHERE column_name = 'content'
			AND record_id = (SELECT id FROM host_file WHERE path = '/etc/` + side + `')`)
	}
	w.Settled()
	w.sync()
	w.has("etc/cloud", binary)
	w.has("etc/database", "mine")
	w.row("/etc/cloud||"+hexOf(binary)+" /etc/database|mine|", `SELECT string_agg(concat_ws('|', path, coalesce(content, ''), coalesce(bytes::text, '')), ' ' ORDER BY path) FROM host_file`)
	w.row("", `SELECT * FROM iasql_conflicts WHERE resolved IS NULL`)
}

// TestContentsRefused: a statement that says two contents, or none where one is needed, is refused and says why.
func TestContentsRefused(t *testing.T) {
	t.Parallel()
	w := local(t)
	w.write("etc/large", strings.Repeat("\x00", 300_000))
	w.write("etc/b", binary)
	w.sync()
	w.row("t|t|300000", `SELECT content IS NULL, bytes IS NULL, size FROM host_file WHERE path = '/etc/large'`)
	for statement, want := range map[string]string{
		`INSERT INTO host_file (account, path, content, bytes) VALUES ('here', '/etc/x', 'a', '\x00')`:               "num_nonnulls(content, bytes) <= 1",
		`UPDATE host_file SET content = 'a', bytes = '\x00' WHERE path = '/etc/large'`:                               "num_nonnulls(content, bytes) <= 1",
		`INSERT INTO host_file (account, path, bytes) VALUES ('here', '/etc/x', 'text')`:                             "Set content instead",
		`INSERT INTO host_file (account, path, bytes) VALUES ('here', '/etc/x', '')`:                                 "Set content instead",
		`INSERT INTO host_file (account, path, bytes) VALUES ('here', '/etc/x', decode(repeat('00', 65537), 'hex'))`: "octet_length(bytes)",
		`INSERT INTO host_file (account, path, kind, bytes) VALUES ('here', '/etc/x', 'directory', '\x00')`:          "host_file_check_2",
		`UPDATE host_file SET path = '/etc/moved' WHERE path = '/etc/large'`:                                         "it cannot be made anew at /etc/moved",
	} {
		w.refused(want, statement)
	}
	w.PSQL(`INSERT INTO host_file (account, path, bytes) VALUES ('here', '/etc/most', decode(repeat('00', 65536), 'hex'))`,
		`INSERT INTO host_file (account, path, bytes) VALUES ('here', '/etc/b', '\xfe') ON CONFLICT (account, path) DO UPDATE SET bytes = excluded.bytes`)
	w.Settled()
	w.has("etc/most", strings.Repeat("\x00", 65536))
	w.has("etc/b", "\xfe")
	// What is in a secret scope is in none of these columns.
	w.PSQL(`INSERT INTO host_scope (account, pattern, secret) VALUES ('here', '/etc/b', true)`)
	w.Becomes(3*shortly, "t|t", `SELECT bytes IS NULL, content_version IS NOT NULL FROM host_file WHERE path = '/etc/b'`)
	w.refused("its content is secret", `UPDATE host_file SET bytes = '\x00' WHERE path = '/etc/b'`)
}

// TestXattrs: extended attributes of files show, and stay where a file is written anew.
func TestXattrs(t *testing.T) {
	t.Parallel()
	w := local(t)
	w.write("etc/f", "theirs")
	at := filepath.Join(w.root, "etc/f")
	for name, value := range map[string]string{"user.note": "a \"note\"", "user.\u202ename": "\x00"} {
		err := unix.Setxattr(at, name, []byte(value), 0)
		if errors.Is(err, unix.ENOTSUP) {
			t.Skip("the file system has no extended attributes")
		}
		w.do(err)
	}
	w.sync()
	const shown = `{"user.note": "a \"note\"", "user.\\u202ename": "0sAA=="}`
	w.row(shown, `SELECT xattrs FROM host_file WHERE path = '/etc/f'`)
	w.refused("xattrs", `UPDATE host_file SET xattrs = '{}' WHERE path = '/etc/f'`)
	w.PSQL(`UPDATE host_file SET content = 'mine' WHERE path = '/etc/f'`)
	w.Settled()
	w.has("etc/f", "mine")
	w.sync()
	w.row(shown, `SELECT xattrs FROM host_file WHERE path = '/etc/f'`)
	w.distrust()
	w.do(os.Remove(at))
	w.write("etc/f", "theirs")
	w.sync()
	w.row("t", `SELECT xattrs IS NULL FROM host_file WHERE path = '/etc/f'`)
}
