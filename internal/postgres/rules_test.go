package postgres_test

import (
	"strconv"
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
	step := func(again bool, statement string) {
		t.Helper()
		before := version()
		b.exec(statement)
		settings, err := b.db.Settings(t.Context(), "main")
		if err != nil {
			t.Fatal(err)
		}
		now := version()
		if settings.Version != now {
			t.Errorf("after %q the settings are of version %s, the rules of %s", statement, settings.Version, now)
		}
		if of, known := seen[now]; known != again {
			t.Errorf("after %q the version is %s (%s), and was %s", statement, now, of, before)
		}
		seen[now] = statement
		if got, want := len(settings.Protection), b.query(`SELECT count(*) FROM iasql_protection`); want != strconv.Itoa(got) {
			t.Errorf("after %q %d things are protected instead of %s", statement, got, want)
		}
		if got, want := len(settings.Exclusions.Rules), b.query(`SELECT count(*) FROM iasql_ignore`); want != strconv.Itoa(got) {
			t.Errorf("after %q %d rules let things be instead of %s", statement, got, want)
		}
		if got, want := settings.AskDrift,
			b.query(`SELECT value = 'ask' FROM iasql_settings WHERE name = 'drift'`) == "true"; got != want {
			t.Errorf("after %q drift is asked about: %v", statement, got)
		}
	}
	step(false, `INSERT INTO iasql_mode (mode) VALUES ('TRACK')`)
	if settings, err := b.db.Settings(t.Context(), "main"); err != nil ||
		settings.Rules.Of("box", 1, "") != modes.Track {
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
	if settings, err := b.db.Settings(t.Context(), "main"); err != nil ||
		!settings.Protection[decide.RecordRef{Table: "box", ID: 1}] {
		t.Errorf("box 1 is not protected: %v", err)
	}
	step(true, `DELETE FROM iasql_protection`)
	if got := version(); got != first {
		t.Errorf("without rules the version is %s, and was %s", got, first)
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
