package contract

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"iasql/internal/test/harness"
)

// iasql_changes_by finds what somebody has changed by any name that people know him by, says
// what is wrong where it finds nothing, shows nobody what he may not see, and reads no more of
// the audit log than it has to.
func TestChangesBy(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	w.PSQL(`UPDATE iasql_settings SET value = '1 day' WHERE name = 'sync_interval'`,
		`INSERT INTO queue (name) VALUES ('a'), ('b')`)
	w.Settled()
	const sso, user, under = "arn:aws:sts::111122223333:assumed-role/Admin/Ana@Example.com",
		"arn:aws:iam::111122223333:user/team/cem", "arn:aws:sts::111122223333:assumed-role/Admin/a_b%"
	// 100,000 changes by many, and a few by those who are asked for.
	w.Admin(`INSERT INTO iasql_audit_log ("user", table_name, record_id, account, change_type, change, origin, settled, ts, event_time, actor, actor_session, event_id, also)
		SELECT 'iasql_engine', 'queue', 1000 + n, 'default', 'UPDATE', '{"change": {"delay_seconds": 1}, "original": {"delay_seconds": 0}}', 'engine', true,
			now() - n * interval '10 seconds', now() - n * interval '10 seconds' - interval '3 seconds', 'arn:aws:sts::111122223333:assumed-role/Robot/r' || n % 300, 'r' || n % 300, 'event' || n,
			CASE WHEN n % 1000 = 0 THEN ARRAY['arn:aws:sts::111122223333:assumed-role/Admin/eva'] END
		FROM generate_series(1, 100000) n`,
		fmt.Sprintf(`INSERT INTO iasql_audit_log ("user", table_name, record_id, account, change_type, change, origin, settled, ts, event_time, actor, actor_session, event_id)
		SELECT 'iasql_engine', 'queue', q.id, 'default', 'UPDATE', '{"change": {"delay_seconds": 1}, "original": {"delay_seconds": 0}}', 'engine', true, now(), now() - interval '3 seconds', v.actor, v.session, 'x' || q.id
		FROM queue q JOIN (VALUES ('a', '%s', 'Ana@Example.com'), ('b', '%s', 'cem'), ('a', '%s', 'a_b%%')) v (name, actor, session) USING (name)`, sso, user, under),
		`ANALYZE iasql_audit_log`)
	finds := func(want int, who string, since ...string) {
		t.Helper()
		args := "'" + who + "'" + strings.Join(append([]string{""}, since...), ", ")
		if got := w.PSQL(`SELECT count(*) FROM iasql_changes_by(` + args + `)`); got != fmt.Sprint(want) {
			t.Errorf("of %s are found %s, want %d", args, got, want)
		}
	}
	finds(1, sso)
	finds(1, strings.ToLower(sso))
	finds(1, "Ana@Example.com")
	finds(1, "ana@example.com")
	finds(1, "*@example.com")
	finds(1, "*/Admin/Ana*")
	finds(1, "cem")
	finds(1, user)
	finds(2, "*:assumed-role/Admin/*", "now() - interval '1 hour'")
	finds(0, "a_b_")
	finds(1, "a_b%")
	finds(0, "%")
	finds(0, "_em")
	finds(0, `\`)
	finds(0, `ana\%`)
	finds(1, "cem", "NULL")
	finds(0, "cem", "now()")
	finds(1, "cem", "now() - interval '1 hour'")
	finds(334, "r7", "'-infinity'")
	finds(100, "eva") // it may have been she
	// What was found while events are read, and no event has told of.
	w.Admin(`UPDATE iasql_audit_log SET since = ts - interval '1 minute', actor = NULL, actor_session = NULL, event_id = NULL, event_time = NULL WHERE actor_session = 'r7' AND ts > now() - interval '1 day'`)
	if got := w.PSQL(`SELECT count(*) > 20, count(actor), count(DISTINCT change_type) FROM iasql_changes_by(NULL)`); got != "t|0|1" {
		t.Errorf("by nobody who is known: %s", got)
	}
	me := strings.Split(strings.TrimPrefix(w.UserURL, "postgres://"), ":")[0]
	if got := w.PSQL(`SELECT count(*) FROM iasql_changes_by('` + me +
		`') WHERE change_type = 'INSERT' AND table_name = 'queue'`); got != "2" {
		t.Errorf("by the role are found %s", got)
	}
	if got := w.PSQL(`SELECT DISTINCT actor FROM iasql_changes_by('` + me +
		`') WHERE change_type = 'INSERT' AND table_name = 'queue'`); got != me {
		t.Errorf("the actor of changes made here by %s is %q", me, got)
	}
	// The window is about when the call was made, as ts is.
	if got := w.PSQL(`SELECT bool_and(ts >= now() - interval '1 hour') AND count(*) > 300
			AND count(*) = (SELECT count(*) FROM iasql_audit_log l WHERE l.event_time >= now() - interval '1 hour' AND l.actor_session LIKE 'r%')
		FROM iasql_changes_by('r*', now() - interval '1 hour') WHERE actor_session LIKE 'r%'`); got != "t" {
		t.Error("the window is not about what is shown")
	}
	changesSay(t, w)
	changesUseIndexes(t, w.UserURL, `'Ana@Example.com'`, `'r7', now() - interval '1 day'`,
		`'arn:aws:iam::111122223333:user/team/cem'`, `'cem'`, `'CEM'`, `'nobody'`,
		`'eva', now() - interval '1 hour'`, `'*cem*'`)
	changesHidden(t, w)
}

// changesSay looks at what is said where nothing is found.
func changesSay(t *testing.T, w *harness.World) {
	config, err := pgx.ParseConfig(w.UserURL)
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { said += n.Message + " " + n.Hint }
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for _, c := range []struct{ args, want string }{
		{`'nobody'`, `no change by nobody is known It takes what the cloud calls somebody in full, the name of a session or of a user there, or a role of this database; * stands for any characters.`},
		{`'EXAMPLE.com'`, `no change by EXAMPLE.com is known There are changes by Ana@Example.com, arn:aws:sts::`},
		{`'cem', now() + interval '1 hour'`, `cem has changed nothing since `},
		{`NULL, now() + interval '1 hour'`, `nothing was found in the cloud since `},
		{`'*zzz*'`, `no change by *zzz* is known`},
		{`'CEM', now() + interval '1 hour'`, `CEM has changed nothing since `},
		{`'cem'`, ``},
	} {
		said = ""
		if _, err := conn.Exec(t.Context(), `SELECT * FROM iasql_changes_by(`+c.args+`)`); err != nil ||
			!strings.HasPrefix(said, c.want) || c.want == "" && said != "" {
			t.Errorf("%s: it says %q, %v", c.args, said, err)
		}
	}
}

// changesUseIndexes has a user ask, and looks whether rows of the audit log are read one after
// the other.
func changesUseIndexes(t *testing.T, url string, asked ...string) {
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	reads := func(query string) (n int64) {
		var before, after int64
		const scans = `SELECT coalesce(sum(seq_tup_read), 0) FROM pg_stat_xact_user_tables WHERE relname = 'iasql_audit_log'`
		if err := pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
			if err := tx.QueryRow(t.Context(), scans).Scan(&before); err != nil {
				return err
			}
			if _, err := tx.Exec(t.Context(), query); err != nil {
				return err
			}
			return tx.QueryRow(t.Context(), scans).Scan(&after)
		}); err != nil {
			t.Error(query, err)
		}
		return after - before
	}
	if n := reads(`SELECT count(*) FROM iasql_audit_log WHERE message = 'none'`); n < 100_000 {
		t.Fatalf("a search without an index reads %d rows", n)
	}
	for _, args := range asked {
		begun := time.Now()
		if n := reads(`SELECT * FROM iasql_changes_by(` + args + `)`); n > 0 {
			t.Errorf("%s: reads %d rows of the audit log one after the other", args, n)
		}
		t.Logf("%s: %s", args, time.Since(begun).Round(time.Millisecond))
	}
	begun := time.Now()
	if n := reads(`SELECT * FROM iasql_changes_since(now() - interval '1 hour')`); n > 0 {
		t.Errorf("iasql_changes_since: reads %d rows of the audit log one after the other", n)
	}
	t.Logf("iasql_changes_since: %s", time.Since(begun).Round(time.Millisecond))
}

// changesHidden asks as somebody who does not see every row.
func changesHidden(t *testing.T, w *harness.World) {
	limited := w.Login("limited", "iasql_user")
	w.Admin(`ALTER TABLE queue ENABLE ROW LEVEL SECURITY`,
		`CREATE POLICY some_rows ON queue USING (current_user LIKE 'user%' OR name <> 'b')`)
	for who, want := range map[string]string{"cem": "0", "*cem*": "0", "Ana@Example.com": "1", "ana@example.com": "1"} {
		if got, err := w.TryPSQL(limited, `SELECT count(*) FROM iasql_changes_by('`+who+`')`); err != nil ||
			got != want {
			t.Errorf("who does not see the row sees %s changes by %s: %v", got, who, err)
		}
	}
	if got, err := w.TryPSQL(limited, `SELECT count(*) FROM iasql_internal.changers() c WHERE c LIKE '%cem%'`); err != nil || got != "0" {
		t.Errorf("who does not see the row sees the name %s: %v", got, err)
	}
	changesUseIndexes(t, limited, `'Ana@Example.com'`, `'cem'`) // of what he does not see every row is looked at
}
