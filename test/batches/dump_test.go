package batches

import (
	"net/url"
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
	args := append(options, "--data-only", "--table=vpc", "--table=network_acl", "--table=subnet", "--table=queue",
		"--file="+file, from.AdminURL)
	if out, err := exec.Command("pg_dump", args...).CombinedOutput(); err != nil {
		t.Fatalf("pg_dump: %v: %s", err, out)
	}
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "--single-transaction", "-f", file,
		to.AdminURL).CombinedOutput(); err != nil {
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

// A copy of the whole database on the same server has batches of its own: what is done
// there stays there (finding 4).
func TestCopiedDatabase(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	one := user(w)
	one.do(`CALL iasql_begin('shop')`, `INSERT INTO queue (name) VALUES ('staged')`)
	file := filepath.Join(t.TempDir(), "whole.sql")
	if out, err := exec.Command("pg_dump", "--file="+file, w.AdminURL).CombinedOutput(); err != nil {
		t.Fatalf("pg_dump: %v: %s", err, out)
	}
	in := func(login string) string {
		u, err := url.Parse(login)
		if err != nil {
			t.Fatal(err)
		}
		u.Path += "_copy"
		return u.String()
	}
	name := w.Admin(`SELECT current_database() || '_copy'`)
	w.Admin(`CREATE DATABASE "` + name + `"`)
	t.Cleanup(func() {
		if out, err := exec.Command("psql", "-X", "-q", "-c", `DROP DATABASE "`+name+`" WITH (FORCE)`,
			w.AdminURL).CombinedOutput(); err != nil { // #nosec G204 -- a name of ours
			t.Errorf("drop %s: %v: %s", name, err, out)
		}
	})
	if out, err := exec.Command("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", file,
		in(w.AdminURL)).CombinedOutput(); err != nil {
		t.Fatalf("restore: %v: %s", err, out)
	}
	two := connect(w, in(w.UserURL))
	if got := two.get(`SELECT string_agg(name, ',') FROM iasql_batches WHERE outcome IS NULL`); got != "shop" {
		t.Errorf("in the copy these are open: %s", got)
	}
	two.do(`CALL iasql_begin('copied')`, `INSERT INTO queue (name) VALUES ('ofcopy')`)
	two.do(`CALL iasql_rollback()`, `CALL iasql_join('shop')`)
	two.refused("IA014", []string{name, "is a copy", "engine migrate"}, `CALL iasql_commit()`)
	two.do(`CALL iasql_rollback()`)
	if got := one.get(`SELECT string_agg(name || ' ' || phase, ',') FROM iasql_batches`); got != "shop open" {
		t.Errorf("in the original there are %s", got)
	}
	one.do(`CALL iasql_commit()`)
	if got := one.get(`SELECT string_agg(name, ',') FROM queue WHERE url IS NOT NULL`); got != "staged" {
		t.Errorf("in the cloud there are %s", got)
	}
}
