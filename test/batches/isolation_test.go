package batches

import (
	"strings"
	"testing"
	"time"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
)

// While a batch is open everything else goes on: others' edits are pushed, drift is
// pulled, other batches are committed. What it has staged is left alone, and its
// rollback touches nothing else (finding 3).
func TestOthersGoOn(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	w.PSQL(`INSERT INTO queue (name, delay_seconds) VALUES ('staged', 1), ('drifts', 1), ('gone', 1)`)
	w.Settled()
	one, two := user(w), connect(w, w.Login("two", "iasql_user"))
	one.do(`CALL iasql_begin('one')`, `INSERT INTO queue (name) VALUES ('ofone')`,
		`UPDATE queue SET delay_seconds = 2 WHERE name = 'staged'`, `DELETE FROM queue WHERE name = 'gone'`)
	url := func(name string) string { return w.PSQL(`SELECT url FROM queue WHERE name = '` + name + `'`) }
	for _, name := range []string{"staged", "drifts"} {
		w.CLI("sqs", "set-queue-attributes", "--queue-url", url(name), "--attributes", "DelaySeconds=7")
	}
	two.do(`INSERT INTO queue (name) VALUES ('oftwo')`, `SELECT iasql_wait_for_all(60)`, `SELECT iasql_sync_now()`,
		`CALL iasql_begin('two')`, `INSERT INTO queue (name) VALUES ('batchtwo')`, `CALL iasql_commit()`)
	if got := two.get(`SELECT string_agg(name || delay_seconds || (url IS NOT NULL), ',' ORDER BY name) FROM queue`); got != "batchtwo0true,drifts7true,ofone0false,oftwo0true,staged2true" {
		t.Errorf("while a batch is open there are %s", got)
	}
	if got := w.Admin(`SELECT count(*) FROM iasql_operations WHERE key LIKE '%ofone' OR key LIKE '%gone' AND kind = 'delete'`); got != "0" {
		t.Errorf("%s calls for what is staged", got)
	}
	one.do(`CALL iasql_rollback()`)
	w.PSQL(`SELECT iasql_wait_for_all(60)`, `SELECT iasql_sync_now()`)
	if got := two.get(`SELECT string_agg(name || delay_seconds || (url IS NOT NULL), ',' ORDER BY name) FROM queue`); got != "batchtwo0true,drifts7true,gone1true,oftwo0true,staged7true" {
		t.Errorf("after the rollback there are %s", got)
	}
	if got := w.Admin(`SELECT count(*) FROM iasql_operations WHERE kind = 'delete' OR key LIKE '%ofone'`); got != "0" {
		t.Errorf("the rollback led to %s calls", got)
	}
}

