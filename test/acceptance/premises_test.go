package acceptance

import (
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
	"iasql/internal/test/stopwatch"
	"iasql/internal/test/testaws"
)

// count returns how many rows of a query there are.
func count(w *harness.World, query string) string { return w.PSQL(`SELECT count(*) FROM ` + query) }

// TestAnotherAccount: credentials of another account move nothing, in either direction and whatever the mode, until a
// person says that they are meant (R27).
func TestAnotherAccount(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"NORMAL", "ENFORCE", "TRACK"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := harness.NewWorld(t)
			engine := w.Serve()
			w.Install([]string{"us-east-1"}, "aws_sqs")
			for i := range 3 {
				w.PSQL(fmt.Sprintf(`INSERT INTO queue (name) VALUES ('ours%d')`, i))
			}
			w.Settled()
			ours := w.AWS
			if got := w.PSQL(`SELECT says_it_is = pinned_as, held IS NULL, pinned_as FROM iasql_worlds`); got != "t|t|aws:"+ours.ID {
				t.Fatalf("pinned: %s", got)
			}
			other := testaws.NewAccount(t)
			other.CLI(t, "sqs", "create-queue", "--queue-name", "theirs", "--region", "us-east-1")
			w.PSQL(`INSERT INTO iasql_mode (mode) VALUES ('` + mode + `')`)

			engine.Stop()
			w.AWS = other
			engine = w.Serve()
			if says := w.Refused(`SELECT iasql_sync_now()`); !strings.Contains(says, "iasql_confirm") ||
				!strings.Contains(says, other.ID) || !strings.Contains(says, ours.ID) {
				t.Errorf("sync_now says: %s", says)
			}
			if mode != "TRACK" {
				w.PSQL(`INSERT INTO queue (name) VALUES ('pending')`)
			}
			if says := w.Refused(`SELECT * FROM iasql_preview()`); !strings.Contains(says, "IA061") {
				t.Errorf("the preview says: %s", says)
			}
			if got := w.PSQL(`SELECT count(*) FROM queue WHERE name LIKE 'ours%'`); got != "3" {
				t.Errorf("%s of three rows are left", got)
			}
			if got := count(w, `queue WHERE name = 'theirs'`); got != "0" {
				t.Error("the other account's queue was imported")
			}
			if got := other.CLI(t, "sqs", "list-queues", "--region", "us-east-1"); !strings.Contains(got, "theirs") ||
				strings.Contains(got, "ours") || strings.Contains(got, "pending") {
				t.Errorf("the other account has been changed: %s", got)
			}
			if got := w.PSQL(`SELECT iasql_ready(), (SELECT count(*) FROM iasql_problems WHERE record = 'account default' AND needs_you),
				(SELECT count(*) FROM iasql_status WHERE state = 'Present' AND table_name = 'queue')`); got != "f|1|0" {
				t.Errorf("ready, problems, records that count as Present: %s", got)
			}
			if says := w.Refused(`SELECT iasql_confirm('identity')`); !strings.Contains(says, "administrator") {
				t.Errorf("confirmed by a user: %s", says)
			}
			if mode == "NORMAL" {
				if got := w.Admin(`SELECT iasql_confirm('identity', dry_run => true)`); !strings.Contains(got, "would be aws:"+other.ID) {
					t.Errorf("dry run: %s", got)
				}
				w.Admin(`SELECT iasql_confirm('identity')`)
				w.Becomes(time.Minute, "1", `SELECT count(*) FROM queue WHERE name = 'theirs'`)
				// What was there is gone all at once: a question of its own (R28).
				if got := count(w, `queue WHERE name LIKE 'ours%'`); got != "3" {
					t.Errorf("after the confirmation %s of three rows are left", got)
				}
				return
			}
			engine.Stop()
			w.AWS = ours
			w.Serve()
			w.PSQL(`SELECT iasql_sync_now()`)
			if got := ours.CLI(t, "sqs", "list-queues", "--region", "us-east-1"); strings.Count(got, "/ours") != 3 {
				t.Errorf("our own account when its key is back: %s", got)
			}
			if got := w.PSQL(`SELECT count(*) FROM iasql_problems WHERE record LIKE 'account%'`); got != "0" {
				t.Errorf("%s problems are left", got)
			}
		})
	}
}

