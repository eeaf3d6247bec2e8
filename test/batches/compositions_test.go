package batches

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// counts says how many records each part of the network of a name has.
func counts(w *harness.World, name string) string {
	w.Helper()
	return w.PSQL(`SELECT string_agg(part || ' ' || n, ', ' ORDER BY part)
		FROM (SELECT p.part, count(*) AS n FROM iasql_parts p JOIN network i ON i.id = p.instance WHERE i.name = '` + name + `' GROUP BY 1) c`)
}

// tabled says how many records of some tables there are that somebody has made.
func tabled(w *harness.World) string {
	w.Helper()
	return w.PSQL(`SELECT concat_ws(' ', (SELECT count(*) FROM vpc WHERE NOT is_default), (SELECT count(*) FROM subnet WHERE NOT default_for_az),
		(SELECT count(*) FROM internet_gateway WHERE NOT is_default), (SELECT count(*) FROM elastic_ip), (SELECT count(*) FROM nat_gateway WHERE state <> 'deleted' OR state IS NULL))`)
}

const two = "elastic_ip 1, internet_gateway 1, nat_gateway 1, private_association 2, private_route 2, private_route_table 2, " +
	"private_subnet 2, public_association 2, public_route 1, public_route_table 1, public_subnet 2, vpc 1"

