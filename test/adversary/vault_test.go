package adversary

import (
	"bytes"
	"fmt"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
	"iasql/internal/test/testdb"
)

// quickly is how soon the engine has done what it is to do.
const quickly = 60 * time.Second

// planted is in every secret that the tests write.
const planted = "planted-and-not-to-be-seen"

// TestSecretsStayHidden plants 200 secrets, in every state that one can be in,
// and has a reader look at all there is.
func TestSecretsStayHidden(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	proxy := faultproxy.Start(t, w.AWS.Endpoint)
	w.Endpoint = proxy.URL
	engine := w.Serve()
	w.Install(east, "aws_secrets_manager", "aws_rds", "aws_lambda")
	reader := w.Login("reader", "iasql_reader")
	look := func(state string) { t.Helper(); lookForSecrets(w, reader, state) }
	secret := func(name string) string { return planted + "-" + name }
	insert := func(from, to int, name string) string {
		return fmt.Sprintf(`INSERT INTO secret (name, value) SELECT '%[3]s' || i, '%[4]s' || i FROM generate_series(%[1]d, %[2]d) i`, from, to, name, secret(name))
	}

	refuse := func(c faultproxy.Call) faultproxy.Fault {
		if c.Action == "CreateSecret" || c.Action == "CreateDBInstance" {
			return faultproxy.Fault{Status: 400, Code: "AccessDeniedException", Message: "not authorized"}
		}
		return faultproxy.Fault{}
	}
	proxy.Set(refuse)
	w.PSQL(insert(1, 40, "failed"),
		`INSERT INTO rds (db_instance_identifier, engine, db_instance_class, allocated_storage, master_username, master_user_password)
		VALUES ('db', 'postgres', 'db.t3.micro', 20, 'admin', '`+secret("rds")+`')`)
	w.Becomes(quickly, "41", `SELECT count(*) FROM iasql_status WHERE state = 'CreatingFailed' AND review`)
	look("failed")
	if got := w.PSQL(`SELECT DISTINCT value FROM secret`); got != "********" {
		t.Errorf("the rows show %q", got)
	}
	proxy.Set(func(faultproxy.Call) faultproxy.Fault { return faultproxy.Fault{} })
	w.PSQL(`SELECT iasql_retry('secret', id) FROM secret`, `DELETE FROM rds`)
	w.Becomes(quickly, "", `SELECT state, message FROM iasql_status WHERE state <> 'Present'`)
	for _, name := range []string{"failed1", "failed40"} {
		if got := value(w, name); got != strings.Replace(secret(name), name, name, 1) {
			t.Errorf("what was pushed after a retry is %q", got)
		}
	}
	look("committed")
	if got := w.PSQL(`SELECT count(*) FROM secret WHERE value IS NOT NULL`); got != "0" {
		t.Errorf("%s rows show asterisks for what has been pushed", got)
	}

	// In a batch: staged, previewed, rolled back.
	w.PSQL(`CALL iasql_begin('test')`, insert(41, 80, "staged"), `UPDATE secret SET value = '`+secret("changed")+
		`' WHERE name = 'failed1'`)
	look("staged")
	w.Joined(`SELECT count(*) FROM iasql_preview()`)
	w.Joined(`BEGIN; UPDATE secret SET value = '` + secret("own") +
		`' WHERE name = 'failed2'; SELECT count(*) FROM iasql_preview(); ROLLBACK`)
	w.Joined(`SELECT iasql_create_review('t')`, `SELECT * FROM iasql_get_sql_since()`)
	look("previewed")
	if out := w.Joined(`SELECT * FROM iasql_preview()`); strings.Contains(out, planted) ||
		!strings.Contains(out, "********") {
		t.Errorf("the batch's preview: %.500s", out)
	}
	if out, err := w.TryPSQL(reader, `SELECT * FROM iasql_preview()`); err != nil || strings.Contains(out, planted) ||
		strings.Contains(out, "staged") {
		t.Errorf("a reader's preview: %v %.500s", err, out)
	}
	w.Joined(`CALL iasql_rollback()`)
	look("rolled back")
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := value(w, "failed1"); got != secret("failed1") {
		t.Errorf("what was rolled back was pushed: %q", got)
	}
	w.PSQL(`CALL iasql_begin()`, insert(81, 120, "batched"), `CALL iasql_commit()`)
	if got := value(w, "batched81"); got != secret("batched81") {
		t.Errorf("the committed batch pushed %q", got)
	}
	look("committed in a batch")

	// A batch that fails takes back what it has set, and a change that is being
	// undone is none of the record's pending ones.
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		if c.Action == "UpdateSecret" {
			return faultproxy.Fault{Status: 400, Code: "AccessDeniedException", Message: "not authorized"}
		}
		return faultproxy.Fault{}
	})
	w.PSQL(`CALL iasql_begin('test')`, `UPDATE secret SET value = '`+secret("never")+`' WHERE name = 'failed3'`)
	w.Refused(`CALL iasql_join('test')`, `CALL iasql_commit()`)
	look("failed in a batch")
	proxy.Set(func(faultproxy.Call) faultproxy.Fault { return faultproxy.Fault{} })
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Settled()
	if got := value(w, "failed3"); got != secret("failed3") {
		t.Errorf("what a failed batch was to set was pushed: %q", got)
	}

	// While no engine runs; then dumped, restored and deleted.
	engine.Kill()
	w.PSQL(insert(121, 200, "waiting"), `UPDATE secret SET value = '`+secret("again")+`' WHERE name = 'failed4'`,
		`UPDATE secret SET value = '`+secret("twice")+`' WHERE name = 'failed4'`)
	look("waiting")
	dump := exec.Command("pg_dump", "--schema=public", "--enable-row-security", "--inserts", reader)
	out, err := dump.CombinedOutput()
	if err != nil {
		t.Errorf("pg_dump as a reader: %v: %s", err, out)
	}
	if strings.Contains(string(out), planted) {
		t.Error("a reader's dump holds secrets")
	}
	restoredSecrets(w, reader)
	w.Serve()
	w.Settled()
	if got := value(w, "failed4"); got != secret("twice") {
		t.Errorf("of two secrets %q was pushed", got)
	}
	look("pushed late")
	w.Admin(`UPDATE iasql_settings SET value = '1000' WHERE name = 'max_deletes'`,
		`UPDATE iasql_settings SET value = '1' WHERE name = 'max_delete_ratio'`)
	w.PSQL(`DELETE FROM secret`)
	look("being deleted")
	w.Settled()
	look("deleted")
	if got := w.Admin(`SELECT count(*) FROM iasql_internal.vault`, `SELECT count(*) FROM iasql_internal.vault_staged`); got != "0\n0" {
		t.Errorf("left in the vault: %s", got)
	}
	if got := w.Admin(`SELECT count(*) FROM iasql_internal.request r WHERE r::text LIKE '%` + planted + `%'`); got != "0" {
		t.Error("requests hold secrets")
	}
	w.Admin(`ANALYZE`)
	if got := w.Admin(`SELECT tablename, attname FROM pg_stats s WHERE s::text LIKE '%` + planted + `%'`); got != "" {
		t.Errorf("the planner's statistics hold secrets: %s", got)
	}
}

