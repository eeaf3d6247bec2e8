package adversary

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
)

// What anybody says on the queue's channels neither pauses queues, nor cancels
// jobs, nor makes leaders resign.
func TestQueueIsNotSteered(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	w.Settled()
	outsider := newSession(w, w.Login("outsider"))
	leader := w.Admin(`SELECT leader_id, elected_at FROM iasql_river.river_leader`)
	for _, payload := range []string{
		`{"action": "pause", "queue": "*"}`, `{"action": "pause", "queue": "iasql"}`,
		`{"action": "pause", "queue": "iasql_requests"}`,
		`{"action": "metadata_changed", "queue": "iasql", "metadata": {}}`,
	} {
		outsider.exec(`SELECT pg_notify('iasql_river.river_control', '` + payload + `')`)
	}
	outsider.exec(`SELECT pg_notify('iasql_river.river_control', format('{"action": "cancel", "queue": "iasql", "job_id": %s}', i)) FROM generate_series(1, 1000) i`)
	outsider.exec(`SELECT pg_notify('iasql_river.river_leadership', '{"action": "request_resign", "leader_id": "x"}')`)
	time.Sleep(500 * time.Millisecond)
	for i := range 3 {
		edits(w, fmt.Sprintf("queue-%d", i))
	}
	w.PSQL(`SELECT iasql_sync_now()`)
	if now := w.Admin(`SELECT leader_id, elected_at FROM iasql_river.river_leader`); now != leader {
		t.Errorf("the leader was %s and is %s", leader, now)
	}
}

// Garbage on any channel, as much as there can be, costs neither memory nor the
// log, and edits still arrive.
func TestFlood(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	engine := w.Serve()
	w.Install(east, "aws_sqs")
	w.Settled()
	login := w.Login("outsider")
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	flood := func(channel, payload string) {
		outsider := newSession(w, login)
		go func() {
			defer func() { done <- struct{}{} }()
			statement := fmt.Sprintf(`SELECT pg_notify('%s', %s) FROM generate_series(1, 1000) i`, channel, payload)
			for ctx.Err() == nil {
				if _, err := outsider.Exec(ctx, statement); err != nil {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
		}()
	}
	flood(`iasql_river.river_insert`, `repeat('x', 7000) || i`)
	flood(`iasql_river.river_insert`, `format('{"queue": "iasql", "n": %s}', i)`)
	flood(`iasql_push`, `CASE WHEN i % 2 = 0 THEN 'default' ELSE 'nobody' || i END`)
	flood(`iasql_settings`, `i::text`)
	before := len(engine.Log())
	scheduled := strings.Count(engine.Log(), "full cycles are scheduled")
	for i := range 5 {
		edits(w, fmt.Sprintf("drowned-%d", i))
	}
	w.PSQL(`SELECT iasql_sync_now()`)
	w.PSQL(`UPDATE iasql_settings SET value = '90 seconds' WHERE name = 'sync_interval'`)
	w.Eventually(soon, "the interval is put in force", func() bool {
		return strings.Count(engine.Log(), "full cycles are scheduled") == scheduled+1
	})
	time.Sleep(2 * time.Second)
	stop()
	for range 4 {
		<-done
	}
	if said := len(engine.Log()) - before; said > 20_000 {
		t.Errorf("the engine said %d bytes: %s", said, engine.Log()[before:before+2000])
	}
	if n := strings.Count(engine.Log(), "full cycles are scheduled"); n != scheduled+1 {
		t.Errorf("full cycles were scheduled %d times", n-scheduled)
	}
}
