package contract

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/jackc/pgx/v5"

	"iasql/internal/test/harness"
)

// listen returns what says whether an event has come: one whose JSON has all
// of the members wanted.
func listen(w *harness.World) (await func(want map[string]any)) {
	w.Helper()
	conn, err := pgx.Connect(w.Context(), w.UserURL)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { conn.Close(context.Background()) })
	if _, err := conn.Exec(w.Context(), `LISTEN iasql_events`); err != nil {
		w.Fatal(err)
	}
	var seen []map[string]any
	has := func(event, want map[string]any) bool {
		for k, v := range want {
			have, ok := event[k]
			if !ok || v != nil && have != v {
				return false
			}
		}
		return true
	}
	return func(want map[string]any) {
		w.Helper()
		for _, event := range seen {
			if has(event, want) {
				return
			}
		}
		ctx, cancel := context.WithTimeout(w.Context(), 20*time.Second)
		defer cancel()
		for {
			n, err := conn.WaitForNotification(ctx)
			if errors.Is(err, context.DeadlineExceeded) {
				w.Fatalf("no event %v among %v", want, seen)
			}
			if err != nil {
				w.Fatal(err)
			}
			var event map[string]any
			if err := json.Unmarshal([]byte(n.Payload), &event); err != nil {
				w.Fatalf("event %q: %v", n.Payload, err)
			}
			seen = append(seen, event)
			if has(event, want) {
				return
			}
		}
	}
}

// Everything that happens is told, by ids.
func TestEvents(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	engine := w.Serve()
	w.Install(east, "aws_sqs", "aws_vpc")
	w.PSQL(`INSERT INTO queue (name) VALUES ('told')`, `SELECT iasql_wait_for_all(20)`)
	await := listen(w)

	w.PSQL(`CALL iasql_begin()`, `CALL iasql_rollback()`)
	await(map[string]any{"event": "batch opened", "batch": nil})
	await(map[string]any{"event": "batch closed", "batch": nil})

	client := sqs.NewFromConfig(w.AWS.Config("us-east-1"))
	url := w.PSQL(`SELECT url FROM queue`)
	set := func(seconds string) {
		t.Helper()
		if _, err := client.SetQueueAttributes(t.Context(),
			&sqs.SetQueueAttributesInput{QueueUrl: &url, Attributes: map[string]string{"DelaySeconds": seconds}}); err != nil {
			t.Fatal(err)
		}
	}
	set("3")
	w.PSQL(`SELECT iasql_sync_now()`)
	await(map[string]any{"event": "cycle finished", "cycle": nil})
	await(map[string]any{"event": "drift pulled", "cycle": nil, "count": 1.0})

	w.PSQL(`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '192.168.0.0/24' FROM vpc`)
	await(map[string]any{"event": "record failed", "table": "subnet", "records": nil, "count": 1.0})
	w.PSQL(`DELETE FROM subnet WHERE cidr_block = '192.168.0.0/24'`)

	engine.Stop()
	w.PSQL(`UPDATE queue SET delay_seconds = 8`)
	set("4")
	w.Serve()
	await(map[string]any{"event": "conflict", "table": "queue", "conflicts": nil, "count": 1.0})
	w.Becomes(10*time.Second, "queue|delay_seconds|8|4|3|pushed",
		`SELECT table_name, column_name, database_value, cloud_value, base, resolved FROM iasql_conflicts`)
	if got := w.PSQL(`SELECT what FROM iasql_history('queue', (SELECT id FROM queue)) WHERE kind = 'conflict'`); got != "delay_seconds: pushed" {
		t.Errorf("history: %s", got)
	}

	// However many fail at once, a payload stays small and their number is told.
	w.Admin(`SET ROLE iasql_engine`,
		`INSERT INTO iasql_internal.record_state (table_name, record_id, account, state, review)
		SELECT 'queue', 1000000 + n, 'default', 'CreatingFailed', true FROM generate_series(1, 2000) n`)
	await(map[string]any{"event": "record failed", "table": "queue", "count": 2000.0})
	w.Admin(`DO $$ BEGIN FOR n IN 1..500 LOOP INSERT INTO iasql_internal.record_state (table_name, record_id, account, state, review)
		VALUES ('queue', 2000000 + n, 'default', 'CreatingFailed', true); END LOOP; END $$`)
	await(map[string]any{"event": "more"})
}

