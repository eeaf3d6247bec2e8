package disasters

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"iasql/internal/test/harness"
)

var matrix = flag.Bool("matrix", false, "do every version of PostgreSQL, and every way from one to another")

// table collects what is printed at the end, a line a trial.
type table struct {
	lock  sync.Mutex
	head  []string
	lines [][]string
}

func (b *table) add(cells ...string) {
	b.lock.Lock()
	defer b.lock.Unlock()
	b.lines = append(b.lines, cells)
}

func (b *table) print(t *testing.T) {
	t.Helper()
	slices.SortFunc(b.lines, slices.Compare)
	rule := make([]string, len(b.head))
	for i := range rule {
		rule[i] = "---"
	}
	for _, line := range append([][]string{b.head, rule}, b.lines...) {
		fmt.Println("| " + strings.Join(line, " | ") + " |")
	}
}

func verdict(t *testing.T) string {
	if t.Failed() {
		return "FAILED"
	}
	return "passed"
}

// installation starts a server whose database sorts by ICU, has pg_cron where this version has it, and has
// used up an epoch of transactions: a server that its dump is restored into is behind it.
func installation(t *testing.T, pg programs) (*server, *harness.World) {
	t.Helper()
	s := &server{T: t, programs: pg, data: filepath.Join(directory(t), "data")}
	emptyCluster(t, pg, s.data)
	configure(t, s)
	pg.run(t, "pg_resetwal", "-e", "1", "-D", s.data)
	s.start()
	createDatabase(s)
	migrate(t, harness.Engine(), s.url())
	s.exec("iasql", `GRANT CONNECT ON DATABASE iasql TO iasql_user, iasql_engine, iasql_reader`)
	w := s.newWorld()
	migrateAsAdministrator(w)
	return s, w
}

func createDatabase(s *server) {
	s.Helper()
	s.exec("postgres", `CREATE DATABASE iasql TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'`)
}

