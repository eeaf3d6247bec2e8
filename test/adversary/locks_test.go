package adversary

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"iasql/internal/test/harness"
	"iasql/internal/test/stopwatch"
)

// soon is how long an edit may take while somebody interferes: far below the minute after
// which the schedule would see to it, and enough for a machine that does much else.
const soon = 25 * time.Second

const leaseLock = `(1229017938, hashtext('default'))`

// session is a connection of somebody's, with what it is called in messages.
type session struct {
	*pgx.Conn
	w    *harness.World
	name string // as iasql_engines() writes it
}

func newSession(w *harness.World, of string) *session {
	w.Helper()
	conn, err := pgx.Connect(context.Background(), of)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { conn.Close(context.Background()) })
	u, err := url.Parse(of)
	if err != nil {
		w.Fatal(err)
	}
	return &session{conn, w, fmt.Sprintf("%s (process %d)", u.User.Username(), conn.PgConn().PID())}
}

func (s *session) exec(statement string) {
	s.w.Helper()
	if _, err := s.Exec(context.Background(), statement); err != nil {
		s.w.Fatalf("%s: %v", statement, err)
	}
}

// edits makes an edit and waits until it has reached the cloud.
func edits(w *harness.World, name string) {
	w.Helper()
	w.PSQL(fmt.Sprintf(`INSERT INTO queue (name) VALUES ('%s')`, name))
	arrives(w, name)
}

func arrives(w *harness.World, name string) {
	w.Helper()
	w.Becomes(soon, "t|0", fmt.Sprintf(
		`SELECT bool_or(url IS NOT NULL), (SELECT count(*) FROM iasql_audit_log WHERE table_name = 'queue' AND NOT settled) FROM queue WHERE name = '%s'`, name))
}

func names(w *harness.World, who string) {
	w.Helper()
	w.Eventually(soon, "iasql_engines() names "+who, func() bool {
		return strings.Contains(w.PSQL(`SELECT doing FROM iasql_engines()`), who)
	})
}

// Whoever takes the advisory lock that engines wait by keeps none of them waiting.
func TestLeaseLockHeld(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	w.Settled()
	outsider := newSession(w, w.Login("outsider"))
	for _, how := range []string{"pg_advisory_lock", "pg_advisory_lock_shared"} {
		outsider.exec(`SELECT ` + how + leaseLock)
		names(w, "advisory lock of account default is held by "+outsider.name)
		edits(w, "while-"+how)
		outsider.exec(`SELECT pg_advisory_unlock_all()`)
		edits(w, "after-"+how)
	}
	if doing := w.PSQL(`SELECT doing FROM iasql_engines()`); strings.Contains(doing, "advisory") {
		t.Errorf("nobody holds it any more, but: %s", doing)
	}
}

// Nor does a crowd that waits for the lock and takes it whenever it is free.
func TestLeaseLockFoughtFor(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	w.Serve()
	w.Settled()
	login := w.Login("outsider")
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	const crowd = 6
	for i := range crowd { // one is fast, the others take their time
		outsider := newSession(w, login)
		go func() {
			defer func() { done <- struct{}{} }()
			for ctx.Err() == nil {
				if _, err := outsider.Exec(ctx,
					fmt.Sprintf(`SELECT pg_advisory_lock%s; SELECT pg_sleep(%d); SELECT pg_advisory_unlock%s`,
						leaseLock, min(3*i, 3), leaseLock)); err != nil {
					return
				}
			}
		}()
	}
	for i := range 10 {
		edits(w, fmt.Sprintf("contested-%d", i))
	}
	stop()
	for range crowd {
		<-done
	}
}

// An engine starts, and is seen, whatever locks others hold.
func TestPresenceLockHeld(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	outsider := newSession(w, w.Login("outsider"))
	outsider.exec(`SELECT pg_advisory_lock(1229017937, 1)`)
	w.Serve()
	w.Install(east, "aws_sqs")
	edits(w, "first")
}

// Who has the name of an engine, and locks what it would, is none.
func TestPretender(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	engine := w.Serve()
	w.Install(east, "aws_sqs")
	id := w.PSQL(`SELECT engine FROM iasql_engines()`)
	outsider := newSession(w, w.Login("outsider"))
	outsider.exec(`SET application_name = 'iasql engine ` + id + `'`)
	outsider.exec(`SELECT pg_advisory_lock_shared(1229017937, 1)`)
	engine.Kill()
	w.Becomes(soon, "", `SELECT engine FROM iasql_engines()`)
	// A process id may be given to anybody who comes later.
	w.Admin(fmt.Sprintf(`UPDATE iasql_internal.engine SET pid = %d`, outsider.PgConn().PID()))
	_, _ = w.TryPSQL(w.AdminURL, fmt.Sprintf(`UPDATE iasql_internal.lease SET pid = %d, role = coalesce(role, 10)`,
		outsider.PgConn().PID()))
	if got := w.Refused(`SELECT iasql_sync_now()`); !strings.Contains(got, "IA010") {
		t.Errorf("with a pretender: %s", got)
	}
	w.Serve()
	edits(w, "real")
}

