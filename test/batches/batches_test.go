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
	w.PSQL(`CALL iasql_begin('test')`)
	w.Joined(`INSERT INTO vpc (cidr_block, tags) VALUES ('10.1.0.0/16', '{"Name": "batch"}')`,
		`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '10.1.1.0/24' FROM vpc WHERE cidr_block = '10.1.0.0/16'`)
	if got := w.Joined(`SELECT action, direction, table_name, description FROM iasql_preview()`); got !=
		"create|push|subnet|create subnet in us-east-1\ncreate|push|vpc|create vpc batch in us-east-1" {
		t.Errorf("preview: %s", got)
	}
	if got := w.Joined(`SELECT changes -> 'cidr_block', changes -> 'vpc_id' FROM iasql_preview() WHERE table_name = 'vpc'`); got !=
		`{"to": "10.1.0.0/16", "from": null}|{"to": "(known after apply)", "from": null}` {
		t.Errorf("changes: %s", got)
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_operations`); got != "0" {
		t.Errorf("%s calls before the commit", got)
	}
	w.Joined(`CALL iasql_commit('why it was done')`)
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
	w.PSQL(`BEGIN`, `CALL iasql_begin()`, `INSERT INTO vpc (cidr_block) VALUES ('10.3.0.0/16')`,
		`CALL iasql_commit('why')`, `COMMIT`)
	w.Settled()
	w.Becomes(5*time.Second, "t", `SELECT vpc_id IS NOT NULL FROM vpc WHERE cidr_block = '10.3.0.0/16'`)
	w.Becomes(5*time.Second, "", `SELECT doing FROM iasql_engines() WHERE doing LIKE '%batch%'`)

	w.PSQL(`BEGIN`, `CALL iasql_begin()`, `INSERT INTO vpc (cidr_block) VALUES ('10.4.0.0/16')`, `ROLLBACK`)
	w.PSQL(`CALL iasql_begin()`, `CALL iasql_rollback()`)
	if got := w.PSQL(`SELECT count(*) FROM vpc WHERE cidr_block = '10.4.0.0/16'`); got != "0" {
		t.Errorf("%s records of a transaction that was rolled back", got)
	}
}

// A second begin in the same session fails at once, and so does one of the same
// name; others open theirs beside it. Somebody else's batch takes force.
func TestSecondBegin(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	one, two := user(w), connect(w, w.Login("second", "iasql_user"))
	one.do(`CALL iasql_begin('shop')`)
	one.refused("IA020", []string{"works in batch", "shop"}, `CALL iasql_begin()`)
	two.refused("IA020", []string{"is open already", "opened it at", "iasql_join('shop')"}, `CALL iasql_begin('shop')`)
	two.refused("IA007", nil, `CALL iasql_begin('17')`)
	two.do(`CALL iasql_begin('blog')`)
	if got := two.get(`SELECT string_agg(name || ' ' || phase || ' ' || (session IS NOT NULL), ',' ORDER BY id) FROM iasql_batches`); got != "shop open true,blog open true" {
		t.Errorf("the batches are %s", got)
	}
	two.do(`CALL iasql_rollback()`)
	two.refused("IA022", nil, `CALL iasql_commit()`)
	two.do(`CALL iasql_join('shop')`)
	two.refused("IA024", []string{"is not yours"}, `CALL iasql_rollback()`)
	two.do(`CALL iasql_rollback(true)`)
	one.refused("IA022", []string{"no batch is open in this session"}, `CALL iasql_commit()`)
	one.do(`CALL iasql_begin('shop')`, `CALL iasql_rollback()`)
}

// A commit whose preview is out of date changes nothing.
func TestOutOfDatePreview(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	w.PSQL(`INSERT INTO queue (name) VALUES ('two')`)
	w.Settled()
	s := user(w)
	s.do(`CALL iasql_begin()`, `INSERT INTO queue (name) VALUES ('one')`,
		`UPDATE queue SET delay_seconds = 5 WHERE name = 'two'`)
	hash := s.get(`SELECT iasql_preview_hash()`)
	if again := s.get(`SELECT iasql_preview_hash()`); again != hash {
		t.Errorf("the hash of the same plan differs: %s %s", hash, again)
	}
	calls := s.get(`SELECT count(*) FROM iasql_operations`)
	w.CLI("sqs", "create-queue", "--queue-name", "surprise") // is none of the batch's business
	if again := s.get(`SELECT iasql_preview_hash()`); again != hash {
		t.Errorf("the hash changes with what the batch does not hold: %s %s", hash, again)
	}
	w.CLI("sqs", "set-queue-attributes", "--queue-url", s.get(`SELECT url FROM queue WHERE name = 'two'`),
		"--attributes", "DelaySeconds=9")
	s.refused("IA023", nil, fmt.Sprintf(`CALL iasql_commit('x', '%s')`, hash))
	if got := s.get(`SELECT string_agg(name || delay_seconds, ',' ORDER BY name) FROM queue WHERE name <> 'surprise'`); got != "one0,two5" {
		t.Errorf("something was changed: %s", got)
	}
	if got := s.get(`SELECT count(*) FROM iasql_operations`); got != calls {
		t.Errorf("calls were made: %s, were %s", got, calls)
	}
	s.do(fmt.Sprintf(`CALL iasql_commit('x', '%s')`, s.get(`SELECT iasql_preview_hash()`)))
	if got := s.get(`SELECT string_agg(name || delay_seconds, ',' ORDER BY name) FROM queue WHERE url IS NOT NULL AND name <> 'surprise'`); got != "one0,two5" {
		t.Errorf("after the commit: %s", got)
	}
}

// fiveSubnets stages five subnets of a new VPC, the third of which the cloud
// refuses for good.
func fiveSubnets(w *harness.World) {
	w.PSQL(`INSERT INTO vpc (cidr_block) VALUES ('10.5.0.0/16')`)
	w.Settled()
	w.PSQL(`CALL iasql_begin('test')`)
	for i, block := range []string{"10.5.1.0/24", "10.5.2.0/24", "192.168.1.0/24", "10.5.4.0/24", "10.5.5.0/24"} {
		w.Joined(fmt.Sprintf(`INSERT INTO subnet (vpc_id, cidr_block, tags) SELECT id, '%s', '{"n": "%d"}' FROM vpc WHERE cidr_block = '10.5.0.0/16'`, block, i))
	}
}

func subnetsInCloud(w *harness.World) int {
	return len(w.CLI("ec2", "describe-subnets", "--filters",
		"Name=vpc-id,Values="+w.PSQL(`SELECT vpc_id FROM vpc WHERE cidr_block = '10.5.0.0/16'`))["Subnets"].([]any))
}

// The third of five creates fails for good: by default neither cloud objects
// nor rows of the batch are left.
func TestFailureRollsBack(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_vpc")
	fiveSubnets(w)
	got := w.JoinedRefused(`CALL iasql_commit('five')`)
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
	w.Joined(`CALL iasql_commit('five', on_error => 'keep')`)
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
	w.PSQL(`CALL iasql_begin('test')`)
	engine.Kill()
	w.Joined(`DELETE FROM subnet WHERE cidr_block = '10.6.1.0/24'`, `DELETE FROM vpc WHERE cidr_block = '10.6.0.0/16'`,
		`UPDATE queue SET delay_seconds = 3 WHERE name = 'changed'`,
		`UPDATE queue SET delay_seconds = 4, visibility_timeout = 9 WHERE name = 'changed'`,
		`INSERT INTO queue (name) VALUES ('new')`, `UPDATE queue SET delay_seconds = 1 WHERE name = 'new'`,
		`DELETE FROM queue WHERE name = 'kept'`)
	w.Joined(`CALL iasql_rollback()`)
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
	w.PSQL(`CALL iasql_begin()`, `INSERT INTO queue (name) VALUES ('new')`,
		`UPDATE queue SET delay_seconds = 5 WHERE name = 'old'`, `DELETE FROM queue WHERE name = 'gone'`,
		`CALL iasql_commit('to be undone')`)
	batch := w.PSQL(`SELECT max(transaction_id) FROM iasql_audit_log WHERE message = 'to be undone'`)
	s := user(w)
	s.do(`CALL iasql_undo(` + batch + `)`)
	if got := s.get(`SELECT string_agg(action || ' ' || direction, ',' ORDER BY action) FROM iasql_preview()`); got != "create push,delete push,update push" {
		t.Errorf("preview of the undo: %s", got)
	}
	s.do(`CALL iasql_commit('undone')`)
	w.Settled()
	if got := w.PSQL(`SELECT string_agg(name || delay_seconds, ',' ORDER BY name) FROM queue WHERE url IS NOT NULL`); got != "gone2,old1" {
		t.Errorf("after the undo: %s", got)
	}
}

// A batch that stays open for longer than batch_timeout is reported as
// abandoned, holds up nothing else, and can be taken over or closed by others.
func TestAbandoned(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	w.PSQL(`CALL iasql_begin('left')`, `INSERT INTO queue (name) VALUES ('abandoned')`) // and its session is gone
	if got := w.PSQL(`SELECT doing FROM iasql_engines()`); !strings.Contains(got, "open since") ||
		strings.Contains(got, "abandoned") {
		t.Errorf("doing: %s", got)
	}
	w.Becomes(time.Minute, "t|1|open|f", `SELECT session IS NULL, records, phase, abandoned FROM iasql_batches`)
	w.Admin(`UPDATE iasql_internal.batch SET opened_at = opened_at - interval '2 hours'`)
	if got := w.PSQL(`SELECT doing FROM iasql_engines()`, `SELECT abandoned FROM iasql_batches`); !strings.Contains(got, "abandoned") || !strings.HasSuffix(got, "\nt") {
		t.Errorf("doing: %s", got)
	}
	w.PSQL(`INSERT INTO queue (name) VALUES ('other')`, `SELECT iasql_wait_for_all(60)`, `SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT string_agg(name, ',') FROM queue WHERE url IS NOT NULL`); got != "other" {
		t.Errorf("in the cloud there are %s", got)
	}
	if _, err := w.TryPSQL(w.Login("finder", "iasql_user"), `CALL iasql_join('left')`, `CALL iasql_rollback(true)`); err != nil {
		t.Error(err)
	}
	if got := w.PSQL(`SELECT string_agg(name, ',') FROM queue`); got != "other" {
		t.Errorf("left are %s", got)
	}
}

// Wrong calls are refused with a reason.
func TestRefused(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs", "aws_sns")
	s := user(w)
	s.refused("IA022", []string{"no batch is open"}, `CALL iasql_commit()`)
	s.refused("IA022", []string{"no batch is open"}, `CALL iasql_rollback()`)
	s.refused("IA022", []string{"no batch called 'none' is open"}, `CALL iasql_join('none')`)
	s.refused("IA022", []string{"no batch called NULL is open"}, `CALL iasql_join(NULL)`)
	s.refused("IA022", []string{"there is no closed batch 12345"}, `CALL iasql_undo(12345)`)
	s.do(`CALL iasql_begin()`)
	s.refused("IA007", []string{"on_error cannot be 'panic'"}, `CALL iasql_commit(on_error => 'panic')`)
	s.do(`INSERT INTO queue (name) VALUES ('staged')`)
	// What has staged records stays; everything else goes on.
	s.refused("IA020", []string{"queue", "staged in batch"}, `SELECT * FROM iasql_uninstall('aws_sqs')`)
	s.do(`SELECT iasql_sync_now()`, `SELECT * FROM iasql_uninstall('aws_sns')`,
		`SELECT * FROM iasql_install('aws_sns')`)
	s.do(`CALL iasql_rollback()`)
}
