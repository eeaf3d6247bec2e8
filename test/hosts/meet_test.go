package hosts

import (
	"os"
	"path/filepath"
	"testing"
)

// TestAnotherKind: an edit or a deletion of a file is none of the directory that somebody else has put in its place: a
// person is asked, and nothing of the directory is lost, whatever the answer.
func TestAnotherKind(t *testing.T) {
	t.Parallel()
	w := local(t)
	at := func(path string) string { return filepath.Join(w.root, path) }
	for _, name := range []string{"edited", "deleted", "kept"} {
		w.write("etc/"+name, "was")
	}
	w.sync()
	w.PSQL(`INSERT INTO iasql_mode (mode) VALUES ('PAUSE')`, `UPDATE host_file SET content = 'mine' WHERE path = '/etc/edited'`,
		`DELETE FROM host_file WHERE path IN ('/etc/deleted', '/etc/kept')`)
	for _, name := range []string{"edited", "deleted", "kept"} {
		w.do(os.Remove(at("etc/" + name)))
		w.mkdir("etc/" + name)
	}
	w.write("etc/edited/theirs", "theirs")
	w.PSQL(`DELETE FROM iasql_mode`)
	asked := `SELECT count(*) FROM iasql_status WHERE state = 'Conflict' AND message LIKE '%kind was file, and is directory%'`
	for _, mode := range []string{"NORMAL", "ENFORCE"} {
		w.PSQL(`DELETE FROM iasql_mode`, `INSERT INTO iasql_mode (mode, table_name) VALUES ('`+mode+`', 'host_file')`)
		w.sync()
		w.row("3", asked)
		for _, name := range []string{"edited", "deleted", "kept"} {
			if st, err := os.Stat(at("etc/" + name)); err != nil || !st.IsDir() {
				t.Errorf("in %s there is no directory %s: %v", mode, name, err)
			}
		}
	}
	w.PSQL(`DELETE FROM iasql_mode`)
	w.PSQL(`UPDATE iasql_conflicts SET resolved = 'database' WHERE resolved IS NULL`)
	w.Becomes(shortly, "1", `SELECT count(*) FROM iasql_status WHERE message LIKE '%/etc/edited%is a directory, and has no content%'`)
	w.has("etc/edited/theirs", "theirs")
	w.PSQL(`UPDATE host_file SET content = NULL WHERE path = '/etc/edited'`)
	w.Settled()
	w.sync()
	w.row("/etc/edited|directory /etc/edited/theirs|file", `SELECT string_agg(path || '|' || kind, ' ' ORDER BY path) FROM host_file`)
}

// TestLinkInTheWay: what is behind a symbolic link that has taken the place of a directory is not what was there before:
// it is unknown, in every mode, and nothing is written through the link.
func TestLinkInTheWay(t *testing.T) {
	t.Parallel()
	w := local(t)
	at := func(path string) string { return filepath.Join(w.root, path) }
	w.mkdir("etc/in")
	w.mkdir("other")
	w.write("etc/in/x", "x")
	w.write("other/x", "other")
	w.sync()
	w.do(os.Rename(at("etc/in"), at("in")))
	w.do(os.Symlink("../other", at("etc/in")))
	for _, mode := range []string{"NORMAL", "ENFORCE", "TRACK"} {
		w.PSQL(`DELETE FROM iasql_mode`, `INSERT INTO iasql_mode (mode, column_name, table_name, record_id) SELECT '`+mode+`', NULL, 'host_file', id FROM host_file WHERE path = '/etc/in/x'`)
		w.sync()
		w.row("x", `SELECT content FROM host_file WHERE path = '/etc/in/x'`)
		w.row("1", `SELECT count(*) FROM iasql_status WHERE message LIKE '%"/etc/in" is a symbolic link%'`)
		w.has("other/x", "other")
	}
	w.PSQL(`DELETE FROM iasql_mode`)
	w.do(os.Remove(at("etc/in")))
	w.do(os.Rename(at("in"), at("etc/in")))
	w.PSQL(`UPDATE host_file SET content = 'edited' WHERE path = '/etc/in/x'`)
	w.becomes("0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	w.has("etc/in/x", "edited")
	w.has("other/x", "other")
}
