package modes

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
	"iasql/internal/test/stopwatch"
)

func TestMain(m *testing.M) { harness.Main(m) }

var east = []string{"us-east-1"}

// TRACK everything: a read-only mirror.
func TestTrackEverything(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs", "aws_vpc")
	w.CLI("sqs", "create-queue", "--queue-name", "mirrored")
	w.PSQL(`SELECT iasql_sync_now()`)
	w.PSQL(`INSERT INTO iasql_mode (mode) VALUES ('TRACK')`)
	for _, statement := range []string{
		`INSERT INTO queue (name) VALUES ('mine')`,
		`UPDATE queue SET delay_seconds = 5`,
		`DELETE FROM queue`,
	} {
		if got := w.Refused(statement); !strings.Contains(got, "IA002") ||
			!strings.Contains(got, "iasql_mode_explain") {
			t.Errorf("%s says %s", statement, got)
		}
	}
	w.CLI("sqs", "set-queue-attributes", "--queue-url", w.PSQL(`SELECT url FROM queue`), "--attributes",
		"DelaySeconds=8")
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT delay_seconds FROM queue`); got != "8" {
		t.Errorf("the mirror says %s", got)
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_operations`); got != "0" {
		t.Errorf("%s mutating calls", got)
	}
}

// A change that was waiting when TRACK came is given up, not pushed.
func TestTrackOvertakesPendingChange(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	engine := w.Serve()
	w.Install(east, "aws_sqs")
	w.PSQL(`INSERT INTO queue (name) VALUES ('q')`)
	w.Settled()
	engine.Stop()
	w.PSQL(`UPDATE queue SET delay_seconds = 5`, `INSERT INTO queue (name) VALUES ('never')`,
		`INSERT INTO iasql_mode (mode) VALUES ('TRACK')`)
	calls := w.PSQL(`SELECT count(*) FROM iasql_operations`)
	w.Serve()
	w.Settled()
	if got := w.PSQL(`SELECT string_agg(name || delay_seconds, ',') FROM queue`); got != "q0" {
		t.Errorf("queues: %s", got)
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_operations`); got != calls {
		t.Errorf("calls were made under TRACK")
	}
}

// ENFORCE everything repairs what was changed out of band, within one cycle:
// what was changed, what was deleted, what nobody asked for. Two tables and one
// record are exceptions.
func TestEnforceWithExceptions(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs", "aws_s3", "aws_vpc")
	// An object created a moment ago may not be visible yet, and is not taken
	// for gone before the window has passed.
	w.PSQL(`UPDATE iasql_settings SET value = '0 seconds' WHERE name = 'consistency_window'`)
	w.PSQL(`INSERT INTO queue (name, delay_seconds) VALUES ('changed', 1), ('deleted', 2), ('free', 3)`,
		`INSERT INTO bucket (name, list_objects) VALUES ('tracked-`+suffix(w)+`', true)`)
	w.Settled()
	w.PSQL(`INSERT INTO iasql_mode (mode, table_name) VALUES ('ENFORCE', NULL), ('TRACK', 'bucket'), ('TRACK', 'bucket_object')`,
		`INSERT INTO iasql_mode (mode, table_name, record_id) SELECT 'NORMAL', 'queue', id FROM queue WHERE name = 'free'`)
	w.PSQL(`SELECT iasql_sync_now()`)
	url := func(name string) string { return w.PSQL(`SELECT url FROM queue WHERE name = '` + name + `'`) }
	w.CLI("sqs", "set-queue-attributes", "--queue-url", url("changed"), "--attributes", "DelaySeconds=100")
	w.CLI("sqs", "set-queue-attributes", "--queue-url", url("free"), "--attributes", "DelaySeconds=100")
	w.CLI("sqs", "delete-queue", "--queue-url", url("deleted"))
	w.CLI("sqs", "create-queue", "--queue-name", "uninvited")
	w.CLI("s3api", "create-bucket", "--bucket", "uninvited-"+suffix(w))
	w.CLI("s3api", "put-object", "--bucket", "tracked-"+suffix(w), "--key", "uninvited")
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT string_agg(name || delay_seconds, ',' ORDER BY name) FROM queue`); got != "changed1,deleted2,free100" {
		t.Errorf("queues here: %s", got)
	}
	list := fmt.Sprint(w.CLI("sqs", "list-queues")["QueueUrls"])
	if strings.Contains(list, "uninvited") || !strings.Contains(list, "deleted") {
		t.Errorf("queues in the cloud: %s", list)
	}
	attributes := w.CLI("sqs", "get-queue-attributes", "--queue-url", url("changed"), "--attribute-names",
		"DelaySeconds")["Attributes"].(map[string]any)
	if attributes["DelaySeconds"] != "1" {
		t.Errorf("the changed queue has %v", attributes)
	}
	if got := w.PSQL(`SELECT count(*) FROM bucket`); got != "2" {
		t.Errorf("%s buckets under TRACK", got)
	}
	if got := w.PSQL(`SELECT key FROM bucket_object`); got != "uninvited" {
		t.Errorf("objects under TRACK: %s", got)
	}
	for _, statement := range []string{`DELETE FROM bucket WHERE name LIKE 'uninvited%'`, `DELETE FROM bucket_object`} {
		if got := w.Refused(statement); !strings.Contains(got, "IA002") {
			t.Errorf("%s: says %s", statement, got)
		}
	}
	if got := w.PSQL(`SELECT iasql_mode_of('queue', (SELECT id FROM queue WHERE name = 'free')), iasql_mode_of('queue'), iasql_mode_of('bucket'), iasql_mode_of('vpc')`); got != "NORMAL|ENFORCE|TRACK|ENFORCE" {
		t.Errorf("modes: %s", got)
	}
}