// A row of network stands for a VPC and all that is in it: it comes, changes and goes with the row, but for what somebody has changed
// in a part by hand.
func TestNetwork(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east)
	w.Install(east)
	if got := w.PSQL(`SELECT module_name, created_table_name FROM iasql_install('network') WHERE module_name = 'network'`); got != "network|network" {
		t.Fatalf("installed %s", got)
	}
	w.Settled()
	none := tabled(w)
	w.PSQL(`INSERT INTO network (name, tags) VALUES ('shop', '{"team": "web"}')`)
	if got := counts(w, "shop"); got != two {
		t.Errorf("it has %s", got)
	}
	w.Settled()
	if got := len(w.CLI("ec2", "describe-subnets", "--filters", "Name=tag:team,Values=web")["Subnets"].([]any)); got != 4 {
		t.Errorf("%d subnets", got)
	}
	if got := w.PSQL(`SELECT string_agg(concat_ws(' ', tags ->> 'Name', cidr_block, availability_zone), ', ' ORDER BY tags ->> 'Name') FROM subnet WHERE tags ? 'tier'`); got !=
		"shop-private-1 10.0.0.0/20 us-east-1a, shop-private-2 10.0.16.0/20 us-east-1b, shop-public-1 10.0.128.0/20 us-east-1a, shop-public-2 10.0.144.0/20 us-east-1b" {
		t.Errorf("subnets: %s", got)
	}
	if got := w.PSQL(`SELECT string_agg(split_part(sql, ' (', 1), '; ') FROM iasql_get_sql_since() WHERE sql !~ 'aws_'`); got != "INSERT INTO network" {
		t.Errorf("what repeats it elsewhere: %s", got)
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_parts WHERE edited <> '{}'`); got != "0" {
		t.Errorf("%s parts are edited that nobody has edited: %s", got, w.PSQL(`SELECT part, key, edited FROM iasql_parts WHERE edited <> '{}'`))
	}

	// What somebody has changed in a part stays, and is shown.
	w.PSQL(`UPDATE subnet SET map_public_ip_on_launch = false, tags = tags || '{"mine": "yes"}' WHERE tags ->> 'Name' = 'shop-public-1'`)
	const edits = `SELECT string_agg(concat_ws(' ', part, key, edited), '; ' ORDER BY part, key) FROM iasql_parts WHERE edited <> '{}'`
	if got := w.PSQL(edits); got != "public_subnet 1 {map_public_ip_on_launch,tags}" {
		t.Errorf("edited: %s", got)
	}
	kept := w.PSQL(`SELECT id FROM subnet WHERE tags ->> 'Name' = 'shop-public-1'`)
	w.PSQL(`UPDATE network SET zones = 3, nat = 'each', endpoints = '{s3}' WHERE name = 'shop'`)
	if got := counts(w, "shop"); got != "elastic_ip 3, endpoint 1, internet_gateway 1, nat_gateway 3, private_association 3, private_route 3, "+
		"private_route_table 3, private_subnet 3, public_association 3, public_route 1, public_route_table 1, public_subnet 3, vpc 1" {
		t.Errorf("with three zones it has %s", got)
	}
	w.Settled()
	if got := w.PSQL(edits); got != "public_subnet 1 {map_public_ip_on_launch,tags}" {
		t.Errorf("edited after a change of other things: %s", got)
	}
	w.PSQL(`UPDATE network SET zones = 1, nat = 'none', endpoints = '{}', tags = '{}' WHERE name = 'shop'`)
	w.Settled()
	if got := counts(w, "shop"); got != "internet_gateway 1, private_association 1, private_route_table 1, private_subnet 1, public_association 1, "+
		"public_route 1, public_route_table 1, public_subnet 1, vpc 1" {
		t.Errorf("with one zone it has %s", got)
	}
	// A change of the instance that is about what somebody has changed wins.
	if got := w.PSQL(`SELECT id, tags, map_public_ip_on_launch FROM subnet WHERE tags ->> 'Name' = 'shop-public-1'`); got !=
		kept+`|{"Name": "shop-public-1", "tier": "public"}|f` {
		t.Errorf("the subnet is %s, was record %s", got, kept)
	}
	// What somebody has deleted is not made again; who refers to a part keeps the instance.
	w.PSQL(`DELETE FROM route USING iasql_parts p WHERE p.part = 'public_route' AND p.record_id = route.id`)
	w.Settled()
	w.PSQL(`UPDATE network SET tags = '{"team": "shop"}'`)
	w.Settled()
	if got := counts(w, "shop"); got != "internet_gateway 1, private_association 1, private_route_table 1, private_subnet 1, public_association 1, "+
		"public_route_table 1, public_subnet 1, vpc 1" {
		t.Errorf("without the route that somebody has deleted it has %s", got)
	}
	if got := w.PSQL(`SELECT composition, parts, unfinished, state, review FROM iasql_instances`); got != "network|8|0|Present|f" {
		t.Errorf("as one: %s", got)
	}
	w.PSQL(`INSERT INTO subnet (vpc_id, cidr_block) SELECT p.record_id, '10.0.240.0/24' FROM iasql_parts p WHERE p.part = 'vpc'`)
	w.Settled()
	if said := w.Refused(`DELETE FROM network`); !strings.Contains(said, "23503") || !strings.Contains(said, "subnet") {
		t.Errorf("deleted from under a subnet: %s", said)
	}
	w.PSQL(`DELETE FROM subnet WHERE cidr_block = '10.0.240.0/24'`)
	w.Settled()
	if said := w.Refused(`SELECT * FROM iasql_install('./network')`); !strings.Contains(said, "engine compose install") {
		t.Errorf("installed from a path: %s", said)
	}
	if said := w.Refused(`UPDATE network SET region = 'us-west-2'`); !strings.Contains(said, "IA032") || !strings.Contains(said, "cannot move") {
		t.Errorf("moved: %s", said)
	}
	if said := w.Refused(`SELECT * FROM iasql_uninstall('network')`); !strings.Contains(said, "it has 1 instances") {
		t.Errorf("uninstalled: %s", said)
	}
	if said := w.Refused(`SELECT * FROM iasql_uninstall('aws_vpc')`); !strings.Contains(said, "composition network needs it") {
		t.Errorf("uninstalled: %s", said)
	}
	w.PSQL(`DELETE FROM network`)
	w.Settled()
	if got := tabled(w); got != none {
		t.Errorf("there was %s and is %s", none, got)
	}
	w.PSQL(`SELECT * FROM iasql_uninstall('network')`)
	if got := w.PSQL(`SELECT to_regclass('network') IS NULL, (SELECT count(*) FROM iasql_modules_installed() WHERE module_name = 'network')`); got != "t|0" {
		t.Errorf("after uninstalling: %s", got)
	}
	w.PSQL(`SELECT * FROM iasql_install('network')`, `INSERT INTO network (name) VALUES ('anew')`, `DELETE FROM network`)
}

// An instance is staged, rolled back, undone and declared with its parts, as if it were one record.
func TestNetworkInBatches(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east)
	w.Install(east, "network")
	w.Admin(`UPDATE iasql_settings SET value = '1' WHERE name = 'max_delete_ratio'`)
	w.Settled()
	none := tabled(w)
	s := user(w)
	s.do(`CALL iasql_begin('net')`, `INSERT INTO network (name, nat) VALUES ('shop', 'none')`)
	if got := s.get(`SELECT count(*) FILTER (WHERE action = 'create' AND direction = 'push') || ' of ' || count(*) FROM iasql_preview()`); got != "14 of 14" {
		t.Errorf("the preview has %s: %s", got, s.get(`SELECT string_agg(concat_ws(' ', action, direction, description), '; ') FROM iasql_preview()`))
	}
	if said := w.Refused(`UPDATE network SET zones = 3`); !strings.Contains(said, "IA020") {
		t.Errorf("a staged instance was changed: %s", said)
	}
	if said := w.Refused(`SELECT * FROM iasql_uninstall('network')`); !strings.Contains(said, "staged in batch") {
		t.Errorf("uninstalled: %s", said)
	}
	s.do(`CALL iasql_rollback()`)
	if got := w.PSQL(`SELECT count(*) FROM network`, `SELECT count(*) FROM iasql_parts`) + " " + tabled(w); got != "0\n0 "+none {
		t.Errorf("after the rollback: %s", got)
	}

	s.do(`CALL iasql_begin('net')`, `INSERT INTO network (name, nat) VALUES ('shop', 'none')`, `CALL iasql_commit()`)
	made := counts(w, "shop")
	records := w.PSQL(`SELECT string_agg(table_name || record_id, ' ' ORDER BY table_name, record_id) FROM iasql_parts`)
	s.do(`CALL iasql_begin('less')`, `UPDATE network SET zones = 1`)
	less := s.get(`SELECT count(*) FROM iasql_parts`)
	s.do(`CALL iasql_rollback()`)
	if got := counts(w, "shop"); got != made || less != "9" {
		t.Errorf("after rolling back a change it has %s, had %s, and %s in between", got, made, less)
	}
	s.do(`CALL iasql_begin('less')`, `UPDATE network SET zones = 1`, `CALL iasql_commit()`)
	less = w.PSQL(`SELECT id FROM iasql_batches WHERE name = 'less' AND outcome = 'committed'`)
	s.do(`CALL iasql_undo(`+less+`)`, `CALL iasql_commit()`)
	if got := w.PSQL(`SELECT zones FROM network`) + w.PSQL(`SELECT string_agg(table_name || record_id, ' ' ORDER BY table_name, record_id) FROM iasql_parts`); got != "2"+records {
		t.Errorf("after undoing a change it has %s, had %s", got, records)
	}
	s.do(`CALL iasql_begin('away')`, `DELETE FROM network`, `CALL iasql_rollback()`)
	if got := counts(w, "shop"); got != made {
		t.Errorf("after rolling back the deletion it has %s, had %s", got, made)
	}
	w.PSQL(`UPDATE network SET zones = 3`) // what came back is a part as before
	w.Settled()
	w.PSQL(`DELETE FROM network`)
	w.Settled()
	if got := tabled(w); got != none {
		t.Errorf("there was %s and is %s", none, got)
	}
}

// A configuration that has an instance has its parts, whether or not a declaration writes them again.
func TestNetworkDeclared(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east)
	w.Install(east, "network")
	w.Admin(`UPDATE iasql_settings SET value = '1' WHERE name = 'max_delete_ratio'`)
	w.Settled()
	none := tabled(w)
	s := user(w)
	s.declare("shop", `INSERT INTO network (name, nat) VALUES ('shop', 'none')`)
	made := counts(w, "shop")
	before := w.PSQL(`SELECT count(*) FROM iasql_audit_log WHERE table_name IN ('vpc', 'subnet', 'network')`)
	s.declare("shop", `INSERT INTO network (name, nat) VALUES ('shop', 'none') ON CONFLICT DO NOTHING`)
	s.declare("shop", `SELECT iasql_mention('network', id) FROM network`)
	if got := counts(w, "shop"); got != made {
		t.Errorf("declared again it has %s, had %s", got, made)
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_audit_log WHERE table_name IN ('vpc', 'subnet', 'network')`); got != before {
		t.Errorf("the audit log had %s rows and has %s", before, got)
	}
	w.PSQL(`UPDATE network SET zones = 3`) // outside of a declaration
	s.declare("shop", `INSERT INTO network (name, nat) VALUES ('shop', 'none') ON CONFLICT DO NOTHING`)
	if got := w.PSQL(`SELECT count(*) FROM iasql_parts WHERE part = 'public_subnet'`); got != "3" {
		t.Errorf("%s public subnets", got)
	}
	// Another instance in its place, whose parts are the same but for their names, is another one.
	s.declare("shop", `INSERT INTO network (name, nat) VALUES ('store', 'none')`)
	if got := w.PSQL(`SELECT string_agg(name, ' ') FROM network`) + counts(w, "store"); got != "store"+made {
		t.Errorf("there are %s", got)
	}
	w.Settled()
	s.do(`DELETE FROM iasql_configurations WHERE name = 'shop'`, `SELECT iasql_wait_for_all(60)`)
	w.Settled()
	if got := tabled(w); got != none {
		t.Errorf("there was %s and is %s", none, got)
	}
}

