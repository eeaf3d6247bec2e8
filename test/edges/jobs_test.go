package edges

import (
	"testing"
	"time"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/stopwatch"
)

// Jobs that a dead engine left as running, and any number of others that look
// like it, keep no other engine from an account's cycles.
func TestStuckJobs(t *testing.T) {
	t.Parallel()
	w := start(t)
	called := make(chan struct{}, 16)
	heal := w.fault(func(c faultproxy.Call) faultproxy.Fault {
		if c.Action != "CreateQueue" {
			return faultproxy.Fault{}
		}
		return faultproxy.Fault{Before: func() { called <- struct{}{}; time.Sleep(time.Second) }}
	})
	w.PSQL(`INSERT INTO queue (name) VALUES ('orphan')`)
	<-called
	w.engine.Kill()
	heal()
	if got := w.Admin(`SELECT count(*) > 0 FROM iasql_river.river_job WHERE kind = 'push' AND state = 'running'`); got != "t" {
		t.Fatal("the dead engine left no job as running")
	}
	// As if it had died in the middle of everything.
	w.Admin(`INSERT INTO iasql_river.river_job (args, kind, max_attempts, attempt, queue, state, attempted_at, attempted_by, unique_key, unique_states)
		SELECT '{"account": "default"}', k, 3, 1, 'iasql', 'running', now() - interval '1 hour', ARRAY['engine-dead'], sha256(convert_to(concat_ws(':', 'iasql', k, 'default') || CASE WHEN n > 1 THEN n::text ELSE '' END, 'UTF8')), B'10010001'
		FROM unnest(ARRAY['push', 'sync', 'tick']) k, generate_series(1, 50) n`,
		`INSERT INTO iasql_river.river_job (args, kind, max_attempts, attempt, queue, state, attempted_at, attempted_by)
		SELECT '{"request": 999999}', 'request', 1, 1, 'iasql_requests', 'running', now() - interval '1 hour', ARRAY['engine-dead'] FROM generate_series(1, 50)`)
	begun := stopwatch.Start()
	w.engine = w.Serve()
	w.Becomes(time.Minute, "t", `SELECT url IS NOT NULL FROM queue WHERE name = 'orphan'`)
	w.unharmed()
	if took := begun.Took(); took > time.Minute {
		t.Errorf("the account's cycles went on after %s", took)
	}
	w.create("outside", nil, nil)
	w.sync()
	if got := w.PSQL(`SELECT count(*) FROM queue WHERE name = 'outside'`); got != "1" {
		t.Error("what the cloud has made is not found")
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_operations WHERE action = 'CreateQueue' AND result = 'ok' AND table_name = 'queue' AND record_id = (SELECT id FROM queue WHERE name = 'orphan')`); got > "1" {
		t.Errorf("created %s times", got)
	}
	w.Settled()
	w.quiet()
	w.oneLineLog()
}
