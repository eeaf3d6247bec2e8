package runbook

import (
	"fmt"
	"strings"
	"testing"

	"iasql/internal/test/faultproxy"
)

// TestCloud plays what the cloud does to us.
func TestCloud(t *testing.T) {
	t.Parallel()
	world := start(t, "aws_sqs", "aws_sns")
	for i := range 10 {
		world.PSQL(fmt.Sprintf(`INSERT INTO queue (name) VALUES ('q%d')`, i))
	}
	world.PSQL(`INSERT INTO topic (name) VALUES ('t')`)
	world.Settled()
	for _, section := range []struct {
		name string
		play func(*night)
	}{
		{"denied", playDenied}, {"unread", playUnread}, {"gone", playGone}, {"vanished", playVanished},
		{"silent", playSilent}, {"stale", playStale},
	} {
		t.Run(section.name, func(t *testing.T) { section.play(world.in(t)) })
	}
}

// listed is what the cloud itself says of its queues.
func (n *night) listed() string {
	n.Helper()
	return n.AWS.CLI(n.T, "sqs", "list-queues", "--region", "us-east-1")
}

func queues(n *night) int {
	n.Helper()
	return strings.Count(n.listed(), "/"+n.AWS.ID+"/")
}

// deletes deletes a queue behind the engine's back.
func (n *night) deletes(queue string) {
	n.Helper()
	answer := n.CLI("sqs", "get-queue-url", "--queue-name", queue, "--region", "us-east-1")
	n.CLI("sqs", "delete-queue", "--queue-url", answer["QueueUrl"].(string), "--region", "us-east-1")
}

func playDenied(n *night) {
	n.breaks(denied)
	n.asks()
	n.shows(`iasql_places{account="default",answer="denied"}`, 3)
	n.showsNot(`iasql_places{account="default",answer="read"}`)
	n.logs("the cloud denies listings", "count=")
	if got := n.PSQL(`SELECT string_agg(DISTINCT state || ' ' || detected, ',') FROM iasql_status WHERE table_name IN ('queue', 'topic')`); got != "CheckPresentFailed unknown" {
		n.Errorf("the records are %s", got)
	}
	n.typesAndSees("look", "CheckPresentFailed")
	n.typesAndSees("denied.look", "service control policy", "us-east-1")
	if got := n.PSQL(`SELECT count(*) FROM queue`); got != "10" {
		n.Errorf("%s of 10 rows are left", got)
	}
	n.PSQL(`UPDATE queue SET delay_seconds = 3 WHERE name = 'q0'`)
	n.Becomes(patience, "t|1", `SELECT s.review, (SELECT count(*) FROM iasql_audit_log WHERE NOT settled) FROM iasql_status s JOIN queue q ON q.id = s.record_id
		WHERE s.table_name = 'queue' AND q.name = 'q0' AND s.message LIKE '%GetQueueUrl, AccessDenied%'`)
	n.mends()
	n.types("denied.go")
	n.logs("the cloud permits listings again")
	n.showsNot(`iasql_places{account="default",answer="denied"}`)
	n.Settled()
}

func playUnread(n *night) {
	n.breaks(faultproxy.Fault{Status: 500, Code: "InternalError", Message: "An internal error has occurred"},
		"sqs.ListQueues")
	n.asks()
	n.shows(`iasql_places_unread{account="default",table="queue"}`, 1)
	n.typesAndSees("unread.look", "queue|us-east-1||", "InternalError")
	if got := n.PSQL(`SELECT iasql_ready(), iasql_ready('topic'), (SELECT count(*) FROM iasql_problems WHERE record = 'queue' AND message LIKE 'cannot be read in us-east-1: %')`); got != "f|t|1" {
		n.Errorf("ready, other table ready, problems: %s", got)
	}
	n.mends()
	n.types("unread.go")
	n.Settled()
	n.breaks(denied, "sqs.ListQueues")
	n.asks()
	n.shows(`iasql_listings_denied{account="default",table="queue"}`, 1)
	n.typesAndSees("unread.look", "service control policy")
	n.mends()
	n.types("unread.go")
	n.Settled()
}

func playGone(n *night) {
	for i := range 3 {
		n.deletes(fmt.Sprintf("q%d", i))
	}
	n.asks()
	n.Becomes(patience, "7", `SELECT count(*) FROM queue`)
	n.shows(`iasql_rows_deleted_by_pulls{account="default"}`, 3)
	n.typesAndSees("look", "full")
	n.typesAndSees("gone.look", "queue", "q0", "q1", "q2")
	n.types("gone.stop")
	n.deletes("q3")
	n.asks()
	if got := n.PSQL(`SELECT count(*), (SELECT count(*) FROM iasql_conflicts WHERE table_name = 'queue' AND resolved IS NULL AND NOT closed) FROM queue`); got != "7|1" {
		n.Errorf("rows, and conflicts that wait: %s", got)
	}
	n.PSQL(`UPDATE iasql_conflicts SET resolved = 'database' WHERE resolved IS NULL AND NOT closed`)
	n.PSQL(`UPDATE iasql_settings SET value = 'pull' WHERE name = 'drift'`)
	n.Settled()
	n.types("gone.again")
	n.Settled()
	if got := n.PSQL(`SELECT count(*) FROM queue`); got != "10" || queues(n) != 10 {
		n.Errorf("there are %s rows and %d queues", got, queues(n))
	}
}

