package cells

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"iasql/internal/cells"
	"iasql/internal/test/harness"
	"iasql/internal/test/testdb"
)

func TestMain(m *testing.M) { harness.Main(m) }

// fleet is a registry with cells, each an installation of its own on one server.
type fleet struct {
	*testing.T
	registry string // a superuser's URL of the registry, where the union is, too
	passfile string
	cells    map[string]*harness.World
	engines  map[string]*harness.Process
	names    []string // of the cells
	watcher  string   // the role that asks the cells
	readers  []string // all: sees everything; shop: what is tagged so
}

// in is the fleet in a part of the test.
func (f *fleet) in(t *testing.T) *fleet {
	part := *f
	part.T = t
	return &part
}

// reader is the URL of the union for a role.
func (f *fleet) reader(role string) string {
	u, err := url.Parse(f.registry)
	if err != nil {
		f.Fatal(err)
	}
	u.User = url.UserPassword(role, "secret")
	return u.String()
}

// bare is the URL of a database that is no installation, for who asks the cells.
func (f *fleet) bare() string {
	u, err := url.Parse(f.registry)
	if err != nil {
		f.Fatal(err)
	}
	u.User = url.User(f.watcher)
	return u.String()
}

// connection is the URL of a cell as the registry has it.
func (f *fleet) connection(w *harness.World, port string) string {
	u, err := url.Parse(w.AdminURL)
	if err != nil {
		f.Fatal(err)
	}
	u.User = url.User(f.watcher)
	patience := "60" // for a machine that is slow
	if port != "" {
		u.Host, patience = "127.0.0.1:"+port, "20"
	}
	query := u.Query()
	query.Set("connect_timeout", patience)
	u.RawQuery = query.Encode()
	return u.String()
}