// Bucket names are shared by all accounts.
func suffix(w *harness.World) string { return w.AWS.ID }

// Deleting 60 % of a table under ENFORCE stops before the first deletion.
func TestGuard(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	w.PSQL(`INSERT INTO iasql_mode (mode) VALUES ('ENFORCE')`)
	w.PSQL(`INSERT INTO queue (name) SELECT 'q' || i FROM generate_series(1, 10) i`)
	w.Settled()
	w.PSQL(`DELETE FROM queue WHERE name IN ('q1', 'q2', 'q3', 'q4', 'q5', 'q6')`)
	w.Becomes(10*time.Second, "6",
		`SELECT count(*) FROM iasql_status WHERE state = 'Removing' AND review AND message LIKE '%max_delete_ratio%'`)
	if got := w.PSQL(`SELECT count(*) FROM iasql_operations WHERE kind = 'delete'`); got != "0" {
		t.Errorf("%s deletions before the review", got)
	}
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT count(*) FROM iasql_operations WHERE kind = 'delete'`); got != "0" {
		t.Errorf("%s deletions by the next cycle", got)
	}
	w.Admin(`UPDATE iasql_settings SET value = '1' WHERE name = 'max_delete_ratio'`)
	w.Settled()
	if got := w.PSQL(`SELECT count(*) FROM iasql_operations WHERE kind = 'delete' AND result = 'ok'`); got != "6" {
		t.Errorf("%s deletions after the review", got)
	}
}

// A transaction that begins before a cycle and commits after it is pushed,
// never erased; and while it is open it holds nothing up.
func TestLateCommit(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	w.PSQL(`INSERT INTO queue (name) VALUES ('late'), ('other')`)
	w.Settled()
	begun := stopwatch.Start()
	w.PSQL(`SELECT iasql_sync_now()`)
	usual := begun.Took() // on this machine, now
	conn, err := pgx.Connect(t.Context(), w.UserURL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `UPDATE queue SET delay_seconds = 11 WHERE name = 'late'`); err != nil {
		t.Fatal(err)
	}
	w.PSQL(`UPDATE queue SET delay_seconds = 12 WHERE name = 'other'`)
	w.CLI("sqs", "set-queue-attributes", "--queue-url", w.PSQL(`SELECT url FROM queue WHERE name = 'late'`),
		"--attributes", "VisibilityTimeout=33")
	begun = stopwatch.Start()
	w.PSQL(`SELECT iasql_sync_now()`)
	if took := begun.Took(); took > 4*time.Second+2*usual { // it waits five seconds for a lock that it needs
		t.Errorf("an open transaction held the cycle up for %s, and usually it takes %s", took, usual)
	}
	w.Becomes(5*time.Second, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Settled()
	if got := w.PSQL(`SELECT delay_seconds, visibility_timeout FROM queue WHERE name = 'late'`); got != "11|33" {
		t.Errorf("the record is %s", got)
	}
	attributes := w.CLI("sqs", "get-queue-attributes", "--queue-url",
		w.PSQL(`SELECT url FROM queue WHERE name = 'late'`), "--attribute-names", "All")["Attributes"].(map[string]any)
	if attributes["DelaySeconds"] != "11" || attributes["VisibilityTimeout"] != "33" {
		t.Errorf("the queue is %v", attributes)
	}
}

// A row edited while its own push is under way ends with the later value on
// both sides.
func TestEditDuringPush(t *testing.T) {
	t.Parallel()
	w, proxy := harness.StartBehindProxy(t, east, "aws_sqs")
	w.PSQL(`INSERT INTO queue (name) VALUES ('q')`)
	w.Settled()
	reached, release := make(chan struct{}), make(chan struct{})
	first := true
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		if c.Action == "SetQueueAttributes" && first {
			first = false
			return faultproxy.Fault{Before: func() {
				close(reached)
				<-release
			}}
		}
		return faultproxy.Fault{}
	})
	w.PSQL(`UPDATE queue SET delay_seconds = 1`)
	<-reached
	w.PSQL(`UPDATE queue SET delay_seconds = 2`)
	close(release)
	w.Settled()
	if got := w.PSQL(`SELECT delay_seconds FROM queue`); got != "2" {
		t.Errorf("the record is %s", got)
	}
	attributes := w.CLI("sqs", "get-queue-attributes", "--queue-url", w.PSQL(`SELECT url FROM queue`),
		"--attribute-names", "DelaySeconds")["Attributes"].(map[string]any)
	if attributes["DelaySeconds"] != "2" {
		t.Errorf("the queue is %v", attributes)
	}
}

// A listing that fails in one region deletes nothing there and holds nothing up
// elsewhere.
func TestListingFailsInOneRegion(t *testing.T) {
	t.Parallel()
	w, proxy := harness.StartBehindProxy(t, []string{"us-east-1", "eu-west-1"}, "aws_vpc")
	w.PSQL(`INSERT INTO vpc (cidr_block, region) VALUES ('10.1.0.0/16', 'eu-west-1')`)
	w.Settled()
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		if c.Region == "eu-west-1" {
			return faultproxy.Fault{Status: 403, Code: "UnauthorizedOperation",
				Message: "You are not authorized to perform this operation."}
		}
		return faultproxy.Fault{}
	})
	before := w.PSQL(`SELECT count(*) FROM vpc`)
	made := w.CLI("ec2", "create-vpc", "--cidr-block", "10.2.0.0/16")["Vpc"].(map[string]any)["VpcId"].(string)
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT DISTINCT region, denied LIKE '%not authorized%', last_seen IS NOT NULL FROM iasql_listings WHERE denied IS NOT NULL`); got != "eu-west-1|t|t" {
		t.Errorf("denied are %s", got)
	}
	if got := w.PSQL(`SELECT message FROM iasql_get_errors() WHERE table_name = 'vpc'`); !strings.Contains(got, "eu-west-1") || !strings.Contains(got, "not authorized") {
		t.Errorf("says %s", got)
	}
	if got := w.PSQL(`SELECT count(*) FROM vpc WHERE vpc_id <> '` + made + `'`); got != before {
		t.Errorf("there were %s records and are %s", before, got)
	}
	if got := w.PSQL(`SELECT count(*) FROM vpc WHERE vpc_id = '` + made + `'`); got != "1" {
		t.Errorf("the other region was held up")
	}
	// A change in the failing region says why it waits; one elsewhere goes on.
	w.PSQL(`UPDATE vpc SET tags = '{"a": "b"}' WHERE cidr_block = '10.1.0.0/16'`,
		`UPDATE vpc SET tags = '{"a": "b"}' WHERE cidr_block = '10.2.0.0/16'`)
	w.Becomes(10*time.Second, "CheckPresentFailed|t",
		`SELECT DISTINCT state, review FROM iasql_status WHERE state <> 'Present'`)
	proxy.Set(func(faultproxy.Call) faultproxy.Fault { return faultproxy.Fault{} })
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Settled()
}

