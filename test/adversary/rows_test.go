package adversary

import (
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// TestRowLevelSecurity: what a policy hides in a table stays hidden in everything
// that speaks of its rows, and nobody acts on what is hidden from him.
func TestRowLevelSecurity(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_vpc", "aws_sqs", "aws_cloudwatch")
	w.PSQL(`UPDATE iasql_settings SET value = '0 seconds' WHERE name = 'consistency_window'`)
	blue, red := w.Login("blue", "iasql_user"), w.Login("red", "iasql_user")
	w.Admin(`CREATE TABLE public.team (login text PRIMARY KEY, name text)`, `GRANT SELECT ON public.team TO PUBLIC`,
		`INSERT INTO public.team SELECT rolname, split_part(rolname, '_', 1) FROM pg_roles WHERE rolname ~ '^(blue|red)_'`)
	for _, table := range []string{"vpc", "queue", "log_group"} {
		w.Admin(`ALTER TABLE `+table+` ENABLE ROW LEVEL SECURITY`,
			`CREATE POLICY by_team ON `+table+
				` USING (tags ->> 'team' = (SELECT t.name FROM public.team t WHERE t.login = current_user))`)
	}
	const hidden = "hush-hush"
	psql := func(url string, statements ...string) string {
		t.Helper()
		out, err := w.TryPSQL(url, statements...)
		if err != nil {
			t.Fatalf("%v: %v", statements, err)
		}
		return out
	}
	psql(red, `INSERT INTO vpc (cidr_block, tags) VALUES ('10.1.0.0/16', '{"team": "red", "Name": "`+hidden+`"}')`,
		`INSERT INTO queue (name, tags) VALUES ('`+hidden+`', '{"team": "red"}')`,
		`INSERT INTO log_group (log_group_name, tags) VALUES ('`+hidden+`', '{"team": "red"}')`,
		`SELECT iasql_wait_for_all(30)`)
	psql(blue, `INSERT INTO vpc (cidr_block, tags) VALUES ('10.2.0.0/16', '{"team": "blue", "Name": "ours"}')`,
		`INSERT INTO queue (name, tags) VALUES ('ours', '{"team": "blue"}')`, `SELECT iasql_wait_for_all(30)`)
	// An edit that fails, a conflict that is open, one that is pending.
	w.Admin(`UPDATE iasql_settings SET value = 'hold' WHERE name = 'conflict_policy'`)
	psql(red, `UPDATE queue SET policy = '{"`+hidden+`": 1}'`, `UPDATE queue SET name = repeat('`+hidden+`', 8)`)
	w.Eventually(quickly, "the edit fails", func() bool {
		return w.Admin(`SELECT count(*) > 0 FROM iasql_status WHERE review`) == "t"
	})
	id := w.Admin(`SELECT id FROM vpc WHERE tags ->> 'team' = 'red'`)
	queue := w.Admin(`SELECT id FROM queue WHERE tags ->> 'team' = 'red'`)
	psql(red, `DELETE FROM log_group`, `SELECT iasql_wait_for_all(30) FROM (SELECT 1 WHERE false) x`)

	look := func(when string) {
		t.Helper()
		for _, statement := range []string{
			`SELECT * FROM iasql_audit_log`, `SELECT * FROM iasql_operations`, `SELECT * FROM iasql_conflicts`,
			`SELECT * FROM iasql_cycles`, `SELECT * FROM iasql_get_errors()`,
			`SELECT * FROM iasql_history('vpc', ` + id + `)`, `SELECT * FROM iasql_history('queue', ` + queue + `)`,
			`SELECT * FROM iasql_history('log_group', 1)`,
			`SELECT * FROM iasql_as_of('vpc', now())`, `SELECT * FROM iasql_as_of(NULL::queue, now())`,
			`SELECT * FROM iasql_as_of('log_group', now() - interval '2 seconds')`,
			`SELECT * FROM iasql_get_sql_since()`, `SELECT iasql_create_review('all')`, `SELECT * FROM iasql_preview()`,
			`SELECT * FROM iasql_engines()`,
			`SELECT * FROM iasql_internal.repeat(ARRAY(SELECT generate_series(1, 300)))`,
			`SELECT * FROM iasql_internal.to_review()`,
			`SELECT * FROM iasql_internal.record_state`, `SELECT * FROM iasql_internal.garbage`,
			`SELECT * FROM iasql_internal.previewed`, `SELECT * FROM iasql_internal.listing_errors`,
			`SELECT iasql_internal.named('vpc', ` + id + `, 9999, '{}')`, `SELECT iasql_internal.image('vpc', ` + id +
				`, 1)`, `SELECT iasql_internal.image('queue', ` + queue + `, 9999)`,
			`SELECT iasql_internal.failure('queue', ` + queue + `)`,
			`SELECT * FROM iasql_internal.failures(pg_current_snapshot(), NULL)`,
			`SELECT * FROM iasql_internal.rows_as_of('queue', now())`,
		} {
			if out := psql(blue, statement); strings.Contains(out, hidden) {
				t.Errorf("%s: %s shows %.600s", when, statement, out)
			}
		}
		if out := psql(blue, `SELECT * FROM iasql_status WHERE (table_name, record_id) IN (('vpc', `+id+`), ('queue', `+
			queue+`))`); out != "" {
			t.Errorf("%s: the state is seen: %s", when, out)
		}
		for _, statement := range []string{`SELECT iasql_wait_for('queue', ` + queue + `, 'true', 0.1)`,
			`SELECT iasql_wait_for('queue', ` + queue + `, 'false', 0.1)`} {
			if out, err := w.TryPSQL(blue, statement); err == nil || strings.Contains(err.Error(), hidden) ||
				strings.Contains(out, hidden) {
				t.Errorf("%s: %s: %s %v", when, statement, out, err)
			}
		}
	}
	look("edited")

	for _, statement := range []string{
		`SELECT iasql_retry('queue', ` + queue + `)`, `SELECT iasql_internal.retry('queue', ` + queue + `)`,
		`INSERT INTO iasql_internal.permit (table_name, record_id, may) VALUES ('queue', ` + queue + `, 'change')`,
		`INSERT INTO iasql_internal.permit (table_name, record_id, may) VALUES ('vpc', ` + id + `, 'see')`,
		// What is asked for at once is no answer.
		`SELECT set_config('iasql.asks', '{"may": "change", "table": "queue", "ids": [` + queue +
			`]}', false); INSERT INTO iasql_internal.permit (table_name, record_id, may) VALUES ('queue', ` + queue +
			`, 'change')`,
		`SELECT iasql_internal.permit('change', 'queue', ` + queue +
			` || array_agg(id)) FROM queue; SELECT iasql_internal.retry('queue', ` + queue + `)`,
		// Nobody is asked about a record without an id, and what comes after it is asked about all the same.
		`SELECT iasql_internal.confirm_vanished('queue', ARRAY[NULL, ` + queue + `])`,
		`INSERT INTO iasql_mode (table_name, mode) VALUES ('vpc', 'TRACK')`,
		`INSERT INTO iasql_mode (mode) VALUES ('ENFORCE')`,
		`INSERT INTO iasql_mode (table_name, record_id, mode) VALUES ('vpc', ` + id + `, 'TRACK')`,
		`SELECT * FROM iasql_uninstall('aws_sqs')`, `SELECT iasql_internal.permit('change', 'queue', ARRAY[` + queue +
			`]::bigint[]), iasql_internal.retry('queue', ` + queue + `)`,
		`SELECT log_group_tail('` + hidden + `', region => 'us-east-1')`,
		`SELECT iasql_internal.call('log_group_tail', '{"log_group_name": "` + hidden +
			`", "region": "us-east-1", "account": "default"}')`, `SELECT iasql_internal.call('log_group_tail', '{}')`,
	} {
		if out, err := w.TryPSQL(blue, statement); err == nil {
			t.Errorf("%s: %s", statement, out)
		} else if strings.Contains(err.Error(), hidden) && !strings.Contains(statement, hidden) {
			t.Errorf("%s: %v", statement, err)
		}
	}
	psql(blue, `UPDATE iasql_conflicts SET resolved = 'cloud'`, `DELETE FROM iasql_mode`)
	if got := w.Admin(`SELECT count(*) FROM iasql_conflicts WHERE resolved_by LIKE 'blue%'`); got != "0" {
		t.Error("what is hidden was resolved")
	}
	// Their own they may do with as they like.
	ours := psql(blue, `SELECT id FROM queue`)
	psql(blue, `SELECT iasql_retry('queue', `+ours+`)`,
		`INSERT INTO iasql_mode (table_name, record_id, mode) VALUES ('queue', `+ours+`, 'TRACK')`,
		`DELETE FROM iasql_mode`)
	if got := psql(blue, `SELECT count(*) > 1 FROM iasql_history('queue', `+ours+`)`,
		`SELECT count(*) > 0 FROM iasql_audit_log`, `SELECT count(*) FROM iasql_status WHERE table_name = 'queue'`); got != "t\nt\n1" {
		t.Errorf("of their own they see %s", got)
	}
	w.Admin(`UPDATE iasql_settings SET value = 'push' WHERE name = 'conflict_policy'`)
	psql(red, `UPDATE queue SET name = '`+hidden+`', policy = NULL`)

	// A batch with the changes of both is nobody's alone.
	const join = `CALL iasql_join('test')`
	psql(red, `CALL iasql_begin('test')`, `UPDATE vpc SET tags = tags || '{"Name": "`+hidden+`-2"}'`)
	if out, err := w.TryPSQL(blue, join); err == nil || !strings.Contains(err.Error(), "42501") ||
		strings.Contains(err.Error(), hidden) {
		t.Errorf("joining a batch with changes that one may not make: %s %v", out, err)
	}
	psql(red, `CALL iasql_rollback(true)`)
	w.Admin(`CALL iasql_begin('test')`)
	psql(red, join, `UPDATE vpc SET tags = tags || '{"Name": "`+hidden+`-2"}'`)
	w.Admin(join, `UPDATE vpc SET tags = tags || '{"Name": "theirs"}' WHERE tags ->> 'Name' = 'ours'`)
	look("staged")
	for _, statement := range []string{join, `CALL iasql_rollback(true)`} {
		if out, err := w.TryPSQL(blue, statement); err == nil || !strings.Contains(err.Error(), "42501") ||
			strings.Contains(err.Error(), hidden) {
			t.Errorf("%s of a batch with others' changes: %s %v", statement, out, err)
		}
	}
	if _, err := w.TryPSQL(red, `CALL iasql_rollback(true)`); err == nil {
		t.Error("the batch holds others' changes, too")
	}
	w.Admin(`CALL iasql_rollback(true)`)
	if got := w.Admin(`SELECT string_agg(tags ->> 'Name', ' ' ORDER BY cidr_block) FROM vpc WHERE tags ? 'Name'`); got != hidden+" ours" {
		t.Errorf("rolled back, they are %s", got)
	}
	psql(red, `CALL iasql_begin()`, `UPDATE vpc SET tags = tags || '{"Name": "`+hidden+`-3"}'`, `CALL iasql_commit()`)
	look("committed")
	if _, err := w.TryPSQL(blue, `CALL iasql_undo(`+w.Admin(`SELECT max(transaction_id) FROM iasql_audit_log`)+`)`); err == nil || !strings.Contains(err.Error(), "42501") {
		t.Errorf("undoing what others did: %v", err)
	}
	w.Admin(`ALTER TABLE queue DISABLE ROW LEVEL SECURITY`)
}

// TestEventsOfHiddenRows: anybody may listen.
func TestEventsOfHiddenRows(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	w.Admin(`ALTER TABLE queue ENABLE ROW LEVEL SECURITY`, `CREATE POLICY everybody ON queue USING (true)`)
	out, err := w.TryPSQL(w.Login("outsider"), `LISTEN iasql_events`, `SELECT pg_sleep(0.1)`)
	if err != nil {
		t.Fatal(out, err)
	}
	const stated = `INSERT INTO iasql_internal.record_state (table_name, record_id, account, state, review) VALUES ('queue', 4711, 'default', 'CreatingFailed', true)`
	if out := w.Admin(`LISTEN iasql_events`, stated); !strings.Contains(out, "record failed") ||
		strings.Contains(out, "4711") {
		t.Errorf("what is said of a hidden record: %s", out)
	}
	w.Admin(`DELETE FROM iasql_internal.record_state`, `ALTER TABLE queue DISABLE ROW LEVEL SECURITY`,
		`DROP POLICY everybody ON queue`)
	if out := w.Admin(`LISTEN iasql_events`, stated); !strings.Contains(out, "4711") {
		t.Errorf("what is said of a record: %s", out)
	}
}

// TestColumnGrants: a column that was not granted does not show in any other
// place.
func TestColumnGrants(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	const hidden = "not-for-all"
	reader := w.Login("reader", "iasql_reader")
	w.Admin(`REVOKE SELECT ON queue FROM iasql_reader`,
		`GRANT SELECT (id, account, region, name) ON queue TO iasql_reader`, `GRANT SELECT ON queue TO `+
			w.PSQL(`SELECT current_user`))
	w.PSQL(`INSERT INTO queue (name, tags) VALUES ('a', '{"note": "`+hidden+`"}')`, `SELECT iasql_wait_for_all(30)`,
		`UPDATE queue SET tags = '{"note": "`+hidden+`-2"}'`, `SELECT iasql_wait_for_all(30)`,
		`CALL iasql_begin('test')`, `UPDATE queue SET tags = '{"note": "`+hidden+`-3"}', name = 'b'`)
	for _, statement := range []string{
		`SELECT * FROM iasql_audit_log`, `SELECT * FROM iasql_operations`, `SELECT * FROM iasql_conflicts`,
		`SELECT * FROM iasql_status`, `SELECT * FROM iasql_get_errors()`,
		`SELECT * FROM iasql_history('queue', 1)`, `SELECT * FROM iasql_get_sql_since()`,
		`SELECT iasql_create_review('all')`, `SELECT * FROM iasql_preview()`,
	} {
		out, err := w.TryPSQL(reader, statement)
		if err != nil && !strings.Contains(err.Error(), "42501") {
			t.Errorf("%s: %v", statement, err)
		}
		if strings.Contains(out, hidden) {
			t.Errorf("%s shows %.600s", statement, out)
		}
	}
	half := w.Login("half", "iasql_user") // who sees as much of the table
	if out, err := w.TryPSQL(half, `CALL iasql_join('test')`,
		`SELECT count(*) FROM iasql_preview() WHERE changes ? 'name' AND NOT changes::text LIKE '%`+hidden+`%'`,
		`SELECT count(*) FROM queue WHERE name = 'b'`); err != nil || out != "CALL\n1\n1" {
		t.Errorf("what was granted does not show: %s %v", out, err)
	}
	if out, err := w.TryPSQL(reader, `SELECT tags FROM queue`); err == nil {
		t.Errorf("the column can be read: %s", out)
	}
	w.Admin(`CALL iasql_rollback(true)`)
}
