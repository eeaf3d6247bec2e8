package postgres_test

import (
	"strconv"
	"strings"
	"testing"

	"iasql/internal/decide"
	"iasql/internal/modes"
)

// The version changes with the rules, comes back with them, and what is kept of an
// earlier version is not taken for the present rules (R19).
func TestRulesVersion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(`INSERT INTO box (label) VALUES ('a'), ('b')`)
	version := func() string { return b.query(`SELECT iasql_internal.rules_version()`) }
	first := version()
	seen := map[string]string{first: "the beginning"}
	step := func(again bool, statements ...string) {
		t.Helper()
		before := version()
		for _, statement := range statements {
			b.exec(statement)
		}
		settings, err := b.db.Settings(t.Context(), "main")
		if err != nil {
			t.Fatal(err)
		}
		now := version()
		if settings.Version != now {
			t.Errorf("after %q the settings are of version %s, the rules of %s", statements, settings.Version, now)
		}
		if of, known := seen[now]; known != again {
			t.Errorf("after %q the version is %s (%s), and was %s", statements, now, of, before)
		}
		seen[now] = statements[len(statements)-1]
		if got, want := len(settings.Protection), b.query(`SELECT count(*) FROM iasql_protection`); want != strconv.Itoa(got) {
			t.Errorf("after %q %d things are protected instead of %s", statements, got, want)
		}
		if got, want := len(settings.Letting.Rules), b.query(`SELECT count(*) FROM iasql_ignore`); want != strconv.Itoa(got) {
			t.Errorf("after %q %d rules let things be instead of %s", statements, got, want)
		}
		if got, want := settings.AskDrift, b.query(`SELECT value = 'ask' FROM iasql_settings WHERE name = 'drift'`) == "true"; got != want {
			t.Errorf("after %q drift is asked about: %v", statements, got)
		}
	}
	step(false, `INSERT INTO iasql_mode (mode) VALUES ('TRACK')`)
	if settings, err := b.db.Settings(t.Context(), "main"); err != nil || settings.Rules.Of("box", 1, "") != modes.Track {
		t.Errorf("box 1 is not tracked: %v", err)
	}
	step(false, `UPDATE iasql_mode SET mode = 'ENFORCE'`)
	step(true, `UPDATE iasql_mode SET mode = mode`) // says nothing new
	step(true, `DELETE FROM iasql_mode`)
	if got := version(); got != first {
		t.Errorf("without rules the version is %s, and was %s", got, first)
	}
	step(false, `SELECT iasql_protect('box', 1)`)
	step(false, `SELECT iasql_protect('box', 2)`)
	step(false, `SELECT iasql_unprotect('box', 1)`)
	step(true, `SELECT iasql_unprotect('box', 2)`)
	step(false, `INSERT INTO iasql_ignore (match) VALUES ('{"name": "x"}'), ('{"name": "y"}')`)
	step(true, `TRUNCATE iasql_ignore`)
	step(false, `UPDATE iasql_settings SET value = 'ask' WHERE name = 'drift'`)
	step(true, `UPDATE iasql_settings SET value = 'pull' WHERE name = 'drift'`)
	step(true, `SET session_replication_role = replica; INSERT INTO iasql_protection (table_name, record_id, protected, by) VALUES ('box', 1, true, 'x'); RESET session_replication_role`)
	if settings, err := b.db.Settings(t.Context(), "main"); err != nil || !settings.Protection[decide.RecordRef{Table: "box", ID: 1}] {
		t.Errorf("box 1 is not protected: %v", err)
	}
	step(true, `DELETE FROM iasql_protection`)
	if got := version(); got != first {
		t.Errorf("without rules the version is %s, and was %s", got, first)
	}
}

// Settings tell of the tables that are installed and imported now, whoever changed that
// and by which statement, though they are kept from cycle to cycle.
func TestTablesVersion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	version := func() string { return b.query(`SELECT iasql_internal.tables_version()`) }
	first := version()
	step := func(statements ...string) {
		t.Helper()
		before := version()
		for _, statement := range statements {
			b.exec(statement)
		}
		settings, err := b.db.Settings(t.Context(), "main")
		if err != nil {
			t.Fatal(err)
		}
		if version() == before {
			t.Errorf("after %q the version is the same", statements)
		}
		if got, want := strings.Join(settings.Tables, " "), b.query(`SELECT string_agg(name, ' ' ORDER BY name COLLATE "C") FROM iasql_internal.managed_table WHERE NOT settings`); got != want {
			t.Errorf("after %q the tables are %s instead of %s", statements, got, want)
		}
		if got, want := strconv.Itoa(len(settings.Imported)), b.query(`SELECT count(*) FROM iasql_internal.imported WHERE account = 'main'`); got != want {
			t.Errorf("after %q %s tables are imported instead of %s", statements, got, want)
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

// The version costs the same however many rules there are, and however often they have
// changed: rows that note changes become one.
func TestRulesVersionOfMany(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.exec(`INSERT INTO box (label) SELECT 'box ' || i FROM generate_series(1, 300) i`)
	b.exec(`SELECT iasql_protect('box', id) FROM box`)
	before := b.query(`SELECT iasql_internal.rules_version()`)
	if got := b.query(`SELECT count(*) FROM iasql_internal.rules_change`); got != "300" {
		t.Errorf("300 statements left %s rows", got)
	}
	b.exec(`SELECT iasql_internal.prune()`)
	if got := b.query(`SELECT count(*) FROM iasql_internal.rules_change`); got != "1" {
		t.Errorf("%s rows are left after pruning", got)
	}
	if got := b.query(`SELECT iasql_internal.rules_version()`); got != before {
		t.Errorf("the version is %s, and was %s", got, before)
	}
}