// Parts are written with the rights of whoever writes the instance, and nobody makes a part of what he has not inserted with it.
func TestRightsOfParts(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east)
	w.Install(east, "network")
	w.Settled()
	w.PSQL(`INSERT INTO network (name, nat, zones) VALUES ('shop', 'none', 1)`, `INSERT INTO vpc (cidr_block) VALUES ('10.9.0.0/16')`)
	reader, guest, ana := w.Login("reader", "iasql_reader"), w.Login("guest", "iasql_reader"), w.Login("ana", "iasql_user")
	refused := func(url, want string, statements ...string) {
		t.Helper()
		if out, err := w.TryPSQL(url, statements...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %s %v, want %s", statements, out, err, want)
		}
	}
	get := func(url, query string) string {
		t.Helper()
		out, err := w.TryPSQL(url, query)
		if err != nil {
			t.Error(err)
		}
		return out
	}
	w.Admin(`GRANT INSERT, UPDATE, DELETE ON network, vpc, internet_gateway TO ` + get(guest, `SELECT current_user`))
	refused(reader, "permission denied for table network", `DELETE FROM network`)
	refused(guest, "permission denied for table subnet", `INSERT INTO network (name, nat) VALUES ('theirs', 'none')`)
	refused(guest, "permission denied", `DELETE FROM network`)
	if got := w.PSQL(`SELECT count(*) FROM network`, `SELECT count(*) FROM vpc WHERE is_default IS NOT TRUE`); got != "1\n2" {
		t.Errorf("after what was refused there are %s", got)
	}
	if got := get(reader, `SELECT count(*) FROM iasql_parts`); got != "9" {
		t.Errorf("the reader sees %s parts", got)
	}

	// What row-level security hides from somebody he does not write by an instance, nor sees among its parts.
	w.Admin(`ALTER TABLE subnet ENABLE ROW LEVEL SECURITY`, `CREATE POLICY theirs ON subnet TO iasql_reader USING (current_user NOT LIKE 'ana%' OR tags ->> 'tier' = 'public')`)
	refused(ana, "not yours to change", `UPDATE network SET tags = '{"a": "b"}'`)
	refused(ana, "not yours to delete", `DELETE FROM network`)
	if got := get(ana, `SELECT count(*), count(*) FILTER (WHERE part = 'private_subnet') FROM iasql_parts`); got != "8|0" {
		t.Errorf("ana sees %s parts", got)
	}
	w.Admin(`REVOKE SELECT ON vpc FROM iasql_reader`)
	if got := get(ana, `SELECT count(*) FILTER (WHERE table_name = 'vpc') FROM iasql_parts`); got != "0" {
		t.Errorf("ana sees %s parts of a table that she may not read", got)
	}
	w.Admin(`GRANT SELECT ON vpc TO iasql_reader`, `ALTER TABLE subnet DISABLE ROW LEVEL SECURITY`)

	// Nobody has a record of somebody's become a part, nor asks for what he has not written.
	mine := w.PSQL(`SELECT id FROM vpc WHERE cidr_block = '10.9.0.0/16'`)
	instance := w.PSQL(`SELECT id FROM network`)
	note := `SELECT iasql_internal.note_parts('network', '[{"table": "vpc", "id": ` + mine + `, "instance": ` + instance + `, "part": "vpc", "key": "x"}]')`
	refused(ana, "IA032", note)
	refused(ana, "IA032", `BEGIN`, `UPDATE network SET tags = '{"a": "b"}'`, note)
	if got := get(ana, `SELECT iasql_internal.parts_of('network', '{`+instance+`}')`); got != "[]" {
		t.Errorf("ana is told of parts: %s", got)
	}
	if got := w.PSQL(`SELECT string_agg(DISTINCT "user", ' ') = session_user::text FROM iasql_audit_log WHERE table_name = 'subnet' AND origin = 'user'`); got != "t" {
		t.Errorf("the audit log does not say who wrote the parts")
	}

	// What was a part is forgotten once the audit log has forgotten it.
	w.PSQL(`INSERT INTO network (name, nat, zones) VALUES ('gone', 'none', 1)`)
	w.Settled()
	w.Admin(`UPDATE iasql_settings SET value = '1' WHERE name = 'max_delete_ratio'`)
	w.PSQL(`DELETE FROM network WHERE name = 'gone'`)
	w.Settled()
	const known = `SELECT count(*) FROM iasql_internal.part`
	w.Admin(`SELECT iasql_internal.prune()`)
	before := w.Admin(known)
	w.Admin(`DELETE FROM iasql_audit_log`, `SELECT iasql_internal.prune()`)
	if after := w.Admin(known); before != "18" || after != "9" {
		t.Errorf("%s parts were known, and are %s without the audit log", before, after)
	}
}

