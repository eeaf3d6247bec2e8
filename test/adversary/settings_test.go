package adversary

import (
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// TestCallersSettings: what a session sets for itself does not change what the
// system's functions do, nor what the audit log keeps.
func TestCallersSettings(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	w.Admin(`ALTER TABLE queue ADD COLUMN weight double precision, ADD COLUMN patience interval, ADD COLUMN seal bytea`,
		`GRANT INSERT, UPDATE (weight, patience, seal) ON queue TO iasql_user`)
	odd := []string{`SET standard_conforming_strings = off`, `SET escape_string_warning = off`,
		`SET backslash_quote = on`, `SET extra_float_digits = -15`, `SET "IntervalStyle" = 'sql_standard'`,
		`SET bytea_output = 'escape'`, `SET "DateStyle" = 'SQL, DMY'`, `SET TimeZone = 'Pacific/Kiritimati'`,
		`SET quote_all_identifiers = on`, `SET transform_null_equals = on`, `SET array_nulls = off`}
	try := func(statements ...string) string {
		t.Helper()
		out, err := w.TryPSQL(w.UserURL, append(append([]string{}, odd...), statements...)...)
		if err != nil {
			t.Errorf("%s: %v", statements, err)
		}
		return strings.TrimSpace(strings.ReplaceAll(out, "SET\n", ""))
	}
	try(`INSERT INTO queue (name, tags, weight, patience, seal) VALUES ('a', '{"path": "c:\\\\temp"}', 0.123456789012345, '1 mon 2 days 03:00', decode('00ff', 'hex'))`, `SELECT iasql_wait_for_all(60)`)
	if got := w.PSQL(`SELECT change #>> '{change,weight}', change #>> '{change,patience}', change #>> '{change,seal}' FROM iasql_audit_log WHERE change_type = 'INSERT' AND table_name = 'queue'`); got !=
		`0.123456789012345|1 mon 2 days 03:00:00|\x00ff` {
		t.Errorf("the audit log has %s", got)
	}
	try(`CALL iasql_begin('a \\ b')`, `UPDATE queue SET delay_seconds = 3`, `SELECT count(*) FROM iasql_preview()`,
		`SELECT iasql_create_review('a \\ b')`, `SELECT iasql_preview_hash()`, `CALL iasql_commit('back\\slash')`)
	batch := w.PSQL(`SELECT id FROM iasql_batches WHERE name = 'a \ b' AND outcome = 'committed'`)
	// What is undone comes back as it was.
	try(`CALL iasql_begin('floats')`, `UPDATE queue SET weight = 1, patience = NULL, seal = NULL`,
		`CALL iasql_rollback()`)
	if got := w.Admin(`SELECT weight, patience, seal FROM queue`); got != `0.123456789012345|1 mon 2 days 03:00:00|\x00ff` {
		t.Errorf("rolled back, they are %s", got)
	}
	for _, statement := range []string{
		`CALL iasql_undo(` + batch + `); CALL iasql_rollback()`, `SELECT * FROM iasql_history('queue', 1)`,
		`SELECT * FROM iasql_as_of('queue', now())`, `SELECT * FROM iasql_get_sql_since()`,
		`SELECT * FROM iasql_changes_by('user')`, `SELECT * FROM iasql_changes_since(now() - interval '1 day')`,
		`BEGIN; UPDATE queue SET weight = 2, patience = NULL, seal = NULL, tags = NULL; CALL iasql_restore('queue', 1, now()); COMMIT; CALL iasql_rollback()`,
		`SELECT * FROM iasql_costs`, `SELECT * FROM iasql_preview_costs()`, `SELECT * FROM iasql_batch_costs(` + batch + `)`, `SELECT iasql_monthly('queue', '{}')`,
		`SELECT * FROM iasql_status`, `SELECT * FROM iasql_help()`,
		`SELECT iasql_sync_now()`, `SELECT iasql_ready()`, `SELECT * FROM iasql_engines()`,
		`SELECT iasql_protect('queue', 1), iasql_unprotect('queue', 1)`,
		`INSERT INTO iasql_mode (table_name, mode) VALUES ('queue', 'PAUSE'); DELETE FROM iasql_mode`,
		`INSERT INTO iasql_ignore (match) VALUES ('{"name": "x"}'); DELETE FROM iasql_ignore`,
		`UPDATE iasql_settings SET value = '90 seconds' WHERE name = 'sync_interval'`,
		`SELECT * FROM iasql_drift()`, `SELECT iasql_wait_for('queue', 1, 'url IS NOT NULL')`,
		`SELECT iasql_console_token() <> ''`, `DELETE FROM queue`, `SELECT iasql_wait_for_all(60)`,
	} {
		try(statement)
	}
}
