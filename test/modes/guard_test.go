package modes

import (
	"strings"
	"testing"
	"time"

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
