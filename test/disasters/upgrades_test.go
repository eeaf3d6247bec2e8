package disasters

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"iasql/internal/test/harness"
)

var releases = flag.String("releases", "",
	"commits, oldest first: each is upgraded to the next one, and to this tree's engine")

// mostPause is how long a writer may wait for a migration.
const mostPause = 2 * time.Second

// TestUpgrades brings an installation from each release to the next, and to this tree's, with an engine of either
// beside each other, while several roles edit and users have columns, triggers and views of their own.
func TestUpgrades(t *testing.T) {
	if *releases == "" {
		t.Skip("make upgrades runs it")
	}
	results := &table{head: []string{"from", "to", "result", "records", "edits",
		"longest wait of a writer", "migration", "a step back"}}
	list := strings.Split(*releases, ",")
	for i, from := range list {
		t.Run(from+"-this_tree", func(t *testing.T) {
			upgraded(t, from, "this tree", built(t, from), harness.Engine(), results)
		})
		if i+1 < len(list) {
			to := list[i+1]
			t.Run(from+"-"+to, func(t *testing.T) {
				if why := known[from+"-"+to]; why != "" {
					results.add(from, to, "not run: "+why, "", "", "", "", "")
					t.Skip(why)
				}
				upgraded(t, from, to, built(t, from), built(t, to), results)
			})
		}
	}
	results.print(t)
}

// known are steps between two earlier releases that cannot be made: the engine that would make them is what it was.
// This tree's engine makes each of them in one.
var known = map[string]string{
	"5684cbba-c7de76e1": "migrations of c7de76e1 wait for locks while they hold others, and may end in a " +
		"deadlock with an edit",
	"202b924a-2bf785bf": "2bf785bf refuses migrations that have a lower number than what is there",
	"2bf785bf-efaca181": "migrations of efaca181 wait for locks while they hold others, and may end in a " +
		"deadlock with a cycle",
}

func built(t *testing.T, commit string) string {
	t.Helper()
	path, err := filepath.Abs("../../.cache/engine-" + commit)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("there is no engine of %s: scripts/earlier-engine.sh %s builds it", commit, commit)
	}
	return path
}

// serve starts an engine of any version, and returns how to end it.
func serve(w *harness.World, engine string) (stop func()) {
	w.Helper()
	log := &harness.Buffer{}
	before := w.Connected()
	cmd := exec.Command(engine, "serve", "--no-migrate")
	cmd.Env = slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "AWS_") })
	cmd.Env = append(cmd.Env, w.AWS.Env()...)
	cmd.Env = append(cmd.Env, "DATABASE_URL="+w.EngineURL)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	ended := false
	stop = func() {
		if !ended {
			ended = true
			_ = cmd.Process.Signal(os.Interrupt)
			_ = cmd.Wait()
		}
	}
	w.Cleanup(func() {
		stop()
		if w.Failed() {
			text := log.String()
			w.Logf("%s said last:\n%s", filepath.Base(engine), text[max(0, len(text)-3000):])
		}
	})
	w.Eventually(30*time.Second, filepath.Base(engine)+" connects", func() bool { return w.Connected() > before })
	return stop
}

// writer commits an edit of one record all the time, and notes the longest that one took.
type writer struct {
	stop, done chan struct{}
	longest    time.Duration
	edits      int
	err        error
}