// configure writes what an administrator has in postgresql.conf.
func configure(t *testing.T, s *server) {
	t.Helper()
	if !hasCron(s.programs) {
		return
	}
	conf := filepath.Join(s.data, "postgresql.conf")
	f, err := os.OpenFile(conf, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("shared_preload_libraries = 'pg_cron'\ncron.database_name = 'iasql'\n" +
		"cron.use_background_workers = on\n"); err != nil {
		t.Fatal(err)
	}
}

func hasCron(pg programs) bool {
	_, err := os.Stat(filepath.Join(pg.bin, "../lib/pg_cron.so"))
	return err == nil
}

func migrateAsAdministrator(w *harness.World) {
	w.Helper()
	if out, err := exec.Command(harness.Engine(), "migrate", "--admin-url", w.AdminURL, "--database-url",
		w.EngineURL).CombinedOutput(); err != nil {
		w.Fatalf("migrate: %v\n%s", err, out)
	}
}

// picture has a line for each table and each sequence of an installation, with a hash of all rows. Left out is what
// changes without an engine: what pg_cron does each minute.
const picture = `
SELECT string_agg(line, E'\n' ORDER BY line COLLATE "C") FROM (
	SELECT c.oid::regclass || ' ' || (xpath('/row/c/text()', query_to_xml(format(
		'SELECT count(*) || '' '' || coalesce(md5(string_agg(t::text, E''\n'' ORDER BY t::text COLLATE "C")), '''') AS c FROM %s t', c.oid::regclass),
		false, true, '')))[1]::text AS line
	FROM pg_class c WHERE c.relkind = 'r' AND (c.relnamespace = ANY ('{public,iasql_internal,iasql_river}'::regnamespace[]) OR c.oid = to_regclass('cron.job'))
		AND c.relname <> 'river_job'
	UNION ALL
	SELECT q.schemaname || '.' || q.sequencename || ' ' || coalesce(q.last_value, 0) FROM pg_sequences q
	WHERE q.schemaname = ANY ('{public,iasql_internal,iasql_river}') AND q.sequencename <> 'river_job_id_seq'
	UNION ALL
	SELECT 'push jobs ' || count(*) FROM iasql_river.river_job j WHERE j.kind = 'push') p`

// forgetVersions is from docs/upgrading.md: PostgreSQL 17.12 of Debian notes a version with each column, which 18.6
// refuses to be told. ALTER TABLE … RESET does not take it away.
const forgetVersions = `UPDATE pg_attribute SET attoptions = (SELECT array_agg(o) FROM unnest(attoptions) o WHERE o NOT LIKE 'pg_attver=%')
	WHERE attoptions::text LIKE '%pg_attver=%'`

// differing returns the lines that only one of two pictures has.
func differing(before, after string) (lines []string) {
	was, is := strings.Split(before, "\n"), strings.Split(after, "\n")
	for _, line := range was {
		if !slices.Contains(is, line) {
			lines = append(lines, "before: "+line)
		}
	}
	for _, line := range is {
		if !slices.Contains(was, line) {
			lines = append(lines, "after: "+line)
		}
	}
	return lines
}

const (
	openBatches  = `SELECT string_agg(concat_ws(' ', id, phase, records), ',' ORDER BY id) FROM iasql_batches WHERE outcome IS NULL`
	jobsOfPgCron = `SELECT CASE WHEN to_regclass('cron.job') IS NULL THEN 'none' ELSE
		(xpath('/row/c/text()', query_to_xml('SELECT count(*) AS c FROM cron.job WHERE jobname = ''iasql-sync''', false, true, '')))[1]::text END`
)

// TestVersions installs into each version of PostgreSQL that there is, and brings an installation from each to each
// newer one: by pg_dump, by pg_upgrade, and by pg_upgrade --link.
func TestVersions(t *testing.T) {
	if !*matrix {
		t.Skip("make versions runs it")
	}
	versions := &table{head: []string{"PostgreSQL", "installed from nothing", "test/contract", "pg_cron", "seconds"}}
	ways := &table{head: []string{"from", "to", "by", "result", "statistics kept", "extensions updated",
		"collation", "seconds"}}
	t.Run("install", func(t *testing.T) {
		for _, pg := range found() {
			t.Run(fmt.Sprint(pg.major), func(t *testing.T) { installed(t, pg, versions) })
		}
	})
	t.Run("move", func(t *testing.T) {
		for _, from := range found() {
			for _, to := range found() {
				for _, way := range []string{"pg_dump", "pg_upgrade", "pg_upgrade --link"} {
					if from.major < to.major {
						t.Run(fmt.Sprintf("%d-%d-%s", from.major, to.major, strings.ReplaceAll(way, " ", "")),
							func(t *testing.T) {
								t.Parallel()
								moved(t, from, to, way, ways)
							})
					}
				}
			}
		}
	})
	versions.print(t)
	fmt.Println()
	ways.print(t)
}

// installed runs the tests of the SQL contract on a server of a version.
func installed(t *testing.T, pg programs, results *table) {
	begun := time.Now()
	s := &server{T: t, programs: pg, data: filepath.Join(directory(t), "data")}
	emptyCluster(t, pg, s.data)
	configure(t, s)
	s.start()
	cron := "none"
	defer func() {
		results.add(fmt.Sprint(pg.major), verdict(t), verdict(t), cron,
			fmt.Sprintf("%.0f", time.Since(begun).Seconds()))
	}()
	createDatabase(s)
	migrate(t, harness.Engine(), s.url())
	if hasCron(pg) {
		cron = s.exec("iasql", `SELECT extversion FROM pg_extension WHERE extname = 'pg_cron'`)
	}
	cmd := exec.Command("go", "test", "-count=1", "-short", "-vet=off", "-timeout", "15m", "iasql/test/contract")
	cmd.Env = append(os.Environ(), "IASQL_TEST_DATABASE_URL="+s.database("postgres"),
		"IASQL_TEST_ENGINE="+harness.Engine())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go test ./test/contract: %v\n%s", err, out)
	}
}

