package likeness

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/likeness"
)

// of is rules for start.
func of(rules ...likeness.Rule) func(string) []likeness.Rule {
	return func(string) []likeness.Rule { return rules }
}

// settles waits until nothing is pending and nobody is asked.
func settles(t *testing.T, w interface {
	PSQL(...string) string
	Eventually(time.Duration, string, func() bool)
}, what string) {
	t.Helper()
	w.Eventually(60*time.Second, what, func() bool {
		return w.PSQL(`SELECT count(*) FROM iasql_audit_log WHERE NOT settled`) == "0" && w.PSQL(unsettled) == ""
	})
}

// A listing of secrets that is minutes late reverts no row and imports nothing twice, and a
// secret that was deleted is not back (finding B6).
func TestLateListing(t *testing.T) {
	t.Parallel()
	secrets := &likeness.Secrets{}
	w, l := start(t, of(secrets), "aws_secrets_manager")
	w.PSQL(`UPDATE iasql_settings SET value = '0 seconds' WHERE name = 'consistency_window'`)
	w.PSQL(`INSERT INTO secret (name, description, value) VALUES ('stays', 'first', 'x'), ('goes', 'first', 'x')`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`)
	secrets.Late(true)
	w.PSQL(`UPDATE secret SET description = 'second' WHERE name = 'stays'`, `DELETE FROM secret WHERE name = 'goes'`,
		`INSERT INTO secret (name) VALUES ('new')`)
	w.Settled()
	for range 2 {
		w.PSQL(`SELECT iasql_sync_now()`)
		if got := w.PSQL(`SELECT string_agg(concat_ws(' ', name, description), ', ' ORDER BY name) FROM secret`); got != "new, stays second" {
			t.Fatalf("after a late listing the secrets are %s", got)
		}
	}
	w.Settled()
	secrets.Late(false)
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Settled()
	if l.Proxy.Count("CreateSecret") != 3 || l.Proxy.Count("DeleteSecret") != 1 || l.Proxy.Count("RestoreSecret") != 0 {
		t.Errorf("calls: %v", l.Proxy.Counts())
	}
	// The name of what is scheduled for deletion is taken; who inserts it gets the secret back.
	w.PSQL(`INSERT INTO secret (name, description) VALUES ('goes', 'again')`)
	settles(t, w, "the secret to be back")
	if n := l.Proxy.Count("RestoreSecret"); n != 1 {
		t.Errorf("%d restorations", n)
	}
}

// A secret that a service manages is shown as that service's. It is not deleted, and a change
// of it is refused.
func TestSecretOfService(t *testing.T) {
	t.Parallel()
	w, l := start(t, of(&likeness.Secrets{}), "aws_secrets_manager")
	w.CLI("secretsmanager", "create-secret", "--name", "rds!db-1", "--secret-string", "x")
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT name, owning_service FROM secret`); got != "rds!db-1|rds" {
		t.Fatalf("the secret is %s", got)
	}
	w.PSQL(`DELETE FROM secret`)
	w.Becomes(20*time.Second, "RemovingFailed", `SELECT state FROM iasql_status WHERE table_name = 'secret'`)
	w.PSQL(`INSERT INTO iasql_mode (mode) VALUES ('ENFORCE')`, `SELECT iasql_sync_now()`)
	if n := l.Proxy.Count("DeleteSecret"); n != 0 {
		t.Errorf("%d deletions of a secret of RDS", n)
	}
}

// A log group's key is changed in place: the group, and with it its logs, is never deleted
// (finding B10).
func TestLogGroupKey(t *testing.T) {
	t.Parallel()
	w, l := start(t, func(endpoint string) []likeness.Rule {
		return []likeness.Rule{&likeness.LogGroups{Working: 500 * time.Millisecond, Endpoint: endpoint}}
	}, "aws_cloudwatch")
	const key = "arn:aws:kms:us-east-1:123456789012:key/"
	w.PSQL(`INSERT INTO log_group (log_group_name, retention_in_days) VALUES ('/app', 7)`)
	settles(t, w, "the log group to be made")
	for _, to := range []string{"'" + key + "one'", "'" + key + "two'", "NULL"} {
		w.PSQL(`UPDATE log_group SET kms_key_id = `+to,
			`UPDATE log_group SET retention_in_days = CASE retention_in_days WHEN 7 THEN 14 ELSE 7 END`)
		settles(t, w, "the key to be changed")
		w.PSQL(`SELECT iasql_sync_now()`)
		if got := w.PSQL(`SELECT coalesce(quote_literal(kms_key_id), 'NULL') FROM log_group`); got != to {
			t.Errorf("the key is %s, want %s", got, to)
		}
	}
	if creates, deletes := l.Proxy.Count("CreateLogGroup"), l.Proxy.Count("DeleteLogGroup"); creates != 1 ||
		deletes != 0 {
		t.Errorf("%d creations and %d deletions of a log group", creates, deletes)
	}
}

