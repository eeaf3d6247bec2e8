package doctor_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/jackc/pgx/v5"

	"iasql/internal/aws"
	"iasql/internal/doctor"
	"iasql/internal/modules"
	"iasql/internal/modules/all"
	"iasql/internal/platform"
	"iasql/internal/test/testdb"
)

// site is a database that engine migrate --admin-url has prepared, with a login of
// its own.
type site struct {
	admin, engine, login string
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{}
	var roles []string
	server := testdb.Server(t)
	t.Cleanup(func() { // when the database has gone
		for _, role := range roles {
			execute(t, server, `DROP ROLE IF EXISTS `+role)
		}
	})
	s.admin = testdb.New(t)
	u, err := url.Parse(s.admin)
	if err != nil {
		t.Fatal(err)
	}
	s.login = "doctor" + strings.ReplaceAll(u.Path, "/", "_")
	u.User = url.UserPassword(s.login, "secret")
	s.engine = u.String()
	if err := platform.Bootstrap(t.Context(), s.admin, s.engine); err != nil {
		t.Fatal(err)
	}
	roles = []string{s.login, ask(t, s.admin,
		`SELECT 'iasql_loopback_' || oid FROM pg_database WHERE datname = current_database()`)}
	if err := migrate(t.Context(), s.engine); err != nil {
		t.Fatal(err)
	}
	return s
}

