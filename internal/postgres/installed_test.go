package postgres_test

import (
	"strconv"
	"strings"
	"testing"
)

// Settings tell of the tables that are installed and imported now, whoever changed that
// and by which statement, though they are kept from cycle to cycle.
func TestTablesVersion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	version := func() string { return b.query(`SELECT iasql_internal.tables_version()`) }
	first := version()
	step := func(statement string) {
		t.Helper()
		before := version()
		b.exec(statement)
		settings, err := b.db.Settings(t.Context(), "main")
		if err != nil {
			t.Fatal(err)
		}
		if version() == before {
			t.Errorf("after %q the version is the same", statement)
		}
		if got, want := strings.Join(settings.Tables, " "),
			b.query(`SELECT string_agg(name, ' ' ORDER BY name COLLATE "C") FROM iasql_internal.managed_table WHERE NOT settings`); got != want {
			t.Errorf("after %q the tables are %s instead of %s", statement, got, want)
		}
		if got, want := strconv.Itoa(len(settings.Imported)),
			b.query(`SELECT count(*) FROM iasql_internal.imported WHERE account = 'main'`); got != want {
			t.Errorf("after %q %s tables are imported instead of %s", statement, got, want)
		}
	}
	step(`INSERT INTO iasql_internal.imported (account, table_name) VALUES ('main', 'box')`)
	step(`UPDATE iasql_internal.imported SET table_name = (SELECT min(name) FROM iasql_internal.managed_table WHERE name <> 'box' AND NOT settings)`)
	step(`SET session_replication_role = replica; DELETE FROM iasql_internal.imported; RESET session_replication_role`)
	if got := version(); got != first {
		t.Errorf("the version is %s, and was %s", got, first)
	}
	step(`UPDATE iasql_internal.managed_table SET settings = true WHERE name = 'box'`)
	step(`UPDATE iasql_internal.managed_table SET settings = false WHERE name = 'box'`)
	if got := version(); got != first {
		t.Errorf("the version is %s, and was %s", got, first)
	}
	step(`INSERT INTO iasql_internal.imported (account, table_name) VALUES ('main', 'box'), ('main', (SELECT min(name) FROM iasql_internal.managed_table WHERE name <> 'box' AND NOT settings))`)
	step(`TRUNCATE iasql_internal.imported`)
	for range 60 {
		b.exec(`INSERT INTO iasql_internal.imported (account, table_name) VALUES ('main', 'box')`)
		b.exec(`DELETE FROM iasql_internal.imported`)
	}
	b.exec(`SELECT iasql_internal.prune()`)
	if got := version() + " of " + b.query(`SELECT count(*) FROM iasql_internal.tables_change`); got != first+" of 1" {
		t.Errorf("after pruning the version is %s, and was %s", got, first)
	}
}
