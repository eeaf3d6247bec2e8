package runbook

import (
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"iasql/internal/test/faultproxy"
)

// TestEngine plays what goes wrong with cycles, and with the engine itself.
func TestEngine(t *testing.T) {
	t.Parallel()
	n := start(t, "aws_sqs")
	n.PSQL(`INSERT INTO queue (name) VALUES ('a'), ('b')`)
	n.Settled()
	t.Run("age", func(t *testing.T) { playAge(n.in(t)) })
	t.Run("fail", func(t *testing.T) { playFail(n.in(t)) })
	t.Run("stands", func(t *testing.T) { playStands(n.in(t)) })
}

// held has a call wait until it is let go.
func (n *night) held(action string) (reached, release chan struct{}) {
	reached, release = make(chan struct{}), make(chan struct{})
	var once sync.Once
	n.cloud.Set(func(c faultproxy.Call) (fault faultproxy.Fault) {
		if c.Action == action {
			once.Do(func() {
				fault.Before = func() {
					close(reached)
					<-release
				}
			})
		}
		return fault
	})
	return reached, release
}

func playAge(n *night) {
	reached, release := n.held("ListQueues")
	done := make(chan struct{})
	go func() {
		n.asks()
		close(done)
	}()
	<-reached
	n.shows(`iasql_cycle_age_seconds{account="default"`, 1)
	n.typesAndSees("look", "full cycle of default since")
	n.typesAndSees("age.look", "full cycle of default since")
	n.types("age.go")
	close(release)
	<-done
	n.showsNot(`iasql_cycle_age_seconds`)
	n.PSQL(`UPDATE iasql_settings SET value = '0.5' WHERE name = 'read_share'`)
	n.mends()
	n.Settled()
}

func playFail(n *night) {
	n.Admin(`ALTER TABLE iasql_internal.listing RENAME TO lost`) // somebody has changed a table of the engine's
	if says := n.Refused(`SELECT iasql_sync_now('queue')`); !strings.Contains(says, "listing") {
		n.Errorf("it says %s", says)
	}
	n.Eventually(patience, "the cycle says why", func() bool { return strings.Contains(n.types("fail.look"), "listing") })
	if out, err := n.tried("fail.doctor"); !strings.Contains(out, "database") {
		n.Errorf("the doctor says: %v\n%s", err, out)
	}
	n.Admin(`ALTER TABLE iasql_internal.lost RENAME TO listing`)
	n.types("fail.go")
	n.Settled()
}

func playStands(n *night) {
	reached, release := n.held("SetQueueAttributes")
	n.PSQL(`UPDATE queue SET delay_seconds = 9 WHERE name = 'a'`)
	<-reached
	frozen := n.engine.Process
	if err := syscall.Kill(frozen.PID(), syscall.SIGSTOP); err != nil {
		n.Fatal(err)
	}
	defer func() { _ = syscall.Kill(frozen.PID(), syscall.SIGCONT) }()
	close(release)
	n.serves()
	n.shows(`iasql_lease_silent_seconds{account="default"`, 20)
	n.PSQL(`UPDATE queue SET delay_seconds = 8 WHERE name = 'b'`)
	n.Becomes(90*time.Second, "0", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	n.typesAndSees("stands.look", "has shown no sign of life since")
	frozen.Kill()
	n.Becomes(patience, "1", `SELECT count(*) FROM iasql_engines()`)
	n.Settled()
}

// TestNoEngine plays that no engine is there.
func TestNoEngine(t *testing.T) {
	t.Parallel()
	n := start(t, "aws_sqs")
	n.engine.Kill()
	n.Becomes(patience, "0", `SELECT count(*) FROM iasql_engines()`)
	if says := n.Refused(`SELECT iasql_sync_now()`); !strings.Contains(says, "IA010") {
		n.Errorf("sync_now says %s", says)
	}
	n.PSQL(`INSERT INTO queue (name) VALUES ('meanwhile')`)
	// (The tests' databases are copies, of which it has something to say.)
	if out, err := n.tried("dead.doctor"); !strings.Contains(out, "connection: connected") {
		n.Errorf("the doctor says: %v\n%s", err, out)
	}
	n.serves()
	n.typesAndSees("dead.look", "|")
	n.shows(`iasql_engines_connected`, 1)
	n.Settled()
	if got := queues(n); got != 1 {
		n.Errorf("what was asked for meanwhile has come to %d queues", got)
	}
}
