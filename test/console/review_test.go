package console

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"iasql/internal/test/harness"
)

// TestReviewing looks at the overview and at the review of a batch, first without scripts, then
// in a browser.
func TestReviewing(t *testing.T) {
	w, _, _, base := start(t, "aws_vpc", "aws_security_group", "aws_sqs", "aws_sns")
	w.PSQL(`INSERT INTO queue (name, tags) VALUES ('orders', '{"Name": "shop orders", "team": "web", "tier": "gold"}'), ('jobs', '{"team": "web"}')`,
		`INSERT INTO vpc (cidr_block, tags) VALUES ('10.9.0.0/16', '{"Name": "shop"}')`,
		`INSERT INTO security_group (vpc_id, group_name, description) SELECT id, 'web', 'of web' FROM vpc WHERE cidr_block = '10.9.0.0/16'`)
	w.PSQL(`SELECT iasql_wait_for_all(120)`)
	e := newEditor(t, w, base, w.UserURL)
	for _, c := range []struct {
		name string
		test func(*testing.T, *editor)
	}{{"elsewhere", testElsewhere}, {"changes", testPlanByKey}, {"comments", testComments}, {"approvals", testApprovals}, {"overview", testNeeds}} {
		t.Run(c.name, func(t *testing.T) {
			world := *w
			world.T = t
			c.test(t, &editor{&visitor{t, e.base, e.client}, &world})
		})
	}
	t.Run("browser", func(t *testing.T) { testReviewBrowser(newBrowser(t, newChromium(t), base), w) })
}

// staged opens a batch as somebody, and returns the address of its review and how to roll it back.
func staged(t *testing.T, w *harness.World, database, name string, statements ...string) (path string, undo func()) {
	t.Helper()
	run := func(statements ...string) {
		t.Helper()
		if _, err := w.TryPSQL(database, statements...); err != nil {
			t.Fatal(err)
		}
	}
	run(append([]string{"CALL iasql_begin('" + name + "')"}, statements...)...)
	return "/batches/" + w.PSQL(`SELECT id FROM iasql_batches WHERE phase = 'open' AND name = '`+name+`'`),
		func() { t.Helper(); run("CALL iasql_join('"+name+"')", "CALL iasql_rollback()") }
}

// A record's page leads to the cloud's own, in a tab of its own.
func testElsewhere(t *testing.T, e *editor) {
	vpc, region := e.w.PSQL(`SELECT id || ' ' || vpc_id FROM vpc WHERE cidr_block = '10.9.0.0/16'`), "us-east-1"
	id, object, _ := strings.Cut(vpc, " ")
	shows(t, "a VPC", e.get("/records/vpc/"+id), `href="https://console.aws.amazon.com/vpcconsole/home?region=`+region+`#VpcDetails:VpcId=`+object+
		`" target="_blank" rel="noopener noreferrer"`)
	shows(t, "a rule", e.get("/records/security_group_rule/"+e.w.PSQL(`SELECT min(id) FROM security_group_rule`)), "–", "own console")
}

// Tags and documents show what changes in them; a rule is called by what it says.
func testPlanByKey(t *testing.T, e *editor) {
	path, undo := staged(t, e.w, e.w.UserURL, "by key",
		`UPDATE queue SET tags = tags || '{"tier": "silver"}' WHERE name = 'orders'`,
		`UPDATE queue SET policy = '{"Version": "2012-10-17", "Statement": [{"Sid": "Read", "Effect": "Allow", "Principal": "*", "Action": "sqs:ReceiveMessage", "Resource": "*"}]}' WHERE name = 'jobs'`,
		`INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, from_port, to_port, cidr_ipv4) SELECT id, false, 'tcp', 443, 443, '10.1.0.0/16' FROM security_group WHERE group_name = 'web'`)
	defer undo()
	first := e.get(path)
	shows(t, "the page before the preview", first, "Staged so far", "security_group_rule", "Make the preview", "Link to share")
	page := e.get(path + "?preview=1")
	shows(t, "the review", page, `<span class="col">tags.tier</span><del>gold</del> → <ins>silver</ins>`, "queue shop orders",
		"port 443", "security_group web", "10.1.0.0/16", "–", "tags.team", "tags.Name")
	t.Logf("the review says:\n%s", said(page))
}

