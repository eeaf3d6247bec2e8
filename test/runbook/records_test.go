package runbook

import (
	"fmt"
	"strings"
	"testing"

	"iasql/internal/test/faultproxy"
)

// TestRecords plays what happens to records, batches and the audit log.
func TestRecords(t *testing.T) {
	t.Parallel()
	world := start(t, "aws_sqs")
	for i := range 6 {
		world.PSQL(fmt.Sprintf(`INSERT INTO queue (name) VALUES ('q%d')`, i))
	}
	world.Settled()
	for _, section := range []struct {
		name string
		play func(*night)
	}{
		{"failed", playFailed}, {"nothing", playNothing}, {"abandoned", playAbandoned}, {"approve", playApproval},
		{"commit", playCommit}, {"guard", playGuard}, {"audit", playAudit},
	} {
		t.Run(section.name, func(t *testing.T) { section.play(world.in(t)) })
	}
}

func playFailed(n *night) {
	n.breaks(faultproxy.Fault{Status: 400, Code: "InvalidAttributeValue",
		Message: "Invalid value for the parameter DelaySeconds."}, "sqs.SetQueueAttributes")
	n.PSQL(`UPDATE queue SET delay_seconds = 7 WHERE name = 'q0'`)
	n.shows(`iasql_records_needing_review`, 1)
	n.logs("msg=failed", "table=queue", "record=", "operation=", "InvalidAttributeValue")
	n.typesAndSees("look", "UpdatingFailed")
	n.typesAndSees("failed.look", "UpdatingFailed|t|", "InvalidAttributeValue", "SetQueueAttributes")
	n.PSQL(`UPDATE queue SET delay_seconds = 8 WHERE name = 'q1'`) // another record goes on, to the same end
	n.Becomes(patience, "2", `SELECT count(*) FROM iasql_status WHERE state = 'UpdatingFailed' AND review`)
	n.mends()
	n.types("failed.go")
	n.Settled()
	if got := n.PSQL(`SELECT sum(delay_seconds) FROM queue`); got != "15" {
		n.Errorf("the rows do not have what was asked for: %s", got)
	}
	// What may pass is tried again without a word.
	n.breaks(faultproxy.Fault{Status: 500, Code: "InternalError", Message: "An internal error has occurred"},
		"sqs.SetQueueAttributes")
	n.PSQL(`UPDATE queue SET delay_seconds = 0 WHERE name IN ('q0', 'q1')`)
	n.Becomes(patience, "t", `SELECT bool_and(attempts > 0 AND next_attempt_at IS NOT NULL AND NOT review) FROM iasql_status WHERE state <> 'Present'`)
	n.mends()
	n.Settled()
}

func playNothing(n *night) {
	n.types("pause")
	n.PSQL(`UPDATE queue SET delay_seconds = 5 WHERE name = 'q2'`)
	n.Becomes(patience, "Paused", `SELECT state FROM iasql_status WHERE state <> 'Present'`)
	n.shows(`iasql_pending_changes`, 1)
	n.typesAndSees("nothing.look", "mode|PAUSE|")
	n.types("resume")
	n.Settled()
	n.PSQL(`INSERT INTO iasql_mode (mode) VALUES ('PAUSE')`)
	n.PSQL(`UPDATE queue SET delay_seconds = 0 WHERE name = 'q2'`)
	n.Becomes(patience, "Paused", `SELECT state FROM iasql_status WHERE state <> 'Present'`)
	n.PSQL(`CALL iasql_begin('held')`, `UPDATE queue SET delay_seconds = 6 WHERE name = 'q3'`)
	n.typesAndSees("nothing.look", "mode|PAUSE|", "batch|held|")
	n.PSQL(`CALL iasql_join('held')`, `CALL iasql_rollback(true)`)
	n.types("nothing.go")
	n.Settled()
	// An engine that changes nothing says so.
	n.engine.Stop()
	n.Args = append(n.Args, "--read-only")
	n.serves()
	n.PSQL(`UPDATE queue SET delay_seconds = 5 WHERE name = 'q2'`)
	n.Eventually(patience, "it says that it was started so", func() bool {
		return strings.Contains(n.types("nothing.look"), "this engine was started with --read-only")
	})
	n.engine.Stop()
	n.Args = n.Args[:len(n.Args)-1]
	n.serves()
	n.Settled()
}