// TestAccountThatMayBeUsed: where aws_account says which account it is, credentials of no other are used.
func TestAccountThatMayBeUsed(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	w.Serve()
	w.PSQL(`SELECT * FROM iasql_install('aws_account')`)
	w.PSQL(`UPDATE aws_account SET account_id = '999999999999'`)
	says := ""
	w.Eventually(time.Minute, "the account is refused", func() bool {
		_, err := w.TryPSQL(w.UserURL, `SELECT iasql_sync_now()`)
		if err != nil {
			says = err.Error()
		}
		return err != nil
	})
	if !strings.Contains(says, "account_id") || !strings.Contains(says, w.AWS.ID) {
		t.Errorf("it says %s", says)
	}
	w.PSQL(`UPDATE aws_account SET account_id = '` + w.AWS.ID + `'`)
	w.Eventually(time.Minute, "the account is used", func() bool {
		_, err := w.TryPSQL(w.UserURL, `SELECT iasql_sync_now()`)
		return err == nil
	})
}

// empty answers listings of the services as an account would that has nothing.
func empty(call faultproxy.Call) faultproxy.Fault {
	if call.Service == "sqs" && call.Action == "ListQueues" {
		return faultproxy.Fault{Rewrite: func([]byte) []byte { return []byte(`{}`) }}
	}
	if call.Service == "sqs" && call.Action != "ListQueues" {
		return faultproxy.Fault{Status: 400, Code: "AWS.SimpleQueueService.NonExistentQueue",
			Message: "The specified queue does not exist."}
	}
	return faultproxy.Fault{}
}

// TestVanished: what is gone at once is a question, and no fact (R28).
func TestVanished(t *testing.T) {
	t.Parallel()
	w, proxy := harness.StartBehindProxy(t, []string{"us-east-1"}, "aws_sqs")
	// what was made a moment ago may just not show
	w.Admin(`UPDATE iasql_settings SET value = '1 second' WHERE name = 'consistency_window'`)
	w.Admin(`CREATE TABLE owners (queue bigint REFERENCES queue ON DELETE CASCADE, who text)`,
		`GRANT ALL ON owners TO PUBLIC`)
	for i := range 3 {
		w.PSQL(fmt.Sprintf(`WITH q AS (INSERT INTO queue (name) VALUES ('q%d') RETURNING id) INSERT INTO owners SELECT id, 'me' FROM q`, i))
	}
	w.Settled()
	w.Becomes(time.Minute, "0", `SELECT count(*) FROM iasql_operations WHERE ended > clock_timestamp() - interval '3 seconds'`)
	ids := w.PSQL(`SELECT string_agg(id::text, ',' ORDER BY id) FROM queue`)

	proxy.Set(empty)
	for range 2 {
		w.PSQL(`SELECT iasql_sync_now()`)
		if got := w.PSQL(`SELECT string_agg(q.id::text, ',' ORDER BY q.id) FROM queue q JOIN owners o ON o.queue = q.id`); got != ids {
			t.Fatalf("of %s there are %s", ids, got)
		}
	}
	if got := w.PSQL(`SELECT record, state, needs_you, message LIKE '3 records: all 3 records of queue%iasql_confirm(''vanished'')%' FROM iasql_problems`); got != "queue us-east-1|Conflict|t|t" {
		t.Errorf("problems: %s", got)
	}
	if got := w.PSQL(`SELECT iasql_ready(), (SELECT string_agg(DISTINCT detected, ',') FROM iasql_status WHERE table_name = 'queue')`); got != "f|unknown" {
		t.Errorf("ready, detected: %s", got)
	}
	if got := w.PSQL(`SELECT iasql_confirm('vanished', dry_run => true)`); got != "3 records of queue in us-east-1 are gone from the cloud: they would go from the tables" {
		t.Errorf("dry run: %s", got)
	}
	// They were there all the time.
	proxy.Set(func(faultproxy.Call) faultproxy.Fault { return faultproxy.Fault{} })
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Settled()
	if got := w.PSQL(`SELECT string_agg(q.id::text, ',' ORDER BY q.id) FROM queue q JOIN owners o ON o.queue = q.id`); got != ids {
		t.Fatalf("of %s there are %s once the cloud says so", ids, got)
	}
	if got := w.PSQL(`SELECT iasql_ready()`); got != "t" {
		t.Errorf("ready once they are back: %s", got)
	}
	// And when they are gone, a person says so.
	proxy.Set(empty)
	w.PSQL(`SELECT iasql_sync_now()`)
	if says := w.Refused(`SELECT iasql_confirm('queue')`); !strings.Contains(says, "identity, restored or vanished") {
		t.Errorf("refused: %s", says)
	}
	w.PSQL(`SELECT iasql_confirm('vanished', 'queue')`)
	w.Becomes(time.Minute, "0", `SELECT count(*) FROM queue`)
	w.Becomes(time.Minute, "t", `SELECT iasql_ready()`)
}