// try runs engine cells.
func (f *fleet) try(args ...string) (string, error) {
	f.Helper()
	cmd := exec.CommandContext(f.Context(), harness.Engine(), append([]string{"cells"}, args...)...)
	cmd.Env = append(os.Environ(), "IASQL_REGISTRY_URL="+f.registry, "PGPASSFILE="+f.passfile)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

func (f *fleet) engine(args ...string) string {
	f.Helper()
	out, err := f.try(args...)
	if err != nil {
		f.Fatalf("engine cells %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (f *fleet) refused(want string, args ...string) {
	f.Helper()
	if out, err := f.try(args...); err == nil || !strings.Contains(out, want) {
		f.Errorf("engine cells %s: %v, want %q:\n%s", strings.Join(args, " "), err, want, out)
	}
}

// sql runs statements as psql does.
func (f *fleet) sql(url string, statements ...string) string {
	f.Helper()
	out, err := f.cells[f.names[0]].TryPSQL(url, statements...)
	if err != nil {
		f.Fatalf("%s: %v", strings.Join(statements, "; "), err)
	}
	return out
}

func (f *fleet) sqlRefused(want, url string, statements ...string) {
	f.Helper()
	out, err := f.cells[f.names[0]].TryPSQL(url, statements...)
	if err == nil || !strings.Contains(err.Error(), want) {
		f.Errorf("%s: %v, want %q: %s", strings.Join(statements, "; "), err, want, out)
	}
}

// look returns what engine cells list says.
func (f *fleet) look(deadline string) map[string]cells.Answer {
	f.Helper()
	var found cells.Fleet
	if err := json.Unmarshal([]byte(f.engine("list", "--json", "--deadline", deadline)), &found); err != nil {
		f.Fatal(err)
	}
	answers := map[string]cells.Answer{}
	for _, a := range found.Cells {
		answers[a.Cell] = a
	}
	return answers
}

// union renews the union, after which each reader has a password for each cell: the server would
// take it from a password file of its own.
func (f *fleet) union(args ...string) string {
	f.Helper()
	out := f.engine(append([]string{"union", "--deadline", "30s"}, args...)...)
	f.sql(f.registry, `DO $$
		DECLARE m record;
		BEGIN
			FOR m IN SELECT srvname, usename FROM pg_user_mappings WHERE NOT 'password=secret' = ANY (umoptions)
			LOOP
				EXECUTE format('ALTER USER MAPPING FOR %I SERVER %I OPTIONS (ADD password %L)', m.usename, m.srvname,
					'secret');
			END LOOP;
		END
		$$`)
	return out
}

// start makes installations with an engine each, which have made queues, and a registry that knows
// none of them.
func start(t *testing.T, names ...string) *fleet {
	t.Helper()
	f := &fleet{T: t, registry: testdb.Empty(t), cells: map[string]*harness.World{}, names: names,
		engines: map[string]*harness.Process{}}
	for _, name := range names {
		w := harness.NewWorld(t)
		f.cells[name], f.engines[name] = w, w.Serve()
		w.Install([]string{"us-east-1"}, "aws_sqs")
	}
	first := f.cells[names[0]]
	role := func(name string) string {
		u, err := url.Parse(first.Login(name, "iasql_reader"))
		if err != nil {
			t.Fatal(err)
		}
		return u.User.Username()
	}
	f.watcher = role("watcher")
	f.readers = []string{role("all"), role("shop")}
	f.passfile = filepath.Join(t.TempDir(), "pgpass")
	if err := os.WriteFile(f.passfile, []byte("*:*:*:"+f.watcher+":secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		w := f.cells[name]
		w.PSQL(fmt.Sprintf(`INSERT INTO queue (name, tags) VALUES ('%s-1', '{"env": "prod", "team": "shop"}'),
			('%[1]s-2', '{"env": "test", "team": "shop"}'), ('%[1]s-3', '{"env": "prod", "team": "bank"}')`, name))
		w.Settled()
		// As docs/permissions.md has it.
		w.Admin(`ALTER TABLE queue ENABLE ROW LEVEL SECURITY`,
			fmt.Sprintf(`CREATE POLICY team ON queue FOR SELECT USING (current_user <> '%s'
				OR tags->>'team' = 'shop')`, f.readers[1]),
			`CREATE POLICY writers ON queue FOR ALL TO iasql_user USING (true)`)
	}
	t.Cleanup(func() { // before the roles go
		ctx := context.Background() // the test's own has ended
		conn, err := pgx.Connect(ctx, f.registry)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close(ctx)
		if _, err := conn.Exec(ctx, `DROP SCHEMA IF EXISTS cells CASCADE`); err != nil {
			t.Error(err)
		}
	})
	return f
}

// TestCells: four cells are registered, asked and read as one; each decides who sees what; one that
// is gone slows nobody.
func TestCells(t *testing.T) {
	t.Parallel()
	f := start(t, "ap", "eu", "sa", "us")
	way := forward(t, f.cells["us"].AdminURL)

	f.refused("engine cells init", "list")
	f.sql(f.registry, `CREATE SCHEMA iasql_cells AUTHORIZATION `+f.watcher) // what is in it would run as a superuser
	f.refused("belongs to "+f.watcher, "init")
	f.sql(f.registry, `DROP SCHEMA iasql_cells`)
	f.engine("init")
	f.engine("init")
	f.refused("password", "add", "eu", f.cells["eu"].UserURL)
	f.refused("no name for a cell", "add", "EU", f.connection(f.cells["eu"], ""))
	f.refused(`parameter "foo"`, "add", "eu", f.connection(f.cells["eu"], "")+"&foo=1")
	f.refused("cell eu: ", "add", "eu", "postgres://nobody@127.0.0.1:1/nothing")
	for _, name := range f.names {
		port := ""
		if name == "us" {
			port = way.port
		}
		f.engine("add", name, f.connection(f.cells[name], port), "--deadline", "30s")
	}
	f.refused("no installation", "add", "none", f.bare(), "--deadline", "30s")
	f.refused("already", "add", "eu", f.connection(f.cells["eu"], ""), "--deadline", "30s")
	f.refused("work against each other", "add", "twice", f.connection(f.cells["eu"], ""), "--deadline", "30s")

	for name, a := range f.look("30s") {
		if a.Trouble != "" || len(a.Accounts) != 1 || a.Accounts[0].Identity == nil || a.LastCycle == nil ||
			a.Version == "" || a.Tables == 0 {
			t.Errorf("cell %s: %+v", name, a)
		}
	}
	f.cells["ap"].Eventually(2*time.Minute, "the records of each cell to be counted", func() bool {
		for _, a := range f.look("30s") {
			if a.Records < 3 {
				return false
			}
		}
		return true
	})

	// What is not made for a role is nobody's.
	f.union("--reader", f.readers[0], "--reader", f.readers[1])
	all, shop := f.reader(f.readers[0]), f.reader(f.readers[1])
	t.Run("one view", func(t *testing.T) {
		f := f.in(t)
		const query = `SELECT cell, name FROM cells.queue WHERE tags @> '{"env": "prod"}' ORDER BY cell, name`
		want := "ap|ap-1\nap|ap-3\neu|eu-1\neu|eu-3\nsa|sa-1\nsa|sa-3\nus|us-1\nus|us-3"
		if got := f.sql(all, query); got != want {
			t.Errorf("everybody's queues: %s", got)
		}
		if got := f.sql(shop, query); got != "ap|ap-1\neu|eu-1\nsa|sa-1\nus|us-1" {
			t.Errorf("what the cells' policies let the shop see: %s", got)
		}
		views := strings.Split(f.sql(f.registry, `SELECT viewname FROM pg_views WHERE schemaname = 'cells'`), "\n")
		for _, view := range views {
			f.sql(all, fmt.Sprintf(`SELECT * FROM cells.%s LIMIT 5`, view))
		}
		if len(views) < 10 {
			t.Errorf("the views: %s", views)
		}
		if got := f.sql(all, `SELECT count(DISTINCT pinned_as) FROM cells.iasql_worlds`); got != "4" {
			t.Errorf("%s accounts", got)
		}
		if got := f.sql(all, `SELECT cell, shown, why FROM cells.iasql_cells ORDER BY cell`); got !=
			"ap|t|\neu|t|\nsa|t|\nus|t|" {
			t.Errorf("what is shown: %s", got)
		}
	})
	t.Run("rights", func(t *testing.T) {
		f := f.in(t)
		f.sqlRefused("permission denied for schema cells", f.reader(f.watcher), `SELECT * FROM cells.queue`)
		f.sqlRefused("user mapping not found", f.registry, `SELECT * FROM cells.queue`) // not even a superuser's
		f.sqlRefused("permission denied", all, `SET ROLE `+f.readers[1]+`; SELECT * FROM cells.queue`)
		f.sqlRefused("UNION", all, `DELETE FROM cells.queue`)
		f.sqlRefused("permission denied", all, `DELETE FROM cell_eu.queue`)
		f.sqlRefused("does not allow deletes", f.registry, `DELETE FROM cell_eu.queue`)
		f.sqlRefused("permission denied", all,
			`CREATE USER MAPPING FOR CURRENT_USER SERVER iasql_cell_eu OPTIONS (user 'postgres')`)
		// What a cell takes from a role is gone from the union at once, a column as well.
		f.cells["sa"].Admin(`REVOKE iasql_reader FROM `+f.readers[0],
			`GRANT USAGE ON SCHEMA public TO `+f.readers[0],
			`GRANT SELECT (name) ON queue TO `+f.readers[0])
		f.sqlRefused("permission denied for table queue", all, `SELECT cell, name, tags FROM cells.queue`)
		f.cells["sa"].Admin(`REVOKE SELECT (name) ON queue FROM `+f.readers[0], `GRANT iasql_reader TO `+f.readers[0])
	})
	t.Run("the server's password file", func(t *testing.T) {
		f := f.in(t)
		path := filepath.Join(os.TempDir(), "pgpass-"+f.readers[0])
		f.sql(f.registry, fmt.Sprintf(`COPY (SELECT '*:*:*:%s:secret') TO PROGRAM 'umask 077; cat > %s'`, f.readers[0],
			path)) // so that it is the server's
		t.Cleanup(func() { os.Remove(path) })
		role := f.readers[0]
		f.sql(f.registry, fmt.Sprintf(`ALTER USER MAPPING FOR %s SERVER iasql_cell_eu OPTIONS (DROP password)`, role),
			fmt.Sprintf(`ALTER SERVER iasql_cell_eu OPTIONS (ADD passfile '%s')`, path))
		f.engine("union", "--deadline", "30s") // what the administrator has said of the file stays
		if got := f.sql(all, `SELECT count(*) FROM cells.queue WHERE cell = 'eu'`); got != "3" {
			t.Errorf("%s queues", got)
		}
	})
	t.Run("pushed down", func(t *testing.T) {
		f := f.in(t)
		plan := f.sql(all, `EXPLAIN (VERBOSE, COSTS OFF) SELECT cell, name FROM cells.queue
			WHERE tags @> '{"env": "prod"}' AND name LIKE 'eu%' AND cell IN ('eu', 'us')`)
		if strings.Count(plan, `tags @> '{"env": "prod"}'`) < 2 || strings.Contains(plan, "Filter:") ||
			strings.Count(plan, "Remote SQL:") != 2 || !strings.Contains(plan, "Async Foreign Scan") ||
			strings.Contains(plan, "cell_ap") {
			t.Errorf("the plan:\n%s", plan)
		}
	})
	t.Run("columns of one cell", func(t *testing.T) {
		f := f.in(t)
		f.cells["eu"].Admin(`ALTER TABLE queue ADD COLUMN owner text, ADD COLUMN rank integer`,
			`SET session_replication_role = replica; UPDATE queue SET owner = 'ann', rank = 7 WHERE name = 'eu-1'`)
		f.cells["us"].Admin(`ALTER TABLE queue ADD COLUMN rank text`)
		f.union()
		const query = `SELECT cell, owner, rank FROM cells.queue WHERE name IN ('eu-1', 'us-1') ORDER BY cell`
		if got := f.sql(all, query); got != "eu|ann|7\nus||" {
			t.Errorf("columns that not all have: %s", got)
		}
		out := f.union()
		if !strings.Contains(out, " 0 of them new or changed") {
			t.Errorf("a renewal of what has not changed: %s", out)
		}
		// What somebody has made of a view is not dropped with a column that goes; what to do is said.
		f.sql(f.registry, `CREATE VIEW owners AS SELECT cell, owner FROM cells.queue`)
		f.cells["eu"].Admin(`ALTER TABLE queue DROP COLUMN owner`)
		f.refused("owners", "union", "--deadline", "30s")
		f.sql(f.registry, `DROP VIEW owners`)
		f.union()
		f.sqlRefused("column \"owner\" does not exist", all, `SELECT owner FROM cells.queue`)
		if got := f.sql(all, `SELECT count(*) FROM cells.queue`); got != "12" {
			t.Errorf("%s queues", got)
		}
	})
	t.Run("a cell that has gone", func(t *testing.T) { gone(f.in(t), way, all) })
	t.Run("leaving", func(t *testing.T) {
		f := f.in(t)
		f.union("--no-reader", f.readers[1])
		f.sqlRefused("permission denied", shop, `SELECT * FROM cells.queue`)
		f.engine("remove", "sa")
		f.refused(`no cell "sa"; there are: ap, eu, us`, "remove", "sa")
		f.sql(f.registry, `CREATE VIEW others AS SELECT name FROM cell_sa.queue`)
		f.refused("others", "union", "--deadline", "30s")
		f.sql(f.registry, `DROP VIEW others`)
		f.union()
		if got := f.sql(all, `SELECT DISTINCT cell FROM cells.queue ORDER BY 1`); got != "ap\neu\nus" {
			t.Errorf("the cells: %s", got)
		}
		if got := f.sql(f.registry, `SELECT count(*) FROM pg_foreign_server
			WHERE srvname = 'iasql_cell_sa'`); got != "0" {
			t.Error("the server of a cell that was removed is there")
		}
		for _, name := range []string{"ap", "eu", "us"} { // the view goes with the last table
			if got := f.sql(all, `SELECT count(*) FROM cells.queue WHERE cell = '`+name+`'`); got != "3" {
				t.Errorf("cell %s has %s queues", name, got)
			}
			f.cells[name].Admin(`SELECT * FROM iasql_uninstall('aws_sqs')`)
			f.union()
		}
		f.sqlRefused(`relation "cells.queue" does not exist`, all, `SELECT FROM cells.queue`)
		if got := f.cells["sa"].PSQL(`SELECT count(*) FROM queue`); got != "3" {
			t.Errorf("the cell that was removed from the registry has %s queues", got)
		}
	})
}

// gone: a cell does not answer, and then refuses, and comes back.
func gone(f *fleet, way *forwarder, all string) {
	way.set(silent)
	if us := f.look("8s")["us"]; !strings.Contains(us.Trouble, "no answer within 8s") {
		f.Errorf("a cell that is silent: %+v", us)
	}
	// Nobody is told less than there is without being told so; who asks others is not held up.
	f.sqlRefused("iasql_cell_us", all, `SELECT count(*) FROM cells.queue`)
	if got := f.sql(all, `SELECT count(*) FROM cells.queue WHERE cell <> 'us'`); got != "9" {
		f.Errorf("%s queues of the other cells", got)
	}
	way.set(closed)
	if us := f.look("30s")["us"]; us.Trouble == "" || strings.Contains(us.Trouble, "no answer") {
		f.Errorf("a cell that refuses: %+v", us)
	}
	f.sqlRefused("iasql_cell_us", all, `SELECT count(*) FROM cells.queue`)
	if out := f.union(); !strings.Contains(out, "cell us is left out") {
		f.Errorf("the union without a cell: %s", out)
	}
	if got := f.sql(all, `SELECT count(*) FROM cells.queue`); got != "9" {
		f.Errorf("%s queues of three cells", got)
	}
	if got := f.sql(all, `SELECT cell FROM cells.iasql_cells WHERE NOT shown AND why <> ''`); got != "us" {
		f.Errorf("left out: %s", got)
	}
	f.engine("mark", "us", "lost")
	f.refused("active or lost", "mark", "us", "dead")
	if us := f.look("30s")["us"]; us.State != cells.Lost || !strings.Contains(us.Trouble, "not asked") {
		f.Errorf("a cell that is lost: %+v", us)
	}
	if out := f.union(); !strings.Contains(out, "cell us is left out: marked lost") {
		f.Errorf("the union without a lost cell: %s", out)
	}
	// What a cell has said last holds while nobody can ask it.
	f.sql(f.registry, `INSERT INTO iasql_cells.account (cell, name, kind, identity)
		SELECT 'us', 'copy', kind, identity FROM iasql_cells.account WHERE cell = 'eu'`)
	if out := f.engine("list", "--deadline", "30s"); !strings.Contains(out, "work against each other: eu, us") ||
		!strings.Contains(out, "cell us: marked lost") {
		f.Errorf("an account in two cells: %s", out)
	}
	way.set(open)
	f.engine("mark", "us", "active")
	f.union()
	if got := f.sql(all, `SELECT count(*), count(DISTINCT cell) FROM cells.queue`); got != "12|4" {
		f.Errorf("queues and cells after it is back: %s", got)
	}
}
