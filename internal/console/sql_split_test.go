package console

import (
	"slices"
	"testing"
)

func TestSplit(t *testing.T) {
	for text, want := range map[string][]string{
		"":                               nil,
		" ; ;; -- nothing; \n /* ; */":   nil,
		"SELECT 1":                       {"SELECT 1"},
		"SELECT 1; SELECT 2;":            {"SELECT 1", "SELECT 2"},
		"SELECT ';', \";\", 'a'';b' ; x": {"SELECT ';', \";\", 'a'';b'", "x"},
		`SELECT E'\';', ';\'; x`:         {`SELECT E'\';', ';\'`, "x"},
		"SELECT $$;$$, $a$;$$;$a$; x":    {"SELECT $$;$$, $a$;$$;$a$", "x"},
		"SELECT $1; x":                   {"SELECT $1", "x"},
		"SELECT a$b$; c$b$":              {"SELECT a$b$", "c$b$"},
		"/* a /* ; */ ; */ SELECT 1":     {"/* a /* ; */ ; */ SELECT 1"},
		"SELECT 1 -- ;\n; x":             {"SELECT 1 -- ;", "x"},
		"CREATE RULE r AS ON INSERT TO t DO (DELETE FROM a; DELETE FROM b); x": {
			"CREATE RULE r AS ON INSERT TO t DO (DELETE FROM a; DELETE FROM b)", "x"},
		"CREATE OR REPLACE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END; x": {
			"CREATE OR REPLACE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END", "x"},
		"DO $$BEGIN PERFORM 1; END$$; COMMIT": {"DO $$BEGIN PERFORM 1; END$$", "COMMIT"},
		"SELECT 'unfinished; x":               {"SELECT 'unfinished; x"},
		"SELECT 1) ; x":                       {"SELECT 1)", "x"},
	} {
		var got []string
		for _, p := range split(text) {
			got = append(got, p.text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q is split into %q, want %q", text, got, want)
		}
	}
	if got := split("SELECT 'ö';\n  SELECT 2")[1].at; got != 14 {
		t.Errorf("the second statement is at %d", got)
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("SELECT ';' $a$ ; $a$ /* ; */; -- x\nE'\\'")
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range split(text) {
			if p.text == "" {
				t.Errorf("%q has an empty statement", text)
			}
			refuse(p.text)
		}
	})
}

func TestRefuse(t *testing.T) {
	for _, text := range []string{"COMMIT", " commit and chain", "/* /* */ */--\nRollback", "END", "abort", "BEGIN",
		"START TRANSACTION",
		"SAVEPOINT a", "release a", "PREPARE TRANSACTION 'x'", "copy t from stdin", "COMMIT/**/AND CHAIN", "\vcommit"} {
		if refuse(text) == "" {
			t.Errorf("%q is not refused", text)
		}
	}
	for _, text := range []string{"SELECT 1", "PREPARE p AS SELECT 1", "WITH a AS (SELECT 1) SELECT", "EXPLAIN SELECT 1",
		"(SELECT 1)",
		"commits", "\"commit\"", "SET transaction_read_only = off", "SHOW all"} {
		if why := refuse(text); why != "" {
			t.Errorf("%q is refused: %s", text, why)
		}
	}
}