func write(w *harness.World, url, statement string) *writer {
	r := &writer{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(r.done)
		conn, err := pgx.Connect(context.Background(), url)
		if err != nil {
			r.err = err
			return
		}
		defer func() { _ = conn.Close(context.Background()) }()
		for n := 0; ; n++ {
			select {
			case <-r.stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
			begun := time.Now()
			if _, err := conn.Exec(context.Background(), fmt.Sprintf(statement, n%600)); err != nil {
				r.err = err
				return
			}
			r.longest = max(r.longest, time.Since(begun))
			r.edits++
		}
	}()
	w.Cleanup(r.end)
	return r
}

func (r *writer) end() {
	select {
	case <-r.stop:
	default:
		close(r.stop)
	}
	<-r.done
}

// records is how many there are when a migration is measured.
const records = 100_000

func upgraded(t *testing.T, from, to, older, newer string, results *table) {
	var longest, took time.Duration
	var edits int
	back := ""
	defer func() {
		results.add(from, to, verdict(t), fmt.Sprint(records), fmt.Sprint(edits),
			fmt.Sprintf("%d ms", longest.Milliseconds()), fmt.Sprintf("%.1f s", took.Seconds()), back)
	}()
	s := &server{T: t, programs: oldest(t), data: filepath.Join(directory(t), "data")}
	emptyCluster(t, s.programs, s.data)
	s.start()
	s.exec("postgres", `CREATE DATABASE iasql`)
	migrate(t, older, s.url())
	s.exec("iasql", `GRANT CONNECT ON DATABASE iasql TO iasql_user, iasql_engine`)
	w := s.newWorld()
	other := w.Login("other", "iasql_user")
	stopOlder := serve(w, older)
	w.Install([]string{"us-east-1"}, "aws_sqs", "aws_vpc")
	w.Admin(`ALTER TABLE vpc ADD COLUMN owner_team text`,
		`CREATE VIEW my_queues AS SELECT q.name, q.delay_seconds, q.arn FROM queue q`, `GRANT SELECT ON my_queues TO iasql_user`,
		`CREATE TABLE noted (name text)`,
		`CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public AS $$BEGIN INSERT INTO noted VALUES (NEW.name); RETURN NEW; END$$`,
		`CREATE TRIGGER my_note AFTER INSERT ON queue FOR EACH ROW EXECUTE FUNCTION note()`)
	w.PSQL(`INSERT INTO queue (name) VALUES ('one'), ('two')`, `INSERT INTO vpc (cidr_block, owner_team) VALUES ('10.250.0.0/16', 'network')`)
	w.Settled()
	many(s)

	load := edit(w, w.UserURL)
	first, second := write(w, w.UserURL, `UPDATE queue SET delay_seconds = %d WHERE name = 'one'`),
		write(w, other, `UPDATE queue SET delay_seconds = %d WHERE name = 'two'`)
	time.Sleep(2 * time.Second)
	begun := time.Now()
	migrate(t, newer, s.url())
	took = time.Since(begun)
	serve(w, newer) // both are there
	time.Sleep(2 * time.Second)
	w.PSQL(`INSERT INTO queue (name) VALUES ('between')`)
	stopOlder()
	time.Sleep(time.Second)
	for _, r := range []*writer{first, second} {
		r.end()
		if r.err != nil {
			t.Errorf("a writer was refused: %v", r.err)
		}
		longest, edits = max(longest, r.longest), edits+r.edits
	}
	load.end()
	edits += len(load.queues) + len(load.vpcs)
	if load.broken > 0 {
		t.Errorf("%d edits failed", load.broken)
	}
	if longest > mostPause {
		t.Errorf("a writer waited for %s", longest)
	}
	if strings.Contains(s.log.String(), "deadlock detected") {
		t.Errorf("a deadlock:\n%s", s.log)
	}
	s.exec("iasql", `BEGIN; SET LOCAL session_replication_role = replica; DELETE FROM queue WHERE account = 'many'; DELETE FROM iasql_audit_log WHERE account = 'many';
		DELETE FROM aws_account WHERE name = 'many'; COMMIT`)
	w.Settled()
	equal(w, append(load.queues, "one", "two", "between"), append(load.vpcs, "10.250.0.0/16"))
	for _, name := range []string{"one", "two"} {
		if got, want := delay(w, name), w.PSQL(`SELECT delay_seconds FROM queue WHERE name = '`+name+`'`); got != want {
			t.Errorf("queue %s has a delay of %s in the cloud, and of %s in the tables", name, got, want)
		}
	}
	if got := w.PSQL(`SELECT owner_team FROM vpc WHERE cidr_block = '10.250.0.0/16'`, `SELECT count(*) FROM my_queues WHERE arn IS NOT NULL`); got != fmt.Sprintf("network\n%d", len(load.queues)+3) {
		t.Errorf("of the users' own there is %q", got)
	}
	if got := w.Admin(`SELECT count(*) FROM noted`); got != fmt.Sprint(len(load.queues)+3) {
		t.Errorf("the users' trigger has noted %s queues, wanted %d", got, len(load.queues)+3)
	}
	// A step back: the older engine at the database of the newer one says what it is.
	doctor := exec.Command(older, "doctor", "--only", "database", "--database-url", w.EngineURL)
	said, _ := doctor.CombinedOutput()
	out, err := exec.Command(older, "migrate", "--database-url", w.AdminURL).CombinedOutput()
	switch {
	case strings.Contains(string(said), "newer engine"):
		back = "the doctor says so"
	case strings.Contains(string(out), "newer"):
		back = "refused, and says so"
	case err != nil:
		back = "refused: " + strings.ReplaceAll(lastLine(string(out)), "|", "/")
	default:
		back = "nothing is said"
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	line := lines[len(lines)-1]
	return line[:min(len(line), 120)]
}

// many makes records, with their history, for migrations to go through. Their account has a profile that is not there,
// so that no engine looks at them.
func many(s *server) {
	s.Helper()
	s.exec("iasql", fmt.Sprintf(`BEGIN; SELECT set_config('iasql.origin', 'engine', true);
		SET LOCAL session_replication_role = replica;
		INSERT INTO aws_account (name, profile) VALUES ('many', 'none');
		INSERT INTO queue (account, region, name, url, arn) SELECT 'many', 'us-east-1', 'many-' || n, 'https://queue/' || n, 'arn:aws:sqs:us-east-1:1:many-' || n FROM generate_series(1, %[1]d) n;
		INSERT INTO iasql_audit_log ("user", table_name, record_id, account, change_type, change, origin, settled, settled_at)
		SELECT 'postgres', 'queue', q.id, 'many', 'INSERT', jsonb_build_object('change', jsonb_build_object('name', q.name)), 'engine', true, now() FROM queue q WHERE q.account = 'many';
		COMMIT`, records), `ANALYZE`)
}