// A lost answer to a creation does not create twice.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	w, proxy := harness.StartBehindProxy(t, east, "aws_vpc", "aws_sqs")
	w.Admin(`UPDATE iasql_settings SET value = '5 seconds' WHERE name = 'consistency_window'`)
	lost := map[string]bool{}
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		if (c.Action == "CreateVpc" || c.Action == "CreateSubnet" || c.Action == "CreateQueue") && !lost[c.Action] {
			lost[c.Action] = true
			return faultproxy.Fault{Lose: true}
		}
		return faultproxy.Fault{}
	})
	w.PSQL(`BEGIN`, `INSERT INTO vpc (cidr_block) VALUES ('10.77.0.0/16')`,
		`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '10.77.1.0/24' FROM vpc WHERE cidr_block = '10.77.0.0/16'`,
		`INSERT INTO queue (name) VALUES ('lost')`, `COMMIT`)
	w.Settled()
	for action := range lost {
		if n := proxy.Count(action); n != 1 {
			t.Errorf("%s was called %d times", action, n)
		}
	}
	if len(lost) != 3 {
		t.Errorf("only %v were tried", lost)
	}
}

// Two engines share the work; when one is killed in the middle of a cycle the
// other goes on.
func TestTwoEngines(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	proxy := faultproxy.Start(t, w.AWS.Endpoint)
	w.Endpoint = proxy.URL
	engines := []*harness.Process{w.Serve(), w.Serve()}
	w.Install(east, "aws_sqs")
	w.PSQL(`INSERT INTO queue (name) VALUES ('a')`)
	w.Settled()
	reached, release := make(chan struct{}), make(chan struct{})
	first := true
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		if c.Action == "SetQueueAttributes" && first {
			first = false
			return faultproxy.Fault{Before: func() {
				close(reached)
				<-release
			}}
		}
		return faultproxy.Fault{}
	})
	w.PSQL(`UPDATE queue SET delay_seconds = 9`)
	<-reached
	busy := w.PSQL(`SELECT engine FROM iasql_cycles WHERE ended IS NULL ORDER BY id DESC LIMIT 1`)
	for _, p := range engines {
		if strings.Contains(p.Log(), busy) {
			p.Kill()
		}
	}
	close(release)
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Settled()
	attributes := w.CLI("sqs", "get-queue-attributes", "--queue-url", w.PSQL(`SELECT url FROM queue`),
		"--attribute-names", "DelaySeconds")["Attributes"].(map[string]any)
	if attributes["DelaySeconds"] != "9" {
		t.Errorf("the queue is %v", attributes)
	}
}

