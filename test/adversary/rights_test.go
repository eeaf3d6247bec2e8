package adversary

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"iasql/internal/test/harness"
)

// deed is something that a member of iasql_user can do without a statement on the
// managed table, here queue, and the rights that it exercises all the same (R33).
type deed struct {
	name   string   // the function, or the table that is written
	what   string   // which use of it
	setup  []string // what has to be there, made by an administrator
	act    string
	done   string   // whether it is done, for what row-level security makes do nothing
	needs  []string // the verbs
	table  bool     // of the whole table, or of all: refused under whatever policy
	except []string // ways of losing a right that leave the one that the deed needs
}

// loss is one way in which a right is gone.
type loss struct {
	name string
	take []string
}

const (
	everyVerb  = "SELECT INSERT UPDATE DELETE"
	otherNames = "name = 'another one'"
	noSchema   = "the schema is revoked"
)

// losses are the ways in which the right to a verb on queue can be gone.
func losses(verb string) []loss {
	from := map[bool]string{true: "iasql_reader", false: "iasql_user"}[verb == "SELECT"]
	list := []loss{{verb + " is revoked", []string{"REVOKE " + verb + " ON queue FROM " + from}}}
	if verb != "DELETE" {
		columns := map[string]string{"SELECT": "id, account, region, name", "INSERT": "account, region",
			"UPDATE": "tags"}[verb]
		list = append(list, loss{verb + " of some columns is left", []string{
			"REVOKE " + verb + " ON queue FROM " + from,
			fmt.Sprintf("GRANT %s (%s) ON queue TO %s", verb, columns, from)}})
	}
	if verb != "INSERT" {
		list = append(list, loss{verb + " USING another row",
			policies(verb, "USING ("+otherNames+")"+map[bool]string{true: " WITH CHECK (true)"}[verb == "UPDATE"])})
	}
	if verb == "INSERT" || verb == "UPDATE" {
		list = append(list, loss{verb + " WITH CHECK of another row",
			policies(verb, map[bool]string{true: "USING (true) "}[verb == "UPDATE"]+"WITH CHECK ("+otherNames+")")})
	}
	return list
}

// policies has row-level security allow everything but one verb, which it allows as
// said.
func policies(verb, as string) []string {
	list := []string{"ALTER TABLE queue ENABLE ROW LEVEL SECURITY"}
	for _, v := range strings.Fields(everyVerb) {
		clause := map[string]string{"INSERT": "WITH CHECK (true)"}[v]
		if clause == "" {
			clause = "USING (true)"
		}
		if v == verb {
			clause = as
		}
		list = append(list, fmt.Sprintf("CREATE POLICY %s_policy ON queue FOR %s %s", strings.ToLower(v), v, clause))
	}
	return list
}

// everywhere are the ways in which every right is gone.
var everywhere = []loss{
	{"the table is revoked", []string{"REVOKE ALL ON queue FROM iasql_user, iasql_reader"}},
	{noSchema, []string{"REVOKE USAGE ON SCHEMA public FROM PUBLIC, iasql_reader"}},
}

// needNone are the functions that exercise no right, or none but the caller's own
// by the statements that they make, and why. A function that is neither here nor in a deed
// fails the test.
var needNone = map[string]string{
	"iasql_apply": "does nothing", "iasql_sync": "does nothing", "iasql_preview_apply": "does nothing",
	"iasql_preview_sync": "does nothing",
	"iasql_as_of":        "reads as its caller", "iasql_changes_by": "reads as its caller",
	"iasql_changes_since": "reads as its caller", "iasql_preview_costs": "reads as its caller", "iasql_batch_costs": "reads as its caller",
	"iasql_monthly":       "multiplies prices, which are everybody's to read, by what its caller says",
	"iasql_create_review": "reads as its caller", "iasql_drift": "reads as its caller",
	"iasql_engines": "reads", "iasql_get_errors": "reads as its caller", "iasql_search": "reads as its caller",
	"iasql_get_sql_for_transaction": "reads as its caller", "iasql_get_sql_since": "reads as its caller",
	"iasql_help": "reads", "iasql_history": "reads as its caller", "iasql_mode_explain": "reads",
	"iasql_mode_of": "reads", "iasql_modules_installed": "reads",
	"iasql_modules_list": "reads", "iasql_preview": "reads as its caller", "iasql_preview_text": "reads as its caller",
	"iasql_preview_hash": "a sum; who approves of it has to see all of it", "iasql_ready": "reads as its caller",
	"iasql_types": "asks the cloud what types there are", "iasql_version": "reads",
	"iasql_wait_for": "its condition is the caller's statement", "iasql_wait_for_all": "reads as its caller",
	"iasql_begin":          "opens an empty batch",
	"iasql_declare":        "opens an empty declaration; its end deletes",
	"iasql_sync_now":       "only sooner what the schedule does anyway",
	"iasql_install":        "makes tables in which its caller has the rights of all; who may call it is granted",
	"iasql_queries":        "texts of its caller's own, which nobody runs but who asks for it",
	"iasql_batch_comments": "texts of its caller's own, about a batch that everybody sees",
	// The roles that it takes are asked of when it is redeemed: testToken in test/console.
	"iasql_console_token": "signs its caller in",
}

