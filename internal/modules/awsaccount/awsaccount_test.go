package awsaccount

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/test/awstest"
	"iasql/internal/test/testaws"
	"iasql/internal/test/testdb"
)

func TestMain(m *testing.M) { testdb.Main(m, install, testaws.Setup) }

func install(ctx context.Context, url string) error {
	registry, err := modules.NewRegistry(Module(aws.New(aws.Options{})))
	if err != nil {
		return err
	}
	return testdb.InstallAlone(ctx, url, registry)
}

func connect(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), testdb.New(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func exec(t *testing.T, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// query returns the first column of all rows as one text.
func query(t *testing.T, conn *pgx.Conn, sql string) string {
	t.Helper()
	rows, err := conn.Query(t.Context(), sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[*string])
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	var texts []string
	for _, s := range list {
		if s == nil {
			texts = append(texts, "NULL")
		} else {
			texts = append(texts, *s)
		}
	}
	return strings.Join(texts, " ")
}

func TestFirstRowAndDefaults(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	if got := query(t, conn, "SELECT name FROM aws_account WHERE is_default"); got != "default" {
		t.Errorf("default account: %s", got)
	}
	if got := query(t, conn, "SELECT default_aws_account()"); got != "default" {
		t.Errorf("default_aws_account() = %s", got)
	}
	var pg *pgconn.PgError
	if _, err := conn.Exec(t.Context(), "SELECT default_aws_region()"); !errors.As(err, &pg) || pg.Code != "IA028" ||
		pg.Hint == "" {
		t.Errorf("before any region is known: %v", err)
	}
	exec(t, conn,
		"INSERT INTO aws_regions (region, is_default) VALUES ('eu-west-1', true), ('us-east-1', false)",
		"INSERT INTO aws_regions (region, is_default) VALUES ('eu-west-2', true)")
	if got := query(t, conn, "SELECT default_aws_region()"); got != "eu-west-1" {
		t.Errorf("after a later region came with is_default: default_aws_region() = %s", got)
	}
	exec(t, conn, "UPDATE aws_regions SET is_default = true WHERE region = 'us-east-1'")
	if got := query(t, conn, "SELECT region FROM aws_regions WHERE is_default"); got != "us-east-1" {
		t.Errorf("default region: %s", got)
	}
	exec(t, conn, "INSERT INTO aws_account (name, is_default) VALUES ('b', true), ('c', false)")
	if got := query(t, conn, "SELECT name FROM aws_account WHERE is_default"); got != "b" {
		t.Errorf("default account: %s", got)
	}
	exec(t, conn, "UPDATE aws_account SET is_default = true")
	if got := query(t, conn, "SELECT count(*)::text FROM aws_account WHERE is_default"); got != "1" {
		t.Errorf("%s default accounts", got)
	}
	exec(t, conn, "INSERT INTO aws_regions (account, region) VALUES ('c', 'us-east-1')")
	_, err := conn.Exec(t.Context(), "UPDATE aws_account SET name = 'd' WHERE name = 'c'")
	if !errors.As(err, &pg) || pg.Code != "23503" {
		t.Errorf("rename of an account in use: got %v, want a foreign key violation", err)
	}
}

func TestSecretsAreHidden(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	load := LoadCredentials(conn)
	want := func(account string, want aws.Credentials) {
		t.Helper()
		got, err := load(t.Context(), account)
		if err != nil || got != want {
			t.Errorf("%s: got key %q secret %q token %q, %v, want %q %q %q", account, got.AccessKeyID,
				got.SecretAccessKey, got.SessionToken, err,
				want.AccessKeyID, want.SecretAccessKey, want.SessionToken)
		}
		if dump := query(t, conn, "SELECT to_jsonb(a)::text FROM aws_account AS a"); strings.Contains(dump, "secret-") {
			t.Errorf("a secret can be read: %s", dump)
		}
		if left := query(t, conn, "SELECT account FROM iasql_internal.account_secret_staged"); left != "" {
			t.Errorf("secrets of %s are left on the way", left)
		}
	}
	step := func(sql string, after aws.Credentials) {
		t.Helper()
		exec(t, conn, sql)
		want("p", after)
	}
	step("INSERT INTO aws_account (name, access_key_id, secret_access_key, session_token) VALUES ('p', 'k', "+
		"'secret-1', 'secret-t')",
		aws.Credentials{AccessKeyID: "k", SecretAccessKey: "secret-1", SessionToken: "secret-t"})
	if got := query(t, conn, "SELECT secret_access_key || session_token FROM aws_account WHERE name = 'p'"); got != "****************" {
		t.Errorf("shown: %s", got)
	}
	step("UPDATE aws_account SET access_key_id = 'l' WHERE name = 'p'",
		aws.Credentials{AccessKeyID: "l", SecretAccessKey: "secret-1", SessionToken: "secret-t"})
	step("UPDATE aws_account SET secret_access_key = 'secret-2', session_token = NULL WHERE name = 'p'",
		aws.Credentials{AccessKeyID: "l", SecretAccessKey: "secret-2"})
	step("UPDATE aws_account SET secret_access_key = '********' WHERE name = 'p'",
		aws.Credentials{AccessKeyID: "l", SecretAccessKey: "secret-2"})
	// What is not stored changes nothing.
	step("INSERT INTO aws_account (name, secret_access_key) VALUES ('p', 'secret-3') ON CONFLICT DO NOTHING",
		aws.Credentials{AccessKeyID: "l", SecretAccessKey: "secret-2"})
	step(`INSERT INTO aws_account (name, access_key_id, secret_access_key) VALUES ('p', 'm', 'secret-4')
		ON CONFLICT (name) DO UPDATE SET access_key_id = excluded.access_key_id, secret_access_key = excluded.secret_access_key`,
		aws.Credentials{AccessKeyID: "m", SecretAccessKey: "secret-4"})
	step("UPDATE aws_account SET secret_access_key = '' WHERE name = 'p'", aws.Credentials{AccessKeyID: "m"})
	// Several rows, one of which takes over as the default.
	exec(t, conn, `INSERT INTO aws_account (name, is_default, access_key_id, secret_access_key)
		VALUES ('x', true, 'kx', 'secret-x'), ('y', false, 'ky', 'secret-y')`)
	want("x", aws.Credentials{AccessKeyID: "kx", SecretAccessKey: "secret-x"})
	want("y", aws.Credentials{AccessKeyID: "ky", SecretAccessKey: "secret-y"})
	exec(t, conn, "UPDATE aws_account SET name = 'z' WHERE name = 'y'")
	want("z", aws.Credentials{AccessKeyID: "ky", SecretAccessKey: "secret-y"})
	exec(t, conn, "DELETE FROM aws_account WHERE name = 'z'")
	if got := query(t, conn, "SELECT account FROM iasql_internal.account_secret WHERE account IN ('y', 'z')"); got != "" {
		t.Errorf("the secret of a deleted account is left: %s", got)
	}
	if _, err := load(t.Context(), "z"); err == nil || modules.ClassOf(err) != modules.Denied {
		t.Errorf("credentials of an unknown account: %v", err)
	}
}

// What is written to the table is what the clients sign with, at once.
func TestCredentialsReachTheClients(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	account := testaws.NewAccount(t)
	c := aws.New(aws.Options{Endpoint: account.Endpoint, Accounts: LoadCredentials(conn), Recheck: 1})
	exec(t, conn, "UPDATE aws_account SET access_key_id = '"+account.AccessKeyID+"', secret_access_key = '"+
		account.SecretAccessKey+"'")
	id, err := c.AccountID(t.Context(), modules.Scope{Account: "default"})
	if err != nil || id != account.ID {
		t.Errorf("got %s, %v, want %s", id, err, account.ID)
	}
	other := testaws.NewAccount(t)
	exec(t, conn, "UPDATE aws_account SET access_key_id = '"+other.AccessKeyID+"'")
	if id, err = c.AccountID(t.Context(), modules.Scope{Account: "default"}); err != nil || id != other.ID {
		t.Errorf("got %s, %v, want %s", id, err, other.ID)
	}
	if _, err = c.AccountID(t.Context(), modules.Scope{Account: "nobody"}); err == nil ||
		!strings.Contains(err.Error(), "insert it into aws_account") {
		t.Errorf("got %v", err)
	}
}

func TestOthersCannotReadSecrets(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	if got := query(t, conn, `SELECT has_table_privilege(r.oid, c.oid, 'SELECT')::text
		FROM pg_class AS c, pg_roles AS r
		WHERE c.relname IN ('account_secret', 'account_secret_staged') AND r.rolname = 'pg_monitor'`); got != "false false" {
		t.Errorf("got %s", got)
	}
}

func TestDrop(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	m := Module(aws.New(aws.Options{}))
	exec(t, conn, "DROP TABLE aws_event_source", "DROP TABLE aws_regions CASCADE", "DROP TABLE aws_account")
	for _, r := range m.Resources {
		exec(t, conn, r.Table().DropDDL()[1:]...)
	}
	exec(t, conn, m.Drop)
	if got := query(t, conn, `SELECT p.proname::text FROM pg_proc AS p WHERE p.proname LIKE '%aws%'
		UNION ALL SELECT c.relname::text FROM pg_class AS c WHERE c.relname LIKE '%aws%'`); got != "" {
		t.Errorf("left over: %s", got)
	}
}

func TestCommentsAreThere(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	if got := query(t, conn, `SELECT p.oid::regprocedure::text FROM pg_proc AS p
		WHERE p.proname LIKE '%aws%' AND obj_description(p.oid, 'pg_proc') IS NULL`); got != "" {
		t.Errorf("without a comment: %s", got)
	}
}

// The constraints of columns that every AWS table has.
func TestTagsCheck(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	exec(t, conn, "CREATE TABLE tagged (tags jsonb CHECK ("+aws.TagsColumn().Check+"))")
	for tags, allowed := range map[string]bool{
		`{"Name": "a", "awsome": "", "x:aws:": ""}`: true, `{}`: true,
		`[]`: false, `"a"`: false, `null`: false, `{"a": 1}`: false, `{"a": ["b"]}`: false, `{"a": null}`: false,
		`{"aws:cloudformation:stack-name": "a"}`: false, `{"AWS:x": "a"}`: false, `{"iasql:token": "a"}`: false,
	} {
		_, err := conn.Exec(t.Context(), "INSERT INTO tagged VALUES ($1::text::jsonb)", tags)
		if (err == nil) != allowed {
			t.Errorf("%s: got %v, want allowed: %t", tags, err, allowed)
		}
	}
}

func TestRegions(t *testing.T) {
	t.Parallel()
	clients := awstest.Clients(t)
	r := newRegions(clients)
	scope := awstest.Scope("")
	var listed []modules.Row
	if err := awstest.List(t.Context(), r, scope, func(rows []modules.Row) error {
		listed = append(listed, rows...)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	names := aws.Column(listed, "region")
	if !slices.Contains(names, "us-east-1") || !slices.Contains(names, "eu-west-1") {
		t.Errorf("listed %v", names)
	}
	standard, err := clients.DefaultRegion(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range listed {
		// The emulator lists these although it is not asked to.
		if row["opt_in_status"].String() == notOptedIn {
			t.Errorf("listed %v", row)
		}
		if row["is_default"].Bool() != (row["region"].String() == standard) || !row["is_enabled"].Bool() {
			t.Errorf("got %v with the default region %s", row, standard)
		}
		for name := range row {
			if r.Table().Column(name) == nil {
				t.Errorf("column %s is not described", name)
			}
		}
	}
	rows, err := awstest.Get(t.Context(), r, scope,
		[]modules.Row{{"region": modules.Text("eu-west-1")}, {"region": modules.Text("mars-1")}})
	if err != nil || !slices.Equal(aws.Column(rows, "region"), []string{"eu-west-1"}) {
		t.Errorf("get: %v, %v", rows, err)
	}
	if r.Can().Create {
		t.Error("regions cannot be created")
	}
	if r.Can().Delete {
		t.Error("regions cannot be deleted")
	}
}

// What people have said of a region outlives its row: a pull that loses some regions, or
// all of them, and finds them again later leaves them as they were.
func TestRegionChoicesOutliveTheirRows(t *testing.T) {
	t.Parallel()
	conn := connect(t)
	regions := func() {
		// as the cloud lists them
		for _, r := range []string{"('eu-west-1', false)", "('us-east-1', true)", "('ap-south-1', false)",
			"('me-south-1', false)"} {
			exec(t, conn, "INSERT INTO aws_regions (region, is_default) VALUES "+r)
		}
	}
	const state = `SELECT region || CASE WHEN is_enabled THEN '' ELSE '-' END || CASE WHEN is_default THEN '*' ELSE '' END FROM aws_regions ORDER BY region`
	regions()
	exec(t, conn, "UPDATE aws_regions SET is_enabled = false WHERE region LIKE 'ap%' OR region LIKE 'me%'",
		"UPDATE aws_regions SET is_default = true WHERE region = 'eu-west-1'")
	const want = "ap-south-1- eu-west-1* me-south-1- us-east-1"
	if got := query(t, conn, state); got != want {
		t.Fatalf("before: %s", got)
	}
	for range 2 {
		exec(t, conn, "DELETE FROM aws_regions")
		regions()
		if got := query(t, conn, state); got != want {
			t.Fatalf("all were lost and found: %s, want %s", got, want)
		}
	}
	// One goes, because the account gave it up, and comes back; meanwhile another is made the default.
	exec(t, conn, "DELETE FROM aws_regions WHERE region IN ('me-south-1', 'eu-west-1')",
		"INSERT INTO aws_regions (region, is_default) VALUES ('eu-west-2', true)",
		"UPDATE aws_regions SET is_default = true WHERE region = 'us-east-1'",
		"INSERT INTO aws_regions (region) VALUES ('me-south-1'), ('eu-west-1')")
	if got := query(t, conn, state); got != "ap-south-1- eu-west-1 eu-west-2 me-south-1- us-east-1*" {
		t.Errorf("one was lost and found: %s", got)
	}
	if got := query(t, conn, "SELECT region FROM iasql_internal.aws_region_choice"); got != "" {
		t.Errorf("left over: %s", got)
	}
	// An account's choices have its name, and go with it.
	exec(t, conn, "INSERT INTO aws_account (name) VALUES ('old')",
		"INSERT INTO aws_regions (account, region, is_enabled) VALUES ('old', 'eu-west-1', false)",
		"DELETE FROM aws_regions WHERE account = 'old'", "UPDATE aws_account SET name = 'new' WHERE name = 'old'",
		"INSERT INTO aws_regions (account, region) VALUES ('new', 'eu-west-1')")
	if got := query(t, conn, "SELECT is_enabled::text FROM aws_regions WHERE account = 'new'"); got != "false" {
		t.Errorf("of an account that was renamed: is_enabled is %s", got)
	}
	exec(t, conn, "DELETE FROM aws_regions WHERE account = 'new'", "DELETE FROM aws_account WHERE name = 'new'")
	if got := query(t, conn, "SELECT region FROM iasql_internal.aws_region_choice"); got != "" {
		t.Errorf("left over of an account that has gone: %s", got)
	}
}

// An account has regions: a listing without any is an error, and proves nothing.
func TestNoRegions(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<DescribeRegionsResponse><requestId>r</requestId><regionInfo/></DescribeRegionsResponse>")
	}))
	t.Cleanup(server.Close)
	r := newRegions(awstest.Fake(server.URL))
	if err := awstest.List(t.Context(), r, awstest.Scope(""), func(rows []modules.Row) error {
		t.Errorf("listed %v", rows)
		return nil
	}); !aws.HasCode(err, "NoRegions") {
		t.Errorf("list: %v", err)
	}
	if rows, err := awstest.Get(t.Context(), r, awstest.Scope(""),
		[]modules.Row{{"region": modules.Text("eu-west-1")}}); !aws.HasCode(err, "NoRegions") {
		t.Errorf("get: %v, %v", rows, err)
	}
}