func testComments(t *testing.T, e *editor) {
	path, undo := staged(t, e.w, e.w.UserURL, "talked about", `UPDATE queue SET delay_seconds = 5 WHERE name = 'jobs'`)
	defer undo()
	action := path + "/comments"
	write := func(v *visitor, text string) (int, string) {
		t.Helper()
		form := url.Values{"csrf": formIn(t, v.get(path), action)["csrf"][:1], "comment": {text}}
		status, page, _ := v.send(http.MethodPost, action, form)
		if status != http.StatusSeeOther {
			return status, page
		}
		return status, v.get(path)
	}
	_, page := write(e.visitor, hostile+"\r\nsecond line")
	shows(t, "a hostile comment", page, "Written.", "&lt;script&gt;window.hostile=1", "second line", "–", "<script>window")
	_, page = write(e.visitor, strings.Repeat("x", 11_000))
	shows(t, "a long comment", page, "the comment has 11000 characters, and may have 10000")
	status, page := write(e.visitor, strings.Repeat("x", 1<<20))
	if status != http.StatusRequestEntityTooLarge || !strings.Contains(page, "This form is too large") {
		t.Errorf("a comment of 1 MB: %d\n%s", status, said(page))
	}
	_, page = write(e.visitor, "  ")
	shows(t, "an empty comment", page, "the comment is empty")
	_, page = write(e.visitor, "\x1b[31mred")
	shows(t, "a comment with escapes", page, "control characters")

	// Forged: without the token nothing is written.
	if status, _, _ := e.send(http.MethodPost, action, url.Values{"comment": {"forged"}}); status != http.StatusForbidden {
		t.Errorf("without a token: %d", status)
	}
	if status, _, _ := newVisitor(t, e.base).send(http.MethodPost, action, url.Values{"comment": {"forged"}}); status != http.StatusSeeOther {
		t.Errorf("without a session: %d", status)
	}
	if got := e.w.PSQL(`SELECT count(*) FROM iasql_batch_comments`); got != "1" {
		t.Errorf("there are %s comments", got)
	}

	// Another reads it and answers; he deletes no other's. A reader reads.
	other := newVisitor(t, e.base)
	if status := other.signIn(e.w.Login("other", "iasql_user")); status != http.StatusSeeOther {
		t.Fatalf("signing in: %d", status)
	}
	_, page = write(other, "looks good to me")
	shows(t, "another's page", page, "second line", "looks good to me", "Also has this page open")
	id := e.w.PSQL(`SELECT id FROM iasql_batch_comments WHERE comment LIKE '%second%'`)
	form := url.Values{"csrf": {csrf(page)}, "delete": {id}}
	other.send(http.MethodPost, action, form)
	shows(t, "deleting another's", other.get(path), "somebody else", "second line")
	reader := newVisitor(t, e.base)
	if status := reader.signIn(e.w.Login("looks", "iasql_reader")); status != http.StatusSeeOther {
		t.Fatalf("signing in: %d", status)
	}
	page = reader.get(path)
	shows(t, "a reader's page", page, "looks good to me", "–", "Write it")
	reader.send(http.MethodPost, action, url.Values{"csrf": {csrf(page)}, "comment": {"me too"}})
	shows(t, "a reader's comment", reader.get(path), "Your role may not comment", "–", "me too")

	// Nobody writes as another, nor changes what is said; a stranger sees nothing.
	for _, statement := range []string{`UPDATE iasql_batch_comments SET comment = 'x'`,
		`INSERT INTO iasql_batch_comments (batch, comment, author) VALUES (` + strings.TrimPrefix(path, "/batches/") + `, 'x', 'postgres')`,
		`INSERT INTO iasql_batch_comments (batch, comment) VALUES (99999999, 'x')`} {
		if _, err := e.w.TryPSQL(e.w.UserURL, statement); err == nil {
			t.Errorf("%s is done", statement)
		}
	}
	if _, err := e.w.TryPSQL(e.w.Login("outsider"), `SELECT * FROM iasql_batch_comments`); err == nil {
		t.Error("a role without grants reads comments")
	}
	for _, bad := range []string{"/batches/nonsense/comments", "/batches/99999999/comments"} {
		status, _, _ := e.send(http.MethodPost, bad, url.Values{"csrf": {csrf(e.get(path))}, "comment": {"x"}})
		if status != http.StatusNotFound && status != http.StatusSeeOther {
			t.Errorf("%s: %d", bad, status)
		}
	}
	e.send(http.MethodPost, action, url.Values{"csrf": {csrf(e.get(path))}, "delete": {id}})
	shows(t, "after deleting it", e.get(path), "Deleted.", "looks good to me", "–", "second line")
}

