package batches

import (
	"slices"
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// queues returns what the cloud has, in order.
func queues(w *harness.World) string {
	w.Helper()
	var names []string
	urls, _ := w.CLI("sqs", "list-queues")["QueueUrls"].([]any)
	for _, url := range urls {
		names = append(names, url.(string)[strings.LastIndex(url.(string), "/")+1:])
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// declare declares a configuration with statements, and waits until it is in force.
func (s *session) declare(name string, statements ...string) {
	s.w.Helper()
	s.do(append(append([]string{`CALL iasql_declare('` + name + `')`}, statements...), `CALL iasql_declared()`,
		`SELECT iasql_wait_for_all(60)`)...)
}

// has compares the records of a configuration with names of queues.
func has(w *harness.World, configuration, want string) {
	w.Helper()
	if got := w.PSQL(`SELECT string_agg(q.name, ' ' ORDER BY q.name) FROM iasql_mentions m JOIN queue q ON q.id = m.record_id
		WHERE m.configuration = '` + configuration + `' AND m.table_name = 'queue'`); got != want {
		w.Errorf("%s mentions %q, want %q", configuration, got, want)
	}
}

// settle's story: a database says what there is to be, piece by piece. What a piece no longer names goes, what it names
// again stays, what two name goes with the last, and what nobody has named is nobody's garbage.
func TestSettlesStory(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east)
	w.CLI("sqs", "create-queue", "--queue-name", "theirs")
	w.Install(east, "aws_sqs")
	w.Settled()
	s := user(w)
	s.declare("shop", `INSERT INTO queue (name) VALUES ('a'), ('b'), ('c')`)
	has(w, "shop", "a b c")
	if got := queues(w); got != "a b c theirs" {
		t.Errorf("after the first declaration: %s", got)
	}

	// A second time writes nothing, and says so.
	before := w.PSQL(`SELECT count(*) FROM iasql_audit_log WHERE table_name = 'queue'`)
	same := `INSERT INTO queue (name) VALUES ('a'), ('b'), ('c') ON CONFLICT (account, region, name) DO NOTHING`
	s.declare("shop", same)
	s.declare("shop", `INSERT INTO queue (name, delay_seconds) VALUES ('a', 0), ('b', 0), ('c', 0)
		ON CONFLICT (account, region, name) DO UPDATE SET delay_seconds = excluded.delay_seconds`)
	s.declare("shop", `UPDATE queue SET tags = tags WHERE name IN ('a', 'b')`, `SELECT iasql_mention('queue', id) FROM queue WHERE name = 'c'`)
	s.declare("shop", `MERGE INTO queue q USING (VALUES ('a'), ('b'), ('c')) v (name) ON q.name = v.name
		WHEN MATCHED THEN UPDATE SET delay_seconds = 0 WHEN NOT MATCHED THEN INSERT (name) VALUES (v.name)`)
	has(w, "shop", "a b c")
	if got := w.PSQL(`SELECT count(*) FROM iasql_audit_log WHERE table_name = 'queue'`); got != before {
		t.Errorf("the audit log had %s rows and has %s", before, got)
	}
	if n := strings.Count(s.notices(), "has not changed"); n != 4 {
		t.Errorf("that nothing has changed was said %d times:\n%s", n, s.notices())
	}

	// What is no longer named goes; the preview says so beforehand, and nothing more.
	s.do(`CALL iasql_declare('shop')`, `INSERT INTO queue (name) VALUES ('a'), ('b'), ('d') ON CONFLICT DO NOTHING`)
	plan := `SELECT string_agg(concat_ws(' ', action, direction, description), '; ' ORDER BY action) FROM iasql_preview()`
	if got := s.get(plan); got != "create push create queue d in us-east-1; delete push delete queue c in us-east-1" {
		t.Errorf("the preview is %s", got)
	}
	has(w, "shop", "a b c")
	hash := s.get(`SELECT iasql_preview_hash()`)
	s.refused("IA023", []string{"is not what was previewed"}, `CALL iasql_declared(preview_hash => 'x')`)
	s.refused("IA031", []string{"configuration 'shop' is being declared in batch", "CALL iasql_declared()"}, `CALL iasql_commit()`)
	if got := s.get(plan); !strings.Contains(got, "delete queue c") {
		t.Errorf("after two refusals the preview is %s", got)
	}
	s.do(`CALL iasql_declared(preview_hash => '`+hash+`')`, `SELECT iasql_wait_for_all(60)`)
	has(w, "shop", "a b d")
	if got := queues(w); got != "a b d theirs" {
		t.Errorf("after c was left out: %s", got)
	}

	// What two name goes with the last.
	s.declare("mail", `SELECT iasql_mention('queue', id) FROM queue WHERE name IN ('b', 'theirs')`)
	if got := w.PSQL(`SELECT string_agg(q.name, ' ') FROM iasql_mentions m JOIN queue q ON q.id = m.record_id WHERE m.shared`); got != "b b" {
		t.Errorf("shared: %s", got)
	}
	s.declare("shop", `INSERT INTO queue (name) VALUES ('a'), ('d') ON CONFLICT DO NOTHING`)
	if got := queues(w); got != "a b d theirs" {
		t.Errorf("mail still has b: %s", got)
	}
	s.declare("mail", `SELECT iasql_mention('queue', id) FROM queue WHERE name = 'theirs'`)
	if got := queues(w); got != "a d theirs" {
		t.Errorf("nobody has b: %s", got)
	}

	// Voided tombstones: what is deleted and made again within a declaration is there, and what is named and then deleted
	// is not.
	s.declare("shop", `DELETE FROM queue WHERE name = 'a'`, `INSERT INTO queue (name) VALUES ('a'), ('d'), ('e') ON CONFLICT DO NOTHING`,
		`DELETE FROM queue WHERE name = 'e'`)
	has(w, "shop", "a d")
	if got := queues(w); got != "a d theirs" {
		t.Errorf("after voided tombstones: %s", got)
	}

	// One DELETE takes it down; what mail has, and what nobody has, stays.
	w.PSQL(`INSERT INTO queue (name) VALUES ('nobodys')`)
	w.Settled()
	s.do(`DELETE FROM iasql_configurations WHERE name = 'shop'`, `SELECT iasql_wait_for_all(60)`)
	if got := queues(w); got != "nobodys theirs" {
		t.Errorf("after the configuration was deleted: %s", got)
	}
	if got := w.PSQL(`SELECT string_agg(name, ' ') FROM iasql_configurations`); got != "mail" {
		t.Errorf("the configurations are %s", got)
	}
	w.Settled()
}

// A declaration is part of its batch: rolled back with it, undone with it, and of one name there is one at a time.
func TestDeclarationInBatch(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	w.Settled()
	s, other := user(w), user(w)
	s.do(`CALL iasql_begin('the shop')`, `CALL iasql_declare('shop', 'abc123')`, `INSERT INTO queue (name) VALUES ('a'), ('b')`)
	other.refused("IA031", []string{"configuration 'shop' is being declared in batch", "the shop"}, `CALL iasql_declare('shop')`)
	s.refused("IA031", []string{"'shop'"}, `CALL iasql_declare('mail')`)
	s.refused("IA006", []string{"no record 0"}, `SELECT iasql_mention('queue', 0)`)
	s.do(`CALL iasql_declared()`, `CALL iasql_declare('mail')`, `INSERT INTO queue (name) VALUES ('m')`, `CALL iasql_declared()`,
		`INSERT INTO queue (name) VALUES ('alone')`)
	s.refused("IA031", []string{"no configuration"}, `CALL iasql_declared()`)
	if got := w.PSQL(`SELECT string_agg(concat_ws(' ', name, declared_at IS NULL, declaring IS NOT NULL), '; ' ORDER BY name) FROM iasql_configurations`); got != "mail t t; shop t t" {
		t.Errorf("while they are declared: %s", got)
	}
	s.do(`CALL iasql_commit()`)
	has(w, "shop", "a b")
	has(w, "mail", "m")
	if got := w.PSQL(`SELECT concat_ws(' ', revision, mentions, declared_by = '` + s.get(`SELECT current_user`) + `') FROM iasql_configurations WHERE name = 'shop'`); got != "abc123 2 t" {
		t.Errorf("the configuration is %s", got)
	}

	// Rolled back, it leaves the one before it in force.
	s.do(`CALL iasql_declare('shop')`)
	if got := s.get(`SELECT count(*) FROM iasql_preview() WHERE action = 'delete'`); got != "2" {
		t.Errorf("an empty declaration deletes %s", got)
	}
	s.do(`CALL iasql_rollback()`)
	has(w, "shop", "a b")
	if got := w.PSQL(`SELECT count(*) FROM iasql_configurations WHERE declaring IS NOT NULL`); got != "0" {
		t.Errorf("%s are being declared", got)
	}
	// Cut off, it is its batch's, which somebody takes over or rolls back.
	s.do(`CALL iasql_declare('shop')`, `INSERT INTO queue (name) VALUES ('c')`)
	if err := s.conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	has(w, "shop", "a b")
	other.do(`CALL iasql_join('configuration shop')`, `CALL iasql_rollback()`)
	has(w, "shop", "a b")

	// Undone, it is as it was, records and mentions.
	other.declare("shop", `INSERT INTO queue (name) VALUES ('a'), ('c') ON CONFLICT DO NOTHING`)
	if got := queues(w); got != "a alone c m" {
		t.Errorf("before the undoing: %s", got)
	}
	other.do(`CALL iasql_undo(`+w.PSQL(`SELECT batch FROM iasql_configurations WHERE name = 'shop'`)+`)`, `CALL iasql_commit()`)
	if got := queues(w); got != "a alone b m" {
		t.Errorf("after the undoing: %s", got)
	}
	has(w, "shop", "a b")

	// Deleted in a batch: with its commit, not before.
	other.do(`CALL iasql_begin()`, `DELETE FROM iasql_configurations WHERE name = 'shop'`)
	has(w, "shop", "")
	if got := w.PSQL(`SELECT count(*) FROM iasql_configurations WHERE name = 'shop'`); got != "1" {
		t.Errorf("it was forgotten before the commit")
	}
	other.do(`CALL iasql_rollback()`)
	has(w, "shop", "a b")
	other.do(`CALL iasql_begin()`, `DELETE FROM iasql_configurations WHERE name = 'shop'`, `CALL iasql_commit()`)
	if got := queues(w) + w.PSQL(`SELECT string_agg(name, ' ') FROM iasql_configurations`); got != "alone mmail" {
		t.Errorf("after the deletion: %s", got)
	}
	w.Settled()
}

// What stands in the way of pruning: what refers to it, a protection, rights, and another declaration.
func TestPruningIsRefused(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_vpc", "aws_sqs")
	w.Settled()
	s := user(w)
	net := `INSERT INTO vpc (cidr_block, tags) VALUES ('10.1.0.0/16', '{"Name": "net"}')`
	s.declare("net", net, `INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '10.1.1.0/24' FROM vpc WHERE tags ->> 'Name' = 'net'`)
	w.PSQL(`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '10.1.2.0/24' FROM vpc WHERE tags ->> 'Name' = 'net'`)
	w.Settled()
	s.do(`CALL iasql_declare('net')`)
	s.refused("23503", []string{"cannot let go of what others refer to", "subnet", "Mention it"}, `CALL iasql_declared()`)
	s.refused("23503", []string{"cannot let go"}, `SELECT * FROM iasql_preview()`)
	s.do(`CALL iasql_rollback()`, `SELECT iasql_protect('vpc', id) FROM vpc WHERE tags ->> 'Name' = 'net'`,
		`DELETE FROM subnet WHERE cidr_block = '10.1.2.0/24'`, `SELECT iasql_wait_for_all(60)`, `CALL iasql_declare('net')`)
	s.refused("IA050", []string{"vpc 'net'", "is protected"}, `CALL iasql_declared()`)
	s.refused("IA050", []string{"vpc 'net'", "is protected"}, `SELECT * FROM iasql_preview()`)
	s.do(`CALL iasql_rollback()`, `SELECT iasql_unprotect('vpc', id) FROM vpc WHERE tags ->> 'Name' = 'net'`)

	// Who may not delete a table's records, or does not see them, lets go of none.
	s.declare("shop", `INSERT INTO queue (name) VALUES ('a'), ('b')`)
	w.Admin(`REVOKE DELETE ON queue FROM iasql_user`)
	s.do(`CALL iasql_declare('shop')`)
	s.refused("42501", []string{"'shop' lets go of records of queue that you may not delete"}, `CALL iasql_declared()`)
	w.Admin(`GRANT DELETE ON queue TO iasql_user`, `ALTER TABLE queue ENABLE ROW LEVEL SECURITY`,
		`CREATE POLICY half ON queue TO iasql_user USING (name <> 'b') WITH CHECK (name <> 'b')`)
	s.refused("42501", []string{"'shop' lets go of records of queue that you may not delete"}, `CALL iasql_declared()`)
	has(w, "shop", "a")
	for _, sneaks := range []string{`SELECT iasql_internal.end_declaration()`, `SELECT iasql_internal.drop_configuration('shop')`,
		`SELECT * FROM iasql_internal.let_go('shop', NULL)`, `INSERT INTO iasql_internal.mention VALUES (1, 'queue', 1)`} {
		if err := s.try(sneaks); err == nil {
			t.Errorf("%s was not refused", sneaks)
		}
	}
	s.do(`CALL iasql_rollback()`)
	s.refused("42501", []string{"that you may not delete"}, `DELETE FROM iasql_configurations WHERE name = 'shop'`)
	s.refused("IA031", []string{"no configuration"}, `SELECT iasql_mention('queue', 1)`)
	s.do(`CALL iasql_declare('mine')`)
	s.refused("42501", []string{"that you may see"}, `SELECT iasql_mention('queue', `+w.Admin(`SELECT id FROM queue WHERE name = 'b'`)+`)`)
	s.do(`CALL iasql_rollback()`)
	w.Admin(`DROP POLICY half ON queue`, `ALTER TABLE queue DISABLE ROW LEVEL SECURITY`)

	// Two that let go of the same record at once: the second waits for the first.
	s.declare("mail", `SELECT iasql_mention('queue', id) FROM queue WHERE name = 'a'`)
	other := user(w)
	s.do(`CALL iasql_begin()`, `CALL iasql_declare('mail')`, `CALL iasql_declared()`)
	other.do(`CALL iasql_declare('shop')`, `SELECT iasql_mention('queue', id) FROM queue WHERE name = 'b'`)
	other.refused("IA031", []string{"of queue cannot be let go of", "configuration 'mail' is being declared"}, `CALL iasql_declared()`)
	s.do(`CALL iasql_commit()`)
	other.do(`CALL iasql_declared()`, `SELECT iasql_wait_for_all(60)`)
	if got := queues(w); got != "b" {
		t.Errorf("nobody has a any more: %s", got)
	}
	// Nor is a configuration taken away while another one is about to have a record of it.
	s.do(`CALL iasql_declare('mail')`, `SELECT iasql_mention('queue', id) FROM queue WHERE name = 'b'`)
	other.refused("IA031", []string{"configuration 'mail' is being declared"}, `DELETE FROM iasql_configurations WHERE name = 'shop'`)
	s.do(`CALL iasql_rollback()`)

	// A module that was uninstalled and installed again has other records of the same numbers.
	s.declare("old", `INSERT INTO vpc (cidr_block, tags) VALUES ('10.3.0.0/16', '{"Name": "old"}')`, `UPDATE aws_regions SET is_enabled = is_enabled`)
	s.refused("IA031", []string{"aws_account are settings"}, `CALL iasql_declare('old')`, `SELECT iasql_mention('aws_account', 1)`)
	s.do(`CALL iasql_rollback()`, `SELECT * FROM iasql_uninstall('aws_vpc')`, `CREATE TEMPORARY TABLE x (id int)`)
	w.Admin(`CREATE TABLE vpc (id bigint)`, `INSERT INTO vpc SELECT generate_series(1, 100)`, `GRANT ALL ON vpc TO PUBLIC`)
	s.declare("old", `SELECT true`)
	if got := w.Admin(`SELECT count(*) FROM vpc`, `DROP TABLE vpc`); !strings.HasPrefix(got, "100") {
		t.Errorf("of somebody's own table %s rows are left", got)
	}
	s.do(`SELECT * FROM iasql_install('aws_vpc')`)
	s.declare("old", `SELECT true`)
	s.declare("net", `SELECT true`)
	w.Settled()
	if vpcs := w.CLI("ec2", "describe-vpcs")["Vpcs"].([]any); len(vpcs) != 3 {
		t.Errorf("VPCs are left: %v", vpcs)
	}

	// Two of one batch that let go of it: it goes with the second. One of them that takes it over keeps it.
	s.declare("mail", `SELECT iasql_mention('queue', id) FROM queue WHERE name = 'b'`)
	s.do(`CALL iasql_begin()`, `CALL iasql_declare('mail')`, `CALL iasql_declared()`, `CALL iasql_declare('shop')`, `CALL iasql_declared()`)
	if got := s.get(`SELECT string_agg(concat_ws(' ', action, description), '; ') FROM iasql_preview()`); got != "delete delete queue b in us-east-1" {
		t.Errorf("both let go of b: %s", got)
	}
	s.do(`CALL iasql_rollback()`)
	s.declare("mail", `SELECT true`)
	s.do(`CALL iasql_begin()`, `CALL iasql_declare('mail')`, `SELECT iasql_mention('queue', id) FROM queue WHERE name = 'b'`, `CALL iasql_declared()`,
		`CALL iasql_declare('shop')`, `CALL iasql_declared()`, `CALL iasql_commit()`)
	has(w, "mail", "b")
	has(w, "shop", "")
	s.do(`DELETE FROM iasql_configurations`, `SELECT iasql_wait_for_all(60)`)
	w.Settled()
}

// Where the cloud makes up the names, plain INSERTs that are declared again are the records that are there: nothing is
// made anew, what differs is changed, and what is new refers to what is old.
func TestDeclaredAgain(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_vpc", "aws_security_group", "aws_elb")
	w.Settled()
	s := user(w)
	net := func(description string) []string {
		return []string{
			`WITH v AS (INSERT INTO vpc (cidr_block, tags) VALUES ('10.1.0.0/16', '{"Name": "net"}') RETURNING id)
			INSERT INTO subnet (vpc_id, cidr_block, availability_zone) SELECT v.id, c::cidr, z FROM v, (VALUES ('10.1.1.0/24', 'us-east-1a'), ('10.1.2.0/24', 'us-east-1b')) c (c, z)`,
			`WITH v AS (SELECT max(id) AS id FROM vpc WHERE tags ->> 'Name' = 'net'),
			g AS (INSERT INTO security_group (vpc_id, group_name, description) SELECT v.id, 'web', '` + description + `' FROM v RETURNING id)
			INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, from_port, to_port, cidr_ipv4) SELECT g.id, false, 'tcp', p, p, '0.0.0.0/0' FROM g, (VALUES (80), (443)) p (p)`,
			`INSERT INTO load_balancer (load_balancer_name, scheme, load_balancer_type, subnets_records)
			SELECT 'front', 'internal', 'application', array_agg(s.id ORDER BY s.cidr_block) FROM subnet s WHERE s.vpc_id = (SELECT max(id) FROM vpc WHERE tags ->> 'Name' = 'net')
			ON CONFLICT (account, region, load_balancer_name) DO UPDATE SET scheme = excluded.scheme`,
		}
	}
	s.declare("net", net("web")...)
	state := `SELECT jsonb_agg(jsonb_build_array(v.id, v.vpc_id, s.id, s.subnet_id) ORDER BY s.id) FROM vpc v JOIN subnet s ON s.vpc_id = v.id WHERE v.tags ->> 'Name' = 'net'`
	rules := `SELECT string_agg(concat_ws(' ', g.group_id, r.security_group_rule_id), ', ' ORDER BY r.id) FROM security_group g JOIN security_group_rule r ON r.security_group_id = g.id AND NOT r.is_egress WHERE g.group_name = 'web'`
	made, ruled := w.PSQL(state), w.PSQL(rules)
	calls := w.PSQL(`SELECT count(*) FROM iasql_operations`)
	s.do(append([]string{`CALL iasql_declare('net')`}, net("web")...)...)
	if got := s.get(`SELECT string_agg(concat_ws(' ', action, direction, description, changes), '; ') FROM iasql_preview()`); got != "" {
		t.Errorf("the same again would %s", got)
	}
	s.do(`CALL iasql_declared()`, `SELECT iasql_wait_for_all(60)`)
	if got := w.PSQL(state); got != made || w.PSQL(rules) != ruled {
		t.Errorf("the same again made %s and %s of %s and %s", got, w.PSQL(rules), made, ruled)
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_operations`); got != calls {
		t.Errorf("%s operations, before %s", got, calls)
	}

	// What differs is changed, what is new refers to what is there, and what is gone goes.
	s.declare("net", `WITH v AS (INSERT INTO vpc (cidr_block, tags) VALUES ('10.1.0.0/16', '{"Name": "net", "team": "a"}') RETURNING id)
		INSERT INTO subnet (vpc_id, cidr_block, availability_zone, tags) SELECT v.id, c::cidr, z, '{"new": "tag"}'::jsonb FROM v, (VALUES ('10.1.1.0/24', 'us-east-1a'), ('10.1.2.0/24', 'us-east-1b'), ('10.1.3.0/24', 'us-east-1c')) c (c, z)`,
		net("web")[2])
	if got := w.PSQL(`SELECT count(*), count(DISTINCT v.id), min(v.tags ->> 'team'), count(*) FILTER (WHERE s.tags ->> 'new' = 'tag') FROM vpc v JOIN subnet s ON s.vpc_id = v.id WHERE v.tags ->> 'Name' = 'net'`); got != "3|1|a|3" {
		t.Errorf("subnets, VPCs, team, tagged: %s", got)
	}
	if got := w.PSQL(`SELECT (` + state + `) @> '` + made + `'`); got != "t" {
		t.Errorf("the old ones were %s, and are %s", made, w.PSQL(state))
	}
	if got := w.PSQL(`SELECT count(*) FROM security_group WHERE group_name = 'web'`); got != "0" {
		t.Errorf("%s groups are left", got)
	}
	s.do(`DELETE FROM iasql_configurations`, `SELECT iasql_wait_for_all(60)`)
	if got := w.PSQL(`SELECT count(*) FROM vpc WHERE tags ->> 'Name' = 'net'`); got != "0" {
		t.Errorf("%s VPCs are left", got)
	}
	w.Settled()
}
