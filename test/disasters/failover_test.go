package disasters

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"iasql/internal/test/faultproxy"
	"iasql/internal/test/harness"
)

// editor inserts queues and VPCs, one commit each, until told to stop, and notes which commits were acknowledged.
type editor struct {
	stop         chan struct{}
	done         sync.WaitGroup
	queues, vpcs []string // acknowledged
	doubtful     map[string]bool
	broken       int
}

func edit(w *harness.World, url string) *editor {
	e := &editor{stop: make(chan struct{}), doubtful: map[string]bool{}}
	e.done.Add(1)
	go func() {
		defer e.done.Done()
		var conn *pgx.Conn
		for n := 0; ; n++ {
			select {
			case <-e.stop:
				if conn != nil {
					_ = conn.Close(context.Background())
				}
				return
			case <-time.After(150 * time.Millisecond):
			}
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			var err error
			if conn == nil || conn.IsClosed() {
				conn, err = pgx.Connect(ctx, url)
			}
			if err != nil {
				conn = nil
				e.broken++
				cancel()
				continue
			}
			name, list, statement := fmt.Sprintf("load-%03d", n), &e.queues, `INSERT INTO queue (name) VALUES ($1)`
			if n%5 == 4 && len(e.vpcs) < 4 {
				name, list, statement = fmt.Sprintf("10.%d.0.0/16", n), &e.vpcs,
					`INSERT INTO vpc (cidr_block) VALUES ($1::text::cidr)`
			}
			if _, err = conn.Exec(ctx, statement, name); err != nil {
				e.doubtful[name] = true // it may have been committed all the same
				e.broken++
				_ = conn.Close(context.Background())
			} else {
				*list = append(*list, name)
			}
			cancel()
		}
	}()
	w.Cleanup(e.end)
	return e
}

func (e *editor) end() {
	select {
	case <-e.stop:
	default:
		close(e.stop)
	}
	e.done.Wait()
}

// TestSynchronousFailover: where a commit waits for a standby, nothing is lost with the primary, and an engine that was
// there before asks nothing.
func TestSynchronousFailover(t *testing.T) {
	each(t, true, func(t *testing.T, pg programs) {
		primary := newServer(t, pg, "")
		w := primary.newWorld()
		standby := primary.standby("second")
		primary.exec("postgres", `ALTER SYSTEM SET synchronous_standby_names = '*'`, `SELECT pg_reload_conf()`)
		primary.until("sync", `SELECT coalesce(min(sync_state), '') FROM pg_stat_replication`)
		withStandby(w, primary, standby)
		engine := w.Serve()
		w.Install([]string{"us-east-1"}, "aws_sqs", "aws_vpc")
		w.PSQL(`INSERT INTO queue (name) VALUES ('before'), ('goes')`,
			`INSERT INTO vpc (cidr_block) VALUES ('10.250.0.0/16')`)
		w.Settled()
		w.PSQL(`DELETE FROM queue WHERE name = 'goes'`)
		w.Settled()

		load := edit(w, w.UserURL)
		time.Sleep(3 * time.Second)
		primary.kill()
		time.Sleep(time.Second)
		standby.exec("postgres", `SELECT pg_promote()`)
		time.Sleep(4 * time.Second)
		load.end()
		if load.broken == 0 || len(load.queues) < 10 || len(load.vpcs) == 0 {
			t.Fatalf("the load has not met the failover: %d broken, %d queues, %d VPCs", load.broken, len(load.queues),
				len(load.vpcs))
		}
		t.Logf("%d queues, %d VPCs, %d times no answer", len(load.queues), len(load.vpcs), load.broken)
		// Functions that ask the engine find the new server, too.
		if _, err := w.TryPSQL(w.UserURL, `SELECT iasql_sync_now()`); err != nil {
			t.Errorf("iasql_sync_now after the failover: %v", err)
		}
		w.Settled()
		if why := asked(w); why != "" {
			t.Errorf("it asks: %s", why)
		}
		for name := range load.doubtful { // committed or not: it is the same on both sides
			if w.PSQL(`SELECT count(*) FROM queue WHERE name = '`+name+`'`) == "1" {
				load.queues = append(load.queues, name)
			} else if w.PSQL(`SELECT count(*) FROM vpc WHERE cidr_block::text = '`+name+`'`) == "1" {
				load.vpcs = append(load.vpcs, name)
			}
		}
		equal(w, append(load.queues, "before"), append(load.vpcs, "10.250.0.0/16"))
		if got := w.PSQL(`SELECT count(*) FROM iasql_audit_log WHERE change_type = 'DELETE'`); got != "1" {
			t.Errorf("%s rows were deleted, wanted 1", got)
		}
		// An engine that was started meanwhile knows as much as the one that was there.
		engine.Stop()
		w.Serve()
		w.PSQL(`INSERT INTO queue (name) VALUES ('after')`)
		w.Settled()
		if why := asked(w); why != "" {
			t.Errorf("a new engine asks: %s", why)
		}
	})
}