// Of several engines one ticks, on time, whoever of them is killed and however the database's clock jumps back.
func TestTicksGoOn(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for clocks: make test-all runs it")
	}
	t.Parallel()
	w := harness.NewWorld(t)
	engines := []*harness.Process{w.Serve(), w.Serve(), w.Serve()}
	w.PSQL(`UPDATE iasql_settings SET value = '2 seconds' WHERE name = 'sync_interval'`)
	tick := func() time.Time {
		at, err := time.Parse("2006-01-02 15:04:05.999999", w.Admin(`SELECT last_tick AT TIME ZONE 'UTC' FROM iasql_internal.schedule`))
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	next := func(after time.Time) (at time.Time) {
		t.Helper()
		w.Eventually(10*time.Second, "a tick, at an interval of 2 s", func() bool {
			at = tick()
			return !at.Equal(after)
		})
		return at
	}
	last := next(tick())
	for range 4 {
		at := next(last)
		if apart := at.Sub(last); apart < 1900*time.Millisecond {
			t.Errorf("ticks are %s apart", apart)
		}
		last = at
	}
	w.PSQL(`SELECT iasql_sync_now()`) // an engine leads by now
	leader := w.Admin(`SELECT leader_id FROM iasql_river.river_leader`)
	for _, p := range engines {
		if strings.Contains(p.Log(), leader) {
			p.Kill()
		}
	}
	next(next(tick()))
	// As after the clock was put back by a day.
	w.Admin(`UPDATE iasql_internal.schedule SET last_tick = now() + interval '1 day'`)
	if at := next(next(tick())); time.Until(at) > time.Minute {
		t.Errorf("the last tick was at %s", at)
	}
}