// A staged record is locked for others, by name of the batch and its owner; so are
// what it is or was called, what only the batch has made, and what a rollback needs.
func TestStagedIsLocked(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_vpc", "aws_sqs")
	w.PSQL(`INSERT INTO vpc (cidr_block) VALUES ('10.1.0.0/16'), ('10.2.0.0/16')`,
		`INSERT INTO queue (name) VALUES ('a'), ('b'), ('free')`,
		`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '10.1.1.0/24' FROM vpc WHERE cidr_block = '10.1.0.0/16'`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`)
	one, two := connect(w, w.Login("annie", "iasql_user")), user(w)
	one.do(`CALL iasql_begin('shop')`, `UPDATE queue SET delay_seconds = 1 WHERE name = 'a'`,
		`DELETE FROM queue WHERE name = 'b'`,
		`INSERT INTO vpc (cidr_block) VALUES ('10.3.0.0/16')`, `DELETE FROM subnet WHERE cidr_block = '10.1.1.0/24'`)
	named := []string{"(shop) of annie", "iasql_join('shop')"}
	two.refused("IA020", named, `UPDATE queue SET delay_seconds = 2`)
	two.refused("IA020", named, `DELETE FROM queue WHERE name = 'a'`)
	two.refused("IA020", named, `INSERT INTO queue (name) VALUES ('b')`)
	two.refused("IA020", append(named, "only staged"),
		`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '10.3.1.0/24' FROM vpc WHERE cidr_block = '10.3.0.0/16'`)
	two.refused("IA020", append(named, "referred to it before"), `DELETE FROM vpc WHERE cidr_block = '10.1.0.0/16'`)
	two.do(`UPDATE queue SET delay_seconds = 3 WHERE name = 'free'`, `DELETE FROM vpc WHERE cidr_block = '10.2.0.0/16'`)
	two.refused("IA020", append(named, "staged"), `CALL iasql_begin()`,
		`UPDATE queue SET delay_seconds = 2 WHERE name = 'a'`)
	// Another batch has to wait, too.
	const refers = `INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '10.3.2.0/24' FROM vpc WHERE cidr_block = '10.3.0.0/16'`
	two.refused("IA020", append(named, "only staged"), refers)
	// A table of somebody's own may refer to anything, and says so.
	w.Admin(`CREATE TABLE notes (vpc bigint CONSTRAINT notes_of_vpc REFERENCES vpc)`,
		`INSERT INTO notes SELECT id FROM vpc WHERE cidr_block = '10.3.0.0/16'`)
	one.refused("23503", []string{"cannot be rolled back", "notes"}, `CALL iasql_rollback()`)
	w.Admin(`DROP TABLE notes`)
	one.do(`CALL iasql_commit()`)
	two.do(refers, `CALL iasql_commit()`)
	w.Settled()
	if got := two.get(`SELECT string_agg(v.cidr_block::text || ' ' || s.cidr_block, ',') FROM subnet s JOIN vpc v ON v.id = s.vpc_id WHERE NOT v.is_default AND s.subnet_id IS NOT NULL`); got != "10.3.0.0/16 10.3.2.0/24" {
		t.Errorf("in the end there are %s", got)
	}
}

// A session that is handed on, as poolers do, does not hand on its batch; the
// setting alone makes nobody a member.
func TestPooledSession(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	// Each has a queue of its own: SQS makes none of a name that was deleted within the minute (page CreateQueue).
	for reset, next := range map[string]string{`DISCARD ALL`: "next1", `RESET ALL`: "next2"} {
		s := user(w)
		s.do(`CALL iasql_begin('pooled')`, `INSERT INTO queue (name) VALUES ('mine')`)
		token := s.get(`SELECT current_setting('iasql.batch')`)
		s.do(reset, `INSERT INTO queue (name) VALUES ('`+next+`')`, `SELECT iasql_wait_for_all(60)`)
		if got := s.get(`SELECT string_agg(name, ',') FROM queue WHERE url IS NOT NULL`); got != next {
			t.Errorf("%s: in the cloud there are %s", reset, got)
		}
		other := user(w)
		other.do(`SET iasql.batch = '` + token + `'`)
		other.refused("IA022", nil, `CALL iasql_commit()`)
		s.do(`CALL iasql_join('pooled')`, `CALL iasql_rollback()`, `DELETE FROM queue`, `SELECT iasql_wait_for_all(60)`)
	}
	// In transaction mode: each transaction joins.
	s, t2 := user(w), user(w)
	s.do(`CALL iasql_begin('by transaction')`, `DISCARD ALL`)
	t2.do(`BEGIN`, `CALL iasql_join('by transaction')`, `INSERT INTO queue (name) VALUES ('joined')`, `COMMIT`,
		`DISCARD ALL`)
	s.do(`CALL iasql_join('by transaction')`, `CALL iasql_commit()`)
	if got := s.get(`SELECT url IS NOT NULL FROM queue WHERE name = 'joined'`); got != "t" {
		t.Errorf("committed: %s", got)
	}
	// Nothing resets the session: membership ends with the transaction.
	s.do(`BEGIN`, `CALL iasql_begin('local', local => true)`, `INSERT INTO queue (name) VALUES ('local1')`, `COMMIT`,
		`INSERT INTO queue (name) VALUES ('nextclient')`)
	if got := s.get(`SELECT current_setting('iasql.batch')`); got != "" {
		t.Errorf("the session keeps %s", got)
	}
	s.refused("IA022", nil, `CALL iasql_commit()`)
	s.do(`BEGIN`, `CALL iasql_join('local', true)`, `INSERT INTO queue (name) VALUES ('local2')`, `COMMIT`,
		`SELECT iasql_wait_for_all(60)`)
	if got := s.get(`SELECT string_agg(name, ',' ORDER BY name) FROM queue WHERE url IS NULL`); got != "local1,local2" {
		t.Errorf("staged: %s", got)
	}
	s.do(`BEGIN`, `CALL iasql_join('local', true)`, `CALL iasql_rollback()`, `COMMIT`)
	if got := s.get(`SELECT string_agg(name, ',' ORDER BY name) FROM queue WHERE name <> 'joined'`); got != "nextclient" {
		t.Errorf("left: %s", got)
	}
}

// A batch whose commit waits for a record that cannot be made is rolled back from
// another session: the commit says so, and there is one outcome (findings 1 and 2).
func TestRollbackDuringCommit(t *testing.T) {
	t.Parallel()
	w, proxy := harness.StartBehindProxy(t, east, "aws_sqs")
	// what was not made shows at once
	w.PSQL(`UPDATE iasql_settings SET value = '1 second' WHERE name = 'consistency_window'`)
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		if c.Action == "CreateQueue" && strings.Contains(c.Body, "never") {
			return faultproxy.Fault{Status: 500, Code: "InternalError", Message: "try again"}
		}
		return faultproxy.Fault{}
	})
	one, two := user(w), user(w)
	one.do(`CALL iasql_begin('stuck')`, `INSERT INTO queue (name) VALUES ('never'), ('made')`)
	committed := one.later(`CALL iasql_commit()`)
	w.Becomes(time.Minute, "t", `SELECT url IS NOT NULL FROM queue WHERE name = 'made'`)
	w.PSQL(`INSERT INTO queue (name) VALUES ('other')`, `SELECT iasql_wait_for_all(60)`) // nobody waits for it
	two.do(`CALL iasql_join('stuck')`, `CALL iasql_rollback(true)`)
	select {
	case err := <-committed:
		if text := spelled(err); !strings.HasPrefix(text, "IA022") {
			t.Errorf("the commit says %s", text)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the commit does not end")
	}
	if got := w.PSQL(`SELECT string_agg(DISTINCT outcome, ',') FROM iasql_batches`,
		`SELECT string_agg(message, ',') FROM iasql_audit_log WHERE change_type = 'CLOSE_TRANSACTION'`); got != "rolled back\nrolled back" {
		t.Errorf("the outcome is %s", got)
	}
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT string_agg(name, ',') FROM queue`); got != "other" {
		t.Errorf("left are %s", got)
	}
}

