// Package orm makes models of every table with tools that users have, and uses
// them as they come.
package orm

import (
	"os/exec"
	"strings"
	"testing"

	"iasql/internal/test/everytable"
	"iasql/internal/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// python is Debian's: `make deps-all` installs the tools there.
const python = "/usr/bin/python3"

// world has every module's tables and an account, and no engine: nothing is
// looked at in the cloud.
func world(t *testing.T) *harness.World {
	t.Helper()
	w := everytable.NewWorld(t)
	w.Admin(`INSERT INTO aws_account (name) VALUES ('orm')`, `SET iasql.origin = 'engine'`,
		`INSERT INTO aws_regions (account, region, is_enabled) VALUES ('orm', 'us-east-1', true), ('orm', 'eu-west-1', true)`)
	return w
}

// run runs a program of testdata on the database as a user.
func run(t *testing.T, w *harness.World, needs, program string) string {
	t.Helper()
	if err := exec.Command(python, "-c", "import "+needs).Run(); err != nil {
		harness.Lacking(t, needs+" of "+python)
	}
	out, err := exec.Command(python, "testdata/"+program, w.UserURL).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
	return string(out)
}

// TestModels makes the tables once: that takes a while.
func TestModels(t *testing.T) {
	t.Parallel()
	w := world(t)
	t.Run("Django", func(t *testing.T) { django(t, w) })
	t.Run("SQLAlchemy", func(t *testing.T) { sqlAlchemy(t, w) })
	t.Run("Scope", func(t *testing.T) { scope(t, w) })
}

// Django's inspectdb takes the last foreign key that a column begins for the
// column's own, and knows none of several columns.
func django(t *testing.T, w *harness.World) {
	w.PSQL(`INSERT INTO vpc (id, account, region, cidr_block) VALUES (901, 'orm', 'us-east-1', '10.7.0.0/16')`,
		`INSERT INTO subnet (account, region, cidr_block, vpc_id) VALUES ('orm', 'us-east-1', '10.7.1.0/24', 901)`)
	// as autovacuum does a minute later
	w.Admin(`ANALYZE pg_catalog.pg_constraint`, `ANALYZE pg_catalog.pg_class`, `ANALYZE pg_catalog.pg_attribute`)
	out := run(t, w, "django, psycopg2", "models.py")
	for _, want := range []string{"wrong []", "subnet of 10.7.0.0/16", "subnets 1"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func sqlAlchemy(t *testing.T, w *harness.World) {
	out := run(t, w, "sqlalchemy, psycopg2", "automap.py")
	for _, want := range []string{"subnet of 10.9.0.0/16", "group of 10.9.0.0/16"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// What foreign keys of account and region said is said still: at once of a
// reference that somebody writes, when the transaction ends of what moves.
func scope(t *testing.T, w *harness.World) {
	w.PSQL(`INSERT INTO vpc (id, account, region, cidr_block) VALUES (1001, 'orm', 'us-east-1', '10.1.0.0/16'), (1002, 'orm', 'eu-west-1', '10.2.0.0/16')`,
		`INSERT INTO subnet (id, account, region, cidr_block, vpc_id) VALUES (2001, 'orm', 'us-east-1', '10.1.1.0/24', 1001), (2002, 'orm', 'us-east-1', '10.1.2.0/24', 1001)`)
	for _, refused := range []struct{ statement, message string }{
		{`INSERT INTO subnet (account, region, cidr_block, vpc_id) VALUES ('orm', 'us-east-1', '10.2.1.0/24', 1002)`,
			"is in us-east-1, and its vpc_id refers to record 1002 of vpc, which is in eu-west-1"},
		{`UPDATE subnet SET vpc_id = 1002 WHERE id = 2001`,
			"record 2001 of subnet is in us-east-1, and its vpc_id refers to record 1002"},
		{`BEGIN; UPDATE subnet SET vpc_id = 1002 WHERE id = 2001; DO $$ BEGIN RAISE EXCEPTION 'not reached'; END $$; COMMIT`, "record 2001 of subnet"},
		{`UPDATE vpc SET region = 'eu-west-1' WHERE id = 1001`,
			"record 2001 of subnet is in us-east-1, and its vpc_id refers to record 1001 of vpc, which is in eu-west-1"},
		{`UPDATE subnet SET region = 'eu-west-1' WHERE id = 2001`, "record 2001 of subnet is in eu-west-1"},
		{`BEGIN; UPDATE vpc SET region = 'eu-west-1' WHERE id = 1001; UPDATE subnet SET region = 'eu-west-1' WHERE id = 2001; COMMIT`, "record 2002 of subnet"},
		{`BEGIN; SET CONSTRAINTS subnet_vpc_id_fkey DEFERRED; INSERT INTO subnet (id, account, region, cidr_block, vpc_id) VALUES (2003, 'orm', 'us-east-1', '10.3.1.0/24', 1003);
		  INSERT INTO vpc (id, account, region, cidr_block) VALUES (1003, 'orm', 'eu-west-1', '10.3.0.0/16'); COMMIT`,
			"record 2003 of subnet is in us-east-1"},
		{`DELETE FROM vpc WHERE id = 1001; INSERT INTO subnet (account, region, cidr_block, vpc_id) VALUES ('orm', 'us-east-1', '10.1.1.0/24', 77)`, "subnet_vpc_id_fkey"},
	} {
		if got := w.Refused(refused.statement); !strings.Contains(got, refused.message) ||
			strings.Contains(got, "not reached") {
			t.Errorf("%s\nsays %s", refused.statement, got)
		}
	}
	for _, order := range []string{
		`BEGIN; UPDATE vpc SET region = 'eu-west-1' WHERE id = 1001; UPDATE subnet SET region = 'eu-west-1' WHERE vpc_id = 1001; COMMIT`,
		`BEGIN; UPDATE subnet SET region = 'us-east-1' WHERE vpc_id = 1001; UPDATE vpc SET region = 'us-east-1' WHERE id = 1001; COMMIT`,
	} {
		w.PSQL(order)
	}
	if got := w.Admin(`SELECT (SELECT count(*) FROM iasql_internal.scope_doubt), (SELECT string_agg(DISTINCT region, ' ') FROM subnet WHERE vpc_id = 1001)`); got != "0|us-east-1" {
		t.Errorf("doubts and regions: %s", got)
	}
}