// deeds are tried with each right that they exercise taken away.
func deeds(one func(query string) string) []deed {
	id := func(name string) string { return one(`SELECT id FROM queue WHERE name = '` + name + `'`) }
	kept, left := id("kept"), id("edited")
	batch := func(name string) string { return one(`SELECT id FROM iasql_batches WHERE name = '` + name + `'`) }
	all := strings.Fields("INSERT UPDATE DELETE")
	paused := `INSERT INTO iasql_mode (mode) VALUES ('PAUSE')`
	const asActor = `SET SESSION AUTHORIZATION rights_actor`
	const asAdmin = `RESET SESSION AUTHORIZATION`
	inForce := []string{
		`INSERT INTO iasql_internal.declaration (configuration, batch, own, declared_by, ended_at, closed_at)
			VALUES ('d', ` + batch("inserted") + `, true, 'x', now(), now())`,
		`INSERT INTO iasql_internal.mention (declaration, table_name, record_id) SELECT max(id), 'queue', ` + kept + ` FROM iasql_internal.declaration`,
		`INSERT INTO iasql_internal.configuration (name, declaration) SELECT 'd', max(id) FROM iasql_internal.declaration`}
	declaring := append(slices.Clone(inForce), asActor, `CALL iasql_begin('c')`, `CALL iasql_declare('d')`, asAdmin)
	list := []deed{
		{name: "iasql_declared", setup: declaring, act: `CALL iasql_declared()`,
			needs: []string{"SELECT", "DELETE"}, except: []string{"some columns"}},
		{name: "iasql_configurations", what: "deleting one", setup: inForce,
			act:   `DELETE FROM iasql_configurations WHERE name = 'd'`,
			needs: []string{"SELECT", "DELETE"}, except: []string{"some columns"}},
		{name: "iasql_mention", setup: declaring, act: `SELECT iasql_mention('queue', ` + kept + `)`,
			needs: []string{"SELECT"}, except: []string{"some columns"}},
		{name: "iasql_undo", what: "an INSERT", act: `CALL iasql_undo(` + batch("inserted") + `)`,
			needs: []string{"DELETE"}},
		{name: "iasql_undo", what: "a DELETE", act: `CALL iasql_undo(` + batch("deleted") + `)`,
			needs: []string{"INSERT"}},
		{name: "iasql_undo", what: "an UPDATE", act: `CALL iasql_undo(` + batch("edited") + `)`,
			needs: []string{"UPDATE"}},
		{name: "iasql_restore", what: "of what was changed",
			setup: []string{`UPDATE queue SET delay_seconds = 9 WHERE id = ` + kept},
			act:   `CALL iasql_restore('queue', ` + kept + `, now())`, // the transaction began before the edit
			// A record that its caller does not see is none that he may restore (IA006).
			needs: []string{"UPDATE", "SELECT"}, except: []string{"SELECT USING another row"}},
		{name: "iasql_restore", what: "of what was deleted",
			setup: []string{asActor, `DELETE FROM queue WHERE id = ` + kept, asAdmin},
			act:   `CALL iasql_restore('queue', ` + kept + `, now())`,
			needs: []string{"INSERT"}},
		{name: "iasql_commit", what: "an INSERT",
			setup: []string{asActor, `CALL iasql_begin('c')`, `INSERT INTO queue (name) VALUES ('made')`, asAdmin},
			act:   `CALL iasql_commit()`,
			needs: []string{"INSERT"}, except: []string{"some columns"}},
		{name: "iasql_commit", what: "an UPDATE",
			setup: []string{asActor, `CALL iasql_begin('c')`, `UPDATE queue SET delay_seconds = 9 WHERE id = ` + kept,
				asAdmin}, act: `CALL iasql_commit()`,
			needs: []string{"UPDATE"}},
		{name: "iasql_commit", what: "a DELETE",
			setup: []string{asActor, `CALL iasql_begin('c')`, `DELETE FROM queue WHERE id = ` + kept, asAdmin},
			act:   `CALL iasql_commit()`, needs: []string{"DELETE"}},
		{name: "iasql_confirm", what: "that a record is gone", setup: []string{
			`INSERT INTO iasql_internal.record_state (table_name, record_id, account, region, state, code, review) VALUES ('queue', ` + kept + `, 'default', 'us-east-1', 'Conflict', 'vanished', true)`,
			`INSERT INTO iasql_conflicts (table_name, record_id, audit_id) VALUES ('queue', ` + kept + `, 0)`},
			act:  `SELECT iasql_confirm('vanished')`,
			done: `SELECT count(*) > 0 FROM iasql_conflicts WHERE resolved = 'cloud'`, needs: []string{"DELETE"}},
		{name: "iasql_retry", what: "a pending UPDATE",
			setup: []string{paused, `UPDATE queue SET delay_seconds = 9 WHERE id = ` + kept},
			act:   `SELECT iasql_retry('queue', ` + kept + `)`, needs: []string{"UPDATE"}},
		{name: "iasql_retry", what: "a pending DELETE",
			setup: []string{paused, asActor, `DELETE FROM queue WHERE id = ` + kept, asAdmin},
			act:   `SELECT iasql_retry('queue', ` + kept + `)`, needs: []string{"DELETE"}},
		{name: "iasql_forget", act: `SELECT iasql_forget('queue', ` + kept + `)`, needs: []string{"DELETE"}},
		{name: "iasql_expire", act: `SELECT iasql_expire('queue', ` + kept + `, now() + interval '1 day')`,
			needs: []string{"DELETE"}, table: true},
		{name: "iasql_protect", what: "a record until then",
			act:   `SELECT iasql_protect('queue', ` + kept + `, now() + interval '1 day')`,
			needs: []string{"UPDATE", "DELETE"}, except: []string{"CHECK"}},
		{name: "iasql_protect", what: "a record", act: `SELECT iasql_protect('queue', ` + kept + `)`,
			needs: []string{"UPDATE"}, except: []string{"CHECK"}},
		{name: "iasql_protect", what: "a table", act: `SELECT iasql_protect('queue')`,
			needs: []string{"UPDATE", "DELETE"}, table: true},
		{name: "iasql_unprotect", what: "a record", setup: []string{`SELECT iasql_protect('queue', ` + kept + `)`},
			act:   `SELECT iasql_unprotect('queue', ` + kept + `)`,
			needs: []string{"UPDATE", "DELETE"}, except: []string{"CHECK"}},
		{name: "iasql_unprotect", what: "a table", setup: []string{`SELECT iasql_protect('queue')`},
			act: `SELECT iasql_unprotect('queue')`, needs: []string{"UPDATE", "DELETE"}, table: true},
		{name: "iasql_uninstall", act: `SELECT * FROM iasql_uninstall('aws_sqs')`, needs: all, table: true},
		{name: "iasql_ignore", what: "a table",
			act: `INSERT INTO iasql_ignore (table_name, match) VALUES ('queue', '{"name": "x"}')`, needs: all,
			table: true},
		{name: "iasql_ignore", what: "everything", act: `INSERT INTO iasql_ignore (match) VALUES ('{"name": "x"}')`,
			needs: all, table: true},
		{name: "iasql_ignore", what: "no more",
			setup: []string{`INSERT INTO iasql_ignore (table_name, match) VALUES ('queue', '{"name": "x"}')`},
			act:   `DELETE FROM iasql_ignore`,
			done:  `SELECT count(*) = 0 FROM iasql_ignore`, needs: all, table: true},
		{name: "iasql_conflicts", what: "a column", setup: conflict(left, "'delay_seconds'"),
			act:  `UPDATE iasql_conflicts SET resolved = 'cloud'`,
			done: `SELECT count(*) > 0 FROM iasql_conflicts WHERE resolved = 'cloud'`, needs: []string{"UPDATE"}},
		{name: "iasql_conflicts", what: "a record", setup: conflict(left, "NULL"),
			act:  `UPDATE iasql_conflicts SET resolved = 'cloud'`,
			done: `SELECT count(*) > 0 FROM iasql_conflicts WHERE resolved = 'cloud'`, needs: all},
		{name: "sqs_send_message", act: `SELECT * FROM sqs_send_message('kept', 'x')`, needs: []string{"UPDATE"},
			except: []string{"CHECK"}},
	}
	return append(list, rules(kept)...)
}