// restoredSecrets restores a superuser's dump, which has what waits to be pushed,
// and looks at the copy as a reader.
func restoredSecrets(w *harness.World, reader string) {
	w.Helper()
	restored := testdb.Empty(w.T)
	dump, err := exec.Command("pg_dump", w.AdminURL).Output()
	if err != nil {
		w.Fatal(err)
	}
	if !strings.Contains(string(dump), planted) {
		w.Fatal("the dump lacks what waits to be pushed")
	}
	load := exec.Command("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", restored)
	load.Stdin = bytes.NewReader(dump)
	if out, err := load.CombinedOutput(); err != nil {
		w.Fatalf("restore: %v: %s", err, out)
	}
	if out, err := exec.Command(harness.Engine(), "migrate", "--database-url", restored).CombinedOutput(); err != nil {
		w.Fatalf("migrate the copy: %v: %s", err, out)
	}
	at, err := url.Parse(restored)
	if err != nil {
		w.Fatal(err)
	}
	as, err := url.Parse(reader)
	if err != nil {
		w.Fatal(err)
	}
	copied := *w
	copied.AdminURL = restored
	at.User = as.User
	letConnect(&copied, reader)
	lookForSecrets(&copied, at.String(), "restored from a dump")
	if got := copied.Admin(`SELECT count(*) > 80 FROM iasql_internal.vault WHERE value LIKE '` + planted + `%'`); got != "t" {
		w.Error("what waited to be pushed is not in the copy's vault")
	}
}

// value asks the cloud for a secret.
func value(w *harness.World, name string) string {
	w.Helper()
	answer := w.CLI("secretsmanager", "get-secret-value", "--secret-id", name)
	text, _ := answer["SecretString"].(string)
	return text
}

