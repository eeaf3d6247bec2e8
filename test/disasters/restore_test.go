package disasters

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
)

// TestPointInTime: a database is recovered to a moment at which edits were pending that have been carried out since,
// and undone again in part. None of it is done to what is newer.
func TestPointInTime(t *testing.T) {
	each(t, true, func(t *testing.T, pg programs) {
		archive, backup := directory(t), filepath.Join(directory(t), "data")
		origin := newServer(t, pg, "", "archive_mode=on", "archive_command=test ! -f "+archive+"/%f && cp %p "+
			archive+"/%f")
		w := origin.newWorld()
		origin.run(t, "pg_basebackup", "-D", backup, "-X", "none", "-c", "fast", "-d", origin.database("postgres")+
			"&application_name=backup")

		engine := w.Serve()
		w.Install([]string{"us-east-1"}, "aws_sqs", "aws_vpc")
		// a creation of then may just not be seen
		w.Admin(`UPDATE iasql_settings SET value = '5 seconds' WHERE name = 'consistency_window'`)
		w.PSQL(`INSERT INTO queue (name) VALUES ('kept'), ('kept2'), ('anew'), ('goes'), ('changed')`,
			`INSERT INTO vpc (cidr_block) VALUES ('10.1.0.0/16'), ('10.4.0.0/16'), ('10.5.0.0/16'), ('10.6.0.0/16')`)
		w.Settled()
		w.PSQL(`INSERT INTO iasql_mode (table_name, mode) VALUES ('queue', 'ENFORCE')`, `SELECT iasql_sync_now()`)
		time.Sleep(6 * time.Second) // what an engine made a moment ago it takes for its own
		w.PSQL(`SELECT iasql_sync_now()`)
		engine.Stop()
		// The moment: these wait for an engine.
		w.PSQL(`DELETE FROM queue WHERE name = 'anew'`, `UPDATE queue SET delay_seconds = 3 WHERE name = 'changed'`,
			`INSERT INTO queue (name) VALUES ('short')`, `INSERT INTO vpc (cidr_block) VALUES ('10.2.0.0/16')`)
		origin.exec("postgres", `SELECT pg_create_restore_point('moment')`)
		time.Sleep(1100 * time.Millisecond) // creation times of queues are whole seconds
		engine = w.Serve()
		w.Settled()
		w.PSQL(`DELETE FROM queue WHERE name IN ('goes', 'short')`,
			`UPDATE queue SET delay_seconds = 7 WHERE name = 'changed'`,
			`INSERT INTO queue (name) VALUES ('anew'), ('newer')`, `DELETE FROM vpc WHERE cidr_block = '10.4.0.0/16'`,
			`INSERT INTO vpc (cidr_block) VALUES ('10.3.0.0/16')`)
		w.Settled()
		wantQueues, wantVPCs := []string{"anew", "changed", "kept", "kept2", "newer"},
			[]string{"10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16", "10.5.0.0/16", "10.6.0.0/16"}
		equal(w, wantQueues, wantVPCs)
		anew := w.PSQL(`SELECT created_at FROM queue WHERE name = 'anew'`)
		engine.Stop()
		origin.exec("postgres", `SELECT pg_switch_wal()`)
		origin.until("t", `SELECT last_archived_wal >= pg_walfile_name(pg_current_wal_lsn() - 1) FROM pg_stat_archiver`)
		origin.stop()

		restored := &server{T: t, programs: pg, data: backup,
			args: []string{"archive_mode=off", "restore_command=cp " + archive + "/%f %p",
				"recovery_target_name=moment", "recovery_target_action=promote"}}
		mapping(t, filepath.Join(backup, "recovery.signal"))
		restored.start()
		restored.until("f", `SELECT pg_is_in_recovery()`)
		move(w, restored)
		if got := w.PSQL(`SELECT count(*) FROM iasql_audit_log WHERE NOT settled`); got != "4" {
			t.Fatalf("%s changes are pending in the database of then, wanted 4", got)
		}
		w.Serve()
		w.PSQL(`SELECT iasql_sync_now()`)
		if why := asked(w); !strings.Contains(why, "timeline") {
			t.Errorf("it asks: %q", why)
		}
		untouched := func(when string) {
			t.Helper()
			if got := strings.Join(queues(w), " "); got != strings.Join(wantQueues, " ") {
				t.Errorf("%s the cloud has the queues %s", when, got)
			}
			if got := strings.Join(vpcs(w), " "); got != strings.Join(wantVPCs, " ") {
				t.Errorf("%s the cloud has the VPCs %s", when, got)
			}
			if got := delay(w, "changed"); got != "7" {
				t.Errorf("%s the changed queue has a delay of %s", when, got)
			}
		}
		untouched("before anybody has answered")
		list := w.Admin(`SELECT iasql_confirm('restored', dry_run => true)`)
		t.Logf("the list:\n%s", list)
		for _, wants := range []string{"DELETE of queue", "UPDATE of queue", "INSERT of queue", "INSERT of vpc",
			"ENFORCE holds for queue"} {
			if !strings.Contains(list, wants) {
				t.Errorf("%q is not in the list", wants)
			}
		}
		// As docs/operating.md says: what is not meant is taken back, be it by its old value. The rest is what a person
		// may overlook: the VPC is not made a second time.
		w.PSQL(`DELETE FROM iasql_mode`, `DELETE FROM queue WHERE name = 'short'`,
			`UPDATE queue SET delay_seconds = 0 WHERE name = 'changed'`)
		w.Admin(`SELECT iasql_confirm('restored')`)
		w.PSQL(`SELECT iasql_sync_now()`)
		w.Becomes(time.Minute, "0", `SELECT count(*) FROM iasql_audit_log l WHERE NOT settled AND NOT EXISTS (SELECT FROM iasql_status s WHERE s.table_name = l.table_name AND s.record_id = l.record_id AND s.review)`)
		untouched("after the confirmation")
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
		untouched("in the end")
		equal(w, wantQueues, wantVPCs)
		if got := w.PSQL(`SELECT created_at FROM queue WHERE name = 'anew'`); got != anew {
			t.Errorf("the queue that was made anew is of %s, wanted %s", got, anew)
		}
	})
}