// TestUnreadIsUnknown: what cannot be read does not look healthy (R32).
func TestUnreadIsUnknown(t *testing.T) {
	t.Parallel()
	w, proxy := harness.StartBehindProxy(t, []string{"us-east-1"}, "aws_sqs", "aws_vpc")
	w.PSQL(`INSERT INTO queue (name) VALUES ('q')`)
	w.Settled()
	for what, fault := range map[string]faultproxy.Fault{
		"denied": {Status: 403, Code: "AccessDenied", Message: "User is not authorized to perform sqs:ListQueues"},
		"500":    {Status: 500, Code: "InternalError", Message: "An internal error has occurred"},
	} {
		proxy.Set(func(call faultproxy.Call) faultproxy.Fault {
			if call.Service == "sqs" {
				return fault
			}
			return faultproxy.Fault{}
		})
		_, _ = w.TryPSQL(w.UserURL, `SELECT iasql_sync_now()`)
		if got := w.PSQL(`SELECT iasql_ready(), iasql_ready('queue'), iasql_ready('vpc'), iasql_wait_for_all(),
			(SELECT string_agg(state || ' ' || detected, ',') FROM iasql_status WHERE table_name = 'queue'),
			(SELECT count(*) FROM iasql_problems), (SELECT count(*) FROM iasql_problems WHERE record = 'queue' AND message LIKE 'cannot be read in us-east-1: %'),
			(SELECT count(*) FROM iasql_listings WHERE since IS NOT NULL)`); got != "f|f|t|f|CheckPresentFailed unknown|1|1|1" {
			t.Errorf("%s: %s", what, got)
		}
		proxy.Set(func(faultproxy.Call) faultproxy.Fault { return faultproxy.Fault{} })
		w.PSQL(`SELECT iasql_sync_now()`)
		if got := w.PSQL(`SELECT iasql_ready(), iasql_wait_for_all(), (SELECT count(*) FROM iasql_problems)`); got != "t|t|0" {
			t.Errorf("%s is over: %s", what, got)
		}
	}
}

