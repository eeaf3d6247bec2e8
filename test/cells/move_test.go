package cells

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
	"iasql/internal/test/testaws"
	"iasql/internal/test/testdb"
)

// moving are two cells, and an account that moves between them, which has credentials of its own.
type moving struct {
	*fleet
	shop testaws.Account
}

// startMoving makes the cells eu, which has the account shop, and us.
func startMoving(t *testing.T, modules ...string) *moving {
	t.Helper()
	f := &fleet{T: t, registry: testdb.Empty(t), cells: map[string]*harness.World{}, names: []string{"eu", "us"},
		engines: map[string]*harness.Process{}}
	for _, name := range f.names {
		w := harness.NewWorld(t)
		f.cells[name], f.engines[name] = w, w.Serve()
		w.Install([]string{"us-east-1"}, modules...)
	}
	u, err := url.Parse(f.cells["eu"].AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	f.watcher = u.User.Username()
	password, _ := u.User.Password()
	f.passfile = filepath.Join(t.TempDir(), "pgpass")
	if err := os.WriteFile(f.passfile, []byte("*:*:*:"+f.watcher+":"+password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := &moving{f, testaws.NewAccount(t)}
	f.cells["eu"].PSQL(fmt.Sprintf(`INSERT INTO aws_account (name, access_key_id, secret_access_key) VALUES ('shop', '%s', '%s')`,
		m.shop.AccessKeyID, m.shop.SecretAccessKey))
	f.cells["eu"].Becomes(time.Minute, "t", `SELECT count(*) > 1 FROM aws_regions WHERE account = 'shop'`)
	f.cells["eu"].PSQL(`UPDATE aws_regions SET is_enabled = region = 'us-east-1' WHERE account = 'shop'`)
	f.cells["eu"].PSQL(`SELECT iasql_sync_now()`)
	f.engine("init")
	for _, name := range f.names {
		f.engine("add", name, f.connection(f.cells[name], ""), "--deadline", "30s")
	}
	return m
}

// know puts a role's password into the password file of the commands.
func (m *moving) know(role string) {
	m.Helper()
	file, err := os.OpenFile(m.passfile, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		m.Fatal(err)
	}
	defer file.Close()
	if _, err := fmt.Fprintf(file, "*:*:*:%s:secret\n", role); err != nil {
		m.Fatal(err)
	}
}

// has returns the cells that serve the account: that have it, and do not hold it for a move.
func (m *moving) has() (names []string) {
	m.Helper()
	for _, name := range m.names {
		if m.cells[name].Admin(`SELECT count(*) FROM iasql_internal.account a WHERE a.name = 'shop'
			AND NOT EXISTS (SELECT FROM iasql_internal.moving m WHERE m.account = a.name)`) == "1" {
			names = append(names, name)
		}
	}
	return names
}

// traces returns the tables of a cell that have something of the account.
func (m *moving) traces(cell string) string {
	m.Helper()
	w := m.cells[cell]
	tables := strings.Split(w.Admin(`SELECT DISTINCT c.oid::regclass::text FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
		WHERE a.attname IN ('account') AND c.relkind = 'r' AND c.relnamespace IN ('public'::regnamespace, 'iasql_internal'::regnamespace)
		ORDER BY 1`), "\n")
	var parts []string
	for _, table := range tables {
		parts = append(parts, fmt.Sprintf(`SELECT '%[1]s' WHERE EXISTS (SELECT FROM %[1]s WHERE account = 'shop')`, table))
	}
	return w.Admin(strings.Join(parts, " UNION ALL ") + ` UNION ALL SELECT 'vault' WHERE EXISTS (SELECT FROM iasql_internal.vault)
		UNION ALL SELECT 'conflicts' WHERE EXISTS (SELECT FROM iasql_conflicts)`)
}

// queues returns the account's queues in the cloud, with their tags.
func (m *moving) queues() []string {
	m.Helper()
	var found struct {
		QueueUrls []string
	}
	out := m.shop.CLI(m.T, "sqs", "list-queues", "--output", "json")
	if strings.TrimSpace(out) == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(out), &found); err != nil {
		m.Fatal(err)
	}
	var names []string
	for _, u := range found.QueueUrls {
		names = append(names, u[strings.LastIndex(u, "/")+1:])
	}
	slices.Sort(names)
	return names
}

// vpcs returns the names of the account's VPCs in the cloud.
func (m *moving) vpcs() []string {
	m.Helper()
	out := m.shop.CLI(m.T, "ec2", "describe-vpcs", "--query", "Vpcs[].Tags[?Key=='Name'].Value[] | []", "--output", "json")
	var names []string
	if err := json.Unmarshal([]byte(out), &names); err != nil {
		m.Fatalf("%v: %s", err, out)
	}
	slices.Sort(names)
	return names
}

// TestMove: an account moves with its records, what is pending of them, conflicts, rules, secrets and history; the target's
// engine goes on where the source's stopped; and the source keeps nothing.
func TestMove(t *testing.T) {
	t.Parallel()
	m := startMoving(t, "aws_sqs", "aws_vpc", "aws_secrets_manager")
	eu, us := m.cells["eu"], m.cells["us"]
	eu.PSQL(`INSERT INTO vpc (account, cidr_block, tags) VALUES ('shop', '10.30.0.0/16', '{"Name": "home"}')`,
		`INSERT INTO subnet (account, vpc_id, cidr_block) SELECT 'shop', id, '10.30.1.0/24' FROM vpc WHERE tags ->> 'Name' = 'home'`,
		`INSERT INTO route_table (account, vpc_id) SELECT 'shop', id FROM vpc WHERE tags ->> 'Name' = 'home'`,
		`INSERT INTO route_table_association (account, subnet_id, route_table_id)
			SELECT 'shop', s.id, r.id FROM subnet s JOIN route_table r USING (vpc_id) WHERE s.cidr_block = '10.30.1.0/24' AND NOT r.is_main`,
		`INSERT INTO queue (account, name) SELECT 'shop', 'q' || i FROM generate_series(1, 6) i`)
	eu.Settled()
	for _, w := range []*harness.World{eu, us} {
		w.Admin(`UPDATE iasql_settings SET value = 'hold' WHERE name = 'conflict_policy'`)
	}
	eu.PSQL(`INSERT INTO iasql_mode (table_name, record_id, mode) SELECT 'queue', id, 'PAUSE' FROM queue WHERE name = 'q6'`,
		`SELECT iasql_protect('queue', id) FROM queue WHERE name = 'q5'`)
	eu.Settled()

	// A conflict that is open, and changes that nobody has pushed.
	m.engines["eu"].Stop()
	home := m.queueURL("q1")
	m.shop.CLI(t, "sqs", "set-queue-attributes", "--queue-url", home, "--attributes", "VisibilityTimeout=77")
	eu.PSQL(`UPDATE queue SET visibility_timeout = 99 WHERE name = 'q1'`)
	m.engines["eu"] = eu.Serve()
	eu.Becomes(time.Minute, "1", `SELECT count(*) FROM iasql_conflicts WHERE resolved IS NULL`)
	m.engines["eu"].Stop()
	eu.PSQL(`UPDATE queue SET visibility_timeout = 44 WHERE name = 'q2'`, `DELETE FROM queue WHERE name = 'q3'`,
		`INSERT INTO queue (account, name) VALUES ('shop', 'q7')`,
		`INSERT INTO secret (account, name, value) VALUES ('shop', 'word', 'open sesame')`)
	history := eu.Admin(`SELECT count(*) FROM iasql_audit_log WHERE account = 'shop'`)
	pending := eu.Admin(`SELECT count(*) FROM iasql_audit_log WHERE account = 'shop' AND NOT settled`)
	before := m.queues()

	m.refused("say --to CELL", "move", "shop")
	m.refused("there is no cell", "move", "shop", "--to", "ap")
	m.refused("already", "move", "shop", "--to", "eu")
	m.refused("say --from CELL", "move", "default", "--to", "ap")
	m.refused("--as NAME", "move", "default", "--from", "eu", "--to", "us")
	us.PSQL(`INSERT INTO iasql_mode (table_name, mode) VALUES ('vpc', 'TRACK')`)
	m.refused("insert it there", "move", "shop", "--to", "us", "--preview")
	us.PSQL(`DELETE FROM iasql_mode WHERE table_name = 'vpc'`)
	out := m.engine("move", "shop", "--to", "us", "--preview")
	if !strings.Contains(out, "6 queue") {
		t.Errorf("the preview: %s", out)
	}
	if got := m.has(); !slices.Equal(got, []string{"eu"}) {
		t.Errorf("after a preview %q serve the account", got)
	}

	m.engines["us"].Stop()
	t.Logf("%s", m.engine("move", "shop", "--to", "us"))
	if got := m.has(); !slices.Equal(got, []string{"us"}) {
		t.Errorf("%q serve the account", got)
	}
	if got := m.traces("eu"); got != "" {
		t.Errorf("the source still has something in: %s", got)
	}
	if got := us.Admin(`SELECT count(*) FROM iasql_audit_log WHERE account = 'shop'`); got != history {
		t.Errorf("%s rows of history, want %s", got, history)
	}
	if got := us.Admin(`SELECT count(*) FROM iasql_audit_log WHERE account = 'shop' AND NOT settled`); got != pending {
		t.Errorf("%s changes are pending, want %s", got, pending)
	}
	if got := m.queues(); !slices.Equal(got, before) {
		t.Errorf("the move has changed the cloud: %q, before %q", got, before)
	}
	if got := us.Admin(`SELECT min(id) > 1000000 FROM queue WHERE account = 'shop'`); got != "t" {
		t.Error("ids are not raised")
	}

	m.engines["us"] = us.Serve()
	us.Becomes(time.Minute, "1", `SELECT count(*) FROM iasql_audit_log WHERE NOT settled`) // the conflict's
	want := []string{"q1", "q2", "q4", "q5", "q6", "q7"}
	if got := m.queues(); !slices.Equal(got, want) {
		t.Errorf("queues in the cloud: %q, want %q", got, want)
	}
	if got := m.shop.CLI(t, "sqs", "get-queue-attributes", "--queue-url", m.queueURL("q2"), "--attribute-names", "VisibilityTimeout",
		"--query", "Attributes.VisibilityTimeout", "--output", "text"); strings.TrimSpace(got) != "44" {
		t.Errorf("the pending change of q2: %s", got)
	}
	if got := m.shop.CLI(t, "secretsmanager", "get-secret-value", "--secret-id", "word", "--query", "SecretString", "--output",
		"text"); strings.TrimSpace(got) != "open sesame" {
		t.Errorf("the secret: %s", got)
	}
	us.PSQL(`UPDATE iasql_conflicts SET resolved = 'database' WHERE resolved IS NULL`)
	us.Settled()
	if got := m.shop.CLI(t, "sqs", "get-queue-attributes", "--queue-url", home, "--attribute-names", "VisibilityTimeout", "--query",
		"Attributes.VisibilityTimeout", "--output", "text"); strings.TrimSpace(got) != "99" {
		t.Errorf("the conflict was resolved, and the cloud has %s", got)
	}
	// References, rules and history know the new numbers.
	if got := us.PSQL(`SELECT count(*) FROM route_table_association a JOIN subnet s ON s.id = a.subnet_id JOIN vpc v ON v.id = s.vpc_id
		WHERE v.tags ->> 'Name' = 'home' AND a.account = 'shop'`); got != "1" {
		t.Errorf("%s associations", got)
	}
	if got := us.PSQL(`SELECT iasql_mode_of('queue', id) FROM queue WHERE name = 'q6'`); got != "PAUSE" {
		t.Errorf("q6 is %s", got)
	}
	us.Refused(`DELETE FROM queue WHERE name = 'q5'`)
	if got := us.PSQL(`SELECT count(*) FROM vpc v, subnet s, iasql_audit_log l
		WHERE v.tags ->> 'Name' = 'home' AND s.cidr_block = '10.30.1.0/24' AND l.table_name = 'subnet' AND l.record_id = s.id
			AND l.change_type = 'INSERT' AND v.id = (l.change -> 'change' ->> 'vpc_id')::bigint`); got != "1" {
		t.Error("the history does not know the reference")
	}
	us.PSQL(`DELETE FROM route_table_association WHERE account = 'shop' AND route_table_id IN (SELECT id FROM route_table WHERE NOT is_main)`)
	us.Settled()
	us.Becomes(time.Minute, "home", `SELECT string_agg(DISTINCT tags ->> 'Name', ',') FROM iasql_search('home') s JOIN vpc v ON v.id = s.record_id`)

	// And back, by somebody who is no superuser.
	m.engines["eu"] = eu.Serve()
	mover := m.login("mover")
	eu.Admin(`GRANT iasql_engine, pg_read_all_stats TO `+mover, `GRANT SET ON PARAMETER session_replication_role TO `+mover)
	m.Cleanup(func() { eu.TryPSQL(eu.AdminURL, `REVOKE SET ON PARAMETER session_replication_role FROM `+mover) })
	m.engine("move", "shop", "--to", "eu", "--login", mover)
	if got := m.traces("us"); got != "" {
		t.Errorf("the source still has something in: %s", got)
	}
	eu.PSQL(`DELETE FROM queue WHERE name = 'q4'`)
	eu.Settled()
	if got := m.queues(); slices.Contains(got, "q4") || len(got) != 5 {
		t.Errorf("queues in the cloud: %q", got)
	}
}

// queueURL returns the URL of a queue in the cloud.
func (m *moving) queueURL(name string) string {
	m.Helper()
	return strings.TrimSpace(m.shop.CLI(m.T, "sqs", "get-queue-url", "--queue-name", name, "--query", "QueueUrl", "--output", "text"))
}
