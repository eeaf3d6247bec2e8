package adversary

import (
	"slices"
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// given gives back all rights on queue.
var given = []string{`ALTER TABLE queue DISABLE ROW LEVEL SECURITY`,
	`DO $$ DECLARE p name; BEGIN FOR p IN SELECT polname FROM pg_policy WHERE polrelid = 'queue'::regclass LOOP EXECUTE format('DROP POLICY %I ON queue', p); END LOOP; END $$`,
	`REVOKE ALL ON queue FROM iasql_reader, iasql_user`, `GRANT SELECT ON queue TO iasql_reader`,
	`GRANT INSERT, UPDATE, DELETE ON queue TO iasql_user`}

// refusals tries a statement with each right to a verb taken away.
func refusals(t *testing.T, w *harness.World, url, verb, code string, statements ...string) {
	t.Helper()
	for _, l := range losses(verb) {
		w.Admin(l.take...)
		if out, err := w.TryPSQL(url, statements...); err == nil || !strings.Contains(err.Error(), code) {
			t.Errorf("%s, when %s: %s %v", statements[len(statements)-1], l.name, out, err)
		}
		w.Admin(given...)
	}
}

// TestApprovalNeedsSight: who approves of a plan sees all of it, when he does and
// still when it is committed.
func TestApprovalNeedsSight(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	lead, other, outsider := w.Login("lead", "iasql_user"), w.Login("other", "iasql_user"),
		w.Login("outsider", "iasql_user")
	name := func(url string) string {
		out, err := w.TryPSQL(url, `SELECT current_user`)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	leads := name(w.Login("leads"))
	w.Admin(`GRANT `+leads+` TO `+name(lead)+`, `+name(other),
		`UPDATE iasql_settings SET value = '1' WHERE name = 'required_approvals'`,
		`UPDATE iasql_settings SET value = '`+leads+`' WHERE name = 'approvers'`, `CALL iasql_begin('shop')`,
		`INSERT INTO queue (name) VALUES ('bought')`)
	batch := w.Admin(`SELECT id FROM iasql_batches WHERE name = 'shop'`)
	hash := w.Admin(`CALL iasql_join('shop')`, `SELECT iasql_preview_hash()`)
	hash = hash[strings.LastIndex(hash, "\n")+1:]
	approve := `SELECT iasql_approve(` + batch + `, '` + hash + `')`
	if _, err := w.TryPSQL(outsider, approve); err == nil || !strings.Contains(err.Error(), "42501") {
		t.Errorf("an approval by who may approve of nothing: %v", err)
	}
	refusals(t, w, lead, "SELECT", "42501", approve)
	refusals(t, w, lead, "SELECT", "42501", `SELECT iasql_internal.approve(`+batch+`, '`+hash+
		`', iasql_internal.ask_approval(`+batch+`))`)

	approved := func(who, wants string) {
		t.Helper()
		if out, err := w.TryPSQL(who, approve); err != nil || out != wants {
			t.Fatalf("approvals: %s %v", out, err)
		}
	}
	commit := func(when string) {
		t.Helper()
		if out, err := w.TryPSQL(w.AdminURL, `CALL iasql_join('shop')`, `CALL iasql_commit()`); err == nil ||
			!strings.Contains(err.Error(), "0 of 1 approvals") {
			t.Errorf("a commit, when of its approver %s: %s %v", when, out, err)
		}
	}
	approved(lead, "1")
	for _, l := range losses("SELECT") {
		w.Admin(l.take...)
		commit(l.name)
		w.Admin(given...)
	}
	w.Admin(`REVOKE ` + leads + ` FROM ` + name(lead))
	commit("membership is revoked")
	w.Admin(`REVOKE iasql_user FROM ` + name(lead))
	w.Admin(`GRANT ` + leads + ` TO ` + name(lead))
	commit("the right to approve is revoked")
	approved(other, "1")
	w.Admin(`DROP OWNED BY `+name(other), `DROP ROLE `+name(other))
	commit("the role is dropped")
	w.Admin(`GRANT iasql_user TO ` + name(lead))
	if out, err := w.TryPSQL(w.AdminURL, `CALL iasql_join('shop')`, `CALL iasql_commit()`); err != nil {
		t.Errorf("a commit that was approved by somebody who still may: %s %v", out, err)
	}
	// Where row-level security lets the approver see the plan, he may.
	w.Admin(`CALL iasql_begin('more')`, `INSERT INTO queue (name) VALUES ('more')`)
	w.Admin(policies("", "")...)
	batch = w.Admin(`SELECT id FROM iasql_batches WHERE name = 'more'`)
	hash = w.Admin(`CALL iasql_join('more')`, `SELECT iasql_preview_hash()`)
	approve = `SELECT iasql_approve(` + batch + `, '` + hash[strings.LastIndex(hash, "\n")+1:] + `')`
	approved(lead, "1")
	w.Admin(`ALTER POLICY select_policy ON queue USING (name <> 'more')`)
	if out, err := w.TryPSQL(w.AdminURL, `CALL iasql_join('more')`, `CALL iasql_commit()`); err == nil ||
		!strings.Contains(err.Error(), "0 of 1 approvals") {
		t.Errorf("a commit, when a policy hides the plan from its approver: %s %v", out, err)
	}
	w.Admin(`ALTER POLICY select_policy ON queue USING (true)`, `CALL iasql_join('more')`, `CALL iasql_commit()`)
}

// TestRightsThatAskTheEngine: as TestRightsOfDeeds, of what the engine has to be
// asked for; and nobody comes around the first half of a deed by calling the second.
func TestRightsThatAskTheEngine(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	actor := w.Login("actor", "iasql_user")
	do := func(url string, statements ...string) string {
		t.Helper()
		out, err := w.TryPSQL(url, statements...)
		if err != nil {
			t.Fatalf("%v: %v", statements, err)
		}
		return out
	}
	w.PSQL(`UPDATE iasql_settings SET value = '0 seconds' WHERE name = 'consistency_window'`,
		`INSERT INTO queue (name) VALUES ('forgotten'), ('old'), ('deleted')`, `SELECT iasql_wait_for_all(60)`,
		`SELECT iasql_forget('queue', id) FROM queue WHERE name = 'forgotten'`)

	for _, c := range []struct{ name, edit, join, back string }{
		{"inserted", `INSERT INTO queue (name) VALUES ('new')`, "INSERT", "DELETE"},
		{"updated", `UPDATE queue SET delay_seconds = 5 WHERE name = 'old'`, "UPDATE", "UPDATE"},
		{"removed", `DELETE FROM queue WHERE name = 'deleted'`, "DELETE", "INSERT"},
	} {
		w.PSQL(`CALL iasql_begin('`+c.name+`')`, c.edit)
		join := `CALL iasql_join('` + c.name + `')`
		refusals(t, w, actor, c.join, "42501", join)
		// The caller has joined before the right was taken away.
		for _, l := range losses(c.back) {
			take := strings.Join(l.take, "; ")
			out, err := w.TryPSQL(w.AdminURL, `SET SESSION AUTHORIZATION `+do(actor, `SELECT current_user`), join,
				`RESET SESSION AUTHORIZATION`, take,
				`SET SESSION AUTHORIZATION `+do(actor, `SELECT current_user`), `CALL iasql_rollback(true)`)
			if err == nil || !strings.Contains(err.Error(), "42501") {
				t.Errorf("iasql_rollback of others' batch %s, when %s: %s %v", c.name, l.name, out, err)
			}
			w.Admin(given...)
		}
		do(actor, join, `CALL iasql_rollback(true)`)
	}

	refusals(t, w, actor, "INSERT", "42501", `SELECT iasql_adopt('queue', (SELECT url FROM queue WHERE name = 'old'))`)
	if out := do(actor, `SELECT iasql_adopt('queue', 'forgotten') > 0`); out != "t" {
		t.Errorf("adopted: %s", out)
	}

	// Settings that others rely on.
	for _, setting := range []string{"required_approvals", "approvers", "audit_retention", "max_deletes",
		"max_delete_ratio", "delete_ratio_floor", "batch_timeout", "progress_timeout"} {
		if out, err := w.TryPSQL(actor, `UPDATE iasql_settings SET value = value WHERE name = '`+setting+`'`); err == nil || !strings.Contains(err.Error(), "42501") {
			t.Errorf("setting %s: %s %v", setting, out, err)
		}
		w.Admin(`UPDATE iasql_settings SET value = value WHERE name = '` + setting + `'`)
	}

	// The second halves.
	do(actor, `CALL iasql_begin('theirs')`, `INSERT INTO queue (name) VALUES ('theirs')`, `CALL iasql_commit()`)
	batch := w.Admin(`SELECT id FROM iasql_batches WHERE name = 'theirs'`)
	if out, err := w.TryPSQL(actor, `BEGIN`, `SELECT * FROM iasql_internal.undo(`+batch+`)`, `COMMIT`); err == nil ||
		!strings.Contains(err.Error(), "42501") {
		t.Errorf("half of iasql_undo: %s %v", out, err)
	}
	if got := w.Admin(`SELECT count(*) FROM queue WHERE name = 'theirs'`); got != "1" {
		t.Errorf("half of iasql_undo has left %s queues", got)
	}
	do(actor, `CALL iasql_begin('late')`, `UPDATE queue SET delay_seconds = 3 WHERE name = 'theirs'`)
	w.Admin(policies("UPDATE", "USING ("+otherNames+")")...)
	for _, statement := range []string{`CALL iasql_commit()`,
		`SELECT iasql_internal.commit(NULL, NULL, 'rollback', 'continue')`} {
		if out, err := w.TryPSQL(actor, `CALL iasql_join('late')`, statement); err == nil ||
			!strings.Contains(err.Error(), "42501") {
			t.Errorf("%s of what a policy gives to others now: %s %v", statement, out, err)
		}
	}
	do(actor, `CALL iasql_join('late')`, `CALL iasql_rollback()`) // what nobody has carried out
	w.Admin(given...)
	if got := do(actor, `SELECT string_agg(name, ' ' ORDER BY name) FROM queue`); !slices.Equal(strings.Fields(got), []string{"deleted", "forgotten", "old", "theirs"}) {
		t.Errorf("in the end there are %s", got)
	}
}
