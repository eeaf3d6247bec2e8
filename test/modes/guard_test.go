package modes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
)

// TestReplacementsAreGuarded: what a replaced object held is gone like that of a
// deleted one, and counts (R7, R18).
func TestReplacementsAreGuarded(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	w.PSQL(`INSERT INTO queue (name) SELECT 'q' || i FROM generate_series(1, 12) i`)
	w.Settled()
	w.Admin(`UPDATE iasql_settings SET value = '10' WHERE name = 'max_deletes'`)
	w.PSQL(`UPDATE queue SET name = name || '-renamed'`)
	w.Becomes(30*time.Second, "12",
		`SELECT count(*) FROM iasql_status WHERE review AND message LIKE '%12 of them to replace them%max_deletes%'`)
	if got := w.PSQL(`SELECT count(*) FROM iasql_operations WHERE action <> 'CreateQueue' OR key LIKE '%renamed%'`); got != "0" {
		t.Errorf("%s calls were made", got)
	}
	w.Admin(`UPDATE iasql_settings SET value = '100' WHERE name = 'max_deletes'`,
		`UPDATE iasql_settings SET value = '1' WHERE name = 'max_delete_ratio'`)
	w.Becomes(30*time.Second, "12", `SELECT count(*) FROM queue WHERE url LIKE '%-renamed'`)
	w.Settled()
}

// TestSecretsOfServices: services name the secrets that they manage as users
// cannot.
func TestSecretsOfServices(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_secrets_manager")
	w.CLI("secretsmanager", "create-secret", "--name", "rds!db-1234", "--secret-string", "x")
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT name FROM secret`); !strings.Contains(got, "rds!db-1234") {
		t.Errorf("the secrets are %q: %s", got, w.PSQL(`SELECT * FROM iasql_get_errors()`))
	}
}

// TestReviewedDoesNotCount: what a batch deletes that somebody has reviewed does not stop the deletion of somebody else in the
// same full cycle, which goes on listing meanwhile (R7).
func TestReviewedDoesNotCount(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	proxy := faultproxy.Start(t, w.AWS.Endpoint)
	w.Endpoint = proxy.URL
	w.Serve()
	w.Install(east, "aws_sqs", "aws_vpc")
	w.PSQL(`UPDATE iasql_settings SET value = '1 day' WHERE name = 'sync_interval'`,
		`INSERT INTO queue (name) SELECT 'q' || i FROM generate_series(1, 6) i`, `INSERT INTO queue (name) VALUES ('last')`)
	w.Settled()
	listing, held := make(chan struct{}, 100), make(chan struct{})
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		if c.Action == "DescribeVpcEndpoints" {
			return faultproxy.Fault{Before: func() { listing <- struct{}{}; <-held }}
		}
		return faultproxy.Fault{}
	})
	synced := make(chan string)
	go func() {
		out, err := w.TryPSQL(w.UserURL, `SELECT iasql_sync_now()`)
		synced <- fmt.Sprint(out, err)
	}()
	<-listing
	if out, err := w.TryPSQL(w.UserURL, `CALL iasql_begin()`, `DELETE FROM queue WHERE name <> 'last'`,
		`CALL iasql_commit('reviewed', iasql_preview_hash())`, `DELETE FROM queue`, `SELECT iasql_wait_for_all(30)`); err != nil {
		t.Errorf("%s %v", out, err)
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_cycles WHERE kind = 'full' AND ended IS NULL`); got != "1" {
		t.Errorf("the full cycle ended before: %s are running", got)
	}
	close(held)
	if out := <-synced; strings.Contains(out, "ERROR") {
		t.Error(out)
	}
	if got := w.PSQL(`SELECT count(*) FROM queue`); got != "0" {
		t.Errorf("%s queues are left", got)
	}
}