// TestTransactionsOfAnotherServer: a dump keeps the numbers of transactions, and the server that it is restored on counts
// its own anew. What is pending is not overlooked for that, and no transaction takes it for its own (R30).
func TestTransactionsOfAnotherServer(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	engine := w.Serve()
	w.Install([]string{"us-east-1"}, "aws_sqs")
	w.PSQL(`INSERT INTO queue (name) VALUES ('there')`)
	w.Settled()
	w.PSQL(`CALL iasql_begin('open')`)
	engine.Stop()
	w.PSQL(`INSERT INTO queue (name) VALUES ('pending')`)
	// As they are in a server that has counted for longer.
	w.Admin(`UPDATE iasql_audit_log SET xid = '9000000000' WHERE NOT settled`,
		`UPDATE iasql_internal.batch SET opened_xid = '9000000000'`,
		`INSERT INTO iasql_internal.permit (xid, table_name, record_id, may) VALUES ('9000000000', 'queue', 1, 'change')`,
		`UPDATE iasql_internal.server_seen SET system_identifier = '1'`)
	w.Serve()
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.Admin(`SELECT count(*) FROM iasql_audit_log WHERE NOT settled AND pg_visible_in_snapshot(xid, pg_current_snapshot())`,
		`SELECT count(*) FROM iasql_internal.batch WHERE opened_xid = '9000000000'`,
		`SELECT count(*) FROM iasql_internal.permit WHERE xid = '9000000000'`); got != "1\n0\n0" {
		t.Errorf("pending that is seen, a batch and a permit of the other server's transaction: %s", got)
	}
	if got, err := w.TryPSQL(w.UserURL, `SELECT iasql_wait_for_all(0.1, 'all')`); err == nil {
		t.Errorf("what is pending was not waited for: %s", got)
	}
}

// TestRestored: what was pending in a database that has gone back in time is carried out only once somebody has looked
// at it, and ENFORCE holds still (R30).
func TestRestored(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	engine := w.Serve()
	w.Install([]string{"us-east-1"}, "aws_sqs")
	w.PSQL(`INSERT INTO queue (name) VALUES ('kept'), ('gone')`)
	w.Settled()
	w.PSQL(`INSERT INTO iasql_mode (table_name, mode) VALUES ('queue', 'ENFORCE')`)
	engine.Stop()
	w.PSQL(`DELETE FROM queue WHERE name = 'gone'`, `INSERT INTO queue (name) VALUES ('pending')`)
	// A newer database has made this one meanwhile.
	w.AWS.CLI(t, "sqs", "create-queue", "--queue-name", "newer", "--region", "us-east-1")
	for _, went := range []string{`timeline = timeline + 1`, `system_identifier = '1'`} {
		w.Admin(`UPDATE iasql_internal.server_seen SET ` + went)
		engine = w.Serve()
		w.PSQL(`SELECT iasql_sync_now()`)
		if got := w.AWS.CLI(t, "sqs", "list-queues", "--region", "us-east-1"); !strings.Contains(got, "/newer") ||
			!strings.Contains(got, "/gone") || strings.Contains(got, "/pending") {
			t.Fatalf("%s: %s", went, got)
		}
		if got := w.PSQL(`SELECT iasql_ready(), (SELECT count(*) FROM iasql_problems WHERE record = 'database' AND needs_you)`); got != "f|1" {
			t.Errorf("%s: ready, problems: %s", went, got)
		}
		if says := w.Refused(`CALL iasql_begin('b')`, `UPDATE queue SET delay_seconds = 7 WHERE name = 'kept'`,
			`CALL iasql_commit()`); !strings.Contains(says, "iasql_confirm") {
			t.Errorf("%s: a commit says %s", went, says)
		}
		w.PSQL(`CALL iasql_join('b')`, `CALL iasql_rollback(true)`)
		engine.Stop()
	}
	w.Serve()
	list := w.Admin(`SELECT iasql_confirm('restored', dry_run => true)`)
	for _, wants := range []string{"DELETE of queue", "INSERT of queue", "pending since before that",
		"ENFORCE holds for queue"} {
		if !strings.Contains(list, wants) {
			t.Errorf("%q is not in the list:\n%s", wants, list)
		}
	}
	w.PSQL(`DELETE FROM iasql_mode`)
	w.Admin(`SELECT iasql_confirm('restored')`)
	w.Eventually(time.Minute, "what was pending is carried out", func() bool {
		got := w.AWS.CLI(t, "sqs", "list-queues", "--region", "us-east-1")
		return strings.Contains(got, "/newer") && !strings.Contains(got, "/gone") && strings.Contains(got, "/pending")
	})
	// The same again, with engines that know that nothing is lost.
	w.Settled()
	w.Admin(`UPDATE iasql_internal.server_seen SET timeline = timeline + 1`)
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT count(*) FROM iasql_problems`); got != "0" {
		t.Errorf("after a failover that has lost nothing: %s problems", got)
	}
	// And with one that knows that something is: the row that it has seen last is not there.
	w.Admin(`DELETE FROM iasql_operations WHERE id = (SELECT max(id) FROM iasql_operations)`)
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT message LIKE '%gone back in time%' FROM iasql_problems`); got != "t" {
		t.Errorf("after lost commits the problems are: %s", got)
	}
}

