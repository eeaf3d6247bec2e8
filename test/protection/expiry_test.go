package protection

import (
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// ticking is a world in which what ends does so within seconds.
func ticking(t *testing.T, modules ...string) *harness.World {
	w := harness.Start(t, east, modules...)
	w.PSQL(`UPDATE iasql_settings SET value = '1 second' WHERE name = 'sync_interval'`)
	return w
}

// A record is deleted when its time has come: once, by its author's right, and along with what has expired besides.
func TestExpire(t *testing.T) {
	t.Parallel()
	w := ticking(t, "aws_sqs", "aws_vpc")
	w.PSQL(`INSERT INTO queue (name) VALUES ('short'), ('long'), ('saved'), ('kept')`,
		`INSERT INTO vpc (cidr_block) VALUES ('10.8.0.0/16')`,
		`INSERT INTO subnet (vpc_id, cidr_block, availability_zone)
		 SELECT id, '10.8.1.0/24', 'us-east-1a' FROM vpc WHERE cidr_block = '10.8.0.0/16'`)
	w.Settled()
	if got := w.PSQL(`SELECT string_agg(iasql_expire('queue', id, now() + interval '3 seconds')::text, ',') FROM queue
		WHERE name IN ('short', 'saved', 'kept')`); got != "true,true,true" {
		t.Errorf("expire: %s", got)
	}
	w.PSQL(`SELECT iasql_expire('queue', id, now() + interval '3 days') FROM queue WHERE name = 'long'`,
		`SELECT iasql_expire('queue', id, NULL) FROM queue WHERE name = 'saved'`,
		`SELECT iasql_protect('queue', id) FROM queue WHERE name = 'kept'`,
		// What is referred to comes first in time: it waits for the other.
		`SELECT iasql_expire('vpc', id, now() + interval '2 seconds') FROM vpc WHERE cidr_block = '10.8.0.0/16'`,
		`SELECT iasql_expire('subnet', id, now() + interval '3 seconds') FROM subnet WHERE cidr_block = '10.8.1.0/24'`)
	if got := w.PSQL(`SELECT count(*) FROM iasql_expiring WHERE what = 'record'`); got != "5" {
		t.Errorf("%s records expire", got)
	}
	// Announced, and no problem that needs a person.
	if got := w.PSQL(`SELECT DISTINCT state, needs_you FROM iasql_problems WHERE message LIKE 'it is deleted at%'`); got != "Expiring|f" {
		t.Errorf("announced: %s", got)
	}
	w.Becomes(minute, "kept,long,saved", `SELECT string_agg(name, ',' ORDER BY name) FROM queue`)
	w.Becomes(minute, "0", `SELECT count(*) FROM vpc WHERE cidr_block = '10.8.0.0/16'`)
	w.Becomes(minute, "1", `SELECT count(*) FROM iasql_problems WHERE state = 'Expired' AND needs_you AND message LIKE '%protected%'`)
	if got := w.PSQL(`SELECT "user" || ': ' || message FROM iasql_audit_log l WHERE change_type = 'DELETE' AND table_name = 'queue'`); !strings.HasPrefix(got, w.PSQL(`SELECT session_user`)+": it has expired") || strings.Contains(got, "\n") {
		t.Errorf("the log says %s", got)
	}
	if got := w.PSQL(`SELECT DISTINCT how_known FROM iasql_changes_since(now() - interval '1 hour') WHERE table_name = 'queue' AND action = 'delete'`); got != "expiry" {
		t.Errorf("it is known as %s", got)
	}
	w.PSQL(`SELECT iasql_unprotect('queue', id) FROM queue WHERE name = 'kept'`)
	w.Becomes(minute, "long,saved", `SELECT string_agg(name, ',' ORDER BY name) FROM queue`)
	w.Settled()
	for _, gone := range []string{"short", "kept"} {
		if got := w.CLI("sqs", "list-queues", "--queue-name-prefix", gone)["QueueUrls"]; got != nil {
			t.Errorf("the cloud has %v", got)
		}
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_expiring`); got != "1" {
		t.Errorf("%s still expire", got)
	}
}

// Whoever has lost the right to delete deletes nothing later, and who is hidden rows may not ask for it.
func TestExpiryNeedsTheRight(t *testing.T) {
	t.Parallel()
	w := ticking(t, "aws_sqs")
	ann := w.Login("ann", "iasql_user")
	name, err := w.TryPSQL(ann, `SELECT current_user`)
	if err != nil {
		t.Fatal(err)
	}
	w.PSQL(`INSERT INTO queue (name) VALUES ('one'), ('two')`)
	w.Settled()
	if out, err := w.TryPSQL(ann, `SELECT iasql_expire('queue', id, now() + interval '4 seconds') FROM queue`); err != nil {
		t.Fatal(out, err)
	}
	w.Admin(`REVOKE iasql_user FROM ` + name)
	w.Becomes(minute, "2", `SELECT count(*) FROM iasql_problems WHERE state = 'Expired' AND message LIKE '%' || '`+name+` may not DELETE from queue%'`)
	w.Admin(`GRANT iasql_user TO `+name, `SET ROLE iasql_engine`, `ALTER TABLE queue ENABLE ROW LEVEL SECURITY`,
		`CREATE POLICY everything ON queue USING (true)`)
	w.Becomes(minute, "2", `SELECT count(*) FROM iasql_problems WHERE state = 'Expired' AND message LIKE '%row-level security of queue applies to%'`)
	if out, err := w.TryPSQL(ann, `SELECT iasql_expire('queue', id, now() + interval '1 day') FROM queue`); err == nil || !strings.Contains(out+err.Error(), "42501") {
		t.Errorf("%s %v", out, err)
	}
	w.Admin(`SET ROLE iasql_engine`, `ALTER TABLE queue DISABLE ROW LEVEL SECURITY`)
	w.Becomes(minute, "0", `SELECT count(*) FROM queue`)
	for statement, want := range map[string]string{
		`SELECT iasql_expire('queu', 1, now() + interval '1 day')`:                      "IA006",
		`SELECT iasql_expire('queue', NULL, now() + interval '1 day')`:                  "IA055",
		`SELECT iasql_expire('queue', 999, now() + interval '1 day')`:                   "IA006",
		`SELECT iasql_expire('aws_regions', (SELECT min(id) FROM aws_regions), now())`:  "IA057",
		`INSERT INTO iasql_mode (mode, until) VALUES ('PAUSE', now() - interval '1 s')`: "IA057",
	} {
		refused(t, w, []string{want}, statement)
	}
}

// Rules end by themselves, and what they have held back goes on.
func TestUntil(t *testing.T) {
	t.Parallel()
	w := ticking(t, "aws_sqs")
	w.PSQL(`INSERT INTO queue (name) VALUES ('jobs')`)
	w.Settled()
	w.PSQL(`INSERT INTO iasql_mode (mode, table_name, until) VALUES ('PAUSE', 'queue', now() + interval '4 seconds')`,
		`INSERT INTO iasql_ignore (match, until) VALUES ('{"name": "other-*"}', now() + interval '4 seconds')`,
		`SELECT iasql_protect('queue', id, until => now() + interval '4 seconds') FROM queue`,
		`UPDATE queue SET delay_seconds = 9`)
	w.CLI("sqs", "create-queue", "--queue-name", "other-1")
	refused(t, w, []string{"IA050"}, `DELETE FROM queue`)
	if got := w.PSQL(`SELECT string_agg(what, ',' ORDER BY what) FROM iasql_expiring`); got != "PAUSE,ignored,protected" {
		t.Errorf("%s end", got)
	}
	w.Becomes(minute, "0", `SELECT count(*) FROM iasql_expiring`)
	w.Becomes(minute, "jobs,other-1", `SELECT string_agg(name, ',' ORDER BY name) FROM queue`)
	w.Settled()
	if got := w.PSQL(`SELECT count(*) FROM iasql_mode`, `SELECT count(*) FROM iasql_protection`); got != "0\n0" {
		t.Errorf("rules: %s", got)
	}
	// A rule about what has gone can still be given an end.
	w.PSQL(`INSERT INTO iasql_mode (mode, table_name, record_id) SELECT 'ENFORCE', 'queue', id FROM queue`, `DELETE FROM queue`)
	w.Settled()
	w.PSQL(`UPDATE iasql_mode SET until = now() + interval '1 second'`)
	w.Becomes(minute, "0", `SELECT count(*) FROM iasql_mode`)
	// What is paused without an end is said after a week.
	w.PSQL(`INSERT INTO iasql_mode (mode, since) VALUES ('PAUSE', now() - interval '8 days')`)
	if got := w.PSQL(`SELECT record, state FROM iasql_problems WHERE message LIKE '%has no end%'`); got != "database|Paused" {
		t.Errorf("paused for long: %s", got)
	}
}

// What goes along with a record takes the right to delete that, too.
func TestExpiryNeedsTheRightToParts(t *testing.T) {
	t.Parallel()
	w := ticking(t, "aws_security_group")
	ann := w.Login("ann", "iasql_user")
	w.PSQL(`INSERT INTO security_group (group_name, description, vpc_id) SELECT 'brief', 'b', id FROM vpc WHERE is_default`)
	w.Settled()
	const expire = `SELECT iasql_expire('security_group', id, now() + interval '3 seconds') FROM security_group WHERE group_name = 'brief'`
	w.Admin(`REVOKE DELETE ON security_group_rule FROM iasql_user`)
	if out, err := w.TryPSQL(ann, expire); err == nil || !strings.Contains(out+err.Error(), "may not DELETE from security_group_rule") {
		t.Errorf("without the right to its rules: %s %v", out, err)
	}
	w.Admin(`GRANT DELETE ON security_group_rule TO iasql_user`)
	if out, err := w.TryPSQL(ann, expire); err != nil {
		t.Fatal(out, err)
	}
	w.Admin(`REVOKE DELETE ON security_group_rule FROM iasql_user`)
	w.Becomes(minute, "1", `SELECT count(*) FROM iasql_problems WHERE state = 'Expired' AND message LIKE '%may not DELETE from security_group_rule%'`)
	w.Admin(`GRANT DELETE ON security_group_rule TO iasql_user`)
	w.Becomes(minute, "0", `SELECT count(*) FROM security_group WHERE group_name = 'brief'`)
}

// An instance of a composition takes its parts along, if its author may delete those, too.
func TestExpiryOfAComposition(t *testing.T) {
	t.Parallel()
	w := ticking(t, "aws_vpc")
	w.PSQL(`SELECT * FROM iasql_install('network')`)
	ann := w.Login("ann", "iasql_user")
	w.PSQL(`INSERT INTO network (name, zones, nat) VALUES ('brief', 1, 'none')`)
	w.Settled()
	if out, err := w.TryPSQL(ann, `SELECT iasql_expire('network', id, now() + interval '3 seconds') FROM network`); err != nil {
		t.Fatal(out, err)
	}
	w.Admin(`REVOKE DELETE ON vpc FROM iasql_user`)
	w.Becomes(minute, "1", `SELECT count(*) FROM iasql_problems WHERE state = 'Expired' AND message LIKE '%may not DELETE from vpc%'`)
	w.Admin(`GRANT DELETE ON vpc TO iasql_user`)
	w.Becomes(minute, "0", `SELECT count(*) FROM network`)
	w.Settled()
	if got := w.PSQL(`SELECT count(*) FROM vpc WHERE tags ->> 'Name' LIKE 'brief%'`, `SELECT count(*) FROM iasql_parts`); got != "0\n0" {
		t.Errorf("left: %s", got)
	}
}
