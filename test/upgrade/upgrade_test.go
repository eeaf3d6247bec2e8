package upgrade

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"iasql/internal/modules/awsaccount"
	"iasql/internal/test/harness"
	"iasql/internal/test/testdb"
)

func TestMain(m *testing.M) { harness.Main(m) }

// TestUpgrade brings each earlier database to this version.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	dumps, err := filepath.Glob("testdata/*.sql.gz")
	if err != nil || len(dumps) == 0 {
		t.Fatal("no dumps", err)
	}
	for _, dump := range dumps {
		t.Run(filepath.Base(dump), func(t *testing.T) {
			t.Parallel()
			old := restore(t, dump)
			// What users and administrators have made of their own stays.
			for _, statement := range []string{
				`ALTER TABLE vpc ADD COLUMN owner_team text CONSTRAINT team CHECK (owner_team <> '')`,
				`UPDATE vpc SET owner_team = 'network' WHERE cidr_block = '10.7.0.0/16'`,
				`CREATE VIEW my_subnets AS SELECT s.*, v.owner_team FROM subnet s JOIN vpc v ON v.id = s.vpc_id`,
				`CREATE INDEX my_index ON queue (delay_seconds)`,
			} {
				admin(t, old, statement)
			}
			before := keptRows(t, old)
			migrate(t, old)
			if after := keptRows(t, old); after != before {
				t.Errorf("rows before:\n%s\nafter:\n%s", before, after)
			}
			for _, statement := range []string{
				`DROP VIEW my_subnets`, `DROP INDEX my_index`, `ALTER TABLE vpc DROP COLUMN owner_team`,
			} {
				admin(t, old, statement)
			}

			got := asNew(t, old, "")
			migrate(t, old) // has nothing left to do
			if again := objects(t, old); !maps.Equal(again, got) {
				t.Error("a second migration changes something")
			}
		})
	}
}

