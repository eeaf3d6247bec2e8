package batches

import (
	"fmt"
	"strings"
	gosync "sync"
	"testing"
	"time"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
)

// held is a world with one engine, and an AWS that does not answer the calls that are
// held, until release is called or the engine ends.
func held(t *testing.T, holds func(c faultproxy.Call) bool) (w *harness.World, engine *harness.Process,
	release func()) {
	t.Helper()
	w = harness.NewWorld(t)
	proxy := faultproxy.Start(t, w.AWS.Endpoint)
	w.Endpoint = proxy.URL
	engine = w.Serve()
	w.Install(east, "aws_sqs")
	released := make(chan struct{})
	held := func() bool {
		select {
		case <-released:
			return false
		default:
			return true
		}
	}
	release = gosync.OnceFunc(func() { close(released) })
	t.Cleanup(release)
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		switch {
		case c.Action == "CreateQueue" && strings.Contains(c.Body, "never"):
			return faultproxy.Fault{Status: 400, Code: "InvalidAttributeValue", Message: "not like this"}
		case holds(c) && held():
			return faultproxy.Fault{Before: func() { <-released }, Cut: true}
		}
		return faultproxy.Fault{}
	})
	return w, engine, release
}

// A commit goes on when its engine has ended, also if nobody waits for it, and if it was
// asked for by a transaction with edits of its own. Who waits is told, if there is no
// engine, that one has to be started.
func TestCommitGoesOn(t *testing.T) {
	t.Parallel()
	w, engine, release := held(t, func(c faultproxy.Call) bool {
		return c.Action == "CreateQueue" && strings.Contains(c.Body, "held")
	})
	waiting, deferred := user(w), user(w)
	waiting.do(`CALL iasql_begin('waiting')`,
		`INSERT INTO queue (name) SELECT 'a' || n FROM generate_series(1, 29) n UNION ALL SELECT 'a-held'`)
	deferred.do(`CALL iasql_begin('deferred')`, `BEGIN`,
		`INSERT INTO queue (name) SELECT 'b' || n FROM generate_series(1, 29) n UNION ALL SELECT 'b-held'`,
		`CALL iasql_commit('with its transaction')`, `COMMIT`)
	told := waiting.later(`CALL iasql_commit()`)
	w.Becomes(time.Minute, "t", `SELECT count(*) = 58 FROM queue WHERE url IS NOT NULL`)
	engine.Kill()
	if text := spelled(<-told); !strings.HasPrefix(text, "IA010") ||
		!strings.Contains(text, "goes on with the commit") {
		t.Errorf("without an engine the commit says %s", text)
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_batches WHERE phase = 'committing'`); got != "2" {
		t.Fatalf("%s batches are being committed", got)
	}
	release()
	w.Serve()
	w.Becomes(time.Minute, "committed\ncommitted", `SELECT outcome FROM iasql_batches`)
	if got := w.PSQL(`SELECT count(*) FROM queue WHERE url IS NOT NULL`, `SELECT count(*) FROM iasql_progress`); got != "60\n0" {
		t.Errorf("in the cloud, and under way: %s", got)
	}
	if got, _ := w.CLI("sqs", "list-queues")["QueueUrls"].([]any); len(got) != 60 {
		t.Errorf("AWS has %d queues", len(got))
	}
}

// Who waits for a commit hears how it ended from whichever engine ends it, and so of one
// that fails and is undone.
func TestUndoingGoesOn(t *testing.T) {
	t.Parallel()
	w, engine, release := held(t, func(c faultproxy.Call) bool { return c.Action == "DeleteQueue" })
	s := user(w)
	s.do(`CALL iasql_begin('fails')`, `INSERT INTO queue (name) SELECT 'a' || n FROM generate_series(1, 30) n`,
		`INSERT INTO queue (name) VALUES ('never')`)
	told := s.later(`CALL iasql_commit()`)
	w.Becomes(time.Minute, "reverting", `SELECT phase FROM iasql_batches`)
	w.Becomes(time.Minute, "t", `SELECT count(*) > 0 FROM iasql_operations WHERE kind = 'delete'`)
	w.Serve()
	engine.Kill()
	release()
	if text := spelled(<-told); !strings.HasPrefix(text, "IA026") || !strings.Contains(text, "failed and was undone") ||
		!strings.Contains(text, "not like this") {
		t.Errorf("the commit says %s", text)
	}
	if got := w.PSQL(`SELECT outcome FROM iasql_batches`, `SELECT count(*) FROM queue`); got != "rolled back\n0" {
		t.Errorf("it ended with %s", got)
	}
	if got, _ := w.CLI("sqs", "list-queues")["QueueUrls"].([]any); len(got) != 0 {
		t.Errorf("AWS has %v", got)
	}
}

// A session that has worked in a batch before joins it once more and commits it, all in one transaction, as clients of
// a pooler do: the engine, which lets go of the batch's sessions, does not wait for the one that waits for it.
func TestJoinAndCommitInTransaction(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	one, two := user(w), user(w)
	for i, end := range []string{`CALL iasql_commit()`, `CALL iasql_rollback()`} {
		one.do(`DISCARD ALL`, `CALL iasql_begin('shop')`,
			fmt.Sprintf(`INSERT INTO queue (name) VALUES ('joined%d')`, i))
		two.do(`CALL iasql_join('shop')`, `DISCARD ALL`)
		two.do(`SET statement_timeout = '60s'`, `BEGIN`, `CALL iasql_join('shop')`, end, `COMMIT`)
		if got := w.PSQL(`SELECT count(*) FROM iasql_batches WHERE outcome IS NULL`); got != "0" {
			t.Errorf("after %s %s batches are open", end, got)
		}
	}
	w.Settled()
	if got := w.PSQL(`SELECT string_agg(name, ' ') FROM queue`); got != "joined0" {
		t.Errorf("queues: %s", got)
	}
}
