package edges

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// What users and their administrators have added to managed tables can refuse
// what the cloud has. That is the record's own failure.
func TestUserConstraints(t *testing.T) {
	t.Parallel()
	w := start(t)

	w.run("check", func(w *world) {
		id := w.made("checked")
		w.Admin(`ALTER TABLE queue ADD CONSTRAINT few_seconds CHECK (name <> 'checked' OR delay_seconds < 100)`)
		w.change("checked", "DelaySeconds", "200")
		w.sync()
		w.review("queue", id, "few_seconds", "the cloud's value does not fit",
			"drop constraint few_seconds of table queue", "iasql_retry('queue', "+id+")")
		w.unharmed()
		// A user's own edit of the record still reaches the cloud, as does one that heals it.
		w.PSQL(`UPDATE queue SET delay_seconds = 50 WHERE name = 'checked'`)
		w.Settled()
		if got := w.attribute("checked", "DelaySeconds"); got != "50" {
			w.Errorf("the cloud has %s", got)
		}
		w.change("checked", "DelaySeconds", "300")
		w.sync()
		w.review("queue", id, "few_seconds")
		w.Admin(`ALTER TABLE queue DROP CONSTRAINT few_seconds`)
		w.retry("queue", id)
		if got := w.PSQL(`SELECT delay_seconds FROM queue WHERE id = ` + id); got != "300" {
			w.Errorf("healed to %s", got)
		}
	})

	w.run("insert", func(w *world) {
		w.Admin(`ALTER TABLE queue ADD CONSTRAINT short_names CHECK (length(name) < 20)`)
		w.create("a-name-that-is-much-too-long", nil, nil)
		w.create("short", nil, nil)
		w.syncWarns("object a-name-that-is-much-too-long does not fit")
		w.errors("queue", "a-name-that-is-much-too-long", "short_names", "drop constraint")
		if got := w.PSQL(`SELECT count(*) FROM queue WHERE name = 'short'`); got != "1" {
			w.Error("the other new queue has no record")
		}
		w.unharmed()
		// A cycle that does not list the table knows nothing better.
		w.PSQL(`SELECT iasql_sync_now('aws_regions')`)
		w.errors("queue", "a-name-that-is-much-too-long", "short_names")
		if got := w.PSQL(`SELECT count(*) FROM iasql_problems WHERE message LIKE '%a-name-that-is-much-too-long%'`); got != "1" {
			w.Errorf("iasql_problems says so %s times", got)
		}
		w.Admin(`ALTER TABLE queue DROP CONSTRAINT short_names`)
		w.sync()
		if got := w.PSQL(`SELECT count(*) FROM queue WHERE name LIKE 'a-name%'`); got != "1" {
			w.Error("did not heal")
		}
	})

	w.run("trigger", func(w *world) {
		id := w.made("triggered")
		for i, code := range []string{"P0001", "27000", "HV000", "72000", "XX000"} {
			w.Admin(`CREATE OR REPLACE FUNCTION grumble() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				IF NEW.name = 'triggered' THEN RAISE EXCEPTION 'I will have none of it' USING ERRCODE = '`+code+
				`', HINT = 'Ask me nicely.'; END IF; RETURN NEW; END $$`,
				`CREATE OR REPLACE TRIGGER grumbling BEFORE UPDATE ON queue FOR EACH ROW EXECUTE FUNCTION grumble()`)
			w.change("triggered", "DelaySeconds", fmt.Sprint(20+i))
			w.sync()
			w.review("queue", id, "I will have none of it", "Ask me nicely", "grumble", "iasql_retry")
			w.unharmed()
			w.Admin(`DROP TRIGGER grumbling ON queue`)
			w.retry("queue", id)
			if got := w.PSQL(`SELECT delay_seconds FROM queue WHERE id = ` + id); got != fmt.Sprint(20+i) {
				w.Errorf("healed to %s", got)
			}
		}
	})

	// A trigger may leave a row out without a word, or write something else.
	w.run("silent trigger", func(w *world) {
		w.made("held")
		gone := w.made("undying")
		w.Admin(`CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				IF coalesce(NEW.name, OLD.name) IN ('held', 'undying', 'unborn') THEN RETURN NULL; END IF; RETURN coalesce(NEW, OLD); END $$`,
			`CREATE TRIGGER holding BEFORE INSERT OR UPDATE OR DELETE ON queue FOR EACH ROW EXECUTE FUNCTION hold()`)
		w.change("held", "DelaySeconds", "33")
		w.delete("undying")
		w.create("unborn", nil, nil)
		w.create("born", nil, nil)
		w.syncWarns("object unborn does not fit")
		w.errors("queue", "unborn", "left out", "trigger holding")
		held := w.PSQL(`SELECT id FROM queue WHERE name = 'held'`)
		w.review("queue", held, "the row is left out by a trigger of table queue", "change trigger holding",
			"iasql_retry")
		w.review("queue", gone, "cannot be deleted", "change trigger holding", "iasql_retry")
		if got := w.PSQL(`SELECT string_agg(name, ',' ORDER BY name) FROM queue WHERE name IN ('held', 'undying', 'unborn', 'born')`); got != "born,held,undying" {
			w.Errorf("records: %s", got)
		}
		w.unharmed()
		w.Admin(`DROP TRIGGER holding ON queue`)
		w.PSQL(`SELECT iasql_retry('queue', ` + held + `)`)
		w.retry("queue", gone)
		w.sync()
		if got := w.PSQL(`SELECT string_agg(name || delay_seconds, ',' ORDER BY name) FROM queue WHERE name IN ('held', 'undying', 'unborn', 'born')`); got != "born0,held33,unborn0" {
			w.Errorf("healed to %s", got)
		}
		w.quiet()
	})

	w.run("rewriting trigger", func(w *world) {
		id := w.made("rounded")
		w.made("spelled")
		w.Admin(`CREATE FUNCTION round_seconds() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				IF NEW.name ~ '^rounded' THEN NEW.delay_seconds := NEW.delay_seconds / 10 * 10; END IF; RETURN NEW; END $$`,
			`CREATE TRIGGER rounding BEFORE INSERT OR UPDATE ON queue FOR EACH ROW EXECUTE FUNCTION round_seconds()`)
		w.change("rounded", "DelaySeconds", "47")
		w.create("rounded-too", map[string]string{"DelaySeconds": "58"}, nil)
		w.change("spelled", "DelaySeconds", "49")
		w.syncWarns("object rounded-too does not fit")
		w.errors("queue", "rounded-too", "delay_seconds", "trigger rounding")
		w.review("queue", id, "another value is written into delay_seconds by a trigger of table queue",
			"change trigger rounding", "iasql_retry")
		if got := w.PSQL(`SELECT string_agg(name || delay_seconds, ',' ORDER BY name) FROM queue WHERE name ~ '^rounded' OR name = 'spelled'`); got != "rounded0,spelled49" {
			w.Errorf("records: %s", got)
		}
		w.unharmed()
		w.Admin(`DROP TRIGGER rounding ON queue`)
		w.retry("queue", id)
		w.sync()
		if got := w.PSQL(`SELECT string_agg(name || delay_seconds, ',' ORDER BY name) FROM queue WHERE name ~ '^rounded'`); got != "rounded47,rounded-too58" && got != "rounded-too58,rounded47" {
			w.Errorf("healed to %s", got)
		}
		w.quiet()
	})

	// What the cloud assigns to a new object is refused, too.
	w.run("assigned", func(w *world) {
		w.Admin(`ALTER TABLE queue ADD CONSTRAINT elsewhere CHECK (name !~ '^assigned' OR arn NOT LIKE 'arn:aws:%')`)
		w.PSQL(`INSERT INTO queue (name) VALUES ('assigned-1'), ('assigned-2'), ('fine')`)
		one := w.PSQL(`SELECT id FROM queue WHERE name = 'assigned-1'`)
		w.review("queue", one, "elsewhere", "iasql_retry")
		w.unharmed()
		w.Becomes(10*time.Second, "t", `SELECT arn IS NOT NULL FROM queue WHERE name = 'fine'`)
		w.Admin(`ALTER TABLE queue DROP CONSTRAINT elsewhere`)
		w.PSQL(fmt.Sprintf(`SELECT iasql_retry('queue', id) FROM queue WHERE name LIKE 'assigned%%'`))
		w.Settled()
		if got := w.PSQL(`SELECT count(*) FROM iasql_operations WHERE action = 'CreateQueue' AND record_id = ` + one); got != "1" {
			w.Errorf("it was created %s times", got)
		}
	})

	w.run("not null", func(w *world) {
		id := w.made("strict")
		w.PSQL(`UPDATE queue SET tags = '{"a": "b"}'`)
		w.Settled()
		w.Admin(`ALTER TABLE queue ALTER tags SET NOT NULL`)
		w.untag("strict", "a")
		w.sync()
		w.review("queue", id, "tags", "not-null", "let column tags be NULL", "iasql_retry")
		w.unharmed()
		w.Admin(`ALTER TABLE queue ALTER tags DROP NOT NULL`)
		w.retry("queue", id)
	})

	w.run("foreign key", func(w *world) {
		id := w.made("referred")
		w.Admin(`CREATE TABLE mine (queue bigint CONSTRAINT mine_queue REFERENCES queue)`,
			`INSERT INTO mine VALUES (`+id+`)`)
		w.delete("referred")
		w.create("after", nil, nil)
		w.sync()
		w.review("queue", id, "cannot be deleted", "delete or change the rows of mine", "mine_queue", "iasql_retry")
		w.unharmed()
		if got := w.PSQL(`SELECT count(*) FROM queue WHERE name = 'after'`); got != "1" {
			w.Error("the other new queue has no record")
		}
		w.Admin(`DROP TABLE mine`)
		w.retry("queue", id)
		if got := w.PSQL(`SELECT count(*) FROM queue WHERE name = 'referred'`); got != "0" {
			w.Error("did not heal")
		}
	})

	// An administrator's own columns and unique constraints.
	w.run("unique", func(w *world) {
		w.made("first")
		id := w.made("second")
		w.change("first", "DelaySeconds", "777")
		w.sync()
		w.Admin(`CREATE UNIQUE INDEX one_of_each ON queue (delay_seconds) WHERE name IN ('first', 'second')`)
		w.change("second", "DelaySeconds", "777")
		w.sync()
		w.review("queue", id, "one_of_each", "iasql_retry")
		w.unharmed()
		w.Admin(`DROP INDEX one_of_each`)
		w.retry("queue", id)
	})

	w.quiet()
	w.oneLineLog()
}

