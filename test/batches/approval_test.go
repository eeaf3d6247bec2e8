package batches

import (
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
)

// A commit that needs approvals is refused until somebody else has approved of just
// this plan.
func TestApprovals(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	owner, helper, lead, other := user(w), connect(w, w.Login("helper", "iasql_user")),
		connect(w, w.Login("lead", "iasql_user")), connect(w, w.Login("other", "iasql_user"))
	const demand = `UPDATE iasql_settings SET value = '1' WHERE name = 'required_approvals'`
	owner.refused("42501", []string{"administrators"}, demand)
	role := func(s *session) string { return s.get(`SELECT current_user`) }
	leads := role(connect(w, w.Login("leads")))
	w.Admin(`GRANT `+leads+` TO `+role(lead)+`, `+role(helper), demand, `UPDATE iasql_settings SET value = '`+leads+
		`' WHERE name = 'approvers'`)
	owner.do(`CALL iasql_begin('shop')`, `INSERT INTO queue (name) VALUES ('a')`)
	helper.do(`CALL iasql_join('shop')`, `UPDATE queue SET visibility_timeout = 60`)
	lead.do(`CALL iasql_join('shop')`) // and looks
	batch := owner.get(`SELECT id FROM iasql_batches`)
	approve := func(hash string) string { return `SELECT iasql_approve(` + batch + `, '` + hash + `')` }
	hash := lead.get(`SELECT iasql_preview_hash()`)

	owner.refused("IA027", []string{"0 of 1 approvals", "iasql_approve(" + batch + ", '" + hash + "')"},
		`CALL iasql_commit()`)
	owner.refused("42501", []string{"leads"}, approve(hash))
	other.refused("42501", nil, approve(hash))
	helper.refused("IA027", []string{"somebody else"}, approve(hash))
	lead.refused("IA023", nil, approve("stale"))
	lead.refused("IA022", []string{"no batch 4711 is open"}, `SELECT iasql_approve(4711, 'none')`)
	if got := lead.get(approve(hash)); got != "1" {
		t.Errorf("approvals: %s", got)
	}
	owner.do(`UPDATE queue SET delay_seconds = 1`) // another plan
	owner.refused("IA027", []string{"0 of 1"}, `CALL iasql_commit()`)
	if got := w.PSQL(`SELECT count(*) FROM iasql_operations`, `SELECT phase FROM iasql_batches`); got != "0\nopen" {
		t.Errorf("before it was approved: %s", got)
	}
	lead.do(approve(owner.get(`SELECT iasql_preview_hash()`)))
	owner.do(`CALL iasql_commit()`)

	// In a transaction with edits of its own the commit is refused when that has ended.
	w.PSQL(`BEGIN; CALL iasql_begin('deferred'); INSERT INTO queue (name) VALUES ('b'); CALL iasql_commit(); COMMIT`)
	w.Eventually(20*time.Second, "the commit is refused", func() bool {
		return strings.Contains(w.PSQL(`SELECT message FROM iasql_get_errors()`), "0 of 1 approvals")
	})
	if got := w.PSQL(`SELECT string_agg(name, ',') FROM queue WHERE url IS NOT NULL`); got != "a" {
		t.Errorf("in the cloud there are %s", got)
	}
}