// What a commit has made is undone, however much it is; the guard is not for that
// (finding 11).
func TestUndoingIsNotGuarded(t *testing.T) {
	t.Parallel()
	w, proxy := harness.StartBehindProxy(t, east, "aws_sqs")
	w.Admin(`UPDATE iasql_settings SET value = '5' WHERE name = 'max_deletes'`,
		`UPDATE iasql_settings SET value = '1 second' WHERE name = 'consistency_window'`)
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		if c.Action == "CreateQueue" && strings.Contains(c.Body, "never") {
			return faultproxy.Fault{Status: 500, Code: "InternalError", Message: "try again"}
		}
		return faultproxy.Fault{}
	})
	one, two := user(w), user(w)
	one.do(`CALL iasql_begin('many')`, `INSERT INTO queue (name) SELECT 'q' || i FROM generate_series(1, 12) i`,
		`INSERT INTO queue (name) VALUES ('never')`)
	committed := one.later(`CALL iasql_commit()`)
	w.Becomes(time.Minute, "12", `SELECT count(*) FROM queue WHERE url IS NOT NULL`)
	two.do(`CALL iasql_join('many')`, `CALL iasql_rollback(true)`)
	if err := <-committed; err == nil {
		t.Error("the commit reports success")
	}
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT count(*), (SELECT count(*) FROM iasql_status WHERE review) FROM queue`); got != "0|0" {
		t.Errorf("left are %s", got)
	}
}

// Undoing a batch leaves what it had adopted, as it was before, and does not bring
// back what the cloud has deleted since.
func TestUndoLeavesWhatWasThere(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	w.PSQL(`INSERT INTO queue (name) VALUES ('changed'), ('kept')`)
	w.Settled()
	s := user(w)
	w.CLI("sqs", "create-queue", "--queue-name", "there", "--attributes", "DelaySeconds=4")
	s.do(`CALL iasql_begin('adopts')`, `INSERT INTO queue (name, delay_seconds) VALUES ('there', 9), ('made', 9)`,
		`UPDATE queue SET delay_seconds = 8 WHERE name IN ('changed', 'kept')`,
		`CALL iasql_commit()`)
	batch := s.get(`SELECT id FROM iasql_batches WHERE name = 'adopts'`)
	w.CLI("sqs", "delete-queue", "--queue-url", s.get(`SELECT url FROM queue WHERE name = 'changed'`))
	w.Eventually(2*time.Minute, "the record of what was deleted is gone", func() bool {
		w.PSQL(`SELECT iasql_sync_now()`)
		return w.PSQL(`SELECT count(*) FROM queue WHERE name = 'changed'`) == "0"
	})
	s.do(`CALL iasql_undo(`+batch+`)`, `CALL iasql_commit()`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := s.get(`SELECT string_agg(name || delay_seconds, ',' ORDER BY name) FROM queue`); got != "kept0,there4" {
		t.Errorf("after the undo there are %s", got)
	}
	if got := w.Admin(`SELECT string_agg(key, ',') FROM iasql_operations WHERE kind = 'delete'`); !strings.HasSuffix(got, "made") || strings.Contains(got, ",") {
		t.Errorf("deleted were %s", got)
	}
}

// What a batch has renamed or deleted, and another record of the batch has adopted,
// is its first record's again after an undo, as it was.
func TestUndoGivesBackWhatChangedHands(t *testing.T) {
	t.Parallel()
	w, proxy := harness.StartBehindProxy(t, east, "aws_sqs")
	w.PSQL(`UPDATE iasql_settings SET value = '1 second' WHERE name = 'consistency_window'`)
	w.PSQL(`INSERT INTO queue (name, delay_seconds) VALUES ('renamed', 1), ('deleted', 2), ('a', 3)`)
	w.Settled()
	const all = `SELECT string_agg(id || name || delay_seconds || ' ' || right(url, 7), ',' ORDER BY id) FROM queue`
	before := w.PSQL(all)
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		if c.Action == "CreateQueue" && strings.Contains(c.Body, "never") {
			return faultproxy.Fault{Status: 400, Code: "InvalidParameterValue", Message: "no such queue"}
		}
		return faultproxy.Fault{}
	})
	s := user(w)
	s.do(`CALL iasql_begin('swaps')`, `SET iasql.allow_replace = on`,
		`UPDATE queue SET name = 'other' WHERE name = 'renamed'`, `DELETE FROM queue WHERE name = 'deleted'`,
		`INSERT INTO queue (name, delay_seconds) VALUES ('renamed', 7), ('deleted', 8), ('never', 9)`)
	s.refused("IA026", []string{"no such queue", "was undone"}, `CALL iasql_commit()`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`)
	if after := w.PSQL(all); after != before {
		t.Errorf("there were %s, and after the batch was undone there are %s", before, after)
	}
	if got := w.Admin(`SELECT count(*) FROM iasql_operations WHERE kind IN ('create', 'delete') AND result = 'ok' AND record_id > 3`); got != "0" {
		t.Errorf("%s objects were made or deleted", got)
	}

	// In the database alone: the old name of one is the new one of another.
	s.do(`CALL iasql_begin('shifts')`, `UPDATE queue SET name = 'b' WHERE name = 'a'`,
		`UPDATE queue SET name = 'a' WHERE name = 'deleted'`,
		`UPDATE queue SET name = 'deleted' WHERE name = 'renamed'`,
		`CALL iasql_rollback()`)
	if after := w.PSQL(all); after != before {
		t.Errorf("there were %s, and after a rollback there are %s", before, after)
	}
}
