package batches

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// tool is a migration tool that is no library of Go.
type tool struct {
	name   string
	has    []string // succeeds where the tool is
	run    []string
	record string // how many migrations the tool has recorded as done
}

// python is Debian's: `make deps-all` installs the tools there.
const python = "/usr/bin/python3"

var tools = []tool{
	{"Alembic", []string{python, "-c", "import alembic, psycopg2"}, []string{python, "testdata/alembic_migrate.py"},
		`SELECT count(*) FROM alembic_version`},
	{"Django", []string{python, "-c", "import django, psycopg2"}, []string{python, "testdata/django_migrate.py"},
		`SELECT count(*) FROM django_migrations WHERE app = 'shop'`},
	{"Rails", []string{"ruby", "-e", "require 'active_record'; require 'pg'"},
		[]string{"ruby", "testdata/rails_migrate.rb"}, `SELECT count(*) FROM schema_migrations`},
}

// TestMigrationTools: with the settings of docs/migrations.md a batch that fails fails
// the migration, with AWS's message, and the tool does not record it as done. As the
// tools are, they wrap a migration in a transaction and report success: the second step
// of that page fails (finding 5).
func TestMigrationTools(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_vpc")
	for i, tool := range tools {
		t.Run(tool.name, func(t *testing.T) { tool.try(t, w, i) })
	}
}

func (c tool) try(t *testing.T, w *harness.World, i int) {
	if err := exec.Command(c.has[0], c.has[1:]...).Run(); err != nil {
		harness.Lacking(t, c.name)
	}
	w.Admin(`DROP TABLE IF EXISTS alembic_version, django_migrations, schema_migrations, ar_internal_metadata`)
	network := fmt.Sprintf("10.%d.0.0/16", 100+i)
	statements := filepath.Join(t.TempDir(), "statements.sql")
	text := fmt.Sprintf(`CALL iasql_begin()
INSERT INTO vpc (cidr_block) VALUES ('%[1]s')
INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '192.168.0.0/24' FROM vpc WHERE cidr_block = '%[1]s'
CALL iasql_commit('%[2]s')
`, network, c.name)
	if err := os.WriteFile(statements, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	migrate := func(how string) (string, error) {
		args := append(c.run[1:], w.AdminURL, statements, how)
		out, err := exec.CommandContext(t.Context(), c.run[0], args...).CombinedOutput()
		return string(out), err
	}

	out, err := migrate("waits")
	if err == nil || !strings.Contains(out, "InvalidSubnet.Range") {
		t.Errorf("in autocommit, the tool ends with %v and says\n%s", err, out)
	}
	if got := w.Admin(c.record, `SELECT count(*) FROM vpc WHERE cidr_block = '`+network+`'`); got != "0\n0" {
		t.Errorf("migrations done, and networks left: %s", got)
	}
	if out, err := migrate("plain"); err != nil {
		t.Errorf("in a transaction, the tool ends with %v and says\n%s", err, out)
	}
	if got := w.Admin(c.record); got != "1" {
		t.Errorf("migrations done: %s", got)
	}
	if out, err := w.TryPSQL(w.AdminURL, `SELECT iasql_wait_for_all(60)`); err == nil ||
		!strings.Contains(out+err.Error(), "InvalidSubnet.Range") {
		t.Errorf("the second step says %v: %s", err, out)
	}
	if got := w.Admin(`SELECT count(*) FROM vpc WHERE cidr_block = '` + network + `'`); got != "0" {
		t.Errorf("networks left: %s", got)
	}
}
