package protection

import (
	"database/sql"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver that goose uses
	"github.com/pressly/goose/v3"

	"iasql/internal/test/harness"
)

// A failed change fails the pipeline, with the settings of docs/migrations.md.
func TestGoose(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/migrations.md")
	if err != nil {
		t.Fatal(err)
	}
	file := regexp.MustCompile("(?s)```sql goose=fails\n(.*?)```").FindStringSubmatch(string(text))
	if file == nil {
		t.Fatal("docs/migrations.md has no example for goose")
	}
	w := harness.Start(t, east, "aws_vpc")
	w.Admin(`CREATE SCHEMA tool`, `GRANT ALL ON SCHEMA tool TO iasql_user`)
	db, err := sql.Open("pgx", w.UserURL)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	up := func(table, text string) error {
		p, err := goose.NewProvider(goose.DialectPostgres, db, fstest.MapFS{"00001_subnet.sql": {Data: []byte(text)}},
			goose.WithTableName("tool."+table))
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Up(t.Context())
		return err
	}
	if err := up("by_itself", file[1]); err == nil || !strings.Contains(err.Error(), "InvalidSubnet.Range") {
		t.Errorf("the migration says %v", err)
	}
	if got := w.PSQL(`SELECT count(*) FROM vpc WHERE cidr_block = '10.6.0.0/16'`); got != "0" {
		t.Errorf("%s networks are left", got)
	}
	if got := w.PSQL(`SELECT count(*) FROM tool.by_itself WHERE version_id = 1`); got != "0" {
		t.Error("the failed migration is recorded")
	}
	// In a transaction, without a batch: the second step fails.
	plain := regexp.MustCompile(`(?m)^(-- \+goose NO TRANSACTION|CALL .*)\n`).ReplaceAllString(file[1], "")
	if err := up("second_step", plain); err != nil {
		t.Errorf("the migration says %v", err)
	}
	refused(t, w, []string{"IA012", "InvalidSubnet.Range"}, `SELECT iasql_wait_for_all(120)`)
}