// moved takes an installation with open batches and pending changes from one version to another.
func moved(t *testing.T, from, to programs, way string, results *table) {
	begun := time.Now()
	var statistics, extensions, collation string
	defer func() {
		results.add(fmt.Sprint(from.major), fmt.Sprint(to.major), way, verdict(t), statistics,
			cmp.Or(extensions, "none"), collation, fmt.Sprintf("%.0f", time.Since(begun).Seconds()))
	}()
	origin, w := installation(t, from)
	lead := w.Login("lead", "iasql_user")
	engine := w.Serve()
	w.Install([]string{"us-east-1"}, "aws_sqs", "aws_vpc")
	// A creation of then may just not be seen.
	w.Admin(`UPDATE iasql_settings SET value = '5 seconds' WHERE name = 'consistency_window'`,
		`ALTER TABLE vpc ADD COLUMN owner_team text`,
		`CREATE VIEW my_queues AS SELECT q.name, q.delay_seconds, q.arn FROM queue q`, `GRANT SELECT ON my_queues TO iasql_user`,
		`CREATE TABLE noted (name text)`,
		`CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = public AS $$BEGIN INSERT INTO noted VALUES (NEW.name); RETURN NEW; END$$`,
		`CREATE TRIGGER my_note AFTER INSERT ON queue FOR EACH ROW EXECUTE FUNCTION note()`)
	w.PSQL(`INSERT INTO queue (name) VALUES ('alpha'), ('Zebra'), ('apple'), ('gone')`,
		`INSERT INTO vpc (cidr_block, tags, owner_team) VALUES ('10.1.0.0/16', '{"Name": "one"}', 'network')`)
	w.Settled()
	w.PSQL(`CALL iasql_begin('edited')`, `INSERT INTO queue (name) VALUES ('staged')`,
		`UPDATE queue SET delay_seconds = 4 WHERE name = 'apple'`)
	w.Admin(`UPDATE iasql_settings SET value = '1' WHERE name = 'required_approvals'`)
	w.PSQL(`CALL iasql_begin('approved')`, `INSERT INTO vpc (cidr_block) VALUES ('10.9.0.0/16')`)
	if _, err := w.TryPSQL(w.UserURL, `CALL iasql_join('approved')`, `CALL iasql_commit()`); err == nil ||
		!strings.Contains(err.Error(), "IA027") {
		t.Fatalf("a commit without an approval: %v", err)
	}
	preview := func() string {
		return w.PSQL(`CALL iasql_join('edited')`,
			`SELECT string_agg(concat_ws(' ', p.*), E'\n' ORDER BY concat_ws(' ', p.*)) FROM iasql_preview() p`)
	}
	planned := preview()
	engine.Stop()
	w.PSQL(`DELETE FROM queue WHERE name = 'gone'`, `INSERT INTO vpc (cidr_block) VALUES ('10.2.0.0/16')`)
	pending := w.Admin(`SELECT count(*) FROM iasql_audit_log WHERE NOT settled`)
	cron := origin.exec("iasql", jobsOfPgCron)
	origin.exec("iasql", `ANALYZE`)
	if origin.exec("iasql", `SELECT count(*) FROM pg_attribute WHERE attoptions::text LIKE '%pg_attver=%'`) != "0" {
		origin.exec("iasql", forgetVersions)
		way += ", without pg_attver"
	}
	before := origin.exec("iasql", picture)
	if n := strings.Count(before, "\n"); n < 100 {
		t.Fatalf("the picture has %d lines only:\n%s", n, before)
	}

	next := &server{T: t, programs: to, data: filepath.Join(directory(t), "data")}
	dumped := strings.HasPrefix(way, "pg_dump")
	if dumped {
		byDump(t, origin, next)
	} else {
		byUpgrade(t, origin, next, strings.Contains(way, "--link"))
	}
	if after := next.exec("iasql", picture); after != before {
		t.Errorf("tables and sequences that are not what they were:\n%s", strings.Join(differing(before, after), "\n"))
	}
	move(w, next)
	lead = strings.Replace(lead, fmt.Sprint(":", origin.port), fmt.Sprint(":", next.port), 1)
	// What docs/upgrading.md has an administrator do.
	statistics = map[bool]string{true: "no", false: "yes"}[next.exec("iasql",
		`SELECT count(*) FROM pg_stats WHERE tablename = 'iasql_audit_log'`) == "0"]
	collation = next.exec("iasql", `SELECT datcollversion || ' → ' || pg_database_collation_actual_version(oid) FROM pg_database WHERE datname = current_database()`)
	extensions = next.exec("iasql", `SELECT coalesce(string_agg(format('%s %s → %s', name, installed_version, default_version), ', '), '') FROM pg_available_extensions WHERE installed_version <> default_version`)
	doctor := func() string {
		out, _ := exec.Command(harness.Engine(), "doctor", "--only", "database", "--database-url",
			w.EngineURL).CombinedOutput()
		return string(out)
	}
	migrateAsAdministrator(w)
	if said := doctor(); extensions != "" && !strings.Contains(said, "ALTER EXTENSION") {
		t.Errorf("extensions are old (%s), and the doctor says\n%s", extensions, said)
	} else if !dumped && !strings.Contains(said, "REFRESH COLLATION VERSION") {
		t.Errorf("the collation is another (%s), and the doctor says\n%s", collation, said)
	}
	for _, statement := range strings.Split(next.exec("iasql", `SELECT coalesce(string_agg(format('ALTER EXTENSION %I UPDATE', name), ';'), '') FROM pg_available_extensions WHERE installed_version <> default_version`), ";") {
		if statement != "" {
			next.exec("iasql", statement)
		}
	}
	next.exec("iasql", `REINDEX DATABASE iasql`, `ALTER DATABASE iasql REFRESH COLLATION VERSION`, `ANALYZE`)
	if said := doctor(); strings.Contains(said, "ALTER EXTENSION") ||
		strings.Contains(said, "REFRESH COLLATION VERSION") {
		t.Errorf("after that the doctor says\n%s", said)
	}

	w.Serve()
	w.PSQL(`SELECT iasql_sync_now()`)
	if why := asked(w); !strings.Contains(why, "another server") {
		t.Errorf("it asks: %q", why)
	}
	if got := strings.Join(slices.Concat(queues(w), vpcs(w)), " "); got != "Zebra alpha apple gone 10.1.0.0/16" {
		t.Errorf("before anybody has answered, the cloud has %s", got)
	}
	if got := w.Admin(`SELECT count(*) FROM iasql_audit_log WHERE NOT settled AND pg_visible_in_snapshot(xid, pg_current_snapshot())`); got != pending {
		t.Errorf("of what was pending who waits sees %s changes, wanted %s", got, pending)
	}
	if got := next.exec("iasql", jobsOfPgCron); got != cron {
		t.Errorf("pg_cron has %s jobs, and had %s", got, cron)
	}
	w.Admin(`SELECT iasql_confirm('restored')`)
	w.Becomes(time.Minute, "t", `SELECT count(*) = 1 FROM vpc WHERE cidr_block = '10.2.0.0/16' AND vpc_id IS NOT NULL`)
	if got := preview(); got != planned {
		t.Errorf("the batch would do\n%s\nand before\n%s", got, planned)
	}
	if _, err := w.TryPSQL(lead, `CALL iasql_join('approved')`, `SELECT iasql_approve((SELECT id FROM iasql_batches WHERE name = 'approved'), iasql_preview_hash())`); err != nil {
		t.Errorf("approve: %v", err)
	}
	w.PSQL(`CALL iasql_join('approved')`, `CALL iasql_commit()`)
	w.Admin(`UPDATE iasql_settings SET value = '0' WHERE name = 'required_approvals'`)
	w.PSQL(`CALL iasql_join('edited')`, `CALL iasql_commit()`)
	noted := w.Admin(`SELECT count(*) FROM noted`)
	w.PSQL(`INSERT INTO queue (name) VALUES ('there')`, `UPDATE vpc SET tags = tags || '{"Stage": "two"}' WHERE owner_team = 'network'`)
	w.Settled()
	equal(w, []string{"Zebra", "alpha", "apple", "staged", "there"},
		[]string{"10.1.0.0/16", "10.2.0.0/16", "10.9.0.0/16"})
	if got := delay(w, "apple"); got != "4" {
		t.Errorf("after the commit the queue has a delay of %s", got)
	}
	if got := w.Admin(`SELECT count(*) - ` + noted + ` FROM noted`); got != "1" {
		t.Errorf("the user's trigger has noted %s rows, wanted 1", got)
	}
	if got := w.PSQL(`SELECT count(*) FROM my_queues WHERE arn IS NOT NULL`); got != "5" {
		t.Errorf("the user's view has %s rows, wanted 5", got)
	}
	if got := w.PSQL(`SELECT string_agg(name, ' ' ORDER BY name) FROM queue`); got != "alpha apple staged there Zebra" {
		t.Errorf("sorted by name: %s", got)
	}
	if got := w.PSQL(openBatches); got != "" {
		t.Errorf("open batches: %s", got)
	}
}