func execute(t *testing.T, url string, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, statement := range statements {
		if _, err := conn.Exec(context.Background(), statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

func ask(t *testing.T, url, query string) (answer string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := conn.QueryRow(t.Context(), query).Scan(&answer); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return answer
}

// examined examines a database alone.
func examined(t *testing.T, url string) *doctor.Report {
	t.Helper()
	registry, err := modules.NewRegistry(all.Modules(aws.New(aws.Options{}))...)
	if err != nil {
		t.Fatal(err)
	}
	return run(t, doctor.Options{Version: version, Registry: registry, DatabaseURL: url, Connections: 24})
}

// TestDatabaseTroubles plants one trouble after the other in a prepared database,
// and takes it out again.
func TestDatabaseTroubles(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if report := examined(t, s.engine); !report.GoOn {
		t.Fatalf("a prepared database is not in order:\n%s", text(t, report))
	}
	for _, c := range []struct {
		name        string
		plant, heal []string
		finds       finding
	}{
		{
			"login that bypasses policies", []string{`ALTER ROLE $login BYPASSRLS`},
			[]string{`ALTER ROLE $login NOBYPASSRLS`},
			finding{"database.login", doctor.Failure, []string{"BYPASSRLS", "engine migrate --admin-url"}},
		},
		{
			"login that makes roles", []string{`ALTER ROLE $login CREATEROLE`},
			[]string{`ALTER ROLE $login NOCREATEROLE`},
			finding{"database.login", doctor.Failure, []string{"CREATEROLE"}},
		},
		{
			"login that is no member", []string{`REVOKE iasql_engine FROM $login`,
				`GRANT CONNECT ON DATABASE $database TO $login`}, []string{`GRANT iasql_engine TO $login`},
			finding{"database.login", doctor.Failure, []string{"no member of role iasql_engine"}},
		},
		{
			"missing right on a schema", []string{`REVOKE CREATE ON SCHEMA public FROM iasql_engine`},
			[]string{`GRANT CREATE ON SCHEMA public TO iasql_engine`},
			finding{"database.prepared", doctor.Failure,
				[]string{"CREATE and USAGE on schema public for iasql_engine"}},
		},
		{
			"missing extension", []string{`DROP EXTENSION fuzzystrmatch CASCADE`},
			[]string{`CREATE EXTENSION fuzzystrmatch SCHEMA iasql_extensions`},
			finding{"database.extensions", doctor.Failure, []string{"not in this database: fuzzystrmatch"}},
		},
		{
			"extension of an older server", []string{`UPDATE pg_extension SET extversion = '0.9' WHERE extname = 'fuzzystrmatch'`},
			[]string{`UPDATE pg_extension e SET extversion = a.default_version FROM pg_available_extensions a WHERE a.name = e.extname AND e.extname = 'fuzzystrmatch'`},
			finding{"database.extensions", doctor.Warning, []string{"ALTER EXTENSION fuzzystrmatch UPDATE"}},
		},
		{
			"collation of another library", []string{`UPDATE pg_database SET datcollversion = '0.9' WHERE datname = current_database()`},
			[]string{`UPDATE pg_database SET datcollversion = NULL WHERE datname = current_database()`},
			finding{"database.collation", doctor.Warning, []string{"version 0.9", "REFRESH COLLATION VERSION"}},
		},
		{
			"missing migration", []string{`DELETE FROM iasql_internal.goose_db_version WHERE version_id = 20`},
			[]string{`INSERT INTO iasql_internal.goose_db_version (version_id, is_applied) VALUES (20, true)`},
			finding{"database.version", doctor.Warning, []string{"lacks 1 step", "migration 20", "engine migrate"}},
		},
		{
			"newer migration", []string{`INSERT INTO iasql_internal.goose_db_version (version_id, is_applied) VALUES (99999, true)`}, []string{`DELETE FROM iasql_internal.goose_db_version WHERE version_id = 99999`},
			finding{"database.version", doctor.Failure, []string{"newer engine", "migration 99999"}},
		},
		{
			"old function", []string{`UPDATE iasql_internal.applied_sql SET sha256 = sha256 || '\x00' WHERE path = 'functions/iasql_help.sql'`},
			[]string{`UPDATE iasql_internal.applied_sql SET sha256 = substring(sha256 FROM 1 FOR 32) WHERE path = 'functions/iasql_help.sql'`},
			finding{"database.version", doctor.Warning, []string{"sql/functions/iasql_help.sql"}},
		},
		{
			"old job queue", []string{`DELETE FROM iasql_river.river_migration WHERE version = (SELECT max(version) FROM iasql_river.river_migration)`}, []string{`INSERT INTO iasql_river.river_migration (line, version) SELECT 'main', max(version) + 1 FROM iasql_river.river_migration`},
			finding{"database.version", doctor.Warning, []string{"migration of the job queue"}},
		},
		{
			"loopback with another password", []string{`UPDATE iasql_internal.loopback SET password = 'x' || password`},
			[]string{`UPDATE iasql_internal.loopback SET password = substr(password, 2)`},
			finding{"database.loopback", doctor.Failure, []string{"connection to itself", "pg_hba.conf"}},
		},
		{
			"too few connections", []string{`ALTER ROLE $login CONNECTION LIMIT 12`},
			[]string{`ALTER ROLE $login CONNECTION LIMIT -1`},
			finding{"database.connections", doctor.Warning,
				[]string{"up to 24", "CONNECTION LIMIT leaves 12", "--accounts"}},
		},
		{
			"hardly any connection", []string{`ALTER ROLE $login CONNECTION LIMIT 3`},
			[]string{`ALTER ROLE $login CONNECTION LIMIT -1`},
			finding{"database.connections", doctor.Failure, []string{"leaves 3"}},
		},
		{
			"statements that are cut off", []string{`ALTER ROLE $login SET statement_timeout = '5s'`},
			[]string{`ALTER ROLE $login RESET statement_timeout`},
			finding{"database.timeouts", doctor.Warning, []string{"statement_timeout is 5s"}},
		},
		{
			"read-only transactions", []string{`ALTER ROLE $login SET default_transaction_read_only = on`},
			[]string{`ALTER ROLE $login RESET default_transaction_read_only`},
			finding{"database.server", doctor.Failure, []string{"read-only"}},
		},
		{
			"commits that a crash may lose", []string{`ALTER ROLE $login SET synchronous_commit = off`},
			[]string{`ALTER ROLE $login RESET synchronous_commit`},
			finding{"database.durability", doctor.Warning, []string{"synchronous_commit is off"}},
		},
		{
			"a cycle every two seconds", []string{`UPDATE iasql_settings SET value = '2 seconds' WHERE name = 'sync_interval'`}, []string{`UPDATE iasql_settings SET value = '1 minute' WHERE name = 'sync_interval'`},
			finding{"database.settings", doctor.Warning, []string{"sync_interval is 2 seconds", "rates"}},
		},
		{
			"no guard", []string{`UPDATE iasql_settings SET value = '1' WHERE name = 'max_delete_ratio'`,
				`UPDATE iasql_settings SET value = '0 seconds' WHERE name = 'consistency_window'`},
			[]string{`UPDATE iasql_settings SET value = '0.5' WHERE name = 'max_delete_ratio'`,
				`UPDATE iasql_settings SET value = '60 seconds' WHERE name = 'consistency_window'`},
			finding{"database.settings", doctor.Warning,
				[]string{"max_delete_ratio is 1", "consistency_window is 0 seconds"}},
		},
		{
			"no pg_cron", nil, nil,
			finding{"database.pg_cron", doctor.Skipped, []string{"the engines keep the schedule themselves"}},
		},
		{
			"rules that may not be read", nil, nil,
			finding{"database.pg_hba", doctor.Skipped, []string{"only an administrator"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			replace := strings.NewReplacer("$login", s.login, "$database",
				ask(t, s.admin, `SELECT quote_ident(current_database())`))
			for i := range c.plant {
				execute(t, s.admin, replace.Replace(c.plant[i]))
			}
			report := examined(t, s.engine)
			for i := range c.heal {
				execute(t, s.admin, replace.Replace(c.heal[i]))
			}
			c.finds.in(t, report)
			if out := text(t, report); strings.Contains(out, s.login) || strings.Contains(out, "secret") ||
				strings.Contains(out, "iasql_test_") {
				t.Errorf("the report names the login or its password:\n%s", out)
			}
		})
	}
	if report := examined(t, s.engine); !report.GoOn {
		t.Errorf("not healed:\n%s", text(t, report))
	}
}

// Databases that an engine cannot work with at all.
func TestNoDatabase(t *testing.T) {
	t.Parallel()
	server := testdb.Server(t)
	with := func(change func(u *url.URL)) string {
		u, err := url.Parse(server)
		if err != nil {
			t.Fatal(err)
		}
		change(u)
		return u.String()
	}
	for _, c := range []struct {
		name, url string
		finds     []finding
	}{
		{"no such database", with(func(u *url.URL) {
			u.Path = "/planted_nowhere"
		}), []finding{{"database.connection", doctor.Failure, []string{"3D000", "CREATE DATABASE"}}}},
		{"wrong password", with(func(u *url.URL) {
			u.User = url.UserPassword(u.User.Username(), "planted")
		}), []finding{{"database.connection", doctor.Failure, []string{"28P01", "password in DATABASE_URL"}}}},
		{"nobody there", with(func(u *url.URL) {
			u.Host = "127.0.0.1:1"
		}), []finding{{"database.connection", doctor.Failure, []string{"cannot be reached"}}}},
		{"no URL", "postgres://planted:planted@[::1",
			[]finding{{"database.connection", doctor.Failure, []string{"not a URL"}}}},
		{"superuser", testdb.New(t), []finding{{"database.login", doctor.Failure, []string{"SUPERUSER"}}}},
		{"bare database", testdb.Empty(t), []finding{
			{"database.prepared", doctor.Failure,
				[]string{"schema iasql_internal owned by iasql_engine", "table iasql_internal.loopback"}},
			{"database.extensions", doctor.Failure, []string{"dblink and fuzzystrmatch"}},
			{"database.version", doctor.Failure, []string{"has not been migrated"}},
			{"database.loopback", doctor.Skipped, nil},
			{"database.settings", doctor.Skipped, nil},
		}},
		{"copy of a database", testdb.New(t),
			[]finding{{"database.prepared", doctor.Failure, []string{"may be a copy"}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			report := examined(t, c.url)
			for _, f := range c.finds {
				f.in(t, report)
			}
			if report.GoOn {
				t.Errorf("go on with that:\n%s", text(t, report))
			}
			if out := text(t, report); strings.Contains(out, "planted") {
				t.Errorf("the report gives away:\n%s", out)
			}
		})
	}
}

// With a database, the CHECK constraints of the tables are looked at, and the
// interval of its cycles counts. Nothing is written to it.
func TestAccountAndDatabase(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	execute(t, s.admin, `UPDATE iasql_settings SET value = '20 seconds' WHERE name = 'sync_interval'`)
	before := ask(t, s.admin, `SELECT count(*)::text FROM iasql_audit_log`)
	// A queue is a FIFO queue if and only if its name says so: a constraint of the table.
	account := newScene(t, rewritten("GetQueueAttributes", `"QueueArn"`, `"FifoQueue": "true", "QueueArn"`),
		ofDefaultVPC(false, `<cidrBlock>[^<]*</cidrBlock>`, "<cidrBlock>10.0.0.0/8</cidrBlock>"),
		ofDefaultVPC(true, `<cidrBlock>[^<]*</cidrBlock>`, "<cidrBlock>10.0.0.0/8</cidrBlock>"))
	if _, err := sqs.NewFromConfig(account.Config("us-east-1")).CreateQueue(t.Context(),
		&sqs.CreateQueueInput{QueueName: awssdk.String("planted")}); err != nil {
		t.Fatal(err)
	}
	o := account.options(t)
	o.DatabaseURL, o.Connections, o.Modules = s.engine, 24, []string{"aws_vpc", "aws_sqs"}
	report := run(t, o)
	finding{"objects.vpc", doctor.Warning,
		[]string{"cidr_block: CHECK refuses it: text of 10 characters, wanted CHECK (family(cidr_block) = 4",
			"1 object"}}.in(t, report)
	finding{"objects.queue", doctor.Warning,
		[]string{"object: CHECK refuses it: name text of 7 characters, fifo_queue boolean, wanted CHECK (fifo_queue = "}}.in(t, report)
	if report.Cycle.Interval != (20 * time.Second).Seconds() {
		t.Errorf("interval %g", report.Cycle.Interval)
	}
	if after := ask(t, s.admin, `SELECT count(*)::text FROM iasql_audit_log`); after != before || !report.GoOn {
		t.Errorf("%s rows of the audit log, before %s:\n%s", after, before, text(t, report))
	}
	givesNothingAway(t, report, account)
	if d := report.Database; d == nil || d.Migrated != version || !strings.HasPrefix(d.Server, fmt.Sprint(1)) {
		t.Errorf("database: %+v", d)
	}
}