// TestAsynchronousFailover: commits that a standby never got are gone with the primary, but what they asked for is in
// the cloud. Nothing of it is destroyed or made again; the system asks.
func TestAsynchronousFailover(t *testing.T) {
	each(t, false, func(t *testing.T, pg programs) {
		primary := newServer(t, pg, "")
		w := primary.newWorld()
		proxy := faultproxy.Start(t, w.AWS.Endpoint)
		w.Endpoint = proxy.URL
		standby := primary.standby("second")
		withStandby(w, primary, standby)
		w.Serve()
		w.Install([]string{"us-east-1"}, "aws_sqs", "aws_vpc")
		// a creation of then may just not be seen
		w.Admin(`UPDATE iasql_settings SET value = '5 seconds' WHERE name = 'consistency_window'`)
		w.PSQL(`INSERT INTO queue (name) VALUES ('kept'), ('kept2'), ('kept3'), ('changed'), ('deleted')`,
			`INSERT INTO vpc (cidr_block) VALUES ('10.1.0.0/16')`)
		w.Settled()
		// In the last that the standby gets, one creation is under way, and other edits are pending. All of it is done
		// after that.
		reached, release := make(chan struct{}), make(chan struct{})
		var once sync.Once
		proxy.Set(func(c faultproxy.Call) faultproxy.Fault {
			fault := faultproxy.Fault{}
			if c.Action == "CreateVpc" {
				once.Do(func() {
					fault.Before = func() {
						close(reached)
						<-release
					}
				})
			}
			return fault
		})
		w.PSQL(`INSERT INTO vpc (cidr_block) VALUES ('10.2.0.0/16')`)
		<-reached
		w.PSQL(`INSERT INTO queue (name) VALUES ('pending')`, `INSERT INTO vpc (cidr_block) VALUES ('10.4.0.0/16')`,
			`DELETE FROM queue WHERE name = 'kept3'`)
		primary.until("t", `SELECT coalesce(bool_and(replay_lsn >= pg_current_wal_lsn()), false) FROM pg_stat_replication`)
		standby.exec("postgres", `ALTER SYSTEM SET primary_conninfo = ''`, `SELECT pg_reload_conf()`)
		primary.until("0", `SELECT count(*) FROM pg_stat_replication`)
		close(release)
		w.PSQL(`INSERT INTO queue (name) VALUES ('lost')`, `INSERT INTO vpc (cidr_block) VALUES ('10.3.0.0/16')`,
			`UPDATE queue SET delay_seconds = 9 WHERE name = 'changed'`, `DELETE FROM queue WHERE name = 'deleted'`)
		w.Settled()
		wantQueues, wantVPCs := []string{"changed", "kept", "kept2", "lost", "pending"},
			[]string{"10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16", "10.4.0.0/16"}
		equal(w, wantQueues, wantVPCs)
		// Made anew with what the standby does not know: its pending deletion is not about this one.
		time.Sleep(1100 * time.Millisecond) // creation times of queues are whole seconds
		w.PSQL(`INSERT INTO queue (name) VALUES ('kept3')`)
		w.Settled()
		wantQueues = append(wantQueues, "kept3")

		primary.kill()
		standby.exec("postgres", `SELECT pg_promote()`)
		w.Becomes(time.Minute, "t", `SELECT count(*) > 0 FROM iasql_problems WHERE record = 'database' AND needs_you`)
		if why := asked(w); !strings.Contains(why, "gone back in time") {
			t.Errorf("it asks: %q", why)
		}
		if _, err := w.TryPSQL(w.UserURL, `SELECT iasql_sync_now()`); err != nil {
			t.Errorf("iasql_sync_now after the failover: %v", err)
		}
		if got := strings.Join(queues(w), " "); got != "changed kept kept2 kept3 lost pending" {
			t.Errorf("before anybody has answered, the cloud has %s", got)
		}
		if got := strings.Join(vpcs(w), " "); got != strings.Join(wantVPCs, " ") {
			t.Errorf("before anybody has answered, the cloud has %s", got)
		}
		if got := delay(w, "changed"); got != "9" {
			t.Errorf("before anybody has answered, the changed queue has %s", got)
		}
		list := w.Admin(`SELECT iasql_confirm('restored', dry_run => true)`)
		t.Logf("the list:\n%s", list)
		for _, wants := range []string{"INSERT of vpc", "DELETE of queue", "EC2.CreateVpc for vpc 3"} {
			if !strings.Contains(list, wants) {
				t.Errorf("%q is not in the list:\n%s", wants, list)
			}
		}
		// As docs/operating.md says: of this VPC there is an object already, which has a row of its own by now. The
		// creation that was under way is found by its tag.
		w.PSQL(`DELETE FROM vpc WHERE cidr_block = '10.4.0.0/16' AND vpc_id IS NULL`)
		w.Admin(`SELECT iasql_confirm('restored')`)
		w.PSQL(`SELECT iasql_sync_now()`)
		// Of the queue that was made anew a person decides.
		w.Becomes(time.Minute, "0", `SELECT count(*) FROM iasql_audit_log l WHERE NOT settled AND NOT EXISTS (SELECT FROM iasql_status s WHERE s.table_name = l.table_name AND s.record_id = l.record_id AND s.review)`)
		if got := w.PSQL(`SELECT count(*) FROM iasql_conflicts WHERE resolved IS NULL AND NOT closed AND table_name = 'queue'`); got != "1" {
			t.Errorf("%s conflicts: %s", got,
				w.PSQL(`SELECT iasql_status FROM iasql_status WHERE state <> 'Present'`,
					`SELECT iasql_audit_log FROM iasql_audit_log WHERE table_name = 'queue' AND record_id = 3`,
					`SELECT * FROM iasql_calls LIMIT 20`, `SELECT * FROM iasql_conflicts`))
		}
		w.PSQL(`UPDATE iasql_conflicts SET resolved = 'cloud' WHERE resolved IS NULL AND NOT closed`)
		w.Becomes(time.Minute, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
		w.PSQL(`SELECT iasql_sync_now()`)
		w.Settled()
		equal(w, wantQueues, wantVPCs)
		if got := w.PSQL(`SELECT delay_seconds FROM queue WHERE name = 'changed'`); got != "9" {
			t.Errorf("the changed queue's row has %s", got)
		}
	})
}
