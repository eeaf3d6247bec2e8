package adversary

import (
	"fmt"
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// spy makes a schema of the user's with a table proof, and functions that note
// there who runs them.
func spy(w *harness.World) (user string) {
	w.Helper()
	user = w.PSQL(`SELECT current_user`)
	w.Admin(`CREATE SCHEMA spy AUTHORIZATION ` + user)
	w.PSQL(`CREATE TABLE spy.proof (who text, what text)`, `GRANT ALL ON spy.proof TO PUBLIC`,
		`GRANT USAGE ON SCHEMA spy TO PUBLIC`,
		`CREATE FUNCTION spy.note(what text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN INSERT INTO spy.proof VALUES (current_user, what); RETURN true; END $$`,
		`CREATE FUNCTION spy.fires() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM spy.note(TG_NAME); RETURN coalesce(NEW, OLD); END $$`,
		`GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA spy TO PUBLIC`)
	return user
}

// unseen fails if code of the user's has run as anybody else.
func unseen(w *harness.World, user string) {
	w.Helper()
	if got := w.PSQL(`SELECT DISTINCT who, what FROM spy.proof WHERE who <> '` + user + `'`); got != "" {
		w.Errorf("code of %s was run by others: %s", user, got)
	}
}

// TestDeferredTriggers: rolling a batch back or undoing one fires none of the
// caller's own deferred triggers with other rights than his, wherever they are and
// whatever they are called.
func TestDeferredTriggers(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	user := spy(w)
	w.Admin(`GRANT CREATE ON SCHEMA public TO ` + user)
	w.PSQL(`CREATE TABLE spy.mine (id int)`,
		`CREATE CONSTRAINT TRIGGER permanent AFTER INSERT ON spy.mine DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION spy.fires()`)
	const temporary = `CREATE TEMP TABLE own (id int); CREATE CONSTRAINT TRIGGER temporary AFTER INSERT ON own DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION spy.fires();
		INSERT INTO own VALUES (1); INSERT INTO spy.mine VALUES (1);`
	w.PSQL(`CALL iasql_begin('test')`)
	w.Joined(`BEGIN; ` + temporary + ` INSERT INTO queue (name) VALUES ('a'); CALL iasql_rollback(); COMMIT`)
	w.PSQL(`CALL iasql_begin()`, `INSERT INTO queue (name) VALUES ('b')`, `CALL iasql_commit()`)
	last := w.PSQL(`SELECT max(transaction_id) FROM iasql_audit_log`)
	w.PSQL(`BEGIN; ` + temporary + ` CALL iasql_undo(` + last + `); COMMIT`)
	w.PSQL(`CALL iasql_rollback(true)`)
	unseen(w, user)
	// Of the very name of a constraint that is set.
	name := w.Admin(`SELECT conname FROM pg_constraint WHERE conrelid = 'public.queue'::regclass AND condeferrable LIMIT 1`)
	w.PSQL(`CREATE TABLE public.namesake (id int)`,
		fmt.Sprintf(`CREATE CONSTRAINT TRIGGER %s AFTER INSERT ON public.namesake DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION spy.fires()`, name),
		`CALL iasql_begin('test')`)
	if got := w.JoinedRefused(`BEGIN; INSERT INTO queue (name) VALUES ('c'); INSERT INTO namesake VALUES (1); CALL iasql_rollback(); COMMIT`); !strings.Contains(got, "IA091") || !strings.Contains(got, "namesake") {
		t.Errorf("a namesake of a constraint: %s", got)
	}
	w.PSQL(`DROP TABLE namesake`, `CALL iasql_rollback(true)`)
	if got := w.PSQL(`SELECT count(DISTINCT what) FROM spy.proof`); got != "2" {
		t.Errorf("the traps do not work: %s fired", got)
	}
	unseen(w, user)
}

// TestCodeInPulls: what users have attached to managed tables, as far as an
// administrator has let them, does not run in the engine's sessions; and the
// engine says so, of the records concerned alone.
func TestCodeInPulls(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs", "aws_sns")
	// a listing disproves the engine's own writes at once
	w.PSQL(`UPDATE iasql_settings SET value = '0 seconds' WHERE name = 'consistency_window'`)
	user := spy(w)
	w.Admin(`GRANT REFERENCES, TRIGGER ON queue, topic TO ` + user)
	w.PSQL(`INSERT INTO queue (name) SELECT 'q' || i FROM generate_series(1, 4) i`)
	w.Settled()

	for _, variant := range []string{
		`CREATE TABLE spy.notes (queue bigint REFERENCES queue ON DELETE CASCADE); INSERT INTO spy.notes SELECT id FROM queue;
		 CREATE CONSTRAINT TRIGGER deferred AFTER DELETE ON spy.notes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION spy.fires()`,
		`CREATE TABLE spy.notes (queue bigint REFERENCES queue ON DELETE CASCADE); INSERT INTO spy.notes SELECT id FROM queue;
		 CREATE TRIGGER at_once AFTER DELETE ON spy.notes FOR EACH ROW EXECUTE FUNCTION spy.fires()`,
		`CREATE TABLE spy.notes (queue bigint REFERENCES queue ON DELETE SET NULL CHECK (spy.note('check'))); INSERT INTO spy.notes SELECT id FROM queue`,
		`CREATE TABLE spy.notes (queue bigint DEFAULT CASE WHEN spy.note('default') THEN NULL::bigint END REFERENCES queue ON DELETE SET DEFAULT); INSERT INTO spy.notes SELECT id FROM queue`,
		`CREATE TRIGGER spying BEFORE DELETE ON queue FOR EACH ROW EXECUTE FUNCTION spy.fires()`,
		`CREATE CONSTRAINT TRIGGER spying_late AFTER DELETE ON queue DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION spy.fires()`,
		`CREATE TRIGGER spying_statement AFTER UPDATE OR DELETE ON queue FOR EACH STATEMENT EXECUTE FUNCTION spy.fires()`,
	} {
		w.PSQL(variant, `TRUNCATE spy.proof`)
		name := w.PSQL(`SELECT name FROM queue ORDER BY id LIMIT 1`)
		url := w.PSQL(`SELECT url FROM queue ORDER BY id LIMIT 1`)
		w.CLI("sqs", "delete-queue", "--queue-url", url)
		_, _ = w.TryPSQL(w.UserURL, `SELECT iasql_sync_now()`)
		w.Eventually(quickly, "the record says why", func() bool {
			return strings.Contains(w.PSQL(
				`SELECT message FROM iasql_status WHERE table_name = 'queue' AND state <> 'Present'`),
				"no member of iasql_engine")
		})
		unseen(w, user)
		// Rolling back as the system would run it, too.
		w.PSQL(`CALL iasql_begin('test')`, `INSERT INTO queue (name) VALUES ('batched')`)
		if got := w.JoinedRefused(`CALL iasql_rollback()`); !strings.Contains(got, "IA091") ||
			!strings.Contains(got, "HINT") {
			t.Errorf("%s: rolling back: %s", variant, got)
		}
		unseen(w, user)
		// Everything else goes on.
		w.Admin(`DROP TABLE IF EXISTS spy.notes CASCADE`,
			`DROP TRIGGER IF EXISTS spying ON queue`, `DROP TRIGGER IF EXISTS spying_late ON queue`,
			`DROP TRIGGER IF EXISTS spying_statement ON queue`)
		w.Joined(`CALL iasql_rollback()`)
		if got := w.PSQL(`SELECT count(*) FROM queue WHERE name = 'batched'`); got != "0" {
			t.Errorf("%s: rolled back, there are %s", variant, got)
		}
		w.Becomes(quickly, "0", `SELECT count(*) FROM queue WHERE name = '`+name+`'`)
		w.Settled()
		w.PSQL(`INSERT INTO queue (name) VALUES ('` + name + `x')`)
		w.Settled()
	}
	unseen(w, user)
}

// TestTypesInManagedTables: a type with a cast of somebody's own would run it
// wherever the audit trigger prints the row.
func TestTypesInManagedTables(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	user := spy(w)
	w.PSQL(`CREATE TYPE spy.pair AS (a int, b int)`,
		`CREATE FUNCTION spy.shown(spy.pair) RETURNS json LANGUAGE plpgsql AS $$ BEGIN PERFORM spy.note('cast'); RETURN '1'; END $$`,
		`CREATE CAST (spy.pair AS json) WITH FUNCTION spy.shown(spy.pair)`,
		`CREATE DOMAIN spy.checked AS text CHECK (spy.note('domain'))`)
	for _, column := range []string{"spy.pair", "spy.checked", "spy.pair[]"} {
		w.Admin(`ALTER TABLE queue ADD COLUMN theirs ` + column)
		if got := w.Refused(`INSERT INTO queue (name) VALUES ('typed')`); !strings.Contains(got, "IA091") ||
			!strings.Contains(got, "theirs") {
			t.Errorf("a column of type %s: %s", column, got)
		}
		w.Admin(`ALTER TABLE queue DROP COLUMN theirs`)
	}
	w.PSQL(`INSERT INTO queue (name) VALUES ('plain')`)
	w.Settled()
	unseen(w, user)
}

// TestCodeOfOwners: what only an owner of a managed table can attach to it may
// all the same call what is somebody else's.
func TestCodeOfOwners(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs", "aws_sns")
	w.PSQL(`UPDATE iasql_settings SET value = '0 seconds' WHERE name = 'consistency_window'`)
	user := spy(w)
	w.PSQL(`CREATE FUNCTION spy.pure(text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM spy.note('pure'); RETURN $1; END $$`,
		`CREATE FUNCTION spy.same(text, text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN spy.note('operator'); END $$`,
		`CREATE OPERATOR spy.=== (LEFTARG = text, RIGHTARG = text, FUNCTION = spy.same)`)
	for i, attach := range []string{
		`ALTER TABLE queue ADD CONSTRAINT theirs CHECK (spy.note('check')) NOT VALID`,
		`ALTER TABLE queue ADD COLUMN theirs text; ALTER TABLE queue ALTER theirs SET DEFAULT spy.pure('default')`,
		`ALTER TABLE queue ADD COLUMN theirs text GENERATED ALWAYS AS (spy.pure(name)) STORED`,
		`CREATE INDEX theirs ON queue (spy.pure(name))`,
		`ALTER TABLE queue ADD CONSTRAINT theirs CHECK (name OPERATOR(spy.===) name) NOT VALID`,
		`CREATE RULE theirs AS ON INSERT TO queue DO ALSO SELECT spy.note('rule')`,
	} {
		w.Admin(attach, `TRUNCATE spy.proof`) // done by an administrator, for whom it has run, too
		name := fmt.Sprintf("strange%d", i)
		w.CLI("sqs", "create-queue", "--queue-name", name)
		_, _ = w.TryPSQL(w.UserURL, `SELECT iasql_sync_now()`)
		if got := w.PSQL(`SELECT count(*) FROM iasql_get_errors() WHERE message LIKE '%does not write table%queue%'`); got == "0" {
			t.Errorf("%s: there is no error that says so: %s", attach, w.PSQL(`SELECT * FROM iasql_get_errors()`))
		}
		w.PSQL(fmt.Sprintf(`INSERT INTO topic (name) VALUES ('t%d')`, i)) // everything else goes on
		w.Becomes(quickly, "1", fmt.Sprintf(`SELECT count(*) FROM topic WHERE arn IS NOT NULL AND name = 't%d'`, i))
		unseen(w, user)
		w.Admin(`DROP RULE IF EXISTS theirs ON queue`, `ALTER TABLE queue DROP CONSTRAINT IF EXISTS theirs`,
			`DROP INDEX IF EXISTS theirs`, `ALTER TABLE queue DROP COLUMN IF EXISTS theirs`)
		w.PSQL(`SELECT iasql_sync_now()`)
		if got := w.PSQL(`SELECT count(*) FROM queue WHERE name = '` + name + `'`); got != "1" {
			t.Errorf("%s: taken off again, the queue is not there", attach)
		}
		w.CLI("sqs", "delete-queue", "--queue-url", w.PSQL(`SELECT url FROM queue WHERE name = '`+name+`'`))
		w.PSQL(`SELECT iasql_sync_now()`)
		w.Becomes(quickly, "0", `SELECT count(*) FROM queue`)
	}
}