// file is a file of a folder on a page: its path, and the block that follows.
var file = regexp.MustCompile("(?s)\n`(lanes/[^`]+)`\n\n(?:<!--[^\n]*-->\n)?```[a-z]+\n(.*?)```\n")

// The page's composition is installed as the page says, checked, and taken in a later version that is previewed before.
func TestLanesOfThePage(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/compositions.md")
	if err != nil {
		t.Fatal(err)
	}
	first, later, cut := strings.Cut(string(text), "\n## A later version\n")
	if !cut {
		t.Fatal("the page has another form")
	}
	w := harness.Start(t, east)
	dir := filepath.Join(t.TempDir(), "lanes")
	write := func(page string, n int) {
		t.Helper()
		files := file.FindAllStringSubmatch(page, -1)
		if len(files) != n {
			t.Fatalf("%d files", len(files))
		}
		for _, f := range files {
			path := filepath.Join(filepath.Dir(dir), f[1])
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(f[2]), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	compose := func(url string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), harness.Engine(), append([]string{"compose", "install", dir}, args...)...)
		cmd.Env = append(os.Environ(), "DATABASE_URL="+url)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return "failed: " + string(out)
		}
		return string(out)
	}
	says := func(got string, want ...string) {
		t.Helper()
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("%s\ndoes not say %s", got, part)
			}
		}
	}
	write(first, 4)
	w.Install(east)
	says(compose(w.UserURL), "failed", "42501", "takes a member of iasql_engine")
	says(compose(w.AdminURL), "failed", "IA009", "needs module aws_sqs")
	w.Install(east, "aws_sqs")
	// What is wrong is named.
	lane := filepath.Join(dir, "parts", "lane.sql")
	for said, query := range map[string]string{
		"part lane gives column colour, which table queue does not have":                                   `SELECT 'a' AS key, name, 1 AS colour FROM lanes`,
		"part lane gives column arn of queue, which the cloud decides":                                     `SELECT 'a' AS key, name, 'x' AS arn FROM lanes`,
		"part lane gives a value of type text for column delay_seconds of queue, which is of type integer": `SELECT 'a' AS key, name, 'x' AS delay_seconds FROM lanes`,
		"part lane has no column key":                           `SELECT name FROM lanes`,
		"composition lanes: parts/lane.sql: relation \"queue\"": `SELECT 'a' AS key, name FROM queue`,
	} {
		if err := os.WriteFile(lane, []byte(query), 0o600); err != nil {
			t.Fatal(err)
		}
		says(compose(w.AdminURL), "failed", "IA032", said)
	}
	if got := w.PSQL(`SELECT to_regclass('lanes') IS NULL, count(*) FROM iasql_modules_list() WHERE module_name = 'lanes'`); got != "t|0" {
		t.Errorf("after what was refused: %s", got)
	}
	write(first, 4)
	says(compose(w.AdminURL), "composition lanes is installed, in version 1")
	says(compose(w.AdminURL), "failed", "IA016", "installed in version 1 already")
	says(w.Refused(`SELECT * FROM iasql_install('lanes')`), "IA016", "engine compose install")
	w.PSQL(`INSERT INTO lanes (name, number) VALUES ('mails', 3), ('orders', 1)`)
	w.Settled()
	if got := queues(w); got != "mails-1 mails-2 mails-3 mails-failed orders-1 orders-failed" {
		t.Errorf("queues %s", got)
	}
	w.PSQL(`UPDATE lanes SET number = 2`, `UPDATE queue SET delay_seconds = 9 WHERE name = 'mails-1'`)
	w.Settled()

	if err := os.Remove(filepath.Join(dir, "parts", "failed.sql")); err != nil {
		t.Fatal(err)
	}
	write(later, 3)
	says(compose(w.AdminURL), "update queue mails-2", "delay_seconds: 0 → 5", "delete queue mails-failed", "0 to create, 4 to update, 0 to replace, 2 to delete",
		"version 2 of lanes has not been taken")
	if got := w.PSQL(`SELECT module_version FROM iasql_modules_installed() WHERE module_name = 'lanes'`, `SELECT count(*) FROM iasql_batches WHERE outcome IS NULL`, `SELECT keep_failed FROM lanes LIMIT 1`); got != "1\n0\nt" {
		t.Errorf("after the preview: %s", got)
	}
	w.Admin(`UPDATE iasql_settings SET value = '1' WHERE name = 'max_delete_ratio'`)
	says(compose(w.AdminURL, "--yes"), "delete queue orders-failed", "composition lanes is in version 2")
	w.Settled()
	if got := queues(w); got != "mails-1 mails-2 orders-1 orders-2" {
		t.Errorf("queues %s", got)
	}
	if got := w.PSQL(`SELECT string_agg(DISTINCT delay_seconds::text, ' ') FROM queue`); got != "5" {
		t.Errorf("delays %s", got)
	}
	w.PSQL(`UPDATE lanes SET delay = '1 minute' WHERE name = 'orders'`)
	w.Settled()
	w.PSQL(`DELETE FROM lanes`)
	w.Settled()
	w.PSQL(`SELECT * FROM iasql_uninstall('lanes')`)
	if got := queues(w) + w.PSQL(`SELECT count(*) FROM iasql_modules_list() WHERE module_name = 'lanes'`); got != "0" {
		t.Errorf("left: %s", got)
	}
}

