package batches

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"iasql/internal/test/harness"
)

// A dump of the managed tables restored into a fresh installation on the same
// account neither deletes nor doubles anything in the cloud, whether that
// installation has imported the account before or not.
func TestRestoredDump(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_vpc", "aws_sqs")
	w.PSQL(`INSERT INTO vpc (cidr_block, tags) VALUES ('10.11.0.0/16', '{"Name": "dumped"}')`,
		`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '10.11.1.0/24' FROM vpc WHERE cidr_block = '10.11.0.0/16'`,
		`INSERT INTO queue (name) VALUES ('dumped')`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`) // what AWS makes with a VPC
	const all = `SELECT string_agg(r, E'\n') FROM (SELECT vpc_id || cidr_block::text AS r FROM vpc UNION ALL SELECT subnet_id || cidr_block::text FROM subnet UNION ALL SELECT url FROM queue ORDER BY 1) x`
	before := w.PSQL(all)

	t.Run("imported before", func(t *testing.T) {
		fresh := second(t, w, east)
		restore(t, w, fresh, "--inserts", "--on-conflict-do-nothing")
		unharmed(t, fresh, all, before)
	})
	t.Run("empty", func(t *testing.T) {
		fresh := second(t, w, nil) // no region is looked at: the tables are empty
		restore(t, w, fresh)
		fresh.PSQL(`UPDATE aws_regions SET is_enabled = region = 'us-east-1'`)
		unharmed(t, fresh, all, before)
	})
}

// second makes another installation on the same account.
func second(t *testing.T, w *harness.World, regions []string) *harness.World {
	t.Helper()
	fresh := harness.NewWorld(t)
	fresh.AWS, fresh.Endpoint = w.AWS, w.Endpoint
	fresh.Serve()
	fresh.Install(regions, "aws_vpc", "aws_sqs")
	return fresh
}

func restore(t *testing.T, from, to *harness.World, options ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "dump.sql")
	args := append(options, "--data-only", "--table=vpc", "--table=network_acl", "--table=subnet", "--table=queue", "--file="+file, from.AdminURL)
	if out, err := exec.Command("pg_dump", args...).CombinedOutput(); err != nil {
		t.Fatalf("pg_dump: %v: %s", err, out)
	}
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "--single-transaction", "-f", file, to.AdminURL).CombinedOutput(); err != nil {
		t.Fatalf("restore: %v: %s", err, out)
	}
}

func unharmed(t *testing.T, w *harness.World, all, before string) {
	t.Helper()
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Settled()
	if got := w.PSQL(`SELECT string_agg(kind || ' ' || action, ',') FROM iasql_operations`); got != "" {
		t.Errorf("calls: %s", got)
	}
	if after := w.PSQL(all); after != before {
		t.Errorf("was\n%s\nis\n%s", before, after)
	}
}
