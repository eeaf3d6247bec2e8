package contract

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

func contains(s string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(s, part) {
			return false
		}
	}
	return true
}

// What a plain user and a reader may not, whichever way they try.
func TestRights(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_vpc", "aws_sqs")
	reader, nobody := w.Login("reader", "iasql_reader"), w.Login("nobody")
	w.Admin(`INSERT INTO aws_identity_allowed (profile) VALUES ('none')`)
	w.PSQL(`INSERT INTO aws_account (name, profile, secret_access_key, session_token) VALUES ('kept', 'none', 'topsecret1', 'topsecret2')`)
	w.PSQL(`INSERT INTO vpc (cidr_block) VALUES ('10.1.0.0/16')`)

	inCatalog(t, w)
	secrets(t, w)
	forgery(t, w, reader)
	readerAndNobody(t, w, reader, nobody)

	w.PSQL(`DELETE FROM aws_account WHERE name = 'kept'`) // nobody can log in there
	searchPath(t, w)
	hostileNames(t, w, reader)
}

// searchPath puts traps before everything that a function might look up, and
// calls all of them.
func searchPath(t *testing.T, w *harness.World) {
	u, err := url.Parse(w.UserURL)
	if err != nil {
		t.Fatal(err)
	}
	login := u.User.Username()
	w.Admin(`CREATE SCHEMA evil AUTHORIZATION ` + login)
	w.PSQL(`CREATE TABLE evil.proof (who text DEFAULT current_user, what text)`, `GRANT ALL ON evil.proof TO PUBLIC`,
		`GRANT USAGE ON SCHEMA evil TO PUBLIC`,
		`CREATE FUNCTION evil.trap(what text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN INSERT INTO evil.proof (what) VALUES (what); RETURN true; END $$`,
		`CREATE FUNCTION evil.texteq(a text, b text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN PERFORM evil.trap('='); RETURN a OPERATOR(pg_catalog.=) b; END $$`,
		`CREATE OPERATOR evil.= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.texteq)`,
		`CREATE FUNCTION evil.now() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN PERFORM evil.trap('now'); RETURN pg_catalog.now(); END $$`,
		`CREATE FUNCTION evil.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql AS $$ BEGIN PERFORM evil.trap('clock_timestamp'); RETURN pg_catalog.clock_timestamp(); END $$`)
	for _, name := range []string{"lower", "to_jsonb"} {
		w.PSQL(fmt.Sprintf(`CREATE FUNCTION evil.%s(text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN PERFORM evil.trap('%s'); RETURN $1; END $$`, name, name))
	}
	path := `SET search_path = evil, pg_temp, pg_catalog, public`
	for _, table := range []string{"iasql_tables", "iasql_audit_log", "iasql_mode", "iasql_settings", "vpc",
		"aws_account", "new_rows", "old_rows"} {
		w.PSQL(`CREATE VIEW evil.` + table + ` AS SELECT evil.trap('` + table + `')`)
	}
	for _, statement := range []string{
		`SELECT iasql_ready('vpc')`, `SELECT iasql_wait_for_all(5)`, `SELECT * FROM iasql_history('vpc', 1)`,
		`SELECT * FROM iasql_as_of('vpc', pg_catalog.now())`,
		`SELECT * FROM iasql_as_of(NULL::public.vpc, pg_catalog.now())`, `SELECT * FROM iasql_get_errors()`,
		`SELECT * FROM iasql_help()`, `SELECT * FROM iasql_get_sql_since()`,
		`SELECT * FROM iasql_get_sql_for_transaction()`, `SELECT iasql_create_review('a')`,
		`SELECT iasql_retry('vpc', 1)`, `SELECT * FROM iasql_engines()`, `SELECT * FROM iasql_install('aws_sqs')`,
		`SELECT iasql_mode_of('vpc')`, `SELECT * FROM public.iasql_status`, `SELECT iasql_sync_now()`,
		`SELECT default_aws_region()`, `SELECT * FROM iasql_preview()`,
		`UPDATE public.vpc SET tags = '{"trapped": "no"}' WHERE vpc_id OPERATOR(pg_catalog.=) 'none'`,
		`INSERT INTO public.vpc (cidr_block) VALUES ('10.66.0.0/16')`,
		`UPDATE public.iasql_settings SET value = value WHERE name OPERATOR(pg_catalog.=) 'sync_interval'`,
		`INSERT INTO public.aws_account (name, profile) VALUES ('trapped', 'none')`,
		`DELETE FROM public.aws_account WHERE name OPERATOR(pg_catalog.=) 'trapped'`,
	} {
		if out, err := w.TryPSQL(w.UserURL, path, statement); err != nil {
			t.Errorf("%s: %v %s", statement, err, out)
		}
	}
	_, _ = w.TryPSQL(w.UserURL, path, `SELECT iasql_wait_for('vpc', 1, 'evil.trap(''condition'')', 0.1)`)
	if got := w.PSQL(`SELECT DISTINCT who, what FROM evil.proof WHERE who <> '` + login + `'`); got != "" {
		t.Errorf("somebody stepped into a trap: %s", got)
	}
	if got := w.PSQL(`SELECT count(*) > 0 FROM evil.proof WHERE what = 'condition'`); got != "t" {
		t.Error("the traps do not work")
	}
}

