package batches

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/golang-migrate/migrate/v4"
	_ "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	_ "github.com/golang-migrate/migrate/v4/source/file"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"iasql/internal/test/harness"
)

// Drivers that use the extended protocol (prepared statements) and the simple
// one get the same.
func TestThroughPGX(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	for name, mode := range map[string]pgx.QueryExecMode{"extended": pgx.QueryExecModeCacheStatement,
		"simple": pgx.QueryExecModeSimpleProtocol} {
		config, err := pgx.ParseConfig(w.UserURL)
		if err != nil {
			t.Fatal(err)
		}
		config.DefaultQueryExecMode = mode
		var notices []string
		config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { notices = append(notices, n.Message) }
		conn, err := pgx.ConnectConfig(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		exec := func(sql string, args ...any) {
			t.Helper()
			if _, err := conn.Exec(t.Context(), sql, args...); err != nil {
				t.Fatalf("%s: %s: %v", name, sql, err)
			}
		}
		exec(`CALL iasql_begin()`)
		exec(`INSERT INTO queue (name) VALUES ($1)`, name)
		var action, table string
		if err := conn.QueryRow(t.Context(), `SELECT action, table_name FROM iasql_preview() WHERE direction = $1`,
			"push").Scan(&action, &table); err != nil {
			t.Fatal(err)
		}
		exec(`CALL iasql_commit($1)`, "through pgx") // blocks: it is not in a transaction
		var applied bool
		if err := conn.QueryRow(t.Context(), `SELECT url IS NOT NULL FROM queue WHERE name = $1`, name).Scan(&applied); err != nil || !applied {
			t.Errorf("%s: after the commit: %v %v", name, applied, err)
		}
		if text := strings.Join(notices, "\n"); !strings.Contains(text, "is open") ||
			!strings.Contains(text, "is committed") {
			t.Errorf("%s: notices: %s", name, text)
		}

		// In a transaction the commit is deferred to the transaction's.
		notices = nil
		err = pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
			for _, sql := range []string{`CALL iasql_begin()`, `UPDATE queue SET delay_seconds = 1`,
				`CALL iasql_commit('in a transaction')`} {
				if _, err := tx.Exec(t.Context(), sql); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if text := strings.Join(notices, "\n"); !strings.Contains(text, "will be applied when this transaction commits") {
			t.Errorf("%s: notices: %s", name, text)
		}
		closed(w)
		conn.Close(t.Context())
	}
	w.Settled()
}

// closed waits until no batch is open.
func closed(w *harness.World) {
	w.Helper()
	w.Becomes(10*time.Second, "", `SELECT doing FROM iasql_engines() WHERE doing LIKE '%batch%'`)
}

// goose wraps a migration in a transaction: the commit is deferred. With NO
// TRANSACTION it runs statement by statement: the commit blocks.
func TestGoose(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	files := fstest.MapFS{
		"00001_in_transaction.sql": {Data: []byte(
			"-- +goose Up\nCALL iasql_begin();\nINSERT INTO queue (name) VALUES ('goose-tx');\nCALL " +
				"iasql_commit('goose');\n")},
		"00002_without.sql": {Data: []byte(
			"-- +goose NO TRANSACTION\n-- +goose Up\nCALL iasql_begin();\nINSERT INTO queue (name) VALUES " +
				"('goose-plain');\nCALL iasql_commit('goose');\n")},
	}
	config, err := pgx.ParseConfig(w.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*config)
	defer db.Close()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.UpByOne(t.Context()); err != nil {
		t.Fatal(err)
	}
	closed(w)
	w.Becomes(5*time.Second, "t", `SELECT url IS NOT NULL FROM queue WHERE name = 'goose-tx'`)
	if _, err := provider.UpByOne(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.PSQL(`SELECT url IS NOT NULL FROM queue WHERE name = 'goose-plain'`); got != "t" {
		t.Errorf("the migration did not wait for its commit: %s", got)
	}
	w.Settled()
}

// golang-migrate sends a file as one string, which PostgreSQL runs as one
// transaction: the commit is deferred.
func TestGolangMigrate(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	dir := t.TempDir()
	text := "CALL iasql_begin();\nINSERT INTO queue (name) VALUES ('migrate');\nCALL iasql_commit('golang-migrate');\n"
	if err := os.WriteFile(filepath.Join(dir, "1_queue.up.sql"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := migrate.New("file://"+dir, "pgx5"+strings.TrimPrefix(w.AdminURL, "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Up(); err != nil {
		t.Fatal(err)
	}
	if srcErr, dbErr := m.Close(); srcErr != nil || dbErr != nil {
		t.Fatal(srcErr, dbErr)
	}
	closed(w)
	w.Becomes(5*time.Second, "t", `SELECT url IS NOT NULL FROM queue WHERE name = 'migrate'`)
	w.Settled()
}

// With x-multi-statement golang-migrate sends statement by statement: the commit
// waits, and a batch that fails fails the migration (finding 5).
func TestGolangMigrateFails(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_vpc")
	dir := t.TempDir()
	text := "CALL iasql_begin();\nINSERT INTO vpc (cidr_block) VALUES ('10.8.0.0/16');\n" +
		"INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '192.168.0.0/24' FROM vpc WHERE cidr_block = " +
		"'10.8.0.0/16';\nCALL iasql_commit('golang-migrate');\n"
	if err := os.WriteFile(filepath.Join(dir, "1_subnet.up.sql"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(w.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	query := target.Query()
	query.Set("x-multi-statement", "true")
	target.Scheme, target.RawQuery = "pgx5", query.Encode()
	m, err := migrate.New("file://"+dir, target.String())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Up(); err == nil || !strings.Contains(err.Error(), "InvalidSubnet.Range") {
		t.Errorf("the migration says %v", err)
	}
	if _, dirty, err := m.Version(); err != nil || !dirty {
		t.Errorf("it is dirty: %t, %v", dirty, err)
	}
	if srcErr, dbErr := m.Close(); srcErr != nil || dbErr != nil {
		t.Fatal(srcErr, dbErr)
	}
	if got := w.PSQL(`SELECT count(*) FROM vpc WHERE cidr_block = '10.8.0.0/16'`); got != "0" {
		t.Errorf("left are %s", got)
	}
}

// A deferred commit that fails for good is undone like any other, and says so
// where errors are looked for.
func TestDeferredCommitFails(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_vpc")
	w.PSQL(`INSERT INTO vpc (cidr_block) VALUES ('10.9.0.0/16')`)
	w.Settled()
	w.PSQL(`BEGIN`, `CALL iasql_begin()`,
		`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, b::cidr FROM vpc, unnest('{10.9.1.0/24,192.168.1.0/24}'::text[]) b WHERE cidr_block = '10.9.0.0/16'`,
		`CALL iasql_commit('fails')`, `COMMIT`)
	closed(w)
	w.Settled()
	if got := w.PSQL(`SELECT count(*) FROM subnet s JOIN vpc v ON v.id = s.vpc_id WHERE v.cidr_block = '10.9.0.0/16'`); got != "0" {
		t.Errorf("%s rows are left", got)
	}
	if got := w.PSQL(`SELECT message FROM iasql_audit_log WHERE change_type = 'ERROR'`); !strings.Contains(got, "InvalidSubnet.Range") {
		t.Errorf("error: %s", got)
	}
	// Who waits afterwards is told, until another commit has succeeded (finding 5).
	if got := w.Refused(`SELECT iasql_wait_for_all(60)`); !strings.Contains(got, "IA026") ||
		!strings.Contains(got, "InvalidSubnet.Range") {
		t.Errorf("waiting says %s", got)
	}
	w.Admin(`SELECT iasql_wait_for_all(60)`)
	w.PSQL(`BEGIN`, `CALL iasql_begin()`, `INSERT INTO vpc (cidr_block) VALUES ('10.7.0.0/16')`,
		`CALL iasql_commit('succeeds')`, `COMMIT`, `SELECT iasql_wait_for_all(60)`)
}

// Who waits for a deferred commit is told of its failure also if the batch is undone a while before that is on record.
func TestDeferredCommitIsWaitedForUntilItIsOnRecord(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_vpc")
	w.Admin(`CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(2); RETURN NEW; END'`,
		`CREATE TRIGGER slowly BEFORE INSERT ON iasql_audit_log FOR EACH ROW WHEN (NEW.change_type = 'ERROR') EXECUTE FUNCTION slowly()`)
	w.PSQL(`INSERT INTO vpc (cidr_block) VALUES ('10.9.0.0/16')`, `SELECT iasql_wait_for_all(60)`)
	w.PSQL(`BEGIN`, `CALL iasql_begin()`,
		`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '192.168.1.0/24' FROM vpc WHERE cidr_block = '10.9.0.0/16'`,
		`CALL iasql_commit('fails')`, `COMMIT`)
	if got := w.Refused(`SELECT iasql_wait_for_all(60)`); !strings.Contains(got, "IA026") ||
		!strings.Contains(got, "InvalidSubnet.Range") {
		t.Errorf("waiting says %s", got)
	}
}
