package batches

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
)

// outOfOrder is a world in which AWS makes no queue called never while that is so.
func outOfOrder(t *testing.T) (w *harness.World, still *atomic.Bool) {
	t.Helper()
	w, proxy := harness.StartBehindProxy(t, east, "aws_sqs")
	still = &atomic.Bool{}
	still.Store(true)
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		if still.Load() && c.Action == "CreateQueue" && strings.Contains(c.Body, "never") {
			return faultproxy.Fault{Status: 500, Code: "InternalError", Message: "out of order"}
		}
		return faultproxy.Fault{}
	})
	w.PSQL(`UPDATE iasql_settings SET value = '1 second' WHERE name = 'consistency_window'`) // what was not made shows at once
	return w, still
}

// A commit says how far it is while it waits, and ends though AWS never gives a final
// answer, with AWS's last one (finding 1).
func TestCommitThatGetsNowhere(t *testing.T) {
	t.Parallel()
	w, _ := outOfOrder(t)
	s := user(w)
	s.refused("IA007", []string{"at least 1 second"}, `UPDATE iasql_settings SET value = '0' WHERE name = 'progress_timeout'`)
	s.do(`UPDATE iasql_settings SET value = '9 seconds' WHERE name = 'progress_timeout'`,
		`CALL iasql_begin('stuck')`, `INSERT INTO queue (name) VALUES ('never'), ('made')`)
	committed := s.later(`CALL iasql_commit()`)
	w.Becomes(30*time.Second, "stuck|committing|2|1|1|t", `SELECT name, phase, total, done, retrying, message LIKE 'record 1 of queue: Creating: %out of order%' FROM iasql_progress`)
	w.Becomes(10*time.Second, "1", `SELECT count(*) FROM iasql_get_errors() WHERE message LIKE '%out of order%'`)
	select {
	case err := <-committed:
		if text := spelled(err); !strings.HasPrefix(text, "IA026") || !strings.Contains(text, "without progress") || !strings.Contains(text, "out of order") {
			t.Errorf("the commit says %s", text)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the commit does not end")
	}
	if got := s.notices(); !strings.Contains(got, "1 of 2 done, 1 retrying: record 1 of queue: Creating: ") {
		t.Errorf("meanwhile it said %s", got)
	}
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT count(*) FROM queue`, `SELECT outcome FROM iasql_batches`, `SELECT count(*) FROM iasql_progress`); got != "0\nrolled back\n0" {
		t.Errorf("left are %s", got)
	}
}

// Who cancels a commit is told what becomes of the batch, and has said it (finding
// 10).
func TestCancelledCommit(t *testing.T) {
	t.Parallel()
	w, still := outOfOrder(t)
	for _, c := range []struct{ call, says, outcome string }{
		{`CALL iasql_commit()`, "the engine goes on with it", "committed"},
		{`CALL iasql_commit(on_cancel => 'rollback')`, "the engine rolls the batch back", "rolled back"},
	} {
		still.Store(true)
		s := user(w)
		s.refused("IA007", []string{"continue", "rollback"}, `CALL iasql_begin('cancelled')`, `CALL iasql_commit(on_cancel => 'later')`)
		s.do(`INSERT INTO queue (name) VALUES ('never')`)
		pid := s.get(`SELECT pg_backend_pid()`)
		committed := s.later(c.call)
		w.Becomes(30*time.Second, "1", `SELECT retrying FROM iasql_progress`)
		w.Admin(`SELECT pg_cancel_backend(` + pid + `)`)
		if text := spelled(<-committed); !strings.HasPrefix(text, "57014") || !strings.Contains(text, c.says) || !strings.Contains(text, "iasql_progress") {
			t.Errorf("%s: cancelled, it says %s", c.call, text)
		}
		still.Store(c.outcome != "committed")
		w.Becomes(time.Minute, c.outcome, `SELECT outcome FROM iasql_batches ORDER BY id DESC LIMIT 1`)
		want := map[string]string{"committed": "1", "rolled back": "0"}[c.outcome]
		if got := w.PSQL(`SELECT count(*) FROM queue WHERE url IS NOT NULL`); got != want {
			t.Errorf("%s: there are %s queues", c.call, got)
		}
		w.PSQL(`DELETE FROM queue`, `SELECT iasql_wait_for_all(60)`)
	}
}

// A preview says of each row why, and names what people have named (finding 10).
func TestPreviewSaysWhatIsMeant(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_security_group", "aws_sqs")
	w.PSQL(`INSERT INTO vpc (cidr_block) VALUES ('10.1.0.0/16')`, `INSERT INTO queue (name) VALUES ('both')`)
	w.Settled()
	w.CLI("sqs", "set-queue-attributes", "--queue-url", w.PSQL(`SELECT url FROM queue`), "--attributes", "VisibilityTimeout=77")
	s := user(w)
	s.do(`CALL iasql_begin()`, `UPDATE queue SET delay_seconds = 3`, `INSERT INTO security_group (vpc_id, group_name, description) SELECT id, 'web', 'of the shop' FROM vpc WHERE cidr_block = '10.1.0.0/16'`)
	if got := s.get(`SELECT string_agg(direction || ' ' || description || ': ' || reason, E'\n' ORDER BY direction, description) FROM iasql_preview()`); got !=
		"pull update queue both in us-east-1: changed in the cloud\npush create security_group web in us-east-1: inserted here\npush update queue both in us-east-1: changed here" {
		t.Errorf("the preview says\n%s", got)
	}
	s.do(`CALL iasql_rollback()`)
}