// A user who locks a table stops that table, and says who it is; everything else
// goes on, and the table catches up.
func TestTableLocked(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"ACCESS EXCLUSIVE", "EXCLUSIVE"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := harness.Start(t, east, "aws_vpc", "aws_sqs")
			w.PSQL(`INSERT INTO vpc (cidr_block, tags) VALUES ('10.1.0.0/16', '{"Name": "before"}')`)
			w.Settled()
			user := newSession(w, w.UserURL)
			user.exec(`BEGIN`)
			user.exec(`LOCK TABLE vpc IN ` + mode + ` MODE`)
			names(w, "table vpc is locked by "+user.name)
			for i := range 3 {
				edits(w, fmt.Sprintf("beside-%d", i))
			}
			begun := stopwatch.Start()
			w.PSQL(`SELECT iasql_sync_now()`) // with a warning: the other tables could be read
			if took := begun.Took(); took > 20*time.Second {
				t.Errorf("which took %s", took)
			}
			if got := w.PSQL(`SELECT table_name, message FROM iasql_get_errors()`); !strings.Contains(got, "vpc|default: table vpc is locked by "+user.name) || !strings.Contains(got, "subnet|default: table vpc is locked") {
				t.Errorf("iasql_get_errors says %s", got)
			}
			before := w.Admin(`SELECT count(*) FROM iasql_operations WHERE table_name <> 'queue'`)
			user.exec(`INSERT INTO vpc (cidr_block, tags) VALUES ('10.2.0.0/16', '{"Name": "under the lock"}')`)
			user.exec(`COMMIT`)
			w.Becomes(2*soon, "1", `SELECT count(*) FROM vpc WHERE tags ->> 'Name' = 'under the lock' AND vpc_id IS NOT NULL`)
			w.Settled()
			w.PSQL(`SELECT iasql_sync_now()`)
			if got := w.PSQL(`SELECT count(*) FROM iasql_get_errors() WHERE message LIKE '%locked%'`); got != "0" {
				t.Errorf("after the lock was released: %s errors", got)
			}
			if got := w.PSQL(`SELECT count(*) FROM vpc WHERE tags ->> 'Name' = 'before'`); got != "1" {
				t.Errorf("the record from before: %s", got)
			}
			if got := w.Admin(`SELECT count(*) FROM iasql_operations WHERE table_name <> 'queue' AND kind = 'delete'`); got != "0" {
				t.Errorf("%s deletions (before %s operations)", got, before)
			}
		})
	}
}

// A change that was committed just before the lock waits for its end, and is done
// then by itself.
func TestTableLockedWithPending(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_vpc", "aws_sqs")
	w.Settled()
	user := newSession(w, w.UserURL)
	user.exec(`INSERT INTO vpc (cidr_block, tags) VALUES ('10.3.0.0/16', '{"Name": "early"}')`)
	user.exec(`BEGIN; LOCK TABLE vpc IN ACCESS EXCLUSIVE MODE`)
	edits(w, "beside")
	user.exec(`ROLLBACK`)
	w.Becomes(2*soon, "1", `SELECT count(*) FROM vpc WHERE tags ->> 'Name' = 'early' AND vpc_id IS NOT NULL`)
	w.Settled()
	if vpcs := w.CLI("ec2", "describe-vpcs", "--filters", "Name=tag:Name,Values=early")["Vpcs"].([]any); len(vpcs) != 1 {
		t.Errorf("%d objects", len(vpcs))
	}
}

// Where settings are locked that every cycle needs, nothing goes on, and that is
// said within seconds.
func TestModesLocked(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	w.Settled()
	user := newSession(w, w.UserURL)
	user.exec(`BEGIN; LOCK TABLE iasql_mode IN ACCESS EXCLUSIVE MODE`)
	names(w, "table iasql_mode is locked by "+user.name)
	begun := stopwatch.Start()
	if got := w.Refused(`SELECT iasql_sync_now()`); !strings.Contains(got, "table iasql_mode is locked by "+user.name) || begun.Took() > soon {
		t.Errorf("after %s: %s", begun.Took(), got)
	}
	user.exec(`ROLLBACK`)
	edits(w, "after")
}

// Nobody without rights can hold up those who choose a default account.
func TestDefaultAccountLock(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east)
	outsider := newSession(w, w.Login("outsider"))
	outsider.exec(`SELECT pg_advisory_lock(hashtextextended('aws_account.is_default', 0)), pg_advisory_lock(hashtextextended('aws_regions.is_default default', 0))`)
	reader := newSession(w, w.Login("reader", "iasql_reader"))
	reader.exec(`BEGIN`)
	for _, statement := range []string{`SELECT FROM iasql_internal.account FOR UPDATE`,
		`DELETE FROM iasql_internal.account`} {
		_, _ = reader.Exec(context.Background(), `SAVEPOINT s`)
		// takes the table's lock before it asks for the right
		_, _ = reader.Prepare(context.Background(), "", statement)
	}
	w.PSQL(`SET statement_timeout = '5s'; INSERT INTO aws_account (name, is_default, access_key_id, secret_access_key) VALUES ('other', true, 'AKIAIOSFODNN7EXAMPLE', 'x')`,
		`SET statement_timeout = '5s'; UPDATE aws_account SET is_default = true WHERE name = 'default'`,
		`SET statement_timeout = '5s'; UPDATE aws_regions SET is_default = true WHERE region = 'us-east-1' AND account = 'default'`)
}
