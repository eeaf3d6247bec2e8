package batches

import (
	"slices"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
)

// now returns the time of the database, for a restore to it later.
func (s *session) now() string {
	s.w.Helper()
	return s.get(`SELECT clock_timestamp()::text`)
}

// changed returns what iasql_changes_since says of a table since then, in order: what the record is called, what was done
// to which columns, where, and how that is known.
func (s *session) changed(since, table string) string {
	s.w.Helper()
	return s.get(`SELECT string_agg(concat_ws(' ', coalesce(name, '?'), action, CASE action WHEN 'update' THEN array_to_string(columns, ',') END,
			CASE from_where WHEN 'here' THEN 'here' ELSE 'there' END, '(' || how_known || ')', CASE by_whom WHEN current_user THEN 'me' END), ', ')
		FROM iasql_changes_since('` + since + `') WHERE table_name = '` + table + `'`)
}

func compare(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n%s\nwant\n%s", what, got, want)
	}
}

// One row tells of each change, wherever it was made; what the engine notes of it is none.
func TestChangesSince(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	w.PSQL(`UPDATE iasql_settings SET value = '1 second' WHERE name = 'consistency_window'`)
	s := user(w)
	start := s.now()
	s.do(`INSERT INTO queue (name, delay_seconds) VALUES ('a', 1), ('b', 1)`, `SELECT iasql_wait_for_all(60)`,
		`UPDATE queue SET delay_seconds = 2 WHERE name = 'a'`, `SELECT iasql_wait_for_all(60)`)
	compare(t, "edits", s.changed(start, "queue"), "a insert here (edit) me, b insert here (edit) me, a update delay_seconds here (edit) me")
	if got := s.get(`SELECT "from"::text || ' ' || "to"::text FROM iasql_changes_since('` + start + `') WHERE action = 'update'`); got != `{"delay_seconds": 1} {"delay_seconds": 2}` {
		t.Errorf("from and to: %s", got)
	}

	then := s.now()
	w.CLI("sqs", "set-queue-attributes", "--queue-url", s.get(`SELECT url FROM queue WHERE name = 'a'`), "--attributes", "DelaySeconds=9")
	w.CLI("sqs", "create-queue", "--queue-name", "theirs")
	w.CLI("sqs", "delete-queue", "--queue-url", s.get(`SELECT url FROM queue WHERE name = 'b'`))
	w.Eventually(2*time.Minute, "the drift is pulled", func() bool {
		w.PSQL(`SELECT iasql_sync_now()`)
		return s.get(`SELECT string_agg(name || delay_seconds, ',' ORDER BY name) FROM queue`) == "a9,theirs0"
	})
	if got := s.changed(then, "queue"); strings.Join(sorted(got), ", ") !=
		"a update delay_seconds there (reading of the cloud), b delete there (reading of the cloud), theirs insert there (reading of the cloud)" {
		t.Errorf("drift: %s", got)
	}
	if got := s.get(`SELECT DISTINCT from_where || coalesce(by_whom, ' nobody') FROM iasql_changes_since('` + then + `') WHERE table_name = 'queue'`); got != "account default nobody" {
		t.Errorf("drift is said to be from %s", got)
	}

	then = s.now()
	s.do(`CALL iasql_begin('shop')`, `UPDATE queue SET delay_seconds = 3 WHERE name = 'a'`)
	batch := s.get(`SELECT id FROM iasql_batches WHERE name = 'shop'`)
	compare(t, "an open batch", s.changed(then, "queue"), "a update delay_seconds here (batch "+batch+" (shop), not committed) me")
	s.do(`CALL iasql_commit()`, `CALL iasql_begin('no')`, `UPDATE queue SET delay_seconds = 7 WHERE name = 'a'`, `CALL iasql_rollback()`)
	compare(t, "a batch, and one that was rolled back", s.changed(then, "queue"), "a update delay_seconds here (batch "+batch+" (shop)) me")

	then = s.now()
	s.do(`CALL iasql_undo(`+batch+`)`, `CALL iasql_commit()`)
	undo := s.get(`SELECT max(id) FROM iasql_batches`)
	compare(t, "an undoing", s.changed(then, "queue"), "a update delay_seconds here (undo of batch "+batch+" (batch "+undo+")) me")

	then = s.now()
	for _, name := range []string{"one", "two", "three", "four"} {
		s.declare("mail", `INSERT INTO queue (name) VALUES ('`+name+`')`)
	}
	got := s.changed(then, "queue")
	if n := strings.Count(got, "(declaration of mail (batch "); n != 7 || !strings.HasPrefix(got, "one insert here (declaration of mail (batch ") {
		t.Errorf("declarations: %s", got)
	}

	then = s.now()
	s.do(`CALL iasql_begin('both')`, `CALL iasql_declare('mail')`, `UPDATE queue SET delay_seconds = 1 WHERE name = 'four'`, `CALL iasql_declared()`, `CALL iasql_commit()`)
	if got := s.changed(then, "queue"); !strings.Contains(got, "(both), with the declaration of mail)") {
		t.Errorf("a declaration in a batch: %s", got)
	}

	then = s.now()
	s.do(`SELECT iasql_forget('queue', id) FROM queue WHERE name = 'theirs'`)
	compare(t, "what was forgotten", s.changed(then, "queue"), "theirs delete here (iasql_forget) me")
}

func sorted(list string) []string {
	parts := strings.Split(list, ", ")
	slices.Sort(parts)
	return parts
}

// A replacement is one change: the edit that asks for it. What follows a replaced record is told besides.
func TestChangesSinceReplacement(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_vpc")
	s := user(w)
	start := s.now()
	s.do(`INSERT INTO vpc (cidr_block, tags) VALUES ('10.1.0.0/16', '{"Name": "shop"}')`,
		`INSERT INTO subnet (vpc_id, cidr_block, tags) SELECT id, '10.1.1.0/24', '{"Name": "left"}' FROM vpc WHERE cidr_block = '10.1.0.0/16'`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`)
	compare(t, "what is new", s.changed(start, "subnet"), "left insert here (edit) me")
	then := s.now()
	s.do(`UPDATE subnet SET cidr_block = '10.1.2.0/24' WHERE tags ->> 'Name' = 'left'`)
	w.Settled()
	compare(t, "a replacement", s.changed(then, "subnet"), "left replace here (edit) me")
	then = s.now()
	s.do(`UPDATE vpc SET cidr_block = '10.1.0.0/20' WHERE tags ->> 'Name' = 'shop'`)
	w.Settled()
	compare(t, "a replacement", s.changed(then, "vpc"), "shop replace here (edit) me")
	compare(t, "what follows", s.changed(then, "subnet"), "left replace here (replacement by the engine)")

	// As they were: other objects again.
	id := s.get(`SELECT id FROM vpc WHERE tags ->> 'Name' = 'shop'`)
	s.do(`CALL iasql_restore('vpc', `+id+`, '`+then+`')`)
	if got := s.get(`SELECT string_agg(action, ',') FROM iasql_preview() WHERE table_name = 'vpc'`); got != "replace" {
		t.Errorf("the preview of the restore has %s", got)
	}
	s.do(`CALL iasql_commit()`)
	w.Settled()
	compare(t, "after the restore", s.get(`SELECT cidr_block || ' ' || (vpc_id LIKE 'vpc-%') FROM vpc WHERE id = `+id), "10.1.0.0/16 true")
}