// hostileNames hands everything that takes a name one that would do harm if it
// were put into a statement as it is.
func hostileNames(t *testing.T, w *harness.World, reader string) {
	before := w.PSQL(`SELECT count(*) FROM vpc`)
	for _, name := range []string{`vpc"; DELETE FROM vpc; --`, `vpc'; DELETE FROM vpc; --`,
		`vpc WHERE false; DELETE FROM vpc`, `"vpc"`, `public.vpc`, ``, `%s%I%L`, `vpc\`, strings.Repeat("x", 5000)} {
		quoted := "'" + strings.ReplaceAll(name, "'", "''") + "'"
		for _, call := range []string{`SELECT iasql_ready(%s)`, `SELECT * FROM iasql_history(%s, 1)`,
			`SELECT * FROM iasql_as_of(%s, now())`, `SELECT iasql_wait_for(%s, 1, 'true')`,
			`SELECT iasql_retry(%s, 1)`, `SELECT * FROM iasql_install(%s)`, `SELECT * FROM iasql_uninstall(%s)`,
			`INSERT INTO iasql_mode (table_name, mode) VALUES (%s, 'TRACK')`,
			`INSERT INTO iasql_mode (table_name, column_name, mode) VALUES ('vpc', %s, 'TRACK')`} {
			if got := w.Refused(strings.Replace(call, "%s", quoted, 1)); !strings.Contains(got, "ERROR:  IA0") ||
				!strings.Contains(got, "HINT:") {
				t.Errorf(call+" says %s", quoted, got)
			}
		}
		w.PSQL(strings.Replace(`SELECT iasql_mode_of(%s, 1, %s)`, "%s", quoted, 2),
			strings.Replace(`SELECT iasql_create_review(%s || 'x', %s)`, "%s", quoted, 2))
	}
	// A name that is hostile by being a value: it is quoted wherever it is printed.
	w.PSQL(`CALL iasql_begin('test')`,
		`INSERT INTO vpc (cidr_block, tags) VALUES ('10.67.0.0/16', jsonb_build_object('Name', $$'); DELETE FROM vpc; --$$))`)
	script := w.PSQL(`SELECT sql FROM iasql_get_sql_for_transaction()`)
	w.Joined(`CALL iasql_rollback()`)
	if out, err := w.TryPSQL(w.UserURL, `BEGIN`, script, `SELECT count(*) FROM vpc`, `ROLLBACK`); err != nil ||
		!strings.Contains(out, "\n"+fmt.Sprint(atoi(before)+1)) {
		t.Errorf("%s gives %s %v", script, out, err)
	}
	// A condition may do what its caller may, and no more.
	for _, condition := range []string{`true)); DELETE FROM vpc; SELECT ((true`,
		`(SELECT count(*) FROM iasql_internal.account_secret) > 0`, `iasql_internal.prune() > 0`} {
		quoted := "'" + strings.ReplaceAll(condition, "'", "''") + "'"
		if _, err := w.TryPSQL(reader, `SELECT iasql_wait_for('vpc', 1, `+quoted+`, 0.1)`); err == nil ||
			!strings.Contains(err.Error(), "42501") && !strings.Contains(err.Error(), "42601") {
			t.Errorf("condition %s: %v", condition, err)
		}
	}
	if after := w.PSQL(`SELECT count(*) FROM vpc`); after != before {
		t.Errorf("there were %s records and are %s", before, after)
	}
}

func atoi(s string) (n int) {
	_, _ = fmt.Sscan(s, &n)
	return n
}

// inCatalog looks at what is granted.
func inCatalog(t *testing.T, w *harness.World) {
	for what, query := range map[string]string{
		"functions with their owner's rights and a search path of the caller's": `SELECT p.oid::regprocedure FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
			WHERE p.prosecdef AND n.nspname IN ('public', 'iasql_internal') AND NOT coalesce('search_path=pg_catalog, pg_temp' = ANY (p.proconfig), false)`,
		"functions that PUBLIC may execute": `SELECT p.oid::regprocedure FROM pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
			WHERE p.pronamespace IN ('public'::regnamespace, 'iasql_internal'::regnamespace) AND p.proowner = 'iasql_engine'::regrole AND a.grantee = 0`,
		"tables that PUBLIC may touch": `SELECT c.oid::regclass FROM pg_class c, aclexplode(c.relacl) a
			WHERE c.relowner = 'iasql_engine'::regrole AND a.grantee = 0`,
		// Others have policies, or filter by them; these hold names alone.
		"internal tables that a user may touch": `SELECT c.oid::regclass FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname IN ('iasql_internal', 'iasql_river')
			AND c.relkind IN ('r', 'v', 'S') AND NOT c.relrowsecurity AND NOT coalesce('security_barrier=true' = ANY (c.reloptions), false) AND c.relname NOT IN ('managed_table', 'hidden_table', 'module_function', 'composition', 'composition_part') AND (has_table_privilege('iasql_user', c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER') OR has_any_column_privilege('iasql_user', c.oid, 'SELECT, INSERT, UPDATE'))`,
		"public tables that a user may write": `SELECT c.oid::regclass FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v')
			AND has_table_privilege('iasql_user', c.oid, 'INSERT, UPDATE, DELETE') AND c.relname NOT IN ('iasql_mode', 'iasql_ignore', 'iasql_configurations', 'iasql_queries', 'iasql_batch_comments') AND c.relname NOT IN (SELECT "table" FROM iasql_tables)`,
		"tables that a user may empty, refer to or put triggers on": `SELECT c.oid::regclass FROM pg_class c WHERE c.relowner = 'iasql_engine'::regrole AND c.relkind = 'r'
			AND has_table_privilege('iasql_user', c.oid, 'TRUNCATE, REFERENCES, TRIGGER')`,
		"tables that a reader may write": `SELECT c.oid::regclass FROM pg_class c WHERE c.relowner = 'iasql_engine'::regrole AND c.relkind IN ('r', 'v') AND c.relname <> 'permit'
			AND (has_table_privilege('iasql_reader', c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE') OR has_any_column_privilege('iasql_reader', c.oid, 'INSERT, UPDATE'))`,
		"schemas that a user may create in": `SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_temp' AND has_schema_privilege('iasql_user', oid, 'CREATE')`,
		"roles that a user may become":      `SELECT rolname FROM pg_roles WHERE pg_has_role('iasql_user', oid, 'MEMBER') AND rolname NOT IN ('iasql_user', 'iasql_reader')`,
	} {
		if got := w.Admin(query); got != "" {
			t.Errorf("%s: %s", what, got)
		}
	}
	if got := w.Admin(`SELECT string_agg(p.proname, ' ' ORDER BY p.proname) FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace
		AND p.proname LIKE 'iasql\_%' AND NOT has_function_privilege('iasql_reader', p.oid, 'EXECUTE')`); got != "iasql_adopt iasql_approve iasql_begin iasql_commit iasql_confirm iasql_declare iasql_declared iasql_expire iasql_forget iasql_install iasql_join iasql_mention iasql_protect iasql_protect iasql_protect iasql_restore iasql_retry iasql_rollback iasql_sync_now iasql_types iasql_undo iasql_uninstall iasql_unprotect iasql_unprotect" {
		t.Errorf("functions that a reader may not call: %s", got)
	}
	if got := w.Admin(`SELECT p.proname FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace
		AND p.proowner = 'iasql_engine'::regrole AND p.prorettype <> 'trigger'::regtype AND NOT has_function_privilege('iasql_user', p.oid, 'EXECUTE')`); got != "" {
		t.Errorf("functions that a user may not call: %s", got)
	}
}

// secrets tries to read what nobody may.
func secrets(t *testing.T, w *harness.World) {
	// All that can be read, read.
	all := `SELECT string_agg(query_to_xml(format('SELECT * FROM %s', c.oid::regclass), true, false, '')::text, '') FROM pg_class c
		WHERE c.relkind IN ('r', 'v', 'm') AND c.relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace) AND has_table_privilege(c.oid, 'SELECT')`
	got := w.PSQL(all)
	if !strings.Contains(got, "kept") || strings.Contains(got, "topsecret") {
		t.Errorf("secrets can be read, or nothing can")
	}
	for _, statement := range []string{`SELECT * FROM iasql_internal.account_secret`,
		`SELECT umoptions FROM pg_user_mapping`, `SELECT password FROM iasql_internal.loopback`,
		`SELECT iasql_internal.submit('sync', '{}', 'me')`, `SELECT iasql_internal.ask('sync', '{}')`,
		`SELECT iasql_internal.prune()`,
		`SELECT iasql_internal.elsewhere('SELECT 1')`, `SELECT iasql_extensions.dblink_get_connections()`,
		`SET ROLE iasql_engine`, `SET SESSION AUTHORIZATION postgres`} {
		if got := w.Refused(statement); !strings.Contains(got, "42501") {
			t.Errorf("%s says %s", statement, got)
		}
	}
}

// forgery tries to write what the system alone may.
func forgery(t *testing.T, w *harness.World, reader string) {
	for _, statement := range []string{
		`INSERT INTO iasql_audit_log ("user", change_type, change) VALUES ('me', 'ERROR', '{}')`,
		`UPDATE iasql_audit_log SET settled = true`, `DELETE FROM iasql_audit_log`,
		`INSERT INTO iasql_operations DEFAULT VALUES`, `UPDATE iasql_operations SET result = 'ok'`,
		`UPDATE iasql_cycles SET errors = 0`, `DELETE FROM iasql_cycles`,
		`UPDATE iasql_conflicts SET cloud_value = '1'`, `DELETE FROM iasql_conflicts`,
		`UPDATE iasql_tables SET module = 'x'`,
		`INSERT INTO iasql_settings VALUES ('x', 'y', 'z')`, `UPDATE iasql_settings SET name = 'x'`, `TRUNCATE vpc`,
		`ALTER TABLE vpc DISABLE TRIGGER ALL`,
		`SET session_replication_role = replica`,
		`CREATE TRIGGER mine BEFORE INSERT ON vpc FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()`,
		`CREATE RULE mine AS ON INSERT TO vpc DO NOTHING`,
		`CREATE FUNCTION public.mine() RETURNS int LANGUAGE sql RETURN 1`,
	} {
		if got := w.Refused(statement); !strings.Contains(got, "42501") {
			t.Errorf("%s says %s", statement, got)
		}
	}
	w.Refused(`UPDATE iasql_status SET state = 'Present'`)
	// A trigger function of the system's on a table of one's own acts with the system's rights.
	triggers := w.Admin(`SELECT string_agg(p.oid::regprocedure::text, ' ') FROM pg_proc p WHERE p.prorettype = 'trigger'::regtype AND p.proowner = 'iasql_engine'::regrole`)
	if !strings.Contains(triggers, "keep_account_secrets") {
		t.Fatalf("trigger functions: %s", triggers)
	}
	for _, function := range strings.Fields(triggers) {
		_, err := w.TryPSQL(reader, `CREATE TEMP TABLE mine (id bigint, account text, name text, secret_access_key text, session_token text)`,
			`CREATE TRIGGER mine BEFORE INSERT ON mine FOR EACH ROW EXECUTE FUNCTION `+function)
		if err == nil || !strings.Contains(err.Error(), "42501") {
			t.Errorf("trigger %s on a table of one's own: %v", function, err)
		}
	}
	w.PSQL(`SET iasql.origin = 'engine'`, `UPDATE vpc SET tags = '{"forged": "yes"}' WHERE cidr_block = '10.1.0.0/16'`)
	if got := w.PSQL(`SELECT origin FROM iasql_audit_log WHERE change -> 'change' -> 'tags' ->> 'forged' = 'yes'`); got != "user" {
		t.Errorf("the origin is %s", got)
	}
	w.PSQL(`SELECT iasql_wait_for_all(20)`)
}

// readerAndNobody call everything.
func readerAndNobody(t *testing.T, w *harness.World, reader, nobody string) {
	for _, statement := range []string{`SELECT iasql_install('aws_s3')`, `SELECT iasql_uninstall('aws_sqs')`,
		`SELECT iasql_sync_now()`, `SELECT iasql_retry('vpc', 1)`,
		`CALL iasql_begin()`, `CALL iasql_join('1')`, `CALL iasql_rollback(true)`,
		`INSERT INTO vpc (cidr_block) VALUES ('10.2.0.0/16')`, `UPDATE vpc SET tags = NULL`, `DELETE FROM vpc`,
		`INSERT INTO iasql_mode (mode) VALUES ('TRACK')`, `UPDATE iasql_settings SET value = '1'`,
		`UPDATE iasql_conflicts SET resolved = 'cloud'`} {
		for _, who := range []string{reader, nobody} {
			if _, err := w.TryPSQL(who, statement); err == nil || !strings.Contains(err.Error(), "42501") {
				t.Errorf("%s: %v", statement, err)
			}
		}
	}
	for _, statement := range []string{`SELECT * FROM iasql_status`, `SELECT * FROM vpc`, `SELECT iasql_ready('vpc')`,
		`SELECT * FROM iasql_history('vpc', 1)`,
		`SELECT * FROM iasql_as_of('vpc', now())`, `SELECT * FROM iasql_as_of(NULL::vpc, now())`,
		`SELECT * FROM iasql_get_errors()`, `SELECT * FROM iasql_help()`,
		`SELECT * FROM iasql_get_sql_since()`, `SELECT * FROM iasql_get_sql_for_transaction()`,
		`SELECT iasql_create_review('a', 'b')`, `SELECT iasql_wait_for_all(10)`,
		`SELECT iasql_wait_for('vpc', 1, 'true', 10)`, `SELECT iasql_mode_of('vpc', 1)`,
		`SELECT * FROM iasql_mode_explain('vpc')`, `SELECT * FROM iasql_engines()`,
		`SELECT * FROM iasql_version()`, `SELECT * FROM iasql_modules_list()`,
		`SELECT * FROM iasql_modules_installed()`, `SELECT * FROM iasql_preview()`, `SELECT iasql_preview_hash()`} {
		if _, err := w.TryPSQL(reader, statement); err != nil {
			t.Errorf("a reader: %s: %v", statement, err)
		}
		if _, err := w.TryPSQL(nobody, statement); err == nil || !strings.Contains(err.Error(), "42501") {
			t.Errorf("nobody: %s: %v", statement, err)
		}
	}
}
