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
	s.do(`CALL iasql_restore('vpc', ` + id + `, '` + then + `')`)
	if got := s.get(`SELECT string_agg(action, ',') FROM iasql_preview() WHERE table_name = 'vpc'`); got != "replace" {
		t.Errorf("the preview of the restore has %s", got)
	}
	s.do(`CALL iasql_commit()`)
	w.Settled()
	compare(t, "after the restore", s.get(`SELECT cidr_block || ' ' || (vpc_id LIKE 'vpc-%') FROM vpc WHERE id = `+id), "10.1.0.0/16 true")
}

// A record is as it was then, whatever has become of it since: changed here, drifted, deleted here, deleted in the cloud.
func TestRestore(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	w.PSQL(`UPDATE iasql_settings SET value = '1 second' WHERE name = 'consistency_window'`)
	s := user(w)
	before := s.now()
	s.do(`INSERT INTO queue (name, delay_seconds, tags) VALUES ('edited', 1, '{"a": "1"}'), ('drifted', 1, NULL), ('deleted', 1, NULL), ('gone', 1, '{"b": "2"}')`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`)
	const all = `SELECT string_agg(concat(id, name, delay_seconds, tags, url), ',' ORDER BY id) FROM queue`
	then, was := s.now(), s.get(all)
	id := map[string]string{}
	for _, name := range []string{"edited", "drifted", "deleted", "gone"} {
		id[name] = s.get(`SELECT id FROM queue WHERE name = '` + name + `'`)
	}
	s.do(`UPDATE queue SET delay_seconds = 2, tags = '{"a": "2"}' WHERE name = 'edited'`, `UPDATE queue SET delay_seconds = 3 WHERE name = 'edited'`,
		`DELETE FROM queue WHERE name = 'deleted'`)
	w.Settled()
	w.CLI("sqs", "set-queue-attributes", "--queue-url", s.get(`SELECT url FROM queue WHERE name = 'drifted'`), "--attributes", "DelaySeconds=9")
	w.CLI("sqs", "delete-queue", "--queue-url", s.get(`SELECT url FROM queue WHERE name = 'gone'`))
	w.Eventually(2*time.Minute, "the drift is pulled", func() bool {
		w.PSQL(`SELECT iasql_sync_now()`)
		return s.get(`SELECT string_agg(name || delay_seconds, ',' ORDER BY name) FROM queue`) == "drifted9,edited3"
	})
	restore := func(name, at string) string { return `CALL iasql_restore('queue', ` + id[name] + `, '` + at + `')` }
	calls := s.get(`SELECT count(*) FROM iasql_operations`)
	s.do(restore("edited", then))
	if got := s.notices(); !strings.Contains(got, "record "+id["edited"]+" of queue is staged as it was at") || !strings.Contains(got, ": delay_seconds, tags. Look at SELECT * FROM iasql_preview(), then CALL iasql_commit()") {
		t.Errorf("it says %s", got)
	}
	s.do(restore("drifted", then), restore("deleted", then), restore("gone", then)) // in the batch that is open now
	s.do(restore("edited", then))
	if got := s.notices(); !strings.Contains(got, "is as it was at") {
		t.Errorf("a second time it says %s", got)
	}
	if got := s.get(`SELECT count(*) || ' ' || (SELECT count(*) FROM iasql_operations) - ` + calls + ` FROM iasql_batches WHERE phase = 'open'`); got != "1 0" {
		t.Errorf("open batches, and calls: %s", got)
	}
	compare(t, "the preview", s.get(`SELECT string_agg(action || ' ' || description, ', ' ORDER BY id) FROM iasql_preview()`),
		"update update queue edited in us-east-1, update update queue drifted in us-east-1, create create queue deleted in us-east-1, create create queue gone in us-east-1")
	s.do(`CALL iasql_commit('as it was')`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`)
	compare(t, "after the commit", s.get(all), was)

	// A later change of the batch's own, and back to before that; deleted in the batch and restored in it: its object stays.
	mid := s.now()
	s.do(`CALL iasql_begin()`, `DELETE FROM queue WHERE name = 'edited'`, restore("edited", mid))
	compare(t, "a deletion taken back", s.get(`SELECT count(*) FROM iasql_preview() WHERE action <> 'update'`), "0")
	compare(t, "the record", s.get(all), was)
	s.do(`CALL iasql_rollback()`)
	compare(t, "after the rollback", s.get(all), was)

	// What was let go of is taken up again.
	s.do(`SELECT iasql_forget('queue', `+id["edited"]+`)`, restore("edited", mid), `CALL iasql_commit()`)
	compare(t, "what was forgotten", s.get(all), was)

	// Undoing a restore is like undoing any batch.
	s.do(`UPDATE queue SET delay_seconds = 7 WHERE name = 'edited'`)
	w.Settled()
	s.do(restore("edited", mid), `CALL iasql_commit()`)
	s.do(`CALL iasql_undo(`+s.get(`SELECT max(id) FROM iasql_batches`)+`)`, `CALL iasql_commit()`)
	compare(t, "undone", s.get(`SELECT delay_seconds FROM queue WHERE name = 'edited'`), "7")

	s.refused("IA019", []string{"was not there at", "It was inserted at"}, restore("edited", before))
	s.refused("IA019", []string{"yet to come"}, `CALL iasql_restore('queue', 1, now() + interval '1 day')`)
	s.refused("IA019", []string{"as of NULL"}, `CALL iasql_restore('queue', 1, NULL)`)
	s.refused("IA055", nil, `CALL iasql_restore('queue', NULL, now())`)
	s.refused("IA006", []string{"has no record 12345"}, `CALL iasql_restore('queue', 12345, now())`)
	s.refused("IA006", []string{"Did you mean 'queue'?"}, `CALL iasql_restore('queu', 1, now())`)
	w.Admin(`UPDATE iasql_internal.pruning SET log_since = now() - interval '1 hour'`)
	s.refused("IA019", []string{"The audit log reaches back to", "audit_retention"}, `CALL iasql_restore('queue', `+id["edited"]+`, now() - interval '2 hours')`)
	s.do(`SELECT * FROM iasql_changes_since(now() - interval '2 hours')`)
	if got := s.notices(); !strings.Contains(got, "the audit log reaches back to") {
		t.Errorf("of a time before the audit log it says %s", got)
	}
	compare(t, "batches that are open", s.get(`SELECT count(*) FROM iasql_batches WHERE phase = 'open'`), "0")
}

