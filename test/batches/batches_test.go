package batches

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

var east = []string{"us-east-1"}

// Line by line: begin, edit, preview, commit. Nothing reaches the cloud before
// the commit, and the preview says just what it does.
func TestLineByLine(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_vpc")
	w.Settled()
	w.PSQL(`CALL iasql_begin()`)
	w.PSQL(`INSERT INTO vpc (cidr_block, tags) VALUES ('10.1.0.0/16', '{"Name": "batch"}')`,
		`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '10.1.1.0/24' FROM vpc WHERE cidr_block = '10.1.0.0/16'`)
	if got := w.PSQL(`SELECT action, direction, table_name, description FROM iasql_preview()`); got !=
		"create|push|subnet|create subnet in us-east-1\ncreate|push|vpc|create vpc batch in us-east-1" {
		t.Errorf("preview: %s", got)
	}
	if got := w.PSQL(`SELECT changes -> 'cidr_block', changes -> 'vpc_id' FROM iasql_preview() WHERE table_name = 'vpc'`); got !=
		`{"to": "10.1.0.0/16", "from": null}|{"to": "(known after apply)", "from": null}` {
		t.Errorf("changes: %s", got)
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_operations`); got != "0" {
		t.Errorf("%s calls before the commit", got)
	}
	w.PSQL(`CALL iasql_commit('why it was done')`)
	if got := w.PSQL(`SELECT count(*) FROM vpc v JOIN subnet s ON s.vpc_id = v.id WHERE v.vpc_id IS NOT NULL AND s.subnet_id IS NOT NULL AND v.cidr_block = '10.1.0.0/16'`); got != "1" {
		t.Errorf("after the commit: %s", got)
	}
	if got := w.PSQL(`SELECT DISTINCT message FROM iasql_audit_log WHERE change_type = 'INSERT' AND origin = 'user' AND transaction_id IS NOT NULL`); got != "why it was done" {
		t.Errorf("message: %s", got)
	}
	w.Settled()
}

// As one string psql runs the statements in one transaction: the commit is
// deferred to its end, and says so.
func TestOneString(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_vpc")
	out := w.PSQL(`CALL iasql_begin(); INSERT INTO vpc (cidr_block) VALUES ('10.2.0.0/16'); SELECT action, direction, table_name FROM iasql_preview(); CALL iasql_commit('why')`)
	if !strings.Contains(out, "create|push|vpc") {
		t.Errorf("the preview does not show the transaction's own edit: %s", out)
	}
	w.Settled()
	w.Becomes(5*time.Second, "t", `SELECT vpc_id IS NOT NULL FROM vpc WHERE cidr_block = '10.2.0.0/16'`)
	w.Becomes(5*time.Second, "", `SELECT doing FROM iasql_engines() WHERE doing LIKE '%batch%'`)
}

// Inside BEGIN … COMMIT likewise; a transaction that is rolled back leaves no
// batch in anybody's way.
func TestInsideTransaction(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_vpc")
	w.PSQL(`BEGIN`, `CALL iasql_begin()`, `INSERT INTO vpc (cidr_block) VALUES ('10.3.0.0/16')`, `CALL iasql_commit('why')`, `COMMIT`)
	w.Settled()
	w.Becomes(5*time.Second, "t", `SELECT vpc_id IS NOT NULL FROM vpc WHERE cidr_block = '10.3.0.0/16'`)
	w.Becomes(5*time.Second, "", `SELECT doing FROM iasql_engines() WHERE doing LIKE '%batch%'`)

	w.PSQL(`BEGIN`, `CALL iasql_begin()`, `INSERT INTO vpc (cidr_block) VALUES ('10.4.0.0/16')`, `ROLLBACK`)
	w.PSQL(`CALL iasql_begin()`, `CALL iasql_rollback()`)
	if got := w.PSQL(`SELECT count(*) FROM vpc WHERE cidr_block = '10.4.0.0/16'`); got != "0" {
		t.Errorf("%s records of a transaction that was rolled back", got)
	}
}

// A second begin fails at once and says who has the batch open.
func TestSecondBegin(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_vpc")
	other := w.Login("second", "iasql_user")
	type answer struct {
		out string
		err error
	}
	answers := make(chan answer)
	for _, url := range []string{w.UserURL, other} {
		go func() {
			out, err := w.TryPSQL(url, `CALL iasql_begin()`)
			answers <- answer{out, err}
		}()
	}
	first, second := <-answers, <-answers
	if (first.err == nil) == (second.err == nil) {
		t.Fatalf("two people began: %v, %v", first.err, second.err)
	}
	loser := first.err
	if loser == nil {
		loser = second.err
	}
	if text := loser.Error(); !strings.Contains(text, "IA020") || !strings.Contains(text, "opened it at") {
		t.Errorf("the loser is told %s", text)
	}
	who := w.Admin(`SELECT opened_by FROM iasql_internal.batch WHERE closed_at IS NULL`)
	url := w.UserURL
	if strings.Contains(w.UserURL, who+":") {
		url = other
	}
	if _, err := w.TryPSQL(url, `CALL iasql_rollback()`); err == nil || !strings.Contains(err.Error(), "IA024") {
		t.Errorf("somebody else's batch: %v", err)
	}
	if _, err := w.TryPSQL(url, `CALL iasql_rollback(true)`); err != nil {
		t.Errorf("force: %v", err)
	}
}

// A commit whose preview is out of date changes nothing.
func TestOutOfDatePreview(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	w.PSQL(`CALL iasql_begin()`, `INSERT INTO queue (name) VALUES ('one')`)
	hash := w.PSQL(`SELECT iasql_preview_hash()`)
	if again := w.PSQL(`SELECT iasql_preview_hash()`); again != hash {
		t.Errorf("the hash of the same plan differs: %s %s", hash, again)
	}
	w.CLI("sqs", "create-queue", "--queue-name", "surprise")
	if got := w.Refused(fmt.Sprintf(`CALL iasql_commit('x', '%s')`, hash)); !strings.Contains(got, "IA023") {
		t.Errorf("the cloud moved: %s", got)
	}
	if got := w.PSQL(`SELECT string_agg(name, ','), (SELECT count(*) FROM iasql_operations) FROM queue`); got != "one|0" {
		t.Errorf("something was changed: %s", got)
	}
	w.PSQL(fmt.Sprintf(`CALL iasql_commit('x', '%s')`, w.PSQL(`SELECT iasql_preview_hash()`)))
	if got := w.PSQL(`SELECT string_agg(name, ',' ORDER BY name) FROM queue WHERE url IS NOT NULL`); got != "one,surprise" {
		t.Errorf("after the commit: %s", got)
	}
}

// fiveSubnets stages five subnets of a new VPC, the third of which the cloud
// refuses for good.
func fiveSubnets(w *harness.World) {
	w.PSQL(`INSERT INTO vpc (cidr_block) VALUES ('10.5.0.0/16')`)
	w.Settled()
	w.PSQL(`CALL iasql_begin()`)
	for i, block := range []string{"10.5.1.0/24", "10.5.2.0/24", "192.168.1.0/24", "10.5.4.0/24", "10.5.5.0/24"} {
		w.PSQL(fmt.Sprintf(`INSERT INTO subnet (vpc_id, cidr_block, tags) SELECT id, '%s', '{"n": "%d"}' FROM vpc WHERE cidr_block = '10.5.0.0/16'`, block, i))
	}
}

func subnetsInCloud(w *harness.World) int {
	return len(w.CLI("ec2", "describe-subnets", "--filters", "Name=vpc-id,Values="+w.PSQL(`SELECT vpc_id FROM vpc WHERE cidr_block = '10.5.0.0/16'`))["Subnets"].([]any))
}

// The third of five creates fails for good: by default neither cloud objects
// nor rows of the batch are left.
func TestFailureRollsBack(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_vpc")
	fiveSubnets(w)
	got := w.Refused(`CALL iasql_commit('five')`)
	if !strings.Contains(got, "IA026") || !strings.Contains(got, "InvalidSubnet.Range") {
		t.Errorf("says %s", got)
	}
	if n := w.PSQL(`SELECT count(*) FROM subnet WHERE vpc_id = (SELECT id FROM vpc WHERE cidr_block = '10.5.0.0/16')`); n != "0" {
		t.Errorf("%s rows of the batch are left", n)
	}
	if n := subnetsInCloud(w); n != 0 {
		t.Errorf("%d subnets of the batch are left in the cloud", n)
	}
	w.Settled()
	w.PSQL(`CALL iasql_begin()`, `CALL iasql_rollback()`) // nothing is left open
}

// With keep four stay, and one is reported.
func TestFailureKeeps(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_vpc")
	fiveSubnets(w)
	w.PSQL(`CALL iasql_commit('five', on_error => 'keep')`)
	if n := subnetsInCloud(w); n != 4 {
		t.Errorf("%d subnets in the cloud", n)
	}
	if got := w.PSQL(`SELECT state, message LIKE '%InvalidSubnet.Range%' FROM iasql_status WHERE review`); got != "CreatingFailed|t" {
		t.Errorf("the failed one: %s", got)
	}
}

// Rollback restores every row, deleted ones with their old ids, while the cloud
// cannot be reached and no engine runs (R11).
func TestRollbackNeedsNoCloud(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	engine := w.Serve()
	w.Install(east, "aws_vpc", "aws_sqs")
	w.PSQL(`INSERT INTO vpc (cidr_block, tags) VALUES ('10.6.0.0/16', '{"a": "quote '' and \"double\" and ü"}')`,
		`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '10.6.1.0/24' FROM vpc WHERE cidr_block = '10.6.0.0/16'`,
		`INSERT INTO queue (name) VALUES ('kept'), ('changed')`)
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`) // what AWS makes with a VPC
	const all = `SELECT string_agg(r, E'\n') FROM (SELECT to_jsonb(v)::text AS r FROM vpc v UNION ALL SELECT to_jsonb(s)::text FROM subnet s UNION ALL SELECT to_jsonb(q)::text FROM queue q ORDER BY 1) x`
	before := w.PSQL(all)
	w.PSQL(`CALL iasql_begin()`)
	engine.Kill()
	w.PSQL(`DELETE FROM subnet WHERE cidr_block = '10.6.1.0/24'`, `DELETE FROM vpc WHERE cidr_block = '10.6.0.0/16'`,
		`UPDATE queue SET delay_seconds = 3 WHERE name = 'changed'`, `UPDATE queue SET delay_seconds = 4, visibility_timeout = 9 WHERE name = 'changed'`,
		`INSERT INTO queue (name) VALUES ('new')`, `UPDATE queue SET delay_seconds = 1 WHERE name = 'new'`, `DELETE FROM queue WHERE name = 'kept'`)
	w.PSQL(`CALL iasql_rollback()`)
	if after := w.PSQL(all); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_audit_log WHERE NOT settled`); got != "0" {
		t.Errorf("%s changes are still pending", got)
	}
	calls := w.PSQL(`SELECT count(*) FROM iasql_operations`)
	w.Serve()
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Settled()
	if got := w.PSQL(`SELECT count(*) FROM iasql_operations`); got != calls {
		t.Errorf("a rolled back batch led to calls: %s, were %s", got, calls)
	}
	if after := w.PSQL(all); after != before {
		t.Errorf("after a cycle:\n%s\nwas:\n%s", after, before)
	}
}

// Undo opens a batch that reverses a committed one.
func TestUndo(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	w.PSQL(`INSERT INTO queue (name, delay_seconds) VALUES ('old', 1), ('gone', 2)`)
	w.Settled()
	w.PSQL(`CALL iasql_begin()`, `INSERT INTO queue (name) VALUES ('new')`, `UPDATE queue SET delay_seconds = 5 WHERE name = 'old'`, `DELETE FROM queue WHERE name = 'gone'`, `CALL iasql_commit('to be undone')`)
	batch := w.PSQL(`SELECT max(transaction_id) FROM iasql_audit_log WHERE message = 'to be undone'`)
	w.PSQL(`CALL iasql_undo(` + batch + `)`)
	if got := w.PSQL(`SELECT string_agg(action || ' ' || direction, ',' ORDER BY action) FROM iasql_preview()`); got != "create push,delete push,update push" {
		t.Errorf("preview of the undo: %s", got)
	}
	w.PSQL(`CALL iasql_commit('undone')`)
	w.Settled()
	if got := w.PSQL(`SELECT string_agg(name || delay_seconds, ',' ORDER BY name) FROM queue WHERE url IS NOT NULL`); got != "gone2,old1" {
		t.Errorf("after the undo: %s", got)
	}
}

// A batch that stays open for longer than batch_timeout is reported as
// abandoned, and can be closed by others.
func TestAbandoned(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	w.PSQL(`CALL iasql_begin()`, `INSERT INTO queue (name) VALUES ('abandoned')`)
	if got := w.PSQL(`SELECT doing FROM iasql_engines()`); !strings.Contains(got, "open since") || strings.Contains(got, "abandoned") {
		t.Errorf("doing: %s", got)
	}
	w.Admin(`UPDATE iasql_internal.batch SET opened_at = opened_at - interval '2 hours'`)
	if got := w.PSQL(`SELECT doing FROM iasql_engines()`); !strings.Contains(got, "abandoned") {
		t.Errorf("doing: %s", got)
	}
	if _, err := w.TryPSQL(w.Login("finder", "iasql_user"), `CALL iasql_rollback(true)`); err != nil {
		t.Error(err)
	}
	if got := w.PSQL(`SELECT count(*) FROM queue`); got != "0" {
		t.Errorf("%s rows are left", got)
	}
}

// Wrong calls are refused with a reason.
func TestRefused(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	for _, c := range []struct{ call, says string }{
		{`CALL iasql_commit()`, "IA022: no batch is open"},
		{`CALL iasql_rollback()`, "IA022: no batch is open"},
		{`CALL iasql_undo(12345)`, "IA022: there is no closed batch 12345"},
	} {
		if got := w.Refused(c.call); !strings.Contains(got, c.says) {
			t.Errorf("%s says %s", c.call, got)
		}
	}
	w.PSQL(`CALL iasql_begin()`)
	if got := w.Refused(`CALL iasql_commit(on_error => 'panic')`); !strings.Contains(got, "IA007: on_error cannot be 'panic'") {
		t.Errorf("says %s", got)
	}
	if got := w.Refused(`SELECT iasql_uninstall('aws_sqs')`); !strings.Contains(got, "IA020") {
		t.Errorf("says %s", got)
	}
	if got := w.Refused(`SELECT iasql_sync_now()`); !strings.Contains(got, "IA020") {
		t.Errorf("says %s", got)
	}
	w.PSQL(`CALL iasql_rollback()`)
}