// Old rows go; what is pending, or may have to be undone, stays.
func TestRetention(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	engine := w.Serve()
	w.Install(east, "aws_sqs")
	w.PSQL(`INSERT INTO queue (name) VALUES ('old')`, `SELECT iasql_wait_for_all(20)`, `SELECT iasql_sync_now()`)
	engine.Stop()
	w.PSQL(`UPDATE queue SET delay_seconds = 8`) // nobody pushes it
	w.Admin(`UPDATE iasql_audit_log SET ts = ts - interval '91 days'`,
		`UPDATE iasql_operations SET started = started - interval '91 days', ended = ended - interval '91 days'`,
		`UPDATE iasql_cycles SET started = started - interval '91 days', ended = ended - interval '91 days'`,
		`UPDATE iasql_internal.request SET asked_at = asked_at - interval '91 days', ended = ended - interval '91 days'`,
		// Conflicts: decided, decided by a person and not carried out yet, open.
		`INSERT INTO iasql_conflicts (table_name, record_id, column_name, audit_id, at, resolved)
		 SELECT 'queue', 1, v.name, CASE WHEN v.name = 'carried out' THEN 1 ELSE (SELECT max(id) FROM iasql_audit_log) END, now() - interval '91 days', v.resolved
		 FROM (VALUES ('carried out', 'pushed'), ('asked for', 'database'), ('open', NULL)) v (name, resolved)`)
	w.PSQL(`INSERT INTO queue (name) VALUES ('new')`)

	w.Admin(`UPDATE iasql_settings SET value = '100 days' WHERE name = 'audit_retention'`)
	w.Admin(`UPDATE iasql_internal.pruning SET last_run = '-infinity'`, `SELECT iasql_internal.tick()`)
	if got := w.PSQL(`SELECT count(*) > 25 FROM iasql_audit_log`); got != "t" {
		t.Error("rows younger than the retention are gone")
	}
	w.Admin(`UPDATE iasql_settings SET value = '90 days' WHERE name = 'audit_retention'`)
	w.Admin(`SELECT iasql_internal.tick()`)
	if got := w.PSQL(`SELECT count(*) > 25 FROM iasql_audit_log`); got != "t" {
		t.Error("it was done twice in an hour")
	}
	w.Admin(`UPDATE iasql_internal.pruning SET last_run = now() - interval '61 minutes'`)
	// An open batch keeps everything since it began, however long it is open.
	w.Admin(`INSERT INTO iasql_internal.batch (opened_by, opened_at) VALUES ('somebody', now() - interval '1 year')`,
		`SELECT iasql_internal.prune()`)
	if got := w.PSQL(`SELECT count(*) > 25 FROM iasql_audit_log`); got != "t" {
		t.Error("rows since the open batch began are gone")
	}
	w.Admin(`UPDATE iasql_internal.batch SET closed_at = now(), phase = 'closed', outcome = 'void'`,
		`UPDATE iasql_internal.pruning SET last_run = '-infinity'`,
		`SELECT iasql_internal.tick()`)
	if got := w.PSQL(`SELECT string_agg(change_type, ' ' ORDER BY id) FROM iasql_audit_log WHERE table_name IS NOT NULL`); got != "UPDATE INSERT" {
		t.Errorf("left in the audit log: %s", got)
	}
	if got := w.Admin(`SELECT (SELECT count(*) FROM iasql_operations), (SELECT count(*) FROM iasql_internal.request), (SELECT count(*) FROM iasql_cycles WHERE kind = 'full')`); got != "0|0|1" {
		t.Errorf("operations, requests and full cycles left: %s", got)
	}
	if got := w.PSQL(`SELECT string_agg(column_name, ', ' ORDER BY column_name) FROM iasql_conflicts`); got != "asked for, open" {
		t.Errorf("conflicts left: %s", got)
	}
	w.Admin(`DELETE FROM iasql_conflicts`)
	if got := w.Refused(`SELECT * FROM iasql_as_of('queue', now() - interval '200 days')`); !contains(got, "IA019", "audit_retention") {
		t.Errorf("before what is kept: %s", got)
	}
	w.Serve()
	w.Settled()
}