// rules are the deeds of iasql_mode and of settings.
func rules(kept string) (list []deed) {
	all := strings.Fields("INSERT UPDATE DELETE")
	for _, setting := range strings.Fields(
		"drift conflict_policy sync_interval max_staleness watched_staleness consistency_window read_share") {
		list = append(list, deed{name: "iasql_settings", what: setting,
			act: `UPDATE iasql_settings SET value = value WHERE name = '` + setting + `'`, needs: all, table: true})
	}
	list = append(list, deed{name: "iasql_mode", what: "PAUSE for a while",
		act:   `INSERT INTO iasql_mode (table_name, mode, until) VALUES ('queue', 'PAUSE', now() + interval '1 day')`,
		needs: all, table: true})
	for _, mode := range strings.Fields("ENFORCE NORMAL TRACK PAUSE") {
		needs := all
		if mode == "PAUSE" {
			needs = []string{"UPDATE"}
		}
		rule := func(values string) string {
			return `INSERT INTO iasql_mode (table_name, record_id, column_name, mode) VALUES (` + values + `, '` +
				mode + `')`
		}
		list = append(list,
			deed{name: "iasql_mode", what: mode + " for everything", act: rule("NULL, NULL, NULL"), needs: needs,
				table: true},
			deed{name: "iasql_mode", what: mode + " for a table", act: rule("'queue', NULL, NULL"), needs: needs,
				table: true},
			deed{name: "iasql_mode", what: mode + " for a record", act: rule("'queue', " + kept + ", NULL"),
				needs: needs},
			deed{name: "iasql_mode", what: mode + " for a column", act: rule("'queue', NULL, 'delay_seconds'"),
				needs: []string{"UPDATE"}, table: true},
			deed{name: "iasql_mode", what: mode + " for a fixed column", act: rule("'queue', NULL, 'fifo_queue'"),
				needs: needs, table: true, except: []string{"INSERT of some columns"}},
			deed{name: "iasql_mode", what: mode + " for a column of a record",
				act: rule("'queue', " + kept + ", 'delay_seconds'"), needs: []string{"UPDATE"}},
			deed{name: "iasql_mode", what: "to " + mode,
				setup: []string{`INSERT INTO iasql_mode (table_name, mode) VALUES ('queue', '` +
					map[bool]string{true: "NORMAL", false: "PAUSE"}[mode == "PAUSE"] + `')`},
				act:  `UPDATE iasql_mode SET mode = '` + mode + `'`,
				done: `SELECT count(*) > 0 FROM iasql_mode WHERE mode = '` + mode + `'`, needs: all, table: true},
			deed{name: "iasql_mode", what: "no more " + mode, setup: []string{rule("'queue', " + kept + ", NULL")},
				act:  `DELETE FROM iasql_mode`,
				done: `SELECT count(*) = 0 FROM iasql_mode`, needs: all},
		)
	}
	return list
}