// TestReadOnly: an engine that is started with --read-only pulls, and pushes nothing.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	w.Args = []string{"--read-only"}
	w.Serve()
	w.Install([]string{"us-east-1"}, "aws_sqs")
	w.AWS.CLI(t, "sqs", "create-queue", "--queue-name", "theirs", "--region", "us-east-1")
	w.PSQL(`INSERT INTO queue (name) VALUES ('ours')`)
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT count(*) FROM queue WHERE name = 'theirs'`); got != "1" {
		t.Error("nothing was pulled")
	}
	if got := w.AWS.CLI(t, "sqs", "list-queues", "--region", "us-east-1"); strings.Contains(got, "ours") {
		t.Errorf("pushed: %s", got)
	}
}

// TestFrozenEngine: an engine that is stopped, as a debugger, a paused machine or a half-open network stops one, has
// lost its accounts to another within a minute, and does no harm when it goes on (R31).
func TestFrozenEngine(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	proxy := faultproxy.Start(t, w.AWS.Endpoint)
	w.Endpoint = proxy.URL
	engines := []*harness.Process{w.Serve(), w.Serve()}
	w.Install([]string{"us-east-1"}, "aws_sqs")
	w.PSQL(`INSERT INTO queue (name) VALUES ('a'), ('b')`)
	w.Settled()
	reached, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
		fault := faultproxy.Fault{}
		if c.Action == "SetQueueAttributes" {
			once.Do(func() {
				fault.Before = func() {
					close(reached)
					<-release
				}
			})
		}
		return fault
	})
	w.PSQL(`UPDATE queue SET delay_seconds = 9 WHERE name = 'a'`)
	<-reached
	holder := w.Admin(`SELECT engine FROM iasql_internal.lease WHERE pid IS NOT NULL`)
	var frozen *harness.Process
	for _, p := range engines {
		if strings.Contains(p.Log(), holder) {
			frozen = p
		}
	}
	if err := syscall.Kill(frozen.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(frozen.PID(), syscall.SIGCONT) }()
	close(release)
	begun := stopwatch.Start()
	w.PSQL(`UPDATE queue SET delay_seconds = 8 WHERE name = 'b'`)
	w.Becomes(75*time.Second, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	took := begun.Took().Round(time.Second)
	t.Logf("taken over after %s", took)
	if took > 60*time.Second {
		t.Errorf("taken over after %s", took)
	}
	if got := w.PSQL(`SELECT doing LIKE 'has shown no sign of life since%' FROM iasql_engines() WHERE engine = '` +
		holder + `'`); got != "t" {
		t.Errorf("iasql_engines says of the frozen engine: %s", got)
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_cycles WHERE message LIKE '%did not get on%'`); got != "1" {
		t.Errorf("%s cycles are said not to have got on", got)
	}
	_ = syscall.Kill(frozen.PID(), syscall.SIGCONT)
	w.PSQL(`UPDATE queue SET delay_seconds = 7 WHERE name = 'a'`)
	w.Settled()
	w.Becomes(time.Minute, "0", `SELECT count(*) FROM iasql_engines() WHERE doing LIKE '%no sign of life%'`)
	for name, want := range map[string]string{"a": "7", "b": "8"} {
		if got := w.CLI("sqs", "get-queue-attributes", "--queue-url",
			w.PSQL(`SELECT url FROM queue WHERE name = '`+name+`'`), "--attribute-names",
			"DelaySeconds")["Attributes"].(map[string]any)["DelaySeconds"]; got != want {
			t.Errorf("%s has %v, wanted %s", name, got, want)
		}
	}
}
