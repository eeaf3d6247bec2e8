package contract

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

var east = []string{"us-east-1"}

// What is looked at has the columns that scripts rely on, in that order.
func TestColumns(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east)
	for _, c := range []struct{ from, columns string }{
		{"iasql_ready()", "iasql_ready"},
		{"iasql_history('aws_regions', 1)", "ts kind by what details"},
		{"iasql_as_of('aws_regions', now())", "record"},
		{"iasql_changes_since(now())", "ts table_name record_id name action columns from to by_whom from_where how_known"},
		{"iasql_get_errors()", "ts table_name record_id message"},
		{"iasql_modules_list()", "module_name module_version dependencies"},
		{"iasql_modules_installed()", "module_name module_version dependencies"},
		{"iasql_preview_text()", "preview"},
		{"iasql_help()", "module name signature description sample_usage"},
		{"iasql_version()", "version"},
		{"iasql_get_sql_since()", "sql"},
		{"iasql_get_sql_for_transaction()", "sql"},
		{"iasql_preview()", "action direction table_name id description changes reason"},
		{"iasql_apply()", "action table_name id description"},
		{"iasql_settings", "name value description"},
		{"iasql_mode", "id table_name record_id column_name mode until since"},
		{"iasql_expiring", "what table_name record_id rule until by message"},
		{"iasql_tables", "table module last_seen"},
		{"iasql_listings", "account table_name region last_seen last_changed objects denied failed since"},
		{"iasql_tags", "table_name record_id key value"},
		{"iasql_prices", "id table_name component match region monthly per included currency source columns"},
		{"iasql_bills", "table_name record_id monthly currency source"},
		{"iasql_costs", "table_name record_id monthly currency basis unknown"},
		{"iasql_configuration_costs", "configuration monthly currency records unknown"},
		{"iasql_tag_costs", "key value monthly currency records unknown"},
		{"iasql_preview_costs()", "action table_name id description before after difference unknown"},
		{"iasql_batch_costs(0)", "table_name id before after difference unknown"},
		{"iasql_search('x')", "rank kind table_name record_id label matched region"},
		{"iasql_properties", "type property table_name column_name reason"},
		{"iasql_configurations", "name declared_at declared_by revision batch mentions declaring declaring_by"},
		{"iasql_parts", "composition instance part key table_name record_id edited"},
		{"iasql_mentions", "configuration table_name record_id shared"},
		{"iasql_instances", "composition instance parts unfinished state review message"},
		{"iasql_queries", "id name query owner shared"},
		{"iasql_batch_comments", "id batch author written_at comment"},
		{"iasql_approvals", "batch preview_hash approved_by approved_at stands"},
		{"iasql_type_names", "name type_name table_name installed description"},
		{"iasql_install('aws_account')", "module_name created_table_name record_count"},
	} {
		if got := strings.ReplaceAll(firstLine(w.PSQL(`\pset tuples_only off`, `SELECT * FROM `+c.from)), "|", " "); got != c.columns {
			t.Errorf("%s has the columns %s, want %s", c.from, got, c.columns)
		}
	}
	for _, c := range []struct{ table, columns string }{
		{"iasql_status", "table_name record_id desired detected state review message attempts next_attempt_at since mode"},
		{"iasql_audit_log", "id ts user table_name record_id change_type change message transaction_id settled"},
		{"iasql_conflicts", "table_name record_id column_name database_value cloud_value base at resolved"},
		{"iasql_operations", "table_name record_id service action token started ended result"},
		{"iasql_cycles", "account kind started ended engine reads calls pushes pulls errors"},
		{"iasql_tables", "table module"},
	} {
		for _, name := range strings.Fields(c.columns) {
			if got := w.PSQL(fmt.Sprintf(`SELECT count("%s") >= 0 FROM %s`, name, c.table)); got != "t" {
				t.Errorf("%s.%s: %s", c.table, name, got)
			}
		}
	}
	if got := w.PSQL(`SELECT count(*), min(doing) FROM iasql_engines()`); got != "1|idle" {
		t.Errorf("engines: %s", got)
	}
	if got := w.PSQL(`SELECT version <> '' FROM iasql_version()`); got != "t" {
		t.Errorf("version: %s", got)
	}
	if got := w.PSQL(`SELECT module_name FROM iasql_modules_installed()`); got != "aws_account" {
		t.Errorf("installed: %s", got)
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_cycles WHERE kind = 'full' AND ended IS NOT NULL AND reads > 0`); got == "0" {
		t.Error("no full cycle is listed")
	}
}

// Times have one scheme of names: ts is when an entry was written, since when a state began,
// started and ended when something ran, last_… and …_at are moments. Whatever scripts have
// always relied on keeps its name, and so does what CloudTrail calls event time.
func TestTimes(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east)
	scheme := regexp.MustCompile(`^(ts|since|until|started|ended|last_[a-z]+|[a-z_]+_at)$`)
	kept := []string{"iasql_conflicts.at", "iasql_forgotten.at", "iasql_protection.at", "iasql_audit_log.event_time",
		"iasql_conflicts.event_time"}
	for _, name := range strings.Fields(w.PSQL(`
		SELECT c.relname || '.' || a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v') AND c.relname LIKE 'iasql%' AND a.atttypid = 'timestamptz'::regtype AND NOT a.attisdropped
		UNION ALL SELECT p.proname || '.' || n.name FROM pg_proc p, unnest(p.proallargtypes::oid[], p.proargnames) n (type, name)
		WHERE p.pronamespace = 'public'::regnamespace AND p.proname LIKE 'iasql%' AND n.type = 'timestamptz'::regtype ORDER BY 1`)) {
		if _, column, _ := strings.Cut(name, "."); !scheme.MatchString(column) && !slices.Contains(kept, name) {
			t.Errorf("%s is a time of another scheme", name)
		}
	}
}

// Every public object has a comment, every function a sample that can be
// read, and iasql_help() shows each of them.
func TestHelp(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_vpc", "aws_s3", "aws_sqs")
	for what, query := range map[string]string{
		"functions without a comment": `SELECT p.oid::regprocedure FROM pg_proc p WHERE p.pronamespace IN ('public'::regnamespace, 'iasql_internal'::regnamespace)
			AND p.proowner = 'iasql_engine'::regrole AND obj_description(p.oid, 'pg_proc') IS NULL`,
		"tables and views without a comment": `SELECT c.oid::regclass FROM pg_class c WHERE c.relnamespace IN ('public'::regnamespace, 'iasql_internal'::regnamespace)
			AND c.relowner = 'iasql_engine'::regrole AND c.relkind IN ('r', 'v') AND c.relname <> 'goose_db_version' AND obj_description(c.oid, 'pg_class') IS NULL`,
		"columns of managed tables without a comment": `SELECT t."table", a.attname FROM iasql_tables t JOIN pg_attribute a ON a.attrelid = t."table"::regclass
			WHERE a.attnum > 0 AND NOT a.attisdropped AND col_description(a.attrelid, a.attnum) IS NULL`,
		"help without description, sample or module": `SELECT name FROM iasql_help() WHERE coalesce(description, '') = '' OR coalesce(sample_usage, '') = '' OR module IS NULL
			OR description LIKE '%Sample%'`,
		"functions that help does not have": `SELECT p.proname FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.proowner = 'iasql_engine'::regrole
			AND p.prorettype <> 'trigger'::regtype AND p.proname NOT IN (SELECT name FROM iasql_help())`,
		"samples that do not call a function": `SELECT name, sample_usage FROM iasql_help() WHERE sample_usage !~ '^(SELECT|CALL) .*\)'`,
	} {
		if got := w.PSQL(query); got != "" {
			t.Errorf("%s: %s", what, got)
		}
	}
	if got := w.PSQL(`SELECT DISTINCT module FROM iasql_help() WHERE name LIKE 'default_aws%'`); got != "aws_account" {
		t.Errorf("default_aws_… is of module %s", got)
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_help() WHERE module = 'iasql_platform' AND name NOT LIKE 'iasql\_%'`); got != "0" {
		t.Errorf("%s functions are the platform's without its prefix", got)
	}
	// A sample is an example: it can be planned as it stands.
	for _, sample := range strings.Split(
		w.PSQL(`SELECT DISTINCT sample_usage FROM iasql_help() WHERE sample_usage LIKE 'SELECT%'`), "\n") {
		w.PSQL(`EXPLAIN ` + sample)
	}

	// In psql's expanded display it fits 100 columns or so: the widest name of a column, a bar, and the text.
	if got := w.PSQL(`SELECT h.name, max(length(l)) FROM iasql_help() h, string_to_table(concat_ws(E'\n', module, name, signature, description, sample_usage), E'\n') l
		WHERE module = 'iasql_platform' GROUP BY 1 HAVING max(length(l)) > 86`); got != "" {
		t.Errorf("too wide: %s", got)
	}

	for _, old := range []string{"iasql_apply", "iasql_sync", "iasql_preview_apply", "iasql_preview_sync"} {
		said := w.Refused(`SET client_min_messages = 'warning'`, `SELECT * FROM `+old+`()`,
			`DO $$ BEGIN RAISE 'done'; END $$`)
		if !strings.Contains(said, "WARNING:  01000: "+old+"() does nothing any more") ||
			!strings.Contains(said, "HINT") || !strings.Contains(said, "SELECT") {
			t.Errorf("%s says %s", old, said)
		}
	}
}

