package contract

import (
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
)

// An account is let go of: with records it says which, without them its regions go along, and nothing changes in AWS.
func TestDeleteAccount(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, []string{"us-east-1"}, "aws_sqs")
	w.PSQL(`INSERT INTO queue (name) VALUES ('stays')`)
	w.Settled()
	_, err := w.TryPSQL(w.UserURL, `DELETE FROM aws_account`)
	if err == nil || !strings.Contains(err.Error(), "account default has records: 1 of queue") ||
		!strings.Contains(err.Error(), "iasql_forget('queue', id)") {
		t.Errorf("with a record: %v", err)
	}
	w.PSQL(`SELECT iasql_forget('queue', id) FROM queue`, `DELETE FROM aws_account`)
	if got := w.PSQL(`SELECT count(*) FROM aws_regions`); got != "0" {
		t.Errorf("%s regions are left", got)
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_audit_log WHERE NOT settled AND table_name <> 'aws_account'`); got != "0" {
		t.Errorf("%s changes are left that nobody can settle", got)
	}
	if got := w.AWS.CLI(t, "sqs", "list-queues", "--query", "length(QueueUrls)"); strings.TrimSpace(got) != "1" {
		t.Errorf("AWS has %s queues", got)
	}
}

// An engine whose database a newer one has migrated says so.
func TestNewerMigrated(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	engine := w.Serve()
	w.Admin(`INSERT INTO iasql_internal.goose_db_version (version_id, is_applied) VALUES (99999, true)`,
		`UPDATE iasql_internal.installation SET version = 'v99'`)
	w.Eventually(30*time.Second, "the engine says so", func() bool {
		said := engine.Log()
		return strings.Contains(said, "a newer engine has migrated the database") && strings.Contains(said, "newer=v99")
	})
}