// A table's time to live can be changed once an hour. The second change waits for that
// without asking anybody, and holds up nothing else (finding B15).
func TestTimeToLive(t *testing.T) {
	t.Parallel()
	w, l := start(t, func(endpoint string) []likeness.Rule {
		return []likeness.Rule{&likeness.Tables{Creating: 2 * time.Second, Updating: 2 * time.Second,
			Deleting: 3 * time.Second,
			Hour:     time.Hour, Tagging: 2 * time.Second, Endpoint: endpoint}}
	}, "aws_dynamo")
	// How often a table that takes changes was asked: while it is UPDATING, it refuses this as it does any other
	// change, and how often that is met depends on how long a cycle takes.
	var asked atomic.Int32
	l.Proxy.Observe(func(c faultproxy.Call, a faultproxy.Answer) {
		if c.Action == "UpdateTimeToLive" && !strings.Contains(string(a.Body), "ResourceInUseException") {
			asked.Add(1)
		}
	})
	w.PSQL(`INSERT INTO dynamo_table (table_name, primary_key, time_to_live_attribute, tags) VALUES ('items', '{"id": "S"}', 'until', '{"a": "1"}')`)
	settles(t, w, "the table to be made")
	w.PSQL(`UPDATE dynamo_table SET time_to_live_attribute = NULL, tags = '{"a": "2"}', deletion_protection_enabled = true`)
	w.Becomes(20*time.Second, "Updating|f",
		`SELECT state, review FROM iasql_status WHERE table_name = 'dynamo_table' AND message LIKE '%multiple times within a fixed interval%'`)
	w.Eventually(20*time.Second, "the rest to be changed", func() bool {
		var table struct {
			Table struct{ DeletionProtectionEnabled bool }
		}
		_ = json.Unmarshal([]byte(w.AWS.CLI(t, "dynamodb", "describe-table", "--table-name", "items")), &table)
		return table.Table.DeletionProtectionEnabled
	})
	w.PSQL(`UPDATE dynamo_table SET time_to_live_attribute = 'until', deletion_protection_enabled = false`)
	settles(t, w, "nothing to be left")
	if n := asked.Load(); n < 2 || n > 3 {
		t.Errorf("the time to live was asked to change %d times", n)
	}
	// DELETING it is neither there nor gone, and its successor waits for its name.
	w.PSQL(`BEGIN`, `SET LOCAL iasql.allow_replace = 'on'`, `UPDATE dynamo_table SET primary_key = '{"other": "S"}'`,
		`COMMIT`)
	settles(t, w, "the table to be another")
	if got := w.PSQL(`SELECT primary_key FROM dynamo_table`); got != `{"other": "S"}` {
		t.Errorf("the key is %s", got)
	}
	w.Admin(`UPDATE iasql_settings SET value = '1' WHERE name = 'max_delete_ratio'`)
	w.PSQL(`DELETE FROM dynamo_table`)
	settles(t, w, "the table to go")
	if got := w.PSQL(`SELECT count(*) FROM iasql_operations WHERE action = 'DeleteTable' AND result = 'ok'`); got != "2" {
		t.Errorf("%s deletions", got)
	}
}