// Connections cut by the database are made anew, and nothing is lost.
func TestConnectionsCut(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	for i := range 3 {
		w.PSQL(fmt.Sprintf(`INSERT INTO queue (name) SELECT 'cut%d-' || i FROM generate_series(1, 5) i`, i))
		w.Admin(`SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	}
	w.Eventually(20*time.Second, "the engine connects again", func() bool { return w.Connected() == 1 })
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Settled()
	if got := w.PSQL(`SELECT count(*) FROM queue WHERE url IS NOT NULL`); got != "15" {
		t.Errorf("%s queues", got)
	}
	if got := len(w.CLI("sqs", "list-queues")["QueueUrls"].([]any)); got != 15 {
		t.Errorf("%d queues in the cloud", got)
	}
}

// A replacement whose deletion was answered with nothing, and has happened, goes on, also within the cycle of that call
// and whoever waits for it; a deletion that has not happened is asked for again.
func TestLostAnswerToReplacement(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]faultproxy.Fault{
		"it happened":              {Lose: true},
		"it happened, with an 500": {Replace: func(faultproxy.Answer) faultproxy.Answer { return faultproxy.Answer{Status: 500} }},
		"it did not happen":        {Cut: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, proxy := harness.StartBehindProxy(t, east, "aws_iam", "aws_sqs")
			w.PSQL(`INSERT INTO iam_role (role_name, path, assume_role_policy_document) VALUES ('web', '/old/', '{
				"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole",
				"Principal": {"Service": "ec2.amazonaws.com"}}]}')`)
			w.Settled()
			// Its creation is within the window no longer.
			w.Admin(`UPDATE iasql_settings SET value = '0 seconds' WHERE name = 'consistency_window'`)
			w.PSQL(`SELECT iasql_sync_now()`)
			w.Settled()
			var deleted atomic.Int32
			proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
				switch {
				case c.Action == "DeleteRole" && deleted.Add(1) == 1:
					return fault
				case c.Action == "CreateQueue": // so that the cycle goes on for longer than the failed record backs off
					return faultproxy.Fault{Before: func() {
						w.Becomes(time.Minute, "t", `SELECT EXISTS (SELECT FROM iasql_status
							WHERE table_name = 'iam_role' AND attempts > 0 AND next_attempt_at <= now())`)
					}}
				}
				return faultproxy.Fault{}
			})
			w.PSQL(`BEGIN`, `UPDATE iam_role SET path = '/new/' WHERE role_name = 'web'`,
				`INSERT INTO queue (name) VALUES ('slow')`, `COMMIT`)
			w.PSQL(`SELECT iasql_wait_for_all(60)`) // it fails as soon as anything has failed
			if got := w.PSQL(`SELECT path FROM iam_role WHERE role_name = 'web'`); got != "/new/" {
				t.Errorf("the path is %s", got)
			}
			if deleted.Load() == 0 {
				t.Error("nothing was deleted")
			}
		})
	}
}
