package cells

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
)

// movedTable says which rows of a table of the platform belong to an account, and what is different of them where the
// account arrives. In expressions t is the row, {account} and {as} are the account's names in the two cells, and {by}
// is by how much numbers are raised; pg_temp.moved_record, moved_batch and moved_table are what [end.gather] makes.
type movedTable struct {
	name    string            // with its schema
	where   string            // which rows
	columns map[string]string // by column, what it becomes; other columns stay as they are
	number  string            // the column whose numbers a sequence gives, if there is one
	// triggers: its triggers fire, as they note that rules or tables have changed.
	triggers bool
	// shared: a row may be another account's, too. It is not removed, and one that is there already stays.
	shared bool
}

const (
	ofAccount = `t.account = {account}`
	ofRecord  = `EXISTS (SELECT FROM pg_temp.moved_record r WHERE r.table_name = t.table_name AND r.record_id = t.record_id)`
	ofBatch   = `EXISTS (SELECT FROM pg_temp.moved_batch b WHERE b.id = t.batch)`

	numbers  = `coalesce((SELECT n.numbers FROM pg_temp.moved_table n WHERE n.name = t.table_name), '{id}')`
	identity = `(SELECT n.identity FROM pg_temp.moved_table n WHERE n.name = t.table_name)`
	newKey   = `coalesce(iasql_internal.renumbered_key(t.key, ` + identity + `, ` + numbers + `, {by}), t.key)`
	newRow   = `iasql_internal.renumbered(t.identity, ` + numbers + `, {by}, {as})`
)

// raised is the expression of a column with a number that is 0 or NULL where there is none.
func raised(column string) string {
	return `CASE WHEN t.` + column + ` <> 0 THEN t.` + column + ` + {by} ELSE t.` + column + ` END`
}

// conflictValue is the expression of a value of iasql_conflicts: of a column that has numbers, or of no column (a row).
func conflictValue(column string) string {
	return `CASE WHEN t.column_name = ANY (` + numbers + `) THEN iasql_internal.raised(t.` + column + `, {by})
		WHEN t.column_name IS NULL AND jsonb_typeof(t.` + column + `) = 'object'
			THEN iasql_internal.renumbered(t.` + column + `, ` + numbers + `, {by}, {as}) ELSE t.` + column + ` END`
}

// movedTables are the tables of the platform that have something of an account, besides the managed tables. What
// refers comes after what it refers to.
var movedTables = []movedTable{
	{name: "iasql_internal.account", where: `t.name = {account}`, columns: map[string]string{"name": `{as}`}},
	{name: "iasql_internal.world", where: ofAccount},
	// The next holder has the next fence: what an engine wrote under an older one is refused in both cells.
	{name: "iasql_internal.lease", where: ofAccount, columns: map[string]string{"fence": `t.fence + 1`, "pid": `NULL`,
		"role": `NULL`, "beat": `NULL`, "beat_fence": `NULL`}},
	{name: "iasql_internal.imported", where: ofAccount, triggers: true},
	// By no version of the rules: everything is listed once more, as nobody reads events while the account moves.
	{name: "iasql_internal.listing", where: ofAccount, columns: map[string]string{"cycle": raised("cycle"),
		"rules": `''`}},
	{name: "iasql_internal.unread", where: ofAccount},
	{name: "iasql_internal.account_secret", where: ofAccount},
	{name: "iasql_internal.kept_secret", where: ofAccount},
	{name: "iasql_internal.event_source", where: ofAccount, columns: map[string]string{"holder": `NULL`,
		"held_until": `'-infinity'::timestamptz`}},
	{name: "iasql_internal.event_source_region", where: ofAccount,
		columns: map[string]string{"of_account": `CASE WHEN t.of_account = {account} THEN {as} ELSE t.of_account END`}},
	{name: "iasql_internal.cloud_event", where: ofAccount},
	{name: "iasql_internal.hint", where: ofAccount, columns: map[string]string{"id": raised("id")}, number: "id"},
	{name: "iasql_internal.forgotten", where: ofAccount, columns: map[string]string{"key": newKey}},
	{name: "iasql_internal.adopted", shared: true,
		where:   `EXISTS (SELECT FROM pg_temp.moved_key k WHERE k.table_name = t.table_name AND k.key = t.key)`,
		columns: map[string]string{"key": newKey}},

	{name: "iasql_internal.batch", where: `EXISTS (SELECT FROM pg_temp.moved_batch b WHERE b.id = t.id)`, number: "id",
		columns: map[string]string{"id": raised("id"), "undoes": raised("undoes"), "opened_xid": `NULL`}},
	{name: "iasql_internal.batch_member", where: ofBatch, columns: map[string]string{"batch": raised("batch")}},
	// Roles have other object ids in another server.
	{name: "iasql_internal.approval", where: ofBatch, columns: map[string]string{"batch": raised("batch"),
		"login": `NULL`, "role": `NULL`}},
	{name: "public.iasql_batch_comments", where: ofBatch, number: "id",
		columns: map[string]string{"id": raised("id"), "batch": raised("batch")}},

	// What is not settled is visible to every later transaction, as it was before.
	{name: "public.iasql_audit_log", number: "id",
		where: `(t.account = {account} OR t.account IS NULL AND EXISTS (SELECT FROM pg_temp.moved_batch b WHERE b.id = t.transaction_id))`,
		columns: map[string]string{"id": raised("id"), "record_id": raised("record_id"),
			"account": `CASE WHEN t.account IS NOT NULL THEN {as} END`, "transaction_id": raised("transaction_id"),
			"change": `iasql_internal.renumbered_change(t.change, ` + numbers + `, {by}, {as})`, "key": newKey,
			"xid": `CASE WHEN t.xid < {xmin}::xid8 THEN t.xid ELSE '2' END`}},
	{name: "iasql_internal.vault", where: ofRecord, columns: map[string]string{"audit_id": raised("audit_id"),
		"record_id": raised("record_id")}},
	{name: "public.iasql_conflicts", where: ofRecord, number: "id",
		columns: map[string]string{"id": raised("id"), "record_id": raised("record_id"), "audit_id": raised("audit_id"),
			"database_value": conflictValue("database_value"), "cloud_value": conflictValue("cloud_value"),
			"base": conflictValue("base")}},

	{name: "public.iasql_cycles", where: ofAccount, columns: map[string]string{"id": raised("id")}, number: "id"},
	{name: "iasql_internal.cycle_details",
		where: `t.cycle_id IN (SELECT c.id FROM public.iasql_cycles c WHERE c.account = {account})`,
		columns: map[string]string{"cycle_id": raised("cycle_id"), "details": `(SELECT jsonb_agg(
			iasql_internal.renumbered(e.value, '{record_id}', {by}, {as}) ORDER BY e.n) FROM jsonb_array_elements(t.details) WITH ORDINALITY e (value, n))`}},
	{name: "public.iasql_operations", where: ofAccount, number: "id",
		columns: map[string]string{"id": raised("id"), "cycle_id": raised("cycle_id"), "record_id": raised("record_id"),
			"key": newKey, "columns": `iasql_internal.renumbered_call(t.columns, ` + numbers + `, {by})`,
			"up_to": raised("up_to"), "transaction_id": raised("transaction_id")}},
	{name: "iasql_internal.record_state", where: ofAccount,
		columns: map[string]string{"record_id": raised("record_id"), "failed_at": raised("failed_at"),
			"identity": newRow, "key": newKey}},
	{name: "iasql_internal.garbage", where: ofAccount, number: "id",
		columns: map[string]string{"id": raised("id"), "record_id": raised("record_id"), "identity": newRow,
			"key": newKey}},

	{name: "public.iasql_mode", where: ofRecord, number: "id", triggers: true,
		columns: map[string]string{"id": raised("id"), "record_id": raised("record_id")}},
	{name: "public.iasql_protection", where: ofRecord, triggers: true,
		columns: map[string]string{"record_id": raised("record_id")}},
	{name: "public.iasql_bills", where: ofRecord, columns: map[string]string{"record_id": raised("record_id")}},
	{name: "iasql_internal.expiry", where: ofRecord, columns: map[string]string{"record_id": raised("record_id")}},
	{name: "iasql_internal.part", where: ofRecord, columns: map[string]string{"record_id": raised("record_id"),
		"instance": raised("instance")}},
}