// Whoever writes several values that are not allowed is told all of them at once, and of which records.
func TestAllFindings(t *testing.T) {
	t.Parallel()
	w := start(t)
	got := w.Refused(`INSERT INTO queue (name, delay_seconds, visibility_timeout) VALUES ('one', 5000, 30), ('two', 5, 99999), (NULL, 0, 30), ('three', -1, 30)`)
	for _, want := range []string{"null value in column \"name\""} {
		if !strings.Contains(got, want) {
			t.Errorf("it says %s, not %s", got, want)
		}
	}
	got = w.Refused(`INSERT INTO queue (name, delay_seconds, visibility_timeout) VALUES ('one', 5000, 30), ('two', 5, 99999), ('three', -1, 30)`)
	for _, want := range []string{"23514", "column delay_seconds of queue cannot be '5000'", "from 0 to 900", "('one')",
		"Nor is this allowed:", "('three'): delay_seconds cannot be '-1'", "('two'): visibility_timeout cannot be '99999'. It must be from 0 to 43200"} {
		if !strings.Contains(got, want) {
			t.Errorf("it says %s, not %s", got, want)
		}
	}
	// Of very many the first are named.
	got = w.Refused(`INSERT INTO queue (name, delay_seconds) SELECT 'many-' || n, 1000 + n FROM generate_series(1, 5000) n`)
	if strings.Count(got, "many-") > 30 || !strings.Contains(got, "'many-2'") {
		t.Errorf("of 5,000 it says %s", got)
	}
	w.unharmed()
}