// empty answers as an account would that has no queues.
func empty(c faultproxy.Call) faultproxy.Fault {
	switch {
	case c.Service != "sqs":
		return faultproxy.Fault{}
	case c.Action == "ListQueues":
		return faultproxy.Fault{Rewrite: func([]byte) []byte { return []byte(`{}`) }}
	case c.Action == "CreateQueue":
		return faultproxy.Fault{}
	}
	return faultproxy.Fault{Status: 400, Code: "AWS.SimpleQueueService.NonExistentQueue",
		Message: "The specified queue does not exist."}
}

// rests waits until what was made a moment ago is no longer taken for what may just not show.
func (n *night) rests() {
	n.Helper()
	n.Becomes(patience, "0", `SELECT count(*) FROM iasql_operations WHERE ended > clock_timestamp() - interval '3 seconds'`)
}

func playVanished(n *night) {
	n.rests()
	n.cloud.Set(empty)
	n.asks()
	n.shows(`iasql_records_vanished{account="default",table="queue"}`, 10)
	n.logs("cycle stopped for review", "gone from the cloud at once")
	if got := n.PSQL(`SELECT string_agg(DISTINCT state || ' ' || detected, ',') FROM iasql_status WHERE table_name = 'queue'`); got != "Conflict unknown" {
		n.Errorf("the records are %s", got)
	}
	n.Becomes(patience, "t", `SELECT count(*) > 0 FROM iasql_cycles WHERE message LIKE '%all 10 records of queue%gone from the cloud at once%'`)
	n.typesAndSees("vanished.look",
		"10 records of queue in us-east-1 are gone from the cloud: they would go from the tables")
	// They are there all the same.
	n.mends()
	n.types("denied.go") // SELECT iasql_sync_now()
	n.Settled()
	n.logs("cycles are no longer stopped for review")
	if got := n.PSQL(`SELECT count(*) FROM queue`); got != "10" {
		n.Errorf("%s of 10 rows are left", got)
	}
	// They are gone, and should not be.
	for i := range 10 {
		n.deletes(fmt.Sprintf("q%d", i))
	}
	n.asks()
	n.shows(`iasql_records_vanished{account="default",table="queue"}`, 10)
	n.types("vanished.again")
	n.Settled()
	if got := queues(n); got != 10 {
		n.Errorf("%d of 10 queues were made anew", got)
	}
	// They are gone, and that is right.
	n.rests()
	n.cloud.Set(empty)
	n.asks()
	n.shows(`iasql_records_vanished{account="default",table="queue"}`, 10)
	n.types("vanished.go")
	n.Becomes(patience, "0|1", `SELECT count(*), (SELECT count(*) FROM topic WHERE name = 't') FROM queue`)
	n.showsNot(`iasql_records_vanished`)
	n.mends()
	n.asks()
	n.Settled()
}

func playSilent(n *night) {
	n.PSQL(`INSERT INTO aws_event_source (queue) VALUES ('arn:aws:sqs:us-east-1:` + n.AWS.ID + `:not-there')`)
	n.Eventually(patience, "the source is not relied on", func() bool { return n.metric(`iasql_event_source_ok`) == 0 })
	n.Eventually(patience, "it says why", func() bool { return strings.Contains(n.types("silent.look"), "default|") })
	n.types("silent.go")
	if got := n.PSQL(`SELECT count(*) FROM iasql_event_sources WHERE state = 'ok'`); got != "0" {
		n.Errorf("%s sources are relied on", got)
	}
	n.PSQL(`SELECT iasql_sync_now('queue')`)
}

func playStale(n *night) {
	n.Admin(`UPDATE iasql_internal.listing SET listed = listed - interval '1 day', tried = tried - interval '1 day' WHERE table_name = 'queue'`)
	n.shows(`iasql_table_staleness_seconds{account="default",table="queue"}`, 80000)
	n.typesAndSees("stale.look", "queue|us-east-1", "full")
	n.types("stale.go")
	n.Eventually(patience, "the table is new", func() bool {
		return n.metric(`iasql_table_staleness_seconds{account="default",table="queue"}`) < 1000
	})
}