// An approval is of a plan: of another one it is stale, and who has not seen all of it gives none.
func testApprovals(t *testing.T, e *editor) {
	w := e.w
	w.Admin(`UPDATE iasql_settings SET value = '1' WHERE name = 'required_approvals'`)
	defer w.Admin(`UPDATE iasql_settings SET value = '0' WHERE name = 'required_approvals'`)
	owner := w.Login("opener", "iasql_user")
	path, undo := staged(t, w, owner, "large", `INSERT INTO topic (name) SELECT 'topic-' || i FROM generate_series(1, 350) i`)
	defer undo()
	page := e.get("/")
	shows(t, "the overview", page, "Batches: review", "Batch large", "Its commit takes 1 approval")
	page = e.get(path + "?preview=1")
	shows(t, "the first page", page, "0 of 1 approval of this plan", "Page 1 of 2", "paged through the whole plan", "–", `value="approve"`)
	hash := regexp.MustCompile(`name="hash" value="([^"]+)"`).FindStringSubmatch(page)[1]
	batch := strings.TrimPrefix(path, "/batches/")
	approve := url.Values{"csrf": {csrf(page)}, "do": {"approve"}, "batch": {batch}, "hash": {hash}, "back": {path}}
	if status, page, _ := e.send(http.MethodPost, "/do", approve); status != http.StatusConflict || !strings.Contains(page, "whole plan") {
		t.Errorf("approving unseen lines: %d", status)
	}
	page = e.get(path + "?plan=" + hash + "&page=2")
	shows(t, "the second page", page, "Page 2 of 2", `value="approve"`)
	e.send(http.MethodPost, "/do", approve)
	page = e.get(path + "?preview=1")
	shows(t, "approved", page, "1 of 1 approval of this plan", "of this plan", login(t, w.UserURL))
	if _, err := w.TryPSQL(owner, `CALL iasql_join('large')`, `INSERT INTO topic (name) VALUES ('one more')`); err == nil {
		t.Log("a name with a space is taken")
	}
	if _, err := w.TryPSQL(owner, `CALL iasql_join('large')`, `INSERT INTO topic (name) VALUES ('one-more')`); err != nil {
		t.Fatal(err)
	}
	shows(t, "of another plan", e.get(path+"?preview=1"), "0 of 1 approval of this plan", "stale: of another plan")
}

// What needs somebody stands in groups, each with its next step.
func testNeeds(t *testing.T, e *editor) {
	w := e.w
	shows(t, "a calm overview", e.get("/"), "Nothing needs you", "Empty")
	w.PSQL(`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, c::cidr FROM vpc, unnest(ARRAY['172.30.1.0/24', '172.30.2.0/24']) c WHERE cidr_block = '10.9.0.0/16'`)
	w.Becomes(patience, "2", `SELECT count(*) FROM iasql_status WHERE table_name = 'subnet' AND review`)
	page := e.get("/")
	shows(t, "two that failed", page, "Failed: try again", "Try all of them again now", "CreatingFailed", "unnest(ARRAY['subnet', 'subnet'], ARRAY[", "–", "Nothing needs you")
	form := formIn(t, page, "/do")
	ids := regexp.MustCompile(`name="record" value="(subnet \d+)"`).FindAllStringSubmatch(page, -1)
	if len(ids) != 2 {
		t.Fatalf("%d records are named by the button", len(ids))
	}
	form = url.Values{"csrf": form["csrf"], "do": {"retry all"}, "record": {ids[0][1], ids[1][1]}, "back": {"/"}}
	e.send(http.MethodPost, "/do", form)
	shows(t, "tried again", e.get("/"), "tried again = 2")
	for _, bad := range [][]string{nil, {"subnet x"}, {"subnet"}} {
		form["record"] = bad
		if status, _, _ := e.send(http.MethodPost, "/do", form); status != http.StatusBadRequest {
			t.Errorf("%q: %d", bad, status)
		}
	}
	w.PSQL(`DELETE FROM subnet WHERE cidr_block <<= '172.30.0.0/16'`)
	w.PSQL(`SELECT iasql_wait_for_all(120)`)

	// An account that is another than it was stands first.
	w.Admin(`UPDATE iasql_internal.world SET trouble = 'it is another account now', code = 'identity', since = now(), said = '999999999999'`)
	page = e.get("/")
	shows(t, "another account", page, "is another than it was", "999999999999", "SELECT iasql_confirm(&#39;identity&#39;", "–", "Nothing needs you")
	w.Admin(`UPDATE iasql_internal.world SET trouble = 'it does not answer', code = '', said = identity`)
	shows(t, "an account that does not answer", e.get("/"), "Nothing is done about account", "it does not answer", "Look at the cloud again now", "–", "another than it was")
	w.Admin(`UPDATE iasql_internal.world SET trouble = NULL, code = '', since = NULL`)

	// What it costs, once there are prices.
	shows(t, "no prices", e.get("/"), "–", "a month")
	w.Admin(`INSERT INTO iasql_prices (table_name, monthly, currency) SELECT 'queue', 2.5, 'EUR'`)
	shows(t, "prices", e.get("/"), "5.00", "EUR a month")
	w.Admin(`DELETE FROM iasql_prices`)

	// Tables that were not read are not said to be all present.
	w.Admin(`UPDATE iasql_tables SET last_seen = NULL WHERE "table" = 'queue'`)
	shows(t, "not read", e.get("/records"), "Not read yet")
	shows(t, "not read", e.get("/"), "Not read yet")
}