// conflict returns statements that make an open conflict of a record.
func conflict(record, column string) []string {
	return []string{`INSERT INTO iasql_conflicts (table_name, record_id, column_name, audit_id) SELECT 'queue', ` +
		record + `, ` + column + `, max(id) FROM iasql_audit_log`}
}

// TestRightsOfDeeds: whatever acts on what others see, by a function or a rule, needs
// the right to all that it does, now. Each right is taken away in turn; then it is
// refused.
func TestRightsOfDeeds(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	admin, err := pgx.Connect(w.Context(), w.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close(context.WithoutCancel(w.Context()))
	actor := w.PSQL(`SELECT current_user`)
	one := func(query string) (value string) {
		t.Helper()
		if err := admin.QueryRow(w.Context(), `SELECT (`+query+`)::text`).Scan(&value); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		return value
	}
	w.PSQL(`INSERT INTO queue (name) VALUES ('kept'), ('edited'), ('gone')`, `SELECT iasql_wait_for_all(60)`)
	for name, edit := range map[string]string{
		"inserted": `INSERT INTO queue (name) VALUES ('new')`,
		"edited":   `UPDATE queue SET delay_seconds = 7 WHERE name = 'edited'`,
		"deleted":  `DELETE FROM queue WHERE name = 'gone'`,
	} {
		w.PSQL(`CALL iasql_begin('`+name+`')`, edit, `CALL iasql_commit()`)
	}
	w.Settled()
	list := deeds(one)
	known(t, w, list)
	m := &matrix{w: w, admin: admin, actor: actor,
		ids: map[string]string{"kept": one(`SELECT id FROM queue WHERE name = 'kept'`),
			"edited": one(`SELECT id FROM queue WHERE name = 'edited'`)}}
	for _, d := range list {
		m.allowed(d, loss{"nothing is taken away", nil})
		if !d.table {
			m.allowed(d, loss{"policies allow it", policies("", "")})
		}
		for _, verb := range d.needs {
			for _, l := range losses(verb) {
				if !slices.ContainsFunc(d.except, func(e string) bool { return strings.Contains(l.name, e) }) {
					m.refused(d, l)
				}
			}
		}
		for _, l := range everywhere {
			m.refused(d, l)
		}
	}
	if m.tried < 400 {
		t.Errorf("only %d cases", m.tried)
	}
	m.policies()
}

// randomPolicies returns statements that make some policies on queue.
func (m *matrix) randomPolicies(rng *rand.Rand) (made []string) {
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	for i := range 1 + rng.IntN(5) {
		command := pick("ALL", "SELECT", "UPDATE", "DELETE")
		using := pick("true", "true", "name = 'kept'", "name <> 'kept'",
			"name IN (SELECT q.name FROM queue q WHERE q.delay_seconds = 0 OR q.id = queue.id)",
			"current_user LIKE 'user%'", "false")
		policy := fmt.Sprintf("CREATE POLICY p%d ON queue AS %s FOR %s TO %s USING (%s)", i,
			pick("PERMISSIVE", "PERMISSIVE", "RESTRICTIVE"), command,
			pick("PUBLIC", "iasql_user", m.actor, "iasql_engine"),
			strings.ReplaceAll(using, "FROM queue q WHERE",
				"FROM (SELECT 'kept' AS name, 0 AS delay_seconds, 0 AS id) q WHERE"))
		if (command == "ALL" || command == "UPDATE") && rng.IntN(2) == 0 {
			policy += " WITH CHECK (" + pick("true", "name = 'kept'", "false") + ")"
		}
		made = append(made, policy)
	}
	return made
}

// policies compares what iasql_internal.may says with what PostgreSQL does, under
// random policies.
func (m *matrix) policies() {
	ctx, rng := m.w.Context(), rand.New(rand.NewPCG(33, 0))
	exec := func(sql string) (int64, error) {
		tag, err := m.admin.Exec(ctx, sql)
		return tag.RowsAffected(), err
	}
	must := func(sql string) {
		m.w.Helper()
		if _, err := exec(sql); err != nil {
			m.w.Fatalf("%s: %v", sql, err)
		}
	}
	seen := map[string]int{}
	for range 150 {
		made := m.randomPolicies(rng)
		must(`BEGIN`)
		must(`ALTER TABLE queue ENABLE ROW LEVEL SECURITY; ` + strings.Join(made, "; ") +
			`; SET SESSION AUTHORIZATION ` + m.actor)
		for _, name := range []string{"kept", "edited"} {
			var id, see, update, keep, del string
			if err := m.admin.QueryRow(ctx,
				`SELECT o.id::text, iasql_internal.may('see', 'queue', o.id)::text, iasql_internal.may('update', 'queue', o.id)::text, iasql_internal.may('keep', 'queue', o.id)::text,
				iasql_internal.may('delete', 'queue', o.id)::text FROM (SELECT record_id AS id FROM (VALUES (`+
					m.ids[name]+`::bigint)) v (record_id)) o`).Scan(&id, &see, &update, &keep, &del); err != nil {
				m.w.Fatal(err)
			}
			for what, c := range map[string]struct {
				sql  string
				says bool
			}{
				"see":    {`SELECT FROM queue WHERE id = ` + id, see == "true"},
				"delete": {`DELETE FROM queue WHERE id = ` + id, del == "true"},
				"update": {`UPDATE queue SET tags = '{"a": "b"}' WHERE id = ` + id, update == "true" && keep == "true"},
			} {
				must(`SAVEPOINT s`)
				n, err := exec(c.sql)
				must(`ROLLBACK TO s`)
				if does := err == nil && n == 1; does != c.says {
					m.w.Errorf("%s of %s: %t (%v), and it is said to be %t, with %s", what, name, does, err, c.says,
						strings.Join(made, "; "))
				}
				seen[fmt.Sprint(what, c.says)]++
			}
		}
		must(`ROLLBACK; RESET SESSION AUTHORIZATION`)
	}
	if len(seen) < 6 {
		m.w.Errorf("only %v was seen", seen)
	}
}

// known fails for functions and tables of rules that no deed is about.
func known(t *testing.T, w *harness.World, list []deed) {
	t.Helper()
	// by TestRightsThatAskTheEngine
	tried := map[string]bool{"iasql_adopt": true, "iasql_approve": true, "iasql_join": true, "iasql_rollback": true}
	for _, d := range list {
		tried[d.name] = true
	}
	for name := range strings.Lines(
		w.Admin(`SELECT DISTINCT p.proname FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.proowner = 'iasql_engine'::regrole
			AND (p.proname LIKE 'iasql\_%' OR p.proname IN (SELECT f.name FROM iasql_internal.module_function f))
		UNION SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname NOT IN (SELECT "table" FROM iasql_tables)
			AND (has_table_privilege('iasql_user', c.oid, 'INSERT, DELETE') OR has_any_column_privilege('iasql_user', c.oid, 'INSERT, UPDATE'))`)) {
		if name = strings.TrimSpace(name); needNone[name] == "" && !tried[name] {
			t.Errorf("nobody has said which rights %s exercises: add a deed, or a reason to needNone", name)
		}
		if needNone[name] != "" && tried[name] {
			t.Errorf("%s needs rights, and it is said that it needs none", name)
		}
	}
}

// matrix tries deeds in transactions that are rolled back.
type matrix struct {
	w     *harness.World
	admin *pgx.Conn
	actor string
	ids   map[string]string // of records, by name
	tried int
}

// try does a deed after a loss, and reports whether it was done.
func (m *matrix) try(d deed, l loss) (done bool, err error) {
	m.w.Helper()
	m.tried++
	ctx := m.w.Context()
	defer func() {
		if _, err := m.admin.Exec(ctx, `ROLLBACK; RESET SESSION AUTHORIZATION; SET iasql.batch = ''`); err != nil {
			m.w.Fatal(err)
		}
	}()
	steps := append([]string{`BEGIN; SET LOCAL lock_timeout = '20s'`}, d.setup...)
	for _, sql := range append(steps, l.take...) {
		if _, err := m.admin.Exec(ctx, strings.ReplaceAll(sql, "rights_actor", m.actor)); err != nil {
			m.w.Fatalf("%s %s, %s: %s: %v", d.name, d.what, l.name, sql, err)
		}
	}
	if _, err = m.admin.Exec(ctx, `SET SESSION AUTHORIZATION `+m.actor); err == nil {
		_, err = m.admin.Exec(ctx, d.act)
	}
	if err != nil {
		return false, err
	}
	done = true
	if d.done != "" {
		if _, err := m.admin.Exec(ctx, `RESET SESSION AUTHORIZATION`); err != nil {
			m.w.Fatal(err)
		}
		if err := m.admin.QueryRow(ctx, d.done).Scan(&done); err != nil {
			m.w.Fatal(err)
		}
	}
	return done, nil
}

func (m *matrix) allowed(d deed, l loss) {
	m.w.Helper()
	if d.name == "iasql_uninstall" || d.name == "sqs_send_message" {
		return // the engine would wait for what this transaction has locked
	}
	if done, err := m.try(d, l); err != nil || !done {
		m.w.Errorf("%s %s, when %s: it should be done: %v", d.name, d.what, l.name, err)
	}
}

func (m *matrix) refused(d deed, l loss) {
	m.w.Helper()
	done, err := m.try(d, l)
	var refusal *pgconn.PgError
	switch {
	case err == nil && done:
		m.w.Errorf("%s %s, when %s: it is done", d.name, d.what, l.name)
	// its names are not found
	case err != nil && l.name == noSchema && errors.As(err, &refusal) &&
		(refusal.Code == "42883" || refusal.Code == "42P01"):
	case err != nil && (!errors.As(err, &refusal) || refusal.Code != "42501"):
		m.w.Errorf("%s %s, when %s: %v", d.name, d.what, l.name, err)
	}
}
