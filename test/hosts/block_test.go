package hosts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBlocks takes host_file_block through its life, from both sides. What is outside of the blocks is never touched.
func TestBlocks(t *testing.T) {
	t.Parallel()
	w := local(t)
	const head, tail = "127.0.0.1 localhost\n", "\n# theirs, without an end"
	block := func(name, content string) string {
		return "# BEGIN IASQL MANAGED BLOCK " + name + "\n" + content + "# END IASQL MANAGED BLOCK " + name + "\n"
	}
	w.PSQL(`DELETE FROM host_scope`,
		`INSERT INTO host_scope (account, kind, pattern) VALUES ('here', 'block', '/etc/*')`)
	w.write("etc/hosts", head+block("found", "1\n")+tail)
	w.do(os.Chmod(filepath.Join(w.root, "etc/hosts"), 0o640))
	w.write("etc/binary", "\x00\xff")
	settled := func(want string) {
		t.Helper()
		w.Settled()
		w.sync()
		if got := w.PSQL(`SELECT string_agg(concat_ws('=', name, content), '' ORDER BY name) FROM host_file_block`); got != want {
			t.Errorf("there is %q, not %q", got, want)
		}
		before := w.PSQL(`SELECT count(*) FROM iasql_operations`)
		w.sync()
		w.row(before, `SELECT count(*) FROM iasql_operations`)
	}
	w.sync()
	settled("found=1")
	w.row("0", `SELECT count(*) FROM host_file`)
	// Made and changed by SQL. The content need not end with a line's end.
	w.PSQL(`INSERT INTO host_file_block (account, path, name, content) VALUES ('here', '/etc/hosts', 'made', E'a\nb')`,
		`UPDATE host_file_block SET content = E'2\n' WHERE name = 'found'`)
	w.Settled()
	w.has("etc/hosts", head+block("found", "2\n")+tail+"\n"+block("made", "a\nb\n"))
	settled("found=2\nmade=a\nb")
	if info, err := os.Stat(filepath.Join(w.root, "etc/hosts")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("its mode is %v: %v", info.Mode(), err)
	}
	// Changed, moved and removed by others, who change the rest, too.
	w.distrust()
	w.write("etc/hosts", block("made", "c\n")+"other\n")
	settled("made=c")
	w.PSQL(`UPDATE host_file_block SET content = 'd', comment = '//' WHERE name = 'made'`)
	w.Settled()
	w.has("etc/hosts", strings.ReplaceAll(block("made", "d\n"), "#", "//")+"other\n")
	// Of one that is torn, or twice, it is not known what it is. Nothing of the file is changed.
	w.distrust()
	for _, text := range []string{
		"# BEGIN IASQL MANAGED BLOCK made\nd\nother\n",
		block("made", "d\n") + "other\n" + block("made", "e\n"),
	} {
		w.write("etc/hosts", text)
		w.TryPSQL(w.UserURL, `SELECT iasql_sync_now()`)
		w.row("1", `SELECT count(*) FROM host_file_block WHERE name = 'made'`)
		w.Becomes(3*shortly, "t", `SELECT bool_or(message LIKE '%block made of /etc/hosts%by hand%') FROM iasql_status`)
		w.PSQL(`INSERT INTO host_file_block (account, path, name, content) VALUES ('here', '/etc/hosts', 'new', 'x')`)
		w.Becomes(3*shortly, "t", `SELECT message LIKE '%block made of /etc/hosts%by hand%' FROM iasql_status WHERE record_id = (SELECT id FROM host_file_block WHERE name = 'new')`)
		w.has("etc/hosts", text)
		w.PSQL(`DELETE FROM host_file_block WHERE name = 'new'`)
	}
	w.write("etc/hosts", "other\n"+block("made", "d\n"))
	settled("made=d")
	// It waits for its file, and goes with nothing else.
	w.PSQL(`INSERT INTO host_file_block (account, path, name, content, comment) VALUES ('here', '/etc/later', 'new', 'x', '<!--')`)
	w.Becomes(3*shortly, "t", `SELECT bool_or(message LIKE '%there is no file "/etc/later" for block new%') FROM iasql_status`)
	w.write("etc/later", "<p>\n")
	w.PSQL(`SELECT iasql_retry('host_file_block', id) FROM host_file_block WHERE name = 'new'`)
	w.Settled()
	w.has("etc/later", "<p>\n<!-- BEGIN IASQL MANAGED BLOCK new -->\nx\n<!-- END IASQL MANAGED BLOCK new -->\n")
	w.PSQL(`DELETE FROM host_file_block`)
	w.Settled()
	w.has("etc/later", "<p>\n")
	w.has("etc/hosts", "other\n")
	// What cannot be.
	for _, statement := range []string{
		`INSERT INTO host_file_block (account, path, name, content) VALUES ('here', '/etc/hosts', 'a b', 'x')`,
		`INSERT INTO host_file_block (account, path, name, content) VALUES ('here', '/etc/hosts', 'a', E'x\n# END IASQL MANAGED BLOCK a')`,
		`INSERT INTO host_file_block (account, path, name, content, comment) VALUES ('here', '/etc/hosts', 'a', 'x', 'REM')`,
		`INSERT INTO host_file_block (account, path, name, content) VALUES ('here', '/opt/f', 'a', 'x')`,
	} {
		w.refused("host_file_block", statement)
	}
}