func playAbandoned(n *night) {
	n.PSQL(`CALL iasql_begin('night')`, `UPDATE queue SET delay_seconds = 9 WHERE name = 'q4'`)
	n.Admin(`UPDATE iasql_internal.batch SET opened_at = opened_at - interval '2 hours' WHERE closed_at IS NULL`)
	n.shows(`iasql_batch_oldest_seconds`, 7200)
	n.typesAndSees("abandoned.look", "|night|", "delay_seconds")
	if says := n.Refused(`UPDATE queue SET delay_seconds = 3 WHERE name = 'q4'`); !strings.Contains(says, "IA020") {
		n.Errorf("a staged record: %s", says)
	}
	n.types("abandoned.go")
	n.showsNot(`iasql_batch_oldest_seconds`)
	if got := n.PSQL(`SELECT delay_seconds, (SELECT count(*) FROM iasql_batches WHERE phase <> 'closed') FROM queue WHERE name = 'q4'`); got != "0|0" {
		n.Errorf("the row, and open batches: %s", got)
	}
	n.PSQL(`UPDATE queue SET delay_seconds = 3 WHERE name = 'q4'`)
	n.Settled()
}

func playApproval(n *night) {
	colleague := n.Login("colleague", "iasql_user")
	n.Admin(`UPDATE iasql_settings SET value = '1' WHERE name = 'required_approvals'`)
	n.PSQL(`CALL iasql_begin('night')`, `UPDATE queue SET delay_seconds = 11 WHERE name = 'q4'`)
	refused := func() {
		n.Helper()
		if says := n.Refused(`CALL iasql_join('night')`, `CALL iasql_commit()`); !strings.Contains(says, "IA027") {
			n.Errorf("the commit says %s", says)
		}
	}
	refused()
	if out, err := n.triedAs(colleague, "approve"); err != nil || !strings.Contains(out, "delay_seconds") {
		n.Fatalf("approved: %v\n%s", err, out)
	}
	n.PSQL(`CALL iasql_join('night')`, `CALL iasql_commit()`)
	n.PSQL(`CALL iasql_begin('night')`, `UPDATE queue SET delay_seconds = 12 WHERE name = 'q4'`)
	refused()
	n.types("approve.without")
	n.PSQL(`CALL iasql_join('night')`, `CALL iasql_commit()`)
	n.Settled()
}

func playCommit(n *night) {
	n.breaks(faultproxy.Fault{Status: 500, Code: "InternalError", Message: "An internal error has occurred"},
		"sqs.SetQueueAttributes")
	n.PSQL(`CALL iasql_begin('night')`, `UPDATE queue SET delay_seconds = 21 WHERE name = 'q4'`)
	ended := make(chan error, 1)
	go func() {
		_, err := n.TryPSQL(n.UserURL, `CALL iasql_join('night')`, `CALL iasql_commit()`)
		ended <- err
	}()
	n.shows(`iasql_batch_commit_seconds`, 1)
	n.Eventually(patience, "it says what fails", func() bool {
		out := n.types("commit.look")
		return strings.Contains(out, "|night|") && strings.Contains(out, "|committing|1|0|1|") &&
			strings.Contains(out, "InternalError")
	})
	n.types("commit.stop")
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "IA022") {
		n.Errorf("who waits hears: %v", err)
	}
	n.mends()
	n.Becomes(patience, "12|0", `SELECT delay_seconds, (SELECT count(*) FROM iasql_batches WHERE phase <> 'closed') FROM queue WHERE name = 'q4'`)
	n.showsNot(`iasql_batch_commit_seconds`)
	n.Settled()
}

func playGuard(n *night) {
	n.PSQL(`DELETE FROM queue`)
	n.shows(`iasql_records_needing_review`, 6)
	n.logs("cycle stopped for review", "would delete 6 of 6 objects of queue, more than max_delete_ratio")
	n.typesAndSees("guard.look", "queue|Removing|6|", "|queue|6")
	if got := queues(n); got != 6 {
		n.Errorf("%d of 6 queues are left", got)
	}
	// It is not meant, of one; the others are.
	n.PSQL(`INSERT INTO queue (name, delay_seconds) VALUES ('q4', 12)`)
	n.types("guard.go")
	n.Settled()
	if got := queues(n); got != 1 {
		n.Errorf("%d queues are left, and one was taken back", got)
	}
	n.Admin(`UPDATE iasql_settings SET value = '0.5' WHERE name = 'max_delete_ratio'`)
}

func playAudit(n *night) {
	n.shows(`iasql_audit_log_bytes`, 1)
	n.Admin(`UPDATE iasql_audit_log SET ts = ts - interval '40 days' WHERE id IN (SELECT id FROM iasql_audit_log WHERE settled ORDER BY id LIMIT 5)`)
	n.typesAndSees("audit.look", "90 days", "queue|")
	n.types("audit.go")
	if got := n.PSQL(`SELECT count(*) FROM iasql_audit_log WHERE ts < now() - interval '31 days'`); got != "0" {
		n.Errorf("%s old rows are left", got)
	}
}