// A restore is refused where a statement by hand would be, and names what is in the way.
func TestRestoreIsRefused(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_vpc", "aws_sqs")
	s := user(w)
	s.do(`INSERT INTO vpc (cidr_block, tags) VALUES ('10.1.0.0/16', '{"Name": "shop"}')`,
		`INSERT INTO subnet (vpc_id, cidr_block, tags) SELECT id, '10.1.1.0/24', '{"Name": "left"}' FROM vpc WHERE cidr_block = '10.1.0.0/16'`,
		`INSERT INTO queue (name, delay_seconds) VALUES ('kept', 1), ('hidden', 1), ('old', 1)`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`)
	then := s.now()
	vpc, subnet := s.get(`SELECT id FROM vpc WHERE tags ->> 'Name' = 'shop'`), s.get(`SELECT id FROM subnet WHERE tags ->> 'Name' = 'left'`)
	kept, old := s.get(`SELECT id FROM queue WHERE name = 'kept'`), s.get(`SELECT id FROM queue WHERE name = 'old'`)

	// What it refers to is gone.
	s.do(`DELETE FROM subnet WHERE id = `+subnet, `DELETE FROM vpc WHERE id = `+vpc)
	w.Settled()
	s.refused("23503", []string{"its vpc_id refers to record " + vpc + " of vpc, which is gone", "iasql_restore('vpc', …)"}, `CALL iasql_restore('subnet', `+subnet+`, '`+then+`')`)
	s.do(`CALL iasql_restore('vpc', `+vpc+`, '`+then+`')`, `CALL iasql_restore('subnet', `+subnet+`, '`+then+`')`)
	if got := s.notices(); !strings.Contains(got, "network_acl_id of record "+subnet+" of subnet is left to the cloud") {
		t.Errorf("it says %s", got)
	}
	s.do(`CALL iasql_commit()`)
	w.Settled()
	compare(t, "both are there again", s.get(`SELECT count(*) FROM subnet s JOIN vpc v ON v.id = s.vpc_id WHERE s.id = `+subnet+` AND v.id = `+vpc+` AND s.subnet_id IS NOT NULL`), "1")

	// Its name is another's now; somebody else has it staged.
	s.do(`DELETE FROM queue WHERE id = `+old, `INSERT INTO queue (name) VALUES ('old')`)
	w.Settled()
	s.refused("23505", []string{"record " + old + " of queue cannot be restored as it was at", "Nothing was changed"}, `CALL iasql_restore('queue', `+old+`, '`+then+`')`)
	s.do(`UPDATE queue SET delay_seconds = 5 WHERE id = ` + kept)
	w.Settled()
	other := connect(w, w.Login("other", "iasql_user"))
	other.do(`CALL iasql_begin('theirs')`, `UPDATE queue SET delay_seconds = 6 WHERE id = `+kept)
	s.refused("IA020", []string{"staged in batch", "(theirs)"}, `CALL iasql_restore('queue', `+kept+`, '`+then+`')`)
	other.do(`CALL iasql_rollback()`)
	compare(t, "batches that are open", s.get(`SELECT count(*) FROM iasql_batches WHERE phase = 'open'`), "0")

	// Whom row-level security hides a record from, or some of its changes.
	hidden := s.get(`SELECT id FROM queue WHERE name = 'hidden'`)
	limited := connect(w, w.Login("limited", "iasql_user"))
	s.do(`UPDATE queue SET delay_seconds = 4 WHERE name = 'hidden'`)
	w.Settled()
	w.Admin(`ALTER TABLE queue ENABLE ROW LEVEL SECURITY`, `CREATE POLICY reads ON queue FOR SELECT USING (current_user LIKE 'user%' OR name <> 'hidden')`,
		`CREATE POLICY writes ON queue FOR ALL USING (current_user LIKE 'user%') WITH CHECK (current_user LIKE 'user%')`)
	compare(t, "changes of a hidden record", limited.get(`SELECT count(*) FROM iasql_changes_since('`+then+`') WHERE record_id = `+hidden+` AND table_name = 'queue'`), "0")
	limited.refused("IA006", []string{"none that you may see"}, `CALL iasql_restore('queue', `+hidden+`, '`+then+`')`)
	limited.refused("42501", []string{"record " + kept + " of queue is not yours to change"}, `CALL iasql_restore('queue', `+kept+`, '`+then+`')`)
	w.Admin(`DROP POLICY writes ON queue`, `CREATE POLICY writes ON queue FOR ALL USING (current_user LIKE 'user%' OR delay_seconds = 0) WITH CHECK (true)`)
	reader := connect(w, w.Login("reader", "iasql_reader"))
	reader.refused("42501", []string{"permission denied for procedure iasql_restore"}, `CALL iasql_restore('queue', `+kept+`, '`+then+`')`)
	reader.do(`SELECT * FROM iasql_changes_since('` + then + `')`)
	w.Admin(`DROP POLICY reads ON queue`, `DROP POLICY writes ON queue`, `ALTER TABLE queue DISABLE ROW LEVEL SECURITY`)

	// Its module is gone, and is there again: the records have other numbers.
	s.do(`SELECT * FROM iasql_uninstall('aws_sqs')`)
	s.refused("IA006", []string{"table queue is not managed"}, `CALL iasql_restore('queue', `+kept+`, '`+then+`')`)
	compare(t, "changes of a table that is gone", s.get(`SELECT count(*) > 2 AND bool_and(name IS NOT NULL) FROM iasql_changes_since('`+then+`') WHERE table_name = 'queue'`), "t")
	s.do(`SELECT * FROM iasql_install('aws_sqs')`)
	s.refused("IA019", []string{"Its table was dropped with its module since"}, `CALL iasql_restore('queue', `+kept+`, '`+then+`')`)
}

// Undoing keeps what was written since, in whichever way, takes back the rest, and says which is which.
func TestUndoKeepsLaterWrites(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs", "aws_vpc")
	w.PSQL(`UPDATE iasql_settings SET value = '1 second' WHERE name = 'consistency_window'`)
	s := user(w)
	s.do(`INSERT INTO queue (name, delay_seconds, message_retention_period) SELECT 'q' || n, 1, 100 FROM generate_series(1, 6) n`)
	w.Settled()
	s.do(`CALL iasql_begin('b')`, `UPDATE queue SET delay_seconds = 2, message_retention_period = 200 WHERE name LIKE 'q_' AND name <> 'q6'`,
		`DELETE FROM queue WHERE name = 'q6'`, `INSERT INTO queue (name) VALUES ('plain'), ('changed')`,
		`INSERT INTO vpc (cidr_block, tags) VALUES ('10.1.0.0/16', '{"Name": "used"}'), ('10.2.0.0/16', '{"Name": "unused"}')`, `CALL iasql_commit()`)
	batch := s.get(`SELECT id FROM iasql_batches WHERE name = 'b'`)
	id := func(table, name string) string {
		return s.get(`SELECT id FROM ` + table + ` WHERE ` + map[string]string{"queue": "name", "vpc": "tags ->> 'Name'"}[table] + ` = '` + name + `'`)
	}
	q1, q2, q3, q4, changed, used := id("queue", "q1"), id("queue", "q2"), id("queue", "q3"), id("queue", "q4"), id("queue", "changed"), id("vpc", "used")
	other := connect(w, w.Login("other", "iasql_user"))
	other.do(`UPDATE queue SET delay_seconds = 5 WHERE name IN ('q1', 'changed')`, `DELETE FROM queue WHERE name = 'q3'`,
		`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '10.1.1.0/24' FROM vpc WHERE tags ->> 'Name' = 'used'`,
		`CALL iasql_begin('no')`, `UPDATE queue SET delay_seconds = 8 WHERE name = 'q5'`, `CALL iasql_rollback()`)
	w.Settled()
	w.CLI("sqs", "set-queue-attributes", "--queue-url", s.get(`SELECT url FROM queue WHERE name = 'q2'`), "--attributes", "DelaySeconds=9")
	w.CLI("sqs", "delete-queue", "--queue-url", s.get(`SELECT url FROM queue WHERE name = 'q4'`))
	w.Eventually(2*time.Minute, "the drift is pulled", func() bool {
		w.PSQL(`SELECT iasql_sync_now()`)
		return s.get(`SELECT string_agg(name || delay_seconds, ',' ORDER BY name) FROM queue WHERE name LIKE 'q_'`) == "q15,q29,q52"
	})
	s.do(`CALL iasql_undo(` + batch + `)`)
	said := s.notices()
	for _, want := range []string{
		"record " + q1 + " of queue: what was written since stays: delay_seconds",
		"record " + q2 + " of queue: what was written since stays: delay_seconds",
		"record " + q3 + " of queue: it was deleted since, and stays so",
		"record " + q4 + " of queue: it was deleted since, and stays so",
		"record " + changed + " of queue: it stays, as it was changed since: delay_seconds",
		"record " + used + " of vpc: it stays, as record ",
		"batch " + s.get(`SELECT max(id) FROM iasql_batches`) + " is open and undoes batch " + batch,
	} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q: %s", want, said)
		}
	}
	if n := strings.Count(said, "stay"); n != 6 {
		t.Errorf("it names %d records: %s", n, said)
	}
	s.do(`CALL iasql_commit()`)
	w.Settled()
	compare(t, "after the undoing", s.get(`SELECT string_agg(concat_ws(' ', name, delay_seconds, message_retention_period), ', ' ORDER BY name) FROM queue`),
		"changed 5 345600, q1 5 100, q2 9 100, q5 1 100, q6 1 100")
	compare(t, "what is in use stays", s.get(`SELECT string_agg(tags ->> 'Name', ',') FROM vpc WHERE tags ->> 'Name' LIKE '%used'`), "used")

	// A second time there is nothing left to take back.
	s.do(`CALL iasql_undo(` + batch + `)`)
	compare(t, "what a second undoing would do", s.get(`SELECT count(*) FROM iasql_preview()`), "0")
	s.do(`CALL iasql_rollback()`)
}

// Secrets are not in the audit log, and a restore says so.
func TestRestoreHasNoSecrets(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_secrets_manager")
	s := user(w)
	s.do(`INSERT INTO secret (name, description, value) VALUES ('password', 'first', 'correct horse')`)
	w.Settled()
	then, id := s.now(), s.get(`SELECT id FROM secret`)
	s.do(`UPDATE secret SET description = 'second', value = 'battery staple'`)
	w.Settled()
	restore := `CALL iasql_restore('secret', ` + id + `, '` + then + `')`
	s.do(restore)
	if got := s.notices(); !strings.Contains(got, "value of record "+id+" of secret is not restored: it is a secret, which the audit log does not have") {
		t.Errorf("it says %s", got)
	}
	compare(t, "what is restored", s.get(`SELECT changes::text FROM iasql_preview()`), `{"description": {"to": "first", "from": "second"}}`)
	s.do(`CALL iasql_rollback()`, `DELETE FROM secret`)
	w.Settled()
	s.do(restore)
	if got := s.notices(); strings.Count(got, "value of record "+id+" of secret is not restored") != 2 {
		t.Errorf("of what is gone it says %s", got)
	}
	s.do(`CALL iasql_rollback()`)
	if got := s.get(`SELECT string_agg("from"::text || "to"::text, '') FROM iasql_changes_since('-infinity')`); strings.Contains(got, "horse") || strings.Contains(got, "staple") {
		t.Errorf("the changes have a secret: %s", got)
	}
	compare(t, "what has gone out is no change", s.get(`SELECT count(*) FROM iasql_changes_since('`+then+`') WHERE table_name = 'secret' AND by_whom IS DISTINCT FROM current_user`), "0")
}