// iasql_ready, one record's life, and the past.
func TestHistory(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	id := firstLine(w.PSQL(`INSERT INTO queue (name, tags) VALUES ('lives', '{"a": "1"}'), ('stays', NULL), ('goes', '{"é": "''\"\\"}') RETURNING id`))
	w.PSQL(`SELECT iasql_wait_for_all(20)`)
	w.Becomes(5*time.Second, "t|t", `SELECT iasql_ready(), iasql_ready('queue')`)
	w.PSQL(`SELECT iasql_sync_now()`) // what the cloud has assigned is there
	before := w.PSQL(`SELECT clock_timestamp()`)
	then := w.PSQL(`SELECT * FROM queue ORDER BY id`)
	w.PSQL(`UPDATE queue SET tags = '{"a": "2"}', delay_seconds = 7 WHERE name = 'lives'`,
		`UPDATE queue SET tags = '{"a": "3"}' WHERE name = 'lives'`,
		`UPDATE queue SET delay_seconds = 9 WHERE name = 'goes'`, `DELETE FROM queue WHERE name = 'goes'`,
		`INSERT INTO queue (name) VALUES ('comes')`, `UPDATE queue SET delay_seconds = 1 WHERE name = 'comes'`)
	if got := w.PSQL(`SELECT iasql_ready() OR iasql_ready('queue')`); got != "f" &&
		w.PSQL(`SELECT count(*) FROM iasql_audit_log WHERE NOT settled`) != "0" {
		t.Errorf("ready with changes pending: %s", got)
	}
	w.PSQL(`SELECT iasql_wait_for_all(20)`)

	if got := w.PSQL(fmt.Sprintf(`SELECT * FROM iasql_as_of(NULL::queue, '%s')`, before)); got != then {
		t.Errorf("then it was\n%s\nis said to have been\n%s", then, got)
	}
	if got := w.PSQL(fmt.Sprintf(`SELECT p.* FROM iasql_as_of('queue', '%s') r, jsonb_populate_record(NULL::queue, r.record) p`, before)); got != then {
		t.Errorf("as jsonb it was\n%s\nis said to have been\n%s", then, got)
	}
	if now, got := w.PSQL(`SELECT * FROM queue ORDER BY id`), w.PSQL(`SELECT * FROM iasql_as_of(NULL::queue, now())`); got != now {
		t.Errorf("now it is\n%s\nand as of now\n%s", now, got)
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_as_of(NULL::queue, now() - interval '1 day')`); got != "0" {
		t.Errorf("%s queues before there was any", got)
	}

	kinds := w.PSQL(fmt.Sprintf(`SELECT kind, what FROM iasql_history('queue', %s) WHERE kind <> 'pull'`, id))
	want := regexp.MustCompile(`^edit\|INSERT\noperation\|create SQS.CreateQueue: ok\nedit\|UPDATE delay_seconds, tags\n(operation\|.*\n)*edit\|UPDATE tags\n(operation\|.*\n?)+$`)
	if !want.MatchString(kinds) {
		t.Errorf("history:\n%s", kinds)
	}
	if got := w.PSQL(fmt.Sprintf(`SELECT DISTINCT "by" LIKE 'user\_%%', details -> 'change' -> 'delay_seconds' FROM iasql_history('queue', %s) WHERE kind = 'edit' AND what LIKE 'UPDATE delay%%'`, id)); got != "t|7" {
		t.Errorf("the edit is by and about: %s", got)
	}
	for statement, says := range map[string]string{
		`SELECT iasql_ready('queues')`: "IA006: table queues is not managed\nHINT:  Did " +
			"you mean 'queue'?",
		`SELECT * FROM iasql_history('qeue', 1)`:                 "Did you mean 'queue'?",
		`SELECT * FROM iasql_as_of('qeue', now())`:               "Did you mean 'queue'?",
		`SELECT * FROM iasql_as_of(1, now())`:                    "IA006: table integer is not managed",
		`SELECT * FROM iasql_as_of('queue', NULL)`:               "IA019: table queue cannot be shown as of NULL",
		`SELECT * FROM iasql_as_of(NULL::iasql_settings, now())`: "IA006: table iasql_settings is not managed",
		`SELECT * FROM iasql_get_sql_for_transaction(99)`:        "IA022: there is no batch 99",
		`SELECT iasql_create_review('')`:                         "IA007: a review needs a title",
	} {
		if got := w.Refused(statement); !strings.Contains(got, says) || !strings.Contains(got, "HINT:") {
			t.Errorf("%s\n says %s\n want %s", statement, got, says)
		}
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