// With a certificate a web service answers HTTPS, and HTTP leads there; without one any more, it answers HTTP again.
func TestWebServiceWithCertificate(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east)
	w.Install(east, "network", "web_service")
	w.Settled()
	s := user(w)
	const listeners = `SELECT string_agg(concat_ws(' ', p.key, l.port, l.protocol, l.action_type, l.target_group_id IS NOT NULL, l.certificate_id IS NOT NULL), ', ' ORDER BY p.key)
		FROM iasql_parts p JOIN listener l ON l.id = p.record_id WHERE p.table_name = 'listener'`
	s.do(`CALL iasql_begin()`, `INSERT INTO network (name, nat) VALUES ('shop', 'none')`, `INSERT INTO certificate (domain_name) VALUES ('shop.example.com')`,
		`INSERT INTO web_service (name, image, certificate, public_subnets, task_subnets)
		SELECT 'web', 'nginx:1', (SELECT max(id) FROM certificate), array_agg(record_id) FILTER (WHERE part = 'public_subnet'),
			array_agg(record_id) FILTER (WHERE part = 'private_subnet') FROM iasql_parts`)
	if got := s.get(listeners); got != "http 80 HTTP redirect f f, https 443 HTTPS forward t t" {
		t.Errorf("listeners %s", got)
	}
	if got := s.get(`SELECT string_agg(concat_ws(' ', direction, n), ', ') FROM (SELECT direction, count(*) AS n FROM iasql_preview() GROUP BY 1) p`); got != "push 33" {
		t.Errorf("the preview: %s", got)
	}
	s.do(`UPDATE web_service SET certificate = NULL`)
	if got := s.get(listeners); got != "http 80 HTTP forward t f" {
		t.Errorf("listeners %s", got)
	}
	s.do(`CALL iasql_rollback()`)
}