// Two have the same batch open: each sees the other, and what he writes, without asking.
func testReviewBrowser(b *browser, w *harness.World) {
	w.Admin(`UPDATE iasql_settings SET value = '1' WHERE name = 'required_approvals'`)
	defer w.Admin(`UPDATE iasql_settings SET value = '0' WHERE name = 'required_approvals'`)
	path, undo := staged(b.T, w, w.Login("painter", "iasql_user"), "looked at",
		`UPDATE queue SET tags = tags || '{"tier": "silver"}' WHERE name = 'orders'`, `DELETE FROM queue WHERE name = 'jobs'`,
		`UPDATE queue SET policy = '{"Version": "2012-10-17", "Statement": [{"Sid": "Read", "Effect": "Allow", "Principal": "*", "Action": "sqs:ReceiveMessage", "Resource": "*"}]}' WHERE name = 'orders'`,
		`INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, from_port, to_port, cidr_ipv4) SELECT id, false, 'tcp', 443, 443, '10.1.0.0/16' FROM security_group WHERE group_name = 'web'`)
	defer undo()
	b.signIn(w.UserURL)
	b.open(path)
	b.says("Decide")
	b.says("0 of 1 approval of this plan")
	b.until(`document.querySelector("#listening").textContent === "live"`)
	b.do("begin to type", chromedp.SendKeys("#comment", "half written", chromedp.ByQuery))
	other := newVisitor(b.T, b.base)
	name := w.Login("second", "iasql_user")
	if status := other.signIn(name); status != http.StatusSeeOther {
		b.Fatalf("signing in: %d", status)
	}
	form := formIn(b.T, other.get(path), path+"/comments")
	form.Set("comment", "seen by the other at once")
	other.send(http.MethodPost, path+"/comments", form)
	b.says("seen by the other at once")
	b.says("Also has this page open: " + login(b.T, name))
	if got := b.eval(`document.querySelector("#comment").value`); got != "half written" {
		b.Errorf("what one types is lost: %q", got)
	}
	if b.eval(`document.querySelector("#plan form.commit") !== null`) != "true" {
		b.Error("the plan is gone")
	}
	b.accessible("a review with comments")
	b.click("form.comment button")
	b.says("half written")
	b.says("Decide")
	if *every != "" {
		w.PSQL(`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '172.30.1.0/24' FROM vpc WHERE cidr_block = '10.9.0.0/16'`)
		w.Becomes(patience, "1", `SELECT count(*) FROM iasql_status WHERE table_name = 'subnet' AND review`)
		w.Admin(`UPDATE iasql_internal.world SET trouble = 'it is another account now', code = 'identity', since = now(), said = '999999999999'`)
		b.shootEvery("needs", "/", "needs you")
		b.accessible("what needs somebody")
		w.Admin(`UPDATE iasql_internal.world SET trouble = NULL, code = '', since = NULL, said = identity`)
		b.shootEvery("review", path, "Decide")
	}
}