// lookForSecrets reads every table, view and function that a reader may.
func lookForSecrets(w *harness.World, reader, state string) {
	w.Helper()
	list := w.Admin(`SELECT format('SELECT * FROM %s r WHERE r::text LIKE ''%%%%` + planted + `%%%%''', c.oid::regclass)
		FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'v', 'm', 'p') AND n.nspname !~ '^(pg_toast|pg_temp|information_schema)' AND has_table_privilege('iasql_reader', c.oid, 'SELECT')
		  AND has_schema_privilege('iasql_reader', n.oid, 'USAGE')
		  AND NOT (n.nspname = 'pg_catalog' AND c.relname IN ('pg_stat_activity', 'pg_prepared_statements'))
		UNION ALL
		SELECT format('SELECT * FROM %s%s r WHERE r::text LIKE ''%%%%` + planted + `%%%%''', p.oid::regproc, v.args)
		FROM pg_proc p JOIN (VALUES ('iasql_history', '(''secret'', 1)'), ('iasql_as_of', '(''secret'', now())'), ('iasql_get_errors', '()'), ('iasql_get_sql_since', '()'),
			('iasql_get_sql_for_transaction', '()'), ('iasql_engines', '()'), ('iasql_help', '()'), ('iasql_create_review', '(''all'')'), ('iasql_ready', '()'),
			('iasql_mode_explain', '(''secret'')'), ('iasql_modules_list', '()'), ('iasql_modules_installed', '()'), ('iasql_version', '()')) v (name, args) ON p.proname = v.name AND p.proargtypes[0] IS DISTINCT FROM 'anyelement'::regtype
		WHERE p.pronamespace = 'public'::regnamespace`)
	statements := strings.Split(list, "\n")
	if len(statements) < 60 {
		w.Fatalf("there is too little to look at: %s", list)
	}
	for i, s := range statements {
		statements[i] = strings.ReplaceAll(s, "%%", "%")
	}
	out, err := w.TryPSQL(reader, statements...)
	if err != nil {
		w.Fatalf("%s: %v", state, err)
	}
	if strings.Contains(out, planted) {
		w.Errorf("%s: a reader sees: %.2000s", state, out)
	}
}

// TestSecretsInErrors: what is refused is not repeated.
func TestSecretsInErrors(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_secrets_manager")
	long := strings.Repeat(planted, 3000)
	for _, statement := range []string{
		`INSERT INTO secret (name, value) VALUES ('a b', '` + planted + `')`,
		`INSERT INTO secret (name, value, region) VALUES ('a', '` + planted + `', 'nowhere')`,
		`INSERT INTO secret (name, value, account) VALUES ('a', '` + planted + `', 'nobody')`,
		`INSERT INTO secret (name, value) VALUES (NULL, '` + planted + `')`,
		`INSERT INTO secret (name, value) VALUES ('a', '` + long + `')`,
		`INSERT INTO secret (name, value, arn) VALUES ('a', '` + planted + `', 'b')`,
	} {
		out, err := w.TryPSQL(w.UserURL, statement)
		if err == nil && !strings.Contains(statement, "arn") {
			t.Errorf("%.80s is not refused: %s", statement, out)
		}
		if err != nil && strings.Contains(err.Error(), planted) {
			t.Errorf("%.80s: %.300v", statement, err)
		}
	}
	if got := w.Refused(`INSERT INTO secret (name, value) VALUES ('long', '` + long + `')`); !strings.Contains(got, "secret_value_check") {
		t.Errorf("a value that is too long: %.300s", got)
	}
}

// TestUpsertOfSecret: what is upserted is no less a change than what is inserted.
func TestUpsertOfSecret(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_secrets_manager")
	const upsert = `INSERT INTO secret (name, value, description) VALUES ('u', '%s', 'd') ON CONFLICT (account, region, name) DO UPDATE SET %s`
	for _, step := range []struct{ value, set, want string }{
		{"one", "value = EXCLUDED.value", "one"},
		{"two", "value = EXCLUDED.value", "two"},
		{"three", "description = 'other'", "two"},
		{"********", "value = EXCLUDED.value", "two"},
		{"five", "value = EXCLUDED.value, description = EXCLUDED.description", "five"},
	} {
		w.PSQL(fmt.Sprintf(upsert, step.value, step.set))
		w.Settled()
		if got := value(w, "u"); got != step.want {
			t.Errorf("after %s and %s it is %s, want %s", step.value, step.set, got, step.want)
		}
	}
	// An ORM writes back what it has read.
	w.PSQL(`BEGIN; UPDATE secret SET value = 'six'; UPDATE secret SET value = (SELECT value FROM secret), description = 'back'; COMMIT`)
	w.Settled()
	if got := value(w, "u"); got != "six" {
		t.Errorf("after it was written back it is %s", got)
	}
	w.PSQL(`BEGIN; UPDATE secret SET value = 'seven'; UPDATE secret SET value = NULL; COMMIT`)
	w.Settled()
	if got := value(w, "u"); got != "six" {
		t.Errorf("what was taken back was pushed: %s", got)
	}
	w.PSQL(`INSERT INTO secret (name, value) VALUES ('u', 'eight') ON CONFLICT DO NOTHING`,
		`UPDATE secret SET description = 'unrelated'`)
	w.Settled()
	if got := value(w, "u"); got != "six" {
		t.Errorf("what was not inserted was pushed: %s", got)
	}
}