// notMoved are the other tables that name accounts or records, and why they stay.
var notMoved = map[string]string{
	"iasql_internal.staged":                "a move waits until no batch has staged a record of the account",
	"iasql_internal.staged_key":            "a move waits until no batch has staged a record of the account",
	"iasql_internal.needed":                "a move waits until no batch has staged a record of the account",
	"iasql_internal.mention":               "a move waits until no configuration mentions a record of the account",
	"iasql_internal.declaration":           "a move waits until no configuration mentions a record of the account",
	"iasql_internal.batch_headway":         "of open batches only",
	"iasql_internal.batch_session":         "of open batches only",
	"iasql_internal.undo_doubt":            "empty between transactions",
	"iasql_internal.reverting":             "empty between transactions",
	"iasql_internal.vault_staged":          "empty between statements",
	"iasql_internal.account_secret_staged": "empty between statements",
	"iasql_internal.scope_doubt":           "empty between transactions",
	"iasql_internal.permit":                "empty between transactions",
	"iasql_internal.search_entry":          "made anew of the records",
	"iasql_internal.search_pending":        "made anew of the records",
	"iasql_internal.moving":                "says that the account moves",
}

// platformTables returns the tables of the cell, besides the managed ones, whose rows move: those of the platform, and
// before them those that modules keep for themselves by account.
func (e *end) platformTables(ctx context.Context, tx pgx.Tx) ([]movedTable, error) {
	known := slices.Collect(maps.Keys(notMoved))
	for _, t := range movedTables {
		known = append(known, t.name)
	}
	rows, _ := tx.Query(ctx, `
		SELECT 'iasql_internal.' || quote_ident(c.relname) FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
		WHERE c.relnamespace = 'iasql_internal'::regnamespace AND c.relkind = 'r' AND a.attname = 'account' AND NOT a.attisdropped
			AND 'iasql_internal.' || c.relname <> ALL ($1) ORDER BY 1`, known)
	kept, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, err
	}
	var tables []movedTable
	for _, name := range kept {
		tables = append(tables, movedTable{name: name, where: ofAccount})
	}
	return append(tables, movedTables...), nil
}

// MovedTables returns the tables of the platform, besides the managed ones, whose rows of an account
// move with it, and the others that name accounts or records, with the reason why these stay.
func MovedTables() (moved []string, stay map[string]string) {
	for _, t := range movedTables {
		moved = append(moved, t.name)
	}
	return moved, maps.Clone(notMoved)
}
