package console

import (
	"html"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// asking is a question that is asked of rows that are made for it.
type asking struct {
	name   string
	rows   []string // statements
	values []string // what is asked for
	finds  []string // what the answer has to have
	misses []string // and what it must not
}

var askings = []asking{
	{name: "open_ports", rows: []string{
		`INSERT INTO security_group (id, group_name, description) VALUES (9001, 'ports', 'x')`,
		`INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, from_port, to_port, cidr_ipv4, cidr_ipv6, description) VALUES
			(9001, false, 'tcp', 22, 22, '0.0.0.0/0', NULL, 'find-ssh'), (9001, false, 'tcp', 80, 80, NULL, '::/0', 'find-v6'), (9001, false, '-1', NULL, NULL, '0.0.0.0/0', NULL, 'find-all'),
			(9001, false, 'tcp', 23, 23, '10.0.0.0/8', NULL, 'miss-inside'), (9001, true, '-1', NULL, NULL, '0.0.0.0/0', NULL, 'miss-egress')`},
		finds: []string{"find-ssh", "find-v6", "find-all"}, misses: []string{"miss-inside", "miss-egress"}},
	{name: "unencrypted_volumes",
		rows: []string{`INSERT INTO general_purpose_volume (availability_zone, encrypted, instance_id, tags) VALUES
		('us-east-1a', false, 'i-1', '{"Name": "volume-plain"}'), ('us-east-1a', NULL, 'i-1', '{"Name": "volume-unknown"}'), ('us-east-1a', true, NULL, '{"Name": "volume-secret"}')`},
		finds: []string{"volume-plain", "volume-unknown"}, misses: []string{"volume-secret"}},
	{name: "unused_volumes", finds: []string{"volume-secret"}, misses: []string{"volume-plain", "volume-unknown"}},
	{name: "unencrypted_databases", rows: []string{
		`INSERT INTO rds (db_instance_identifier, engine, db_instance_class, storage_encrypted, publicly_accessible, backup_retention_period, read_replica_source, db_cluster_id) VALUES
			('db-plain', 'postgres', 'db.t4g.micro', false, true, 0, NULL, NULL), ('db-unknown', 'postgres', 'db.t4g.micro', NULL, false, 7, NULL, NULL), ('db-secret', 'postgres', 'db.t4g.micro', true, false, NULL, NULL, NULL),
			('db-replica', 'postgres', 'db.t4g.micro', true, false, 0, 'db-plain', NULL), ('db-member', 'aurora-postgresql', 'db.r6g.large', true, false, 0, NULL, 9001)`,
		`INSERT INTO db_cluster (id, db_cluster_identifier, engine, storage_encrypted) VALUES (9001, 'cluster-plain', 'aurora-postgresql', false), (9002, 'cluster-secret', 'aurora-postgresql', true)`},
		finds: []string{"db-plain", "db-unknown", "cluster-plain"}, misses: []string{"db-secret", "cluster-secret"}},
	{name: "public_databases", finds: []string{"db-plain"}, misses: []string{"db-unknown", "db-secret"}},
	{name: "databases_without_backups",
		rows:  []string{`INSERT INTO dynamo_table (table_name, primary_key, point_in_time_recovery_days) VALUES ('dynamo-none', '{"id": "S"}', NULL), ('dynamo-month', '{"id": "S"}', 30)`},
		finds: []string{"db-plain", "dynamo-none"}, misses: []string{"db-unknown", "db-secret", "db-replica", "db-member",
			"dynamo-month"}},
	{name: "unencrypted_file_systems",
		rows:  []string{`INSERT INTO efs_file_system (encrypted, tags) VALUES (false, '{"Name": "files-plain"}'), (true, '{"Name": "files-secret"}')`},
		finds: []string{"files-plain"}, misses: []string{"files-secret"}},
	{name: "buckets_without_key", rows: []string{
		`INSERT INTO bucket (name, policy, bucket_encryption) VALUES ('bucket-none', NULL, NULL),
			('bucket-aes', '{"Statement": {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Condition": {"IpAddress": {}}}}', '{"Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]}'),
			('bucket-kms', '{"Statement": [{"Effect": "Allow", "Principal": {"AWS": ["1", "*"]}}]}', '{"Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms"}}]}'),
			('bucket-dsse', '{"Statement": [{"Effect": "Deny", "Principal": "*"}, {"Effect": "Allow", "Principal": {"AWS": "123456789012"}}]}', '{"Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms:dsse"}}]}'),
			('bucket-kept', '{"Statement": [{"Effect": "Allow", "Principal": "*"}]}', NULL)`,
		`INSERT INTO public_access_block (bucket_name, restrict_public_buckets) VALUES ('bucket-aes', false), ('bucket-kms', false), ('bucket-dsse', true), ('bucket-kept', true)`},
		finds: []string{"bucket-none", "bucket-aes"}, misses: []string{"bucket-kms", "bucket-dsse"}},
	{name: "public_buckets", finds: []string{"bucket-none", "bucket-aes", "bucket-kms"}, misses: []string{"bucket-dsse",
		"bucket-kept"}},
	{name: "unused_addresses",
		rows:  []string{`INSERT INTO elastic_ip (allocation_id, association_id, tags) VALUES ('eipalloc-1', NULL, '{"Name": "address-idle"}'), ('eipalloc-2', 'eipassoc-2', '{"Name": "address-used"}')`},
		finds: []string{"address-idle"}, misses: []string{"address-used"}},
	{name: "unused_security_groups", rows: []string{
		`INSERT INTO security_group (id, group_name, description, is_default) VALUES (9011, 'group-idle', 'x', false), (9012, 'group-instance', 'x', false), (9013, 'group-named', 'x', false), (9014, 'group-default', 'x', true), (9015, 'group-database', 'x', false)`,
		`INSERT INTO instance_security_groups (instance_id, security_group_id) VALUES (1, 9012)`,
		`INSERT INTO rds_security_groups (rds_id, security_group_id) VALUES (1, 9015)`,
		`INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, source_security_group) VALUES (9012, false, '-1', 9013), (9011, false, '-1', 9011)`},
		finds: []string{"group-idle"}, misses: []string{"group-instance", "group-named", "group-default", "group-database"}},
	{name: "idle_load_balancers", rows: []string{
		`INSERT INTO load_balancer (id, load_balancer_name) VALUES (9021, 'balancer-bare'), (9022, 'balancer-empty'), (9023, 'balancer-busy'), (9024, 'balancer-addresses'), (9025, 'balancer-redirects')`,
		`INSERT INTO target_group (id, target_group_name, target_type) VALUES (9031, 'empty', 'instance'), (9032, 'busy', 'instance'), (9033, 'addresses', 'ip')`,
		`INSERT INTO registered_instance (instance, target_group_id, port) VALUES (1, 9032, 80)`,
		`INSERT INTO listener (load_balancer_id, port, protocol, target_group_id) VALUES (9022, 80, 'HTTP', 9031), (9023, 80, 'HTTP', 9032), (9024, 80, 'HTTP', 9033), (9025, 80, 'HTTP', NULL)`},
		finds: []string{"balancer-bare", "balancer-empty"}, misses: []string{"balancer-busy", "balancer-addresses",
			"balancer-redirects"}},
	{name: "old_access_keys",
		rows:  []string{`INSERT INTO access_key (user_name, access_key_id, status, create_date) VALUES ('key-old', 'AKIA1', 'Active', now() - interval '100 days'), ('key-new', 'AKIA2', 'Active', now() - interval '10 days'), ('key-off', 'AKIA3', 'Inactive', now() - interval '100 days')`},
		finds: []string{"key-old"}, misses: []string{"key-new", "key-off"}},
	{name: "old_access_keys", values: []string{"days", "5"}, finds: []string{"key-old", "key-new"},
		misses: []string{"key-off"}},
	{name: "who_may_assume", rows: []string{`INSERT INTO iam_role (role_name, assume_role_policy_document) VALUES
		('role-a', '{"Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": ["arn:aws:iam::1:user/ana", "arn:aws:iam::1:user/bo"], "Service": "ec2.amazonaws.com"}}]}'),
		('role-b', '{"Statement": {"Effect": "Allow", "Principal": "*", "Condition": {"StringEquals": {"a": "b"}}}}')`},
		finds: []string{"role-a", "user/ana", "user/bo", "ec2.amazonaws.com", "role-b", "anybody", "StringEquals"}},
	{name: "who_may_assume", values: []string{"role", "role-b"}, finds: []string{"role-b"}, misses: []string{"role-a"}},
	{name: "expiring_certificates",
		rows:  []string{`INSERT INTO certificate (domain_name, not_after) VALUES ('soon.example.com', now() + interval '10 days'), ('later.example.com', now() + interval '100 days'), ('never.example.com', NULL)`},
		finds: []string{"soon.example.com"}, misses: []string{"later.example.com", "never.example.com"}},
	{name: "missing_tags",
		rows:  []string{`INSERT INTO queue (id, name, tags) VALUES (9041, 'tagged', '{"team": "web", "Name": "queue-tagged"}'), (9042, 'other', '{"Name": "queue-other"}'), (9043, 'none', NULL)`},
		finds: []string{"queue-other", "/records/queue/9043"}, misses: []string{"queue-tagged"}},
	{name: "missing_tags", values: []string{"key", "Name"}, finds: []string{"/records/queue/9043"},
		misses: []string{"queue-tagged", "queue-other"}},
	{name: "cost_by_tag",
		rows: []string{`INSERT INTO iasql_bills (table_name, record_id, monthly) VALUES ('queue', 9041, 12.5), ('queue', 9042, 99.25)`}, finds: []string{"web", "12.5"}, misses: []string{"99.25"}},
	{name: "expiring",
		rows: []string{`INSERT INTO iasql_protection (table_name, record_id, protected, until, by) VALUES ('queue', 9041, true, now() + interval '3 hours', 'somebody')`}, finds: []string{"/records/queue/9041"}, misses: []string{"9042"}},
	{name: "failed_records",
		rows: []string{`INSERT INTO iasql_internal.record_state (table_name, record_id, account, state, message, review) VALUES ('queue', 9042, 'nowhere', 'CreatingFailed', 'state-refused', true)`}, finds: []string{"state-refused", "/records/queue/9042"}, misses: []string{"9041"}},
	{name: "changed_lately",
		rows: []string{`INSERT INTO iasql_audit_log (ts, "user", table_name, record_id, change_type, change, origin) VALUES
		(now() - interval '2 hours', 'somebody', 'queue', 9041, 'UPDATE', '{"original": {"delay_seconds": 1}, "change": {"delay_seconds": 2}}', 'user'),
		(now() - interval '30 hours', 'longago', 'queue', 9041, 'UPDATE', '{"original": {"delay_seconds": 0}, "change": {"delay_seconds": 1}}', 'user')`},
		finds: []string{"somebody", "delay_seconds"}, misses: []string{"longago"}},
	{name: "unread_tables",
		rows:  []string{`INSERT INTO iasql_internal.unread (account, table_name, region, error, denied, partly, since) VALUES ('default', 'queue', 'eu-south-2', 'reading-failed', false, false, now())`},
		finds: []string{"reading-failed"}},
	{name: "failed_units", rows: []string{`INSERT INTO host_unit (account, name, active, active_state, sub_state, result, restart_due) VALUES
		('web-1', 'failed.service', 'running', 'failed', 'failed', 'exit-code', NULL), ('web-1', 'ended.service', 'running', 'inactive', 'dead', NULL, NULL),
		('web-1', 'changed.service', 'running', 'active', 'running', NULL, '{package:openssl}'), ('web-1', 'well.service', 'running', 'active', 'running', NULL, NULL),
		('web-1', 'idle.service', 'stopped', 'inactive', 'dead', NULL, NULL)`},
		finds:  []string{"failed.service", "exit-code", "ended.service", "changed.service", "package:openssl"},
		misses: []string{"well.service", "idle.service"}},
	{name: "outdated_packages", rows: []string{`INSERT INTO host_package (account, name, version, latest) VALUES
		('web-1', 'openssl', '3.0.1-1', '3.0.2-1'), ('web-2', 'openssl', '3.0.2-1', '3.0.2-1'), ('web-1', 'openssl_old', '1.1', '1.1'), ('web-1', 'local-tool', '1', NULL)`},
		finds: []string{"3.0.1-1", "3.0.2-1"}, misses: []string{"openssl_old", "local-tool", "web-2"}},
	{name: "hosts_by_package", values: []string{"package", "openssl*"}, finds: []string{"web-1", "web-2", "openssl_old"},
		misses: []string{"local-tool"}},
	{name: "hosts_by_package", values: []string{"package", "openssl_*"}, finds: []string{"openssl_old"},
		misses: []string{"3.0.1-1"}},
	{name: "listening_ports", rows: []string{`INSERT INTO host_port (account, protocol, address, port, process) VALUES
		('web-1', 'tcp', '0.0.0.0', 22, 'port-all'), ('web-1', 'tcp6', '::', 80, 'port-six'), ('web-1', 'tcp', '127.0.0.1', 5432, 'port-own'),
		('web-1', 'tcp6', '::1', 5432, 'port-own'), ('web-1', 'tcp', '10.0.0.5', 8080, 'port-net')`},
		finds: []string{"port-all", "port-six", "port-net"}, misses: []string{"port-own"}},
	{name: "full_disks", rows: []string{`INSERT INTO host_disk (account, mount_point, read_only, size, used_percent) VALUES
		('web-1', '/full', false, 1024, 90), ('web-1', '/half', false, 1024, 50), ('web-1', '/cdrom', true, 1024, 100)`},
		finds: []string{"/full"}, misses: []string{"/half", "/cdrom"}},
	{name: "full_disks", values: []string{"percent", "50"}, finds: []string{"/full", "/half"}, misses: []string{"/cdrom"}},
	{name: "sick_containers", rows: []string{`INSERT INTO host_container (account, name, image, state, status, health, restarts) VALUES
		('web-1', 'box-unhealthy', 'a', 'running', 'running', 'unhealthy', 0), ('web-1', 'box-ended', 'a', 'running', 'exited', NULL, 0),
		('web-1', 'box-again', 'a', 'running', 'running', NULL, 7), ('web-1', 'box-well', 'a', 'running', 'running', 'healthy', 0),
		('web-1', 'box-stopped', 'a', 'stopped', 'exited', NULL, 0)`},
		finds: []string{"box-unhealthy", "box-ended", "box-again"}, misses: []string{"box-well", "box-stopped"}},
	{name: "who_is_root", rows: []string{
		`INSERT INTO host_sudoer (account, name, content, who, nopasswd) VALUES ('web-1', 'ops', '%ops ALL=(ALL) NOPASSWD: ALL', '{%ops,anna}', true)`,
		`INSERT INTO host_user (account, name, uid, locked) VALUES ('web-1', 'toor', 0, false), ('web-1', 'gone', 0, true), ('web-1', 'mere', 1000, false), ('web-1', 'left', 1001, true)`},
		finds: []string{"%ops", "anna", "toor"}, misses: []string{"gone", "mere"}},
	{name: "who_gets_in", rows: []string{`INSERT INTO host_authorized_key (account, user_name, key, comment) VALUES
		('web-1', 'mere', 'ssh-ed25519 AAAAkeykeykey1', 'mere@laptop'), ('web-2', 'root', 'ssh-ed25519 AAAAkeykeykey1', 'mere@laptop'), ('web-1', 'left', 'ssh-ed25519 AAAAkeykeykey2', 'left@laptop')`},
		finds: []string{"mere@laptop", "mere@web-1, root@web-2"}, misses: []string{"left@"}},
}

// testQuestions asks each question of rows that it should find, and of others. Nothing is
// pushed or pulled meanwhile. Cycles that look at what waits may come all the same, and would settle a
// state that nothing has led to: the one that is made up here is of an account that no cycle is of.
func testQuestions(t *testing.T, w *harness.World, base string) {
	w.PSQL(`UPDATE iasql_settings SET value = '1 day' WHERE name = 'sync_interval'`, `INSERT INTO iasql_mode (mode) VALUES ('PAUSE')`)
	v := asked(t, base, w.UserURL)
	tried := map[string]bool{}
	for _, a := range askings {
		tried[a.name] = true
		for _, rows := range a.rows {
			if out, err := w.TryPSQL(w.AdminURL, `SET session_replication_role = replica`, rows); err != nil {
				t.Errorf("%s: %s: %s %v", a.name, rows, out, err)
			}
		}
	}
	for _, a := range askings {
		fields := []string{"ask", a.name, "limit", "10000"}
		for i := 0; i+1 < len(a.values); i += 2 {
			fields = append(fields, "ask_"+a.values[i], a.values[i+1])
		}
		page := v.run("", fields...)
		if strings.Contains(page, `role="alert"`) {
			t.Errorf("%s: %.1500s", a.name, page)
			continue
		}
		v.has(page, a.finds...)
		for _, miss := range a.misses {
			if strings.Contains(page, miss) {
				t.Errorf("%s finds %s: %.1500s", a.name, miss, page)
			}
		}
	}
	for _, folder := range []string{"../../internal/console/questions", "../../internal/aws/questions",
		"../../internal/hosts/questions"} {
		files, err := filepath.Glob(filepath.Join(folder, "*.sql"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", folder, err)
		}
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".sql")
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "-- "), "\n")
			if !tried[name] {
				t.Errorf("nobody asks %s of rows that it finds", name)
			}
			if page := html.UnescapeString(v.get("/sql?ask=" + name)); !strings.Contains(page, title) ||
				!strings.Contains(page, `value="`+name+`"`) {
				t.Errorf("%s is not offered where all is installed", name)
			}
		}
	}
	// By a token they say the same: of tables in schema public, whatever the search path.
	token := newVisitor(t, base)
	if status, body, _ := token.send("POST", "/signin",
		url.Values{"token": {w.PSQL(`SELECT iasql_console_token()`)}}); status != 303 {
		t.Fatalf("signing in by a token: %d %s", status, body)
	}
	for name := range tried {
		if page := token.run("", "ask", name); strings.Contains(page, `role="alert"`) {
			t.Errorf("%s, by a token: %.1500s", name, page)
		}
	}
	if got := w.Admin(`SELECT count(*) FROM pg_stat_activity WHERE application_name = 'iasql console' AND state = 'active' AND pid <> pg_backend_pid()`); got != "0" {
		t.Errorf("%s connections are left", got)
	}
}