// asNew checks that what a database has of names with a text in it is what a new one with the same modules has, and
// returns that.
func asNew(t *testing.T, old, text string) map[string]string {
	t.Helper()
	others := func(name, _ string) bool { return !strings.Contains(name, text) }
	modules := admin(t, old, `SELECT string_agg(name, ',' ORDER BY name) FROM iasql_internal.module WHERE installed IS NOT NULL`)
	w := harness.NewWorld(t)
	w.Serve()
	if strings.Contains(modules, "aws_account") {
		w.Install([]string{"us-east-1"}) // of 24 one, before anything is read
	}
	w.PSQL(`SELECT * FROM iasql_install('` + strings.ReplaceAll(modules, ",", "','") + `')`)
	want, got := objects(t, w.AdminURL), objects(t, old)
	maps.DeleteFunc(want, others)
	maps.DeleteFunc(got, others)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if _, ok := got[name]; !ok {
			t.Errorf("missing after the upgrade: %s: %s", name, want[name])
		} else if got[name] != want[name] {
			t.Errorf("%s\n is %s\nnew: %s", name, got[name], want[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			t.Errorf("left over after the upgrade: %s: %s", name, got[name])
		}
	}
	return got
}

// TestHosts: the key of a host's login goes into the one vault, and its scopes can name what they could not.
func TestHosts(t *testing.T) {
	t.Parallel()
	old := restore(t, "testdata/hosts/8a3b426.sql.gz")
	migrate(t, old)
	asNew(t, old, "host") // a view that nothing has changed is spelt as the dump has it
	if got := admin(t, old, `SELECT concat_ws(' ', table_name, account, value) FROM iasql_internal.account_secret`); got != "host far its key" {
		t.Errorf("the vault has %q", got)
	}
	if got := admin(t, old, `SELECT concat_ws(' ', private_key, undo_after) FROM host WHERE name = 'far'`); got != "******** 60" {
		t.Errorf("the host is %q", got)
	}
	if got := admin(t, old, `SELECT account || ' ' || path FROM host_file`); got != "far /etc/app/a" {
		t.Errorf("its file is %q", got)
	}
	admin(t, old, `INSERT INTO host_scope (account, kind, pattern) VALUES ('far', 'package', 'nginx*'), ('far', 'mount', '/srv/**')`)
	if _, err := connect(t, old).Exec(t.Context(), `INSERT INTO host_scope (account, pattern) VALUES ('far', 'etc/**')`); err == nil {
		t.Error("a file's scope may be no path")
	}
}

// Under ENFORCE the NULLs of columns that are new would delete what objects have there: they are pulled first.
func TestNewColumnsUnderEnforce(t *testing.T) {
	t.Parallel()
	old := restore(t, "testdata/first.sql.gz")
	for _, rule := range []string{`INSERT INTO iasql_mode (mode) VALUES ('ENFORCE')`,
		`INSERT INTO iasql_mode (table_name, mode) VALUES ('vpc', 'TRACK')`,
		`INSERT INTO iasql_mode (table_name, record_id, mode) SELECT 'queue', min(id), 'ENFORCE' FROM queue`} {
		admin(t, old, rule)
	}
	migrate(t, old)
	for query, want := range map[string]string{
		`SELECT iasql_mode_of('queue', NULL, 'redrive_policy')`:                              "NORMAL",
		`SELECT iasql_mode_of('queue', (SELECT min(id) FROM queue), 'redrive_policy')`:       "NORMAL",
		`SELECT iasql_mode_of('queue', NULL, 'delay_seconds')`:                               "ENFORCE",
		`SELECT iasql_mode_of('queue', (SELECT min(id) FROM queue), 'delay_seconds')`:        "ENFORCE",
		`SELECT iasql_mode_of('bucket')`:                                                     "ENFORCE",
		`SELECT count(*)::text FROM iasql_mode WHERE table_name = 'vpc'`:                     "1",
		`SELECT count(*)::text FROM iasql_mode WHERE column_name = ANY ('{id,tags,region}')`: "0",
	} {
		if got := admin(t, old, query); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	rules := admin(t, old, `SELECT count(*)::text FROM iasql_mode`)
	migrate(t, old)
	if got := admin(t, old, `SELECT count(*)::text FROM iasql_mode`); got != rules {
		t.Errorf("a second migration makes %s rules of %s", got, rules)
	}
}

// What values users may write is brought up to date too, except where an administrator had dropped
// the constraint that was in place of the rule. Rows that have other values stay.
func TestConstraints(t *testing.T) {
	t.Parallel()
	url := restore(t, "testdata/first.sql.gz")
	for _, statement := range []string{
		`ALTER TABLE access_key DROP CONSTRAINT access_key_status_enum, ADD CONSTRAINT access_key_status_enum CHECK (status = 'Active')`,
		`ALTER TABLE bucket DROP CONSTRAINT bucket_name_check`,
		`ALTER TABLE queue ALTER delay_seconds DROP NOT NULL`,
		`UPDATE queue SET tags = '{"iasql:restart": "once allowed"}'`,
	} {
		admin(t, url, statement)
	}
	migrate(t, url)
	if got := admin(t, url, `SELECT string_agg(name, ' ' ORDER BY name) FROM iasql_internal.value_rule WHERE NOT active`); got != "bucket_name_check queue_delay_seconds_not_null" {
		t.Errorf("switched off are %s", got)
	}
	if got := admin(t, url, `SELECT condition FROM iasql_internal.value_rule WHERE name = 'access_key_status_enum'`); !strings.Contains(got, "Inactive") {
		t.Errorf("the list of values: %s", got)
	}
	if got := admin(t, url, `SELECT count(*)::text FROM pg_constraint k JOIN iasql_internal.value_rule r ON r.name = k.conname AND k.contype = 'c'`); got != "0" {
		t.Errorf("%s constraints are left", got)
	}
	if got := admin(t, url, `UPDATE queue SET delay_seconds = 7 RETURNING tags ->> 'iasql:restart'`); got != "once allowed" {
		t.Errorf("the row has %q", got)
	}
	if _, err := connect(t, url).Exec(t.Context(), `UPDATE queue SET delay_seconds = 100000`); err == nil ||
		!strings.Contains(err.Error(), "delay_seconds") {
		t.Errorf("a value that is not allowed: %v", err)
	}
}

// TestSecretsLeaveTheirRows: an earlier version left secrets in their rows until
// they were pushed. They go to the vault, and none is lost.
func TestSecretsLeaveTheirRows(t *testing.T) {
	t.Parallel()
	url := restore(t, "testdata/5684cbb.sql.gz") // no engine ran any more when "waiting" was inserted
	for _, statement := range []string{
		`INSERT INTO secret (name, value) VALUES ('settled', 'in-clear-2')`,
		`UPDATE iasql_audit_log SET settled = true WHERE record_id = (SELECT id FROM secret WHERE name = 'settled') AND table_name = 'secret'`,
		`ANALYZE secret`,
	} {
		admin(t, url, statement)
	}
	migrate(t, url)
	if got := admin(t, url, `SELECT string_agg(concat(name, '=', value), ' ' ORDER BY name) FROM secret WHERE name IN ('waiting', 'settled')`); got != "settled= waiting=********" {
		t.Errorf("the rows show %s", got)
	}
	if got := admin(t, url, `SELECT string_agg(v.value, ' ') FROM iasql_internal.vault v JOIN iasql_audit_log l ON l.id = v.audit_id AND l.secret AND NOT l.settled`); got != "in-clear-1" {
		t.Errorf("the vault has %s", got)
	}
	if got := admin(t, url, `SELECT count(*)::text FROM pg_stats s WHERE s::text LIKE '%in-clear%'`); got != "0" {
		t.Error("the planner's statistics still have samples")
	}
	migrate(t, url) // once is enough
	if got := admin(t, url, `SELECT value FROM secret WHERE name = 'waiting'`); got != "********" {
		t.Errorf("after a second migration the row shows %s", got)
	}
}

// TestAccountSecrets: what the engine logs in with comes along from the table that had it, and an engine of that version
// still finds it there.
func TestAccountSecrets(t *testing.T) {
	t.Parallel()
	url := restore(t, "testdata/5684cbb.sql.gz")
	admin(t, url, `UPDATE aws_account SET access_key_id = 'a key', secret_access_key = 'its secret', session_token = 'a token'`)
	migrate(t, url)
	if got, err := awsaccount.LoadCredentials(connect(t, url))(t.Context(), "default"); err != nil ||
		got.SecretAccessKey != "its secret" || got.SessionToken != "a token" {
		t.Errorf("the secrets are %q and %q, %v", got.SecretAccessKey, got.SessionToken, err)
	}
	const before = `SELECT concat_ws(', ', account, secret_access_key, session_token) FROM iasql_internal.aws_secret`
	if got := admin(t, url, before); got != "default, its secret, a token" {
		t.Errorf("an engine of the version before reads %q", got)
	}
	admin(t, url, `UPDATE aws_account SET secret_access_key = 'another', session_token = NULL`)
	if got := admin(t, url, before); got != "default, another" {
		t.Errorf("after a change it reads %q", got)
	}
}

// TestOpenBatch: a batch that an earlier version has open stays open, with its records
// staged, and can be rolled back.
func TestOpenBatch(t *testing.T) {
	t.Parallel()
	url := restore(t, "testdata/5684cbb.sql.gz")
	const rows = `SELECT string_agg(concat_ws('=', name, delay_seconds), ' ' ORDER BY name) FROM queue`
	before := admin(t, url, rows)
	// what that version's iasql_begin calls, through a loopback that a dump has not; the batch is everybody's
	for _, statement := range []string{
		`SELECT iasql_internal.open_batch_for('postgres', pg_current_xact_id(), NULL)`,
		`UPDATE queue SET delay_seconds = delay_seconds + 1`, `INSERT INTO queue (name) VALUES ('staged-before')`,
	} {
		admin(t, url, statement)
	}
	changed := admin(t, url, rows)
	migrate(t, url)
	if got := admin(t, url, `SELECT phase || ' ' || (records > 1) || ' ' || (SELECT count(*) = records FROM iasql_internal.staged) FROM iasql_batches WHERE outcome IS NULL`); got != "open true true" {
		t.Errorf("after the upgrade the batch is %q", got)
	}
	if got := admin(t, url, rows); got != changed {
		t.Errorf("its records are %q, and were %q", got, changed)
	}
	conn := connect(t, url)
	if _, err := conn.Exec(t.Context(), `UPDATE queue SET delay_seconds = 100`); err == nil ||
		!strings.Contains(err.Error(), "IA020") {
		t.Errorf("somebody else changes what is staged: %v", err)
	}
	for _, statement := range []string{`DO $$ BEGIN EXECUTE format('CALL iasql_join(%L)', (SELECT id::text FROM iasql_batches WHERE outcome IS NULL)); END $$`, `CALL iasql_rollback()`} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	if got := admin(t, url, rows); got != before {
		t.Errorf("rolled back, the records are %q, and were %q", got, before)
	}
}

// What says of an earlier version which references are looked at, and the triggers that
// look, become those of this one.
func TestTriggersOfEarlierVersion(t *testing.T) {
	t.Parallel()
	url := restore(t, "testdata/5684cbb.sql.gz")
	migrate(t, url)
	const now = `SELECT concat_ws(' ', (SELECT part_if FROM iasql_internal.scoped_reference WHERE table_name = 'network_acl' AND column_name = 'vpc_id'),
		(SELECT prosrc ~ 'network_acl_id' FROM pg_proc WHERE proname = 'scope_subnet'), (SELECT count(*) FROM iasql_internal.scoped_reference WHERE stale))`
	for _, statement := range []string{
		`UPDATE iasql_internal.scoped_reference SET part_if = NULL, stale = true`,
		`CREATE OR REPLACE FUNCTION iasql_internal.scope_subnet() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RETURN NULL; END$$`,
	} {
		admin(t, url, statement)
	}
	migrate(t, url)
	if got := admin(t, url, now); got != "is_default t 0" {
		t.Errorf("after the upgrade: %s", got)
	}
}

// restore makes a database of a dump.
func restore(t *testing.T, dump string) string {
	t.Helper()
	testdb.New(t) // makes the roles, which belong to the server
	url := testdb.Empty(t)
	file, err := os.Open(dump)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd := exec.Command("psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", url)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = text, io.Discard, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("restore %s: %v\n%s", dump, err, &said)
	}
	return url
}

func migrate(t *testing.T, url string) {
	t.Helper()
	if out, err := exec.Command(harness.Engine(), "migrate", "--database-url", url).CombinedOutput(); err != nil {
		t.Fatalf("migrate: %v\n%s", err, out)
	}
}

// admin runs a statement and returns the first row's first column, if any.
func admin(t *testing.T, url, statement string) string {
	t.Helper()
	conn := connect(t, url)
	rows, err := conn.Query(t.Context(), statement)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	var first string
	if rows.Next() && len(rows.RawValues()) > 0 {
		first = string(rows.RawValues()[0])
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return first
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// keptRows prints the rows that users see, without what an upgrade may add.
func keptRows(t *testing.T, url string) string {
	t.Helper()
	var all []string
	for _, query := range []string{
		`SELECT id, vpc_id, cidr_block, tags, owner_team FROM vpc`,
		`SELECT count(*), count(owner_team) FROM my_subnets`,
		`SELECT id, vpc_id, subnet_id, cidr_block FROM subnet`, `SELECT id, name, delay_seconds, arn FROM queue`,
		`SELECT id, name, created_at FROM bucket`, `SELECT id, group_id, vpc_id FROM security_group`,
		`SELECT id, security_group_rule_id, security_group_id FROM security_group_rule`,
		`SELECT table_name, mode FROM iasql_mode`, `SELECT name, account_id, is_default FROM aws_account`,
		`SELECT region, is_enabled FROM aws_regions`,
		`SELECT name, value FROM iasql_settings WHERE name NOT IN ('max_staleness', 'watched_staleness', 'read_share', 'read_share_waited', 'drift', 'progress_timeout', 'required_approvals', 'approvers')`,
		`SELECT id, ts, "user", table_name, record_id, change_type, change, settled FROM iasql_audit_log WHERE "user" <> 'postgres'`,
		`SELECT id, table_name, record_id, kind, service, action, result, key FROM iasql_operations`,
		`SELECT table_name, record_id, state FROM iasql_status`,
	} {
		_, from, _ := strings.Cut(query, " FROM ")
		if table := strings.Fields(from)[0]; admin(t, url, `SELECT coalesce(to_regclass('`+table+`')::text, 'none')`) == "none" {
			continue // of a module that this dump does not have
		}
		all = append(all, admin(t, url, `SELECT coalesce(string_agg(r::text, E'\n' ORDER BY r::text), '') FROM (`+
			query+`) r`))
	}
	return strings.Join(all, "\n\n")
}

// plain takes away what PostgreSQL prints differently for what it has read back
// from its own print.
var plain = strings.NewReplacer("(", "", ")", "", " ", "", "\n", "")

// objects describes everything in the schemas of the engine: what kind of
// object and its name, and all that defines it. The order of a table's columns
// is nobody's concern.
func objects(t *testing.T, url string) map[string]string {
	t.Helper()
	const query = `
WITH s AS (SELECT oid, nspname FROM pg_namespace WHERE nspname IN ('public', 'iasql_internal', 'iasql_river')),
     c AS (SELECT c.*, nspname FROM pg_class c JOIN s ON s.oid = relnamespace),
     own AS (SELECT classid, objid FROM pg_depend WHERE deptype = 'e')
SELECT 'schema ' || nspname, coalesce((SELECT string_agg(a, ',' ORDER BY a) FROM unnest(nspacl::text[]) a WHERE a !~ 'loopback'), '') FROM pg_namespace WHERE oid IN (SELECT oid FROM s)
UNION ALL
SELECT concat_ws(' ', 'relation', relkind, nspname, relname),
       concat_ws(' | ', pg_get_userbyid(relowner), reloptions, relrowsecurity, obj_description(oid, 'pg_class'),
                 (SELECT string_agg(a, ',' ORDER BY a) FROM unnest(coalesce(relacl, acldefault(CASE relkind WHEN 'S' THEN 's'::"char" ELSE 'r' END, relowner))::text[]) a),
                 CASE WHEN relkind = 'v' THEN pg_get_viewdef(oid) WHEN relkind = 'i' THEN pg_get_indexdef(oid) END)
FROM c WHERE relkind <> 't'
UNION ALL
SELECT concat_ws(' ', 'column', nspname, relname, attname),
       concat_ws(' | ', format_type(atttypid, atttypmod), attnotnull, attidentity, attgenerated, pg_get_expr(adbin, adrelid), col_description(attrelid, attnum),
                 (SELECT string_agg(a, ',' ORDER BY a) FROM unnest(attacl::text[]) a))
FROM c JOIN pg_attribute a ON attrelid = c.oid LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE relkind IN ('r', 'v', 'p') AND attnum > 0 AND NOT attisdropped
UNION ALL
SELECT concat_ws(' ', 'constraint', nspname, relname, conname), concat_ws(' | ', pg_get_constraintdef(k.oid), convalidated, obj_description(k.oid, 'pg_constraint'))
FROM pg_constraint k JOIN c ON conrelid = c.oid
UNION ALL
SELECT concat_ws(' ', 'trigger', nspname, relname, tgname), concat_ws(' | ', pg_get_triggerdef(t.oid), tgenabled) FROM pg_trigger t JOIN c ON tgrelid = c.oid WHERE NOT tgisinternal
UNION ALL
SELECT concat_ws(' ', 'function', p.oid::regprocedure),
       concat_ws(' | ', CASE WHEN prosqlbody IS NULL THEN pg_get_functiondef(p.oid) ELSE pg_get_function_result(p.oid) END, pg_get_userbyid(proowner), obj_description(p.oid, 'pg_proc'),
                 (SELECT string_agg(a, ',' ORDER BY a) FROM unnest(proacl::text[]) a WHERE a !~ 'loopback'))
FROM pg_proc p JOIN s ON s.oid = pronamespace WHERE prokind <> 'a' AND NOT EXISTS (SELECT FROM own WHERE classid = 'pg_proc'::regclass AND objid = p.oid)
UNION ALL
SELECT concat_ws(' ', 'type', nspname, typname), (SELECT string_agg(enumlabel, ',' ORDER BY enumsortorder) FROM pg_enum WHERE enumtypid = t.oid)
FROM pg_type t JOIN s ON s.oid = typnamespace WHERE typtype = 'e'
UNION ALL
SELECT 'module ' || name, concat_ws(' | ', version, installed, doc, dependencies, tables) FROM iasql_internal.module
UNION ALL
SELECT 'managed table ' || m.name, to_jsonb(m)::text FROM iasql_internal.managed_table m
UNION ALL
SELECT 'setting ' || name, description FROM iasql_settings`
	rows, err := connect(t, url).Query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	var name string
	var definition *string
	if _, err := pgx.ForEachRow(rows, []any{&name, &definition}, func() error {
		all[name] = ""
		if definition != nil {
			all[name] = plain.Replace(*definition)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(all) < 500 {
		t.Fatalf("only %d objects", len(all))
	}
	return all
}

// Until version 4 of aws_s3 the objects of all buckets were listed. Those of the buckets
// that have rows go on to be, and nobody is said to have asked for that.
func TestNamedBuckets(t *testing.T) {
	t.Parallel()
	url := restore(t, "testdata/first.sql.gz")
	migrate(t, url)
	for _, statement := range []string{
		`DO $$ BEGIN
			PERFORM set_config('iasql.origin', 'engine', true);
			INSERT INTO bucket (account, region, name) VALUES ('default', 'us-east-1', 'full-bucket');
			INSERT INTO bucket_object (account, bucket_name, key) VALUES ('default', 'full-bucket', 'a'), ('default', 'full-bucket', 'b');
		END $$`,
		`DO $$ DECLARE name text; BEGIN -- as it was in version 3
			FOR name IN SELECT attname FROM pg_attribute WHERE attrelid = 'bucket'::regclass AND attnum > 0 AND NOT attisdropped
				AND attname <> ALL ('{id,account,region,name,versioning_enabled,policy,created_at,tags}') LOOP
				EXECUTE format('ALTER TABLE bucket DROP COLUMN %I', name);
			END LOOP;
		END $$`,
		`UPDATE iasql_internal.listing SET rules = 'some' WHERE table_name = 'bucket'`,
		`UPDATE iasql_internal.module SET installed = 3 WHERE name = 'aws_s3'`,
	} {
		admin(t, url, statement)
	}
	before := admin(t, url, `SELECT count(*) FROM iasql_audit_log WHERE origin <> 'engine' OR NOT settled`)
	migrate(t, url)
	if got := admin(t, url, `SELECT string_agg(name, ' ') FILTER (WHERE list_objects) || ' of ' || count(*) FROM bucket`); got != "full-bucket of 2" {
		t.Errorf("named are %s", got)
	}
	if after := admin(t, url, `SELECT count(*) FROM iasql_audit_log WHERE origin <> 'engine' OR NOT settled`); after != before {
		t.Errorf("%s changes of users, and before %s", after, before)
	}
	if got := admin(t, url, `SELECT count(*)::text FROM iasql_internal.listing WHERE table_name = 'bucket' AND rules = 'some'`); got != "0" {
		t.Errorf("the next listings of buckets do not read the new columns: %s", got)
	}
}
