package batches

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
	"iasql/internal/test/stopwatch"
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
	// what was not made shows at once
	w.PSQL(`UPDATE iasql_settings SET value = '1 second' WHERE name = 'consistency_window'`)
	return w, still
}

// A commit says how far it is while it waits, and ends though AWS never gives a final
// answer, with AWS's last one (finding 1).
func TestCommitThatGetsNowhere(t *testing.T) {
	t.Parallel()
	w, _ := outOfOrder(t)
	s := user(w)
	connect(w, w.AdminURL).refused("IA007", []string{"at least 1 second"},
		`UPDATE iasql_settings SET value = '0' WHERE name = 'progress_timeout'`)
	w.Admin(`UPDATE iasql_settings SET value = '9 seconds' WHERE name = 'progress_timeout'`)
	s.do(`CALL iasql_begin('stuck')`, `INSERT INTO queue (name) VALUES ('never'), ('made')`)
	committed := s.later(`CALL iasql_commit()`)
	w.Becomes(30*time.Second, "stuck|committing|2|1|1|t",
		`SELECT name, phase, total, done, retrying, message LIKE 'record 1 of queue: Creating: %out of order%' FROM iasql_progress`)
	w.Becomes(10*time.Second, "1", `SELECT count(*) FROM iasql_get_errors() WHERE message LIKE '%out of order%'`)
	select {
	case err := <-committed:
		if text := spelled(err); !strings.HasPrefix(text, "IA026") || !strings.Contains(text, "without progress") ||
			!strings.Contains(text, "out of order") {
			t.Errorf("the commit says %s", text)
		}
	case <-time.After(2 * time.Minute):
		t.Fatal("the commit does not end")
	}
	if got := s.notices(); !strings.Contains(got, "1 of 2 done, 1 retrying: record 1 of queue: Creating: ") {
		t.Errorf("meanwhile it said %s", got)
	}
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT count(*) FROM queue`, `SELECT outcome FROM iasql_batches`,
		`SELECT count(*) FROM iasql_progress`); got != "0\nrolled back\n0" {
		t.Errorf("left are %s", got)
	}
}

// A commit says what it is doing while nothing is done yet: how many objects it has looked at, how many changes the
// cloud has carried out, and how many of these it has looked at again.
func TestCommitSaysWhatItIsDoing(t *testing.T) {
	t.Parallel()
	const n = 60
	w, proxy := harness.StartBehindProxy(t, east, "aws_iam")
	s := user(w)
	s.do(`CALL iasql_begin('slow')`, `INSERT INTO iam_role (role_name, assume_role_policy_document)
		SELECT 'slow-' || i, '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]}' FROM generate_series(1, 60) i`)
	slow := make(chan struct{})
	ticker := time.NewTicker(80 * time.Millisecond) // one call at a time
	defer ticker.Stop()
	t.Cleanup(sync.OnceFunc(func() { close(slow) }))
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		if c.Action != "GetRole" && c.Action != "CreateRole" {
			return faultproxy.Fault{}
		}
		return faultproxy.Fault{Before: func() {
			select {
			case <-ticker.C:
			case <-slow:
			}
		}}
	})
	committed := s.later(`CALL iasql_commit()`)
	var looked, made, confirmed, unconfirmed, last int
	var still time.Duration
	moved := stopwatch.Start()
	for ended := false; !ended; {
		select {
		case err := <-committed:
			if err != nil {
				t.Fatal(err)
			}
			ended = true
			continue
		case <-time.After(200 * time.Millisecond):
		}
		now := w.PSQL(`SELECT done, carried_out, coalesce(step, ''), coalesce(step_done, 0), coalesce(step_total, 0), coalesce(calls, 0) FROM iasql_progress`)
		if now == "" {
			continue
		}
		f := strings.Split(now, "|")
		at := func(i int) int { v, _ := strconv.Atoi(f[i]); return v }
		if at(3) > at(4) || at(1) < at(0) || at(1) > n {
			t.Errorf("it says %s", now)
		}
		part := at(3) > 0 && at(3) < at(4)
		switch {
		case part && f[2] == "looking at objects" && at(1) == 0:
			looked++
		case part && f[2] == "making changes" && at(1) > 0:
			made++
		case part && f[2] == "looking at objects" && at(1) == n && at(0) == 0:
			confirmed++
		}
		if at(1) > at(0) {
			unconfirmed++
		}
		if sum := at(0) + at(1) + at(3) + at(5); sum != last {
			last, moved = sum, stopwatch.Start()
		}
		still = max(still, moved.Took())
	}
	if looked == 0 || made == 0 || confirmed == 0 || unconfirmed == 0 {
		t.Errorf("it was seen %d times looking before, %d times making changes, %d times confirming them, %d times "+
			"with what is carried out and not confirmed", looked, made, confirmed, unconfirmed)
	}
	if still > 4*time.Second {
		t.Errorf("it stood still for %s", still)
	}
	said := s.notices()
	for _, want := range []string{"0 of 60 done; looking at objects: ",
		" carried out and not yet confirmed; making changes: ",
		"60 carried out and not yet confirmed; looking at objects: "} {
		if !strings.Contains(said, want) {
			t.Errorf("no notice says %q: %s", want, said)
		}
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
		s.refused("IA007", []string{"continue", "rollback"}, `CALL iasql_begin('cancelled')`,
			`CALL iasql_commit(on_cancel => 'later')`)
		s.do(`INSERT INTO queue (name) VALUES ('never')`)
		pid := s.get(`SELECT pg_backend_pid()`)
		committed := s.later(c.call)
		w.Becomes(30*time.Second, "1", `SELECT retrying FROM iasql_progress`)
		w.Admin(`SELECT pg_cancel_backend(` + pid + `)`)
		if text := spelled(<-committed); !strings.HasPrefix(text, "57014") || !strings.Contains(text, c.says) ||
			!strings.Contains(text, "iasql_progress") {
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
	w.CLI("sqs", "set-queue-attributes", "--queue-url", w.PSQL(`SELECT url FROM queue`), "--attributes",
		"VisibilityTimeout=77")
	s := user(w)
	s.do(`CALL iasql_begin()`, `UPDATE queue SET delay_seconds = 3`,
		`INSERT INTO security_group (vpc_id, group_name, description) SELECT id, 'web', 'of the shop' FROM vpc WHERE cidr_block = '10.1.0.0/16'`)
	if got := s.get(`SELECT string_agg(direction || ' ' || description || ': ' || reason, E'\n' ORDER BY direction, description) FROM iasql_preview()`); got !=
		"pull update queue both in us-east-1: changed in the cloud\npush create security_group web in us-east-1: "+
			"inserted here\npush update queue both in us-east-1: changed here" {
		t.Errorf("the preview says\n%s", got)
	}
	s.do(`CALL iasql_rollback()`)
}
