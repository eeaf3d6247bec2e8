package adversary

import (
	"strings"
	"testing"
	"time"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
)

// TestReviewedCommit: what was reviewed is what is committed.
func TestReviewedCommit(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs", "aws_secrets_manager")
	queues := func() string {
		w.Helper()
		return w.Admin(`SELECT coalesce(string_agg(key, ' ' ORDER BY key), '') FROM iasql_operations WHERE kind = 'create' AND table_name = 'queue' AND result = 'ok'`)
	}
	const deferred = `BEGIN; CALL iasql_begin(); INSERT INTO queue (name) VALUES ('reviewed');
		DO $$ DECLARE hash text := iasql_preview_hash(); BEGIN CALL iasql_commit('ok', hash); END $$; %s COMMIT`
	// More in the same transaction than was reviewed.
	w.PSQL(strings.Replace(deferred, "%s", `INSERT INTO queue (name) VALUES ('smuggled');`, 1))
	w.Becomes(quickly, "1", `SELECT count(*) FROM iasql_get_errors() WHERE message LIKE '%is not what was previewed%'`)
	if got := queues(); got != "" {
		t.Errorf("queues made: %s", got)
	}
	w.PSQL(`CALL iasql_rollback(true)`)
	// As reviewed.
	w.PSQL(strings.Replace(deferred, "%s", ``, 1), `SELECT iasql_wait_for_all(60)`)
	w.Becomes(quickly, "0", `SELECT count(*) FROM iasql_engines() WHERE doing LIKE '%batch%'`)
	if got := queues(); !strings.Contains(got, "reviewed") || strings.Contains(got, "smuggled") {
		t.Errorf("queues made: %s", got)
	}

	// One secret in place of another looks the same, and is not.
	w.PSQL(`CALL iasql_begin('test')`, `INSERT INTO secret (name, value) VALUES ('s', 'harmless')`)
	hash := w.Joined(`SELECT iasql_preview_hash()`)
	w.Joined(`UPDATE secret SET value = 'harmful'`)
	if got := w.JoinedRefused(`CALL iasql_commit('ok', '` + hash + `')`); !strings.Contains(got, "IA023") {
		t.Errorf("another secret than was reviewed: %s", got)
	}
	w.Joined(`CALL iasql_rollback()`)
}

// TestEditsDuringCommit: a commit that has begun is not joined. What others
// change meanwhile is none of its business, and what the batch holds they cannot change.
func TestEditsDuringCommit(t *testing.T) {
	t.Parallel()
	w, proxy := harness.StartBehindProxy(t, east, "aws_sqs")
	other := w.Login("other", "iasql_user")
	w.PSQL(`INSERT INTO queue (name) VALUES ('old')`)
	w.Settled()

	// An edit in a transaction that is open belongs to the batch or not: the commit does not begin before that is
	// known.
	w.PSQL(`CALL iasql_begin('test')`, `INSERT INTO queue (name) VALUES ('batched')`)
	undecided := make(chan error, 1)
	go func() {
		_, err := w.TryPSQL(w.UserURL, `CALL iasql_join('test')`,
			`BEGIN; INSERT INTO queue (name) VALUES ('undecided'); SELECT pg_sleep(12); ROLLBACK`)
		undecided <- err
	}()
	w.Eventually(quickly, "somebody edits", func() bool {
		return w.Admin(`SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%undecided%pg_sleep%' AND wait_event = 'PgSleep'`) == "1"
	})
	if got := w.JoinedRefused(`CALL iasql_commit()`); !strings.Contains(got, "IA020") ||
		!strings.Contains(got, "open") {
		t.Errorf("a commit while somebody edits in the batch: %s", got)
	}
	if err := <-undecided; err != nil {
		t.Fatal(err)
	}

	reached, release := make(chan struct{}), make(chan struct{})
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		if c.Action == "CreateQueue" && strings.Contains(c.Body, "batched") {
			return faultproxy.Fault{Before: func() { close(reached); <-release }}
		}
		return faultproxy.Fault{}
	})
	committed := make(chan error, 1)
	go func() {
		_, err := w.TryPSQL(w.UserURL, `CALL iasql_join('test')`, `CALL iasql_commit()`)
		committed <- err
	}()
	select {
	case <-reached:
	case <-time.After(quickly):
		t.Fatal("the commit does not begin")
	}
	if _, err := w.TryPSQL(other, `INSERT INTO queue (name) VALUES ('meanwhile')`,
		`UPDATE queue SET delay_seconds = 7 WHERE name = 'old'`); err != nil {
		t.Errorf("an edit of something else: %v", err)
	}
	if _, err := w.TryPSQL(other, `UPDATE queue SET delay_seconds = 7 WHERE name = 'batched'`); err == nil ||
		!strings.Contains(err.Error(), "IA020") {
		t.Errorf("an edit of what is being committed: %v", err)
	}
	close(release)
	if err := <-committed; err != nil {
		t.Fatal(err)
	}
	batch := w.PSQL(`SELECT id FROM iasql_batches WHERE name = 'test'`)
	if got := w.Admin(`SELECT coalesce(string_agg(DISTINCT coalesce(change #>> '{change,name}', table_name || record_id), ' '), '') FROM iasql_audit_log
		WHERE transaction_id = ` + batch + ` AND origin = 'user' AND table_name IS NOT NULL`); got != "batched" {
		t.Errorf("the batch has come to hold %s", got)
	}
	if got := w.Admin(`SELECT count(*) FROM iasql_operations WHERE transaction_id = ` + batch +
		` AND (key LIKE '%meanwhile%' OR key LIKE '%old%')`); got != "0" {
		t.Errorf("the commit pushed others' edits: %s", got)
	}
	w.Settled() // and then they are pushed
	if got := w.PSQL(`SELECT count(*) FROM queue WHERE url IS NOT NULL`); got != "3" {
		t.Errorf("%s queues are in the cloud", got)
	}
}