// byDump takes a dump by the newer version's programs, as PostgreSQL's manual has it, and restores it.
func byDump(t *testing.T, origin, next *server) {
	t.Helper()
	dir := directory(t)
	next.run(t, "pg_dumpall", "--roles-only", "-f", filepath.Join(dir, "roles.sql"), "-d", origin.database("postgres"))
	next.run(t, "pg_dump", "-Fc", "-f", filepath.Join(dir, "dump"), "-d", origin.url())
	origin.stop()
	emptyCluster(t, next.programs, next.data)
	configure(t, next)
	next.start()
	createDatabase(next)
	// The role postgres is there already.
	roles := exec.Command("psql", "-X", "-q", "-d", next.database("postgres"), "-f", filepath.Join(dir, "roles.sql"))
	if out, err := roles.CombinedOutput(); err != nil || strings.Count(string(out), "ERROR") > 1 {
		t.Fatalf("restore the roles: %v\n%s", err, out)
	}
	next.run(t, "pg_restore", "--exit-on-error", "-d", next.url(), filepath.Join(dir, "dump"))
}

// byUpgrade is pg_upgrade: with copies of the files, or with links to them.
func byUpgrade(t *testing.T, origin, next *server, link bool) {
	t.Helper()
	origin.stop()
	if next.major >= 18 { // where a cluster has checksums unless told otherwise
		emptyCluster(t, next.programs, next.data, "--no-data-checksums")
	} else {
		emptyCluster(t, next.programs, next.data)
	}
	configure(t, next)
	dir := directory(t)
	args := []string{"-b", origin.bin, "-B", next.bin, "-d", origin.data, "-D", next.data, "-U", "postgres",
		"--socketdir", dir}
	if link {
		args = append(args, "--link")
	}
	cmd := exec.Command(filepath.Join(next.bin, "pg_upgrade"), args...)
	cmd.Dir, cmd.SysProcAttr = dir, asOwner()
	cmd.Env = append(os.Environ(), "PGPASSWORD=secret", "LC_ALL=C", "HOME="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("pg_upgrade: %v\n%s", err, out)
	}
	next.start()
}
