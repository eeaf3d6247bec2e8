package runbook

import (
	"strings"
	"testing"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/testaws"
)

// TestAccount plays what is wrong about an account as a whole, and about the database.
func TestAccount(t *testing.T) {
	t.Parallel()
	n := start(t, "aws_sqs", "aws_route53")
	n.PSQL(`INSERT INTO queue (name) VALUES ('a'), ('b'), ('c')`)
	n.Settled()
	t.Run("credentials", func(t *testing.T) { playCredentials(n.in(t)) })
	t.Run("throttled", func(t *testing.T) { playThrottled(n.in(t)) })
	t.Run("restored", func(t *testing.T) { playRestored(n.in(t)) })
	t.Run("identity", func(t *testing.T) { playIdentity(n.in(t)) })
}

func playCredentials(n *night) {
	n.breaks(faultproxy.Fault{Status: 403, Code: "ExpiredToken",
		Message: "The security token included in the request is expired"}, "sts", "sqs", "ec2", "route53")
	n.asks()
	n.shows(`iasql_worlds_held{account="default",why="unknown"}`, 1)
	n.logs("the account is held", "ExpiredToken")
	n.typesAndSees("look", "account default", "ExpiredToken")
	n.typesAndSees("credentials.look",
		"default||nothing is pushed or pulled until it is known who it is", "ExpiredToken")
	n.PSQL(`UPDATE queue SET delay_seconds = 1 WHERE name = 'a'`)
	if says := n.Refused(`SELECT iasql_sync_now()`); !strings.Contains(says, "IA061") {
		n.Errorf("sync_now says %s", says)
	}
	n.mends()
	n.types("credentials.go")
	n.logs("the account is no longer held")
	n.showsNot(`iasql_worlds_held`)
	n.Settled()
}

func playThrottled(n *night) {
	n.breaks(faultproxy.Fault{Status: 400, Code: "Throttling", Message: "Rate exceeded"}, "route53")
	done := make(chan struct{})
	go func() {
		n.asks()
		close(done)
	}()
	n.logs("aws throttles", "service=\"Route 53\"")
	n.shows(`iasql_cloud_throttled_total`, 1)
	n.mends()
	<-done
	n.types("throttled.go")
	n.typesAndSees("throttled.look", "queue|3|1|")
	n.Eventually(patience, "it no longer throttles", func() bool {
		n.asks()
		return strings.Contains(n.engine.Log(), "aws no longer throttles")
	})
	n.PSQL(`UPDATE iasql_settings SET value = '0.5' WHERE name = 'read_share'`)
	n.Settled()
}

func playRestored(n *night) {
	n.PSQL(`INSERT INTO queue (name) VALUES ('gone'), ('kept')`)
	n.Settled()
	n.engine.Stop()
	n.PSQL(`DELETE FROM queue WHERE name = 'gone'`, `INSERT INTO queue (name) VALUES ('pending')`)
	n.Admin(`UPDATE iasql_internal.server_seen SET timeline = timeline + 1`) // as a recovery to a point in time does
	n.serves()
	n.asks()
	n.logs("nothing is pushed: the database may have gone back in time")
	n.shows(`iasql_worlds_held{account="default",why="restored"}`, 1)
	n.typesAndSees("look", "database|", "new timeline")
	n.typesAndSees("restored.look", "DELETE of queue", "INSERT of queue", "pending since before that")
	if got := n.listed(); !strings.Contains(got, "/gone") || strings.Contains(got, "/pending") {
		n.Errorf("pushed without a word: %s", got)
	}
	n.PSQL(`DELETE FROM queue WHERE name = 'pending'`, `INSERT INTO queue (name) VALUES ('gone')`) // it is not meant
	n.types("restored.go")
	n.logs("it is confirmed that the database has gone back in time")
	n.showsNot(`iasql_worlds_held`)
	n.Settled()
	if got := n.listed(); !strings.Contains(got, "/gone") || strings.Contains(got, "/pending") {
		n.Errorf("what was taken back was done: %s", got)
	}
}

func playIdentity(n *night) {
	ours, other := n.AWS, testaws.NewAccount(n.T)
	n.engine.Stop()
	n.AWS = other
	n.serves()
	n.asks()
	n.shows(`iasql_worlds_held{account="default",why="identity"}`, 1)
	n.logs("the account is held", other.ID)
	n.typesAndSees("look", "account default")
	n.typesAndSees("identity.look", "aws:"+other.ID+"|aws:"+ours.ID)
	if says := n.Refused(`SELECT iasql_sync_now()`); !strings.Contains(says, "IA061") {
		n.Errorf("sync_now says %s", says)
	}
	// The right ones are put back.
	n.engine.Stop()
	n.AWS = ours
	n.serves()
	n.asks()
	n.showsNot(`iasql_worlds_held`)
	if got := n.PSQL(`SELECT count(*) FROM queue`); got != "5" {
		n.Errorf("%s of 5 rows are left", got)
	}
	// Or the tables are to follow the other account.
	n.engine.Stop()
	n.AWS = other
	n.serves()
	n.asks()
	n.typesAndSees("identity.go", "would be aws:"+other.ID)
	n.asks()
	n.logs("the account is no longer held")
	n.shows(`iasql_records_vanished{account="default",table="queue"}`, 5) // which is asked besides
	if got := n.PSQL(`SELECT count(*) FROM queue`); got != "5" {
		n.Errorf("after the confirmation %s of 5 rows are left", got)
	}
}