func mapping(t *testing.T, path string) {
	t.Helper()
	programs{}.run(t, "touch", path)
}

// TestNewerMajor: a dump is restored into a newer major version of PostgreSQL. There it asks, and then goes on.
func TestNewerMajor(t *testing.T) {
	t.Parallel()
	old, target := oldest(t), newest(t)
	if old.major == target.major {
		t.Skipf("there is no PostgreSQL older than %d: make deps installs Debian's", target.major)
	}
	origin := newServer(t, old, "")
	w := origin.newWorld()
	engine := w.Serve()
	w.Install([]string{"us-east-1"}, "aws_sqs", "aws_vpc")
	// a creation of then may just not be seen
	w.Admin(`UPDATE iasql_settings SET value = '5 seconds' WHERE name = 'consistency_window'`)
	w.PSQL(`INSERT INTO queue (name) VALUES ('kept'), ('kept2'), ('kept3'), ('gone')`,
		`INSERT INTO vpc (cidr_block, tags) VALUES ('10.1.0.0/16', '{"Name": "one"}')`)
	w.Settled()
	engine.Stop()
	w.PSQL(`DELETE FROM queue WHERE name = 'gone'`, `INSERT INTO vpc (cidr_block) VALUES ('10.2.0.0/16')`)
	ids := w.PSQL(`SELECT string_agg(id || ' ' || name, ',' ORDER BY id) FROM queue`)

	// Taken by the newer version's programs, as PostgreSQL's manual has it.
	dir := directory(t)
	target.run(t, "pg_dumpall", "--roles-only", "--no-role-passwords", "-f", filepath.Join(dir, "roles.sql"), "-d",
		origin.database("postgres"))
	target.run(t, "pg_dump", "-Fc", "-f", filepath.Join(dir, "dump"), "-d", origin.url())
	origin.stop()
	next := &server{T: t, programs: target, data: filepath.Join(dir, "data")}
	emptyCluster(t, target, next.data)
	next.start()
	next.exec("postgres", `CREATE DATABASE iasql`)
	// The role postgres is there already.
	roles := exec.Command("psql", "-X", "-q", "-d", next.database("postgres"), "-f", filepath.Join(dir, "roles.sql"))
	if out, err := roles.CombinedOutput(); err != nil || bytes.Count(out, []byte("ERROR")) > 1 {
		t.Fatalf("restore the roles: %v\n%s", err, out)
	}
	target.run(t, "pg_restore", "--exit-on-error", "-d", next.url(), filepath.Join(dir, "dump"))
	for _, u := range []string{w.UserURL, w.EngineURL} { // roles were dumped without what only superusers may read
		next.exec("postgres", `ALTER ROLE `+login(t, u)+` PASSWORD 'secret'`)
	}
	move(w, next)
	if out, err := exec.Command(harness.Engine(), "migrate", "--admin-url", next.url(), "--database-url",
		w.EngineURL).CombinedOutput(); err != nil {
		t.Fatalf("migrate: %v\n%s", err, out)
	}
	w.Serve()
	w.PSQL(`SELECT iasql_sync_now()`)
	if why := asked(w); !strings.Contains(why, "another server") {
		t.Errorf("it asks: %q", why)
	}
	if got := strings.Join(queues(w), " ") + " " + strings.Join(vpcs(w), " "); got != "gone kept kept2 kept3 10.1.0.0/16" {
		t.Errorf("before anybody has answered, the cloud has %s", got)
	}
	if got := w.PSQL(`SELECT string_agg(id || ' ' || name, ',' ORDER BY id) FROM queue WHERE name <> 'gone'`); got != ids {
		t.Errorf("the rows are %s, and were %s", got, ids)
	}
	if got := w.PSQL(`SELECT tags ->> 'Name' FROM vpc WHERE cidr_block = '10.1.0.0/16'`); got != "one" {
		t.Errorf("the tag is %s", got)
	}
	w.Admin(`SELECT iasql_confirm('restored')`)
	w.Settled()
	w.PSQL(`UPDATE queue SET delay_seconds = 5 WHERE name = 'kept'`, `INSERT INTO queue (name) VALUES ('there')`)
	w.Settled()
	equal(w, []string{"kept", "kept2", "kept3", "there"}, []string{"10.1.0.0/16", "10.2.0.0/16"})
	// A batch asks the engine through the database's connection to itself.
	w.PSQL(`CALL iasql_begin('moved')`, `UPDATE queue SET delay_seconds = 6 WHERE name = 'kept'`, `CALL iasql_commit()`)
	if got := delay(w, "kept"); got != "6" {
		t.Errorf("after a commit the queue has a delay of %s", got)
	}
}