// The name of a deleted queue is taken for a minute, changes show late, and so do listings:
// nothing is lost, made twice, or left to anybody. Replacements count in the guard (finding B7).
func TestQueuesInTime(t *testing.T) {
	t.Parallel()
	w, l := start(t, of(&likeness.Queues{Deleted: 6 * time.Second, Listing: time.Second,
		Changing: 1500 * time.Millisecond}), "aws_sqs")
	w.PSQL(`INSERT INTO queue (name) SELECT 'q' || i FROM generate_series(1, 12) i`)
	settles(t, w, "the queues to be made")
	w.PSQL(`UPDATE queue SET delay_seconds = 5`)
	settles(t, w, "the delay to be set")
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT count(*) FROM queue WHERE delay_seconds = 5`); got != "12" {
		t.Errorf("%s queues have the delay", got)
	}
	w.Admin(`UPDATE iasql_settings SET value = '10' WHERE name = 'max_deletes'`)
	w.PSQL(`UPDATE queue SET name = name || '-renamed'`)
	w.Becomes(20*time.Second, "12",
		`SELECT count(*) FROM iasql_status WHERE review AND message LIKE '%12 of them to replace them%'`)
	if n := l.Proxy.Count("DeleteQueue"); n != 0 {
		t.Errorf("%d queues were deleted past the guard", n)
	}
	w.PSQL(`UPDATE queue SET name = replace(name, '-renamed', '')`)
	settles(t, w, "the names to be back")
	w.PSQL(`BEGIN`, `DELETE FROM queue WHERE name = 'q1'`, `COMMIT`)
	w.Settled()
	w.PSQL(`INSERT INTO queue (name, delay_seconds) VALUES ('q1', 7)`)
	w.Becomes(20*time.Second, "Creating|f",
		`SELECT state, review FROM iasql_status WHERE table_name = 'queue' AND message LIKE '%QueueDeletedRecently%'`)
	// The engine would try again after AWS's minute, which is six seconds here.
	w.Eventually(30*time.Second, "the queue to be back", func() bool {
		w.PSQL(`SELECT iasql_retry('queue', id) FROM iasql_status s JOIN queue q ON q.id = s.record_id WHERE s.table_name = 'queue' AND s.state <> 'Present'`)
		return w.PSQL(unsettled) == ""
	})
	if got := w.PSQL(`SELECT count(*) || ' ' || max(delay_seconds) FROM queue`); got != "12 7" {
		t.Errorf("the queues are %s", got)
	}
}

// The guard stops a cycle that would delete more than is allowed, and a rule that was committed
// during a cycle holds in it, whatever listings say late (finding B8).
func TestRuleMeanwhile(t *testing.T) {
	t.Parallel()
	w, l := start(t, of(&likeness.Queues{Deleted: 5 * time.Second, Listing: time.Second, Changing: 2 * time.Second}),
		"aws_sqs")
	w.PSQL(`INSERT INTO queue (name, delay_seconds) SELECT 'q' || i, 1 FROM generate_series(1, 30) i`)
	settles(t, w, "the queues to be made")
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Eventually(10*time.Second, "the changes to show", func() bool { return w.PSQL(unsettled) == "" })
	w.CLI("sqs", "set-queue-attributes", "--queue-url", w.PSQL(`SELECT url FROM queue WHERE name = 'q30'`),
		"--attributes", "DelaySeconds=100")
	w.CLI("sqs", "create-queue", "--queue-name", "uninvited")
	w.PSQL(`UPDATE iasql_settings SET value = '0 seconds' WHERE name = 'consistency_window'`)
	// What the cycle reads is answered once the rule is there.
	var listed atomic.Bool
	rule, ruled := context.WithTimeout(t.Context(), 30*time.Second)
	defer ruled()
	l.Proxy.Observe(func(c faultproxy.Call, _ faultproxy.Answer) {
		if c.Action == "GetQueueAttributes" {
			listed.Store(true)
			<-rule.Done()
		}
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = w.TryPSQL(w.UserURL, `SELECT iasql_sync_now()`)
	}()
	w.Eventually(10*time.Second, "the cycle to list", func() bool { return listed.Load() })
	w.PSQL(`INSERT INTO iasql_mode (mode) VALUES ('ENFORCE')`)
	ruled()
	<-done
	// From here on what AWS shows two seconds late is the engine's own write, and with a window of
	// nothing the value would count as pushed three times in vain.
	w.PSQL(`UPDATE iasql_settings SET value = '3 seconds' WHERE name = 'consistency_window'`, `SELECT iasql_sync_now()`)
	settles(t, w, "the cloud to be as the tables are")
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT count(*) || ' ' || max(delay_seconds) FROM queue WHERE name <> 'uninvited'`); got != "30 1" {
		t.Errorf("the queues are %s", got)
	}
}
