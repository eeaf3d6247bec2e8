package contract

import (
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// infrastructure is what users asked for, without ids and what clouds choose.
const infrastructure = `
	SELECT concat_ws(' ', 'vpc', cidr_block, enable_dns_hostnames, tags) FROM vpc
	UNION ALL SELECT concat_ws(' ', 'subnet', s.cidr_block, s.tags, s.map_public_ip_on_launch, 'of', v.cidr_block, v.tags) FROM subnet s JOIN vpc v ON v.id = s.vpc_id
	UNION ALL SELECT concat_ws(' ', 'queue', name, fifo_queue, delay_seconds, policy, tags) FROM queue
	UNION ALL SELECT concat_ws(' ', 'bucket', name, tags) FROM bucket
	ORDER BY 1`

// The SQL of a batch, run on a second database and account, gives the same
// infrastructure: with twins that only their order or their tags tell apart,
// quotes, unicode, json, arrays and nulls.
func TestRepeatElsewhere(t *testing.T) {
	if testing.Short() {
		t.Skip("a second database and account: make test-all runs it")
	}
	t.Parallel()
	first := harness.Start(t, east, "aws_vpc", "aws_sqs", "aws_s3")
	first.PSQL(`SELECT iasql_sync_now()`)
	if got := first.PSQL(`SELECT count(*) FROM iasql_get_sql_for_transaction()`); got != "0" {
		t.Errorf("%s statements before there was a batch", got)
	}
	first.PSQL(`CALL iasql_begin()`,
		`INSERT INTO vpc (cidr_block, tags) VALUES ('10.0.0.0/16', '{"Name": "it''s \"ü\" \\ 日本 $$"}'), ('10.0.0.0/16', '{"Name": "two"}'), ('10.0.0.0/16', NULL), ('10.0.0.0/16', NULL)`,
		// The last first: those before it are still told apart.
		`UPDATE vpc SET tags = '{"last": "one"}' WHERE id = (SELECT max(id) FROM vpc)`,
		`UPDATE vpc SET tags = '{"third": "one"}' WHERE id = (SELECT max(id) - 1 FROM vpc)`,
		`INSERT INTO subnet (vpc_id, cidr_block, tags) SELECT id, '10.0.1.0/24', tags FROM vpc WHERE cidr_block = '10.0.0.0/16' ORDER BY id`,
		`UPDATE subnet SET map_public_ip_on_launch = true WHERE tags ->> 'third' = 'one'`,
		`DELETE FROM subnet WHERE tags ->> 'last' = 'one'`,
		`INSERT INTO vpc (cidr_block) VALUES ('10.5.0.0/16'), ('10.5.0.0/16')`,
		`INSERT INTO subnet (vpc_id, cidr_block) SELECT min(id), '10.5.8.0/24' FROM vpc WHERE cidr_block = '10.5.0.0/16'`,
		`UPDATE vpc SET tags = '{"was": "bare"}' WHERE id = (SELECT max(id) FROM vpc)`,
		`INSERT INTO subnet (vpc_id, cidr_block) SELECT max(id), '10.5.9.0/24' FROM vpc`,
		`INSERT INTO vpc (cidr_block, tags) VALUES ('10.7.0.0/16', '{"a": "1"}'), ('10.7.0.0/16', '{"a": "1", "b": "2"}'), ('10.7.0.0/16', '{"a": "1"}')`,
		`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, ('10.7.' || id % 100 || '.0/24')::cidr FROM vpc WHERE cidr_block = '10.7.0.0/16'`,
		`UPDATE vpc SET enable_dns_hostnames = true WHERE tags ->> 'Name' = 'two'`,
		`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '172.31.240.0/24' FROM vpc WHERE is_default`,
		`UPDATE vpc SET tags = '{"the": "default"}' WHERE is_default`,
		`INSERT INTO queue (name, fifo_queue, delay_seconds, tags) VALUES ('a', false, 1, '{"n": "1"}'), ('b', false, 2, '{}'), ('c.fifo', true, 3, '{"k''": "v\"", "ключ": "значение"}')`,
		`UPDATE queue SET delay_seconds = 5, tags = NULL WHERE name = 'a'`,
		`UPDATE queue SET policy = '{"Version": "2012-10-17", "Statement": [{"Sid": "a''b", "Effect": "Allow", "Principal": "*", "Action": ["sqs:SendMessage"], "Resource": "*"}]}' WHERE name = 'a'`,
		`DELETE FROM queue WHERE name = 'b'`,
		`UPDATE queue SET name = 'renamed' WHERE name = 'a'`,
		`INSERT INTO bucket (name, tags) VALUES ('shop-' || (SELECT count(*) FROM queue), '{"x": "|"}')`,
		`CALL iasql_commit('the shop')`)
	first.PSQL(`SELECT iasql_sync_now()`)
	want := first.PSQL(infrastructure)
	if strings.Count(want, "\n") < 12 || !strings.Contains(want, "日本") {
		t.Fatalf("the first account has\n%s", want)
	}
	batch := first.PSQL(`SELECT max(transaction_id) FROM iasql_audit_log`)
	script := first.PSQL(`SELECT sql FROM iasql_get_sql_for_transaction()`)
	if got := first.PSQL(`SELECT sql FROM iasql_get_sql_for_transaction(` + batch + `)`); got != script {
		t.Errorf("the newest batch is not batch %s", batch)
	}
	if strings.Contains(script, "vpc-") || strings.Contains(script, "arn:") {
		t.Errorf("names of the first account are in the script:\n%s", script)
	}

	second := harness.Start(t, east, "aws_vpc", "aws_sqs", "aws_s3")
	second.PSQL(script)
	second.PSQL(`SELECT iasql_wait_for_all(30)`)
	second.PSQL(`SELECT iasql_sync_now()`)
	if got := second.PSQL(infrastructure); got != want {
		t.Errorf("the script\n%s\ngives\n%s\nwant\n%s", script, got, want)
	}
}

// What a rolled-back batch did is not repeated, secrets are not told, and a
// review has all of the open batch.
func TestSQLSinceAndReview(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_vpc")
	w.PSQL(`SELECT iasql_wait_for_all(20)`)
	begun := w.PSQL(`SELECT clock_timestamp()`)
	since := func() string { return w.PSQL(`SELECT sql FROM iasql_get_sql_since('` + begun + `')`) }
	w.PSQL(`CALL iasql_begin()`, `INSERT INTO vpc (cidr_block) VALUES ('10.1.0.0/16')`, `CALL iasql_rollback()`)
	if got := since(); got != "" {
		t.Errorf("of a batch that was rolled back: %s", got)
	}
	w.Admin(`INSERT INTO aws_identity_allowed (profile) VALUES ('none')`)
	w.PSQL(`INSERT INTO aws_account (name, profile, secret_access_key) VALUES ('spare', 'none', 'top-secret')`,
		`UPDATE aws_account SET secret_access_key = 'top-secret-2' WHERE name = 'spare'`,
		`DELETE FROM aws_account WHERE name = 'spare'`)
	if got, want := since(), `-- secret_access_key of aws_account is a secret and left out: the audit log does not have it
INSERT INTO aws_account (name, is_default, profile) VALUES ('spare', false, 'none');
DELETE FROM aws_account WHERE id = (SELECT id FROM aws_account WHERE name = 'spare');`; got != want {
		t.Errorf("of an account: %s", got)
	}

	w.PSQL(`CALL iasql_begin('test')`)
	id := firstLine(w.Joined(`INSERT INTO vpc (cidr_block, tags) VALUES ('10.2.0.0/16', '{"fence": "`+"```"+
		`", "bar": "|"}') RETURNING id`,
		`INSERT INTO subnet (vpc_id, cidr_block) SELECT max(id), '10.2.1.0/24' FROM vpc`))
	review := w.Joined(`SELECT iasql_create_review('A network', 'For the shop.')`)
	for _, part := range []string{"# A network\n\nFor the shop.\n\nBatch ",
		"\n\n## SQL\n\n````sql\nINSERT INTO vpc (region, cidr_block, ", "INSERT INTO subnet (",
		"(SELECT id FROM vpc WHERE region = 'us-east-1' AND cidr_block = '10.2.0.0/16')",
		"````\n\n## Preview\n\n| action | direction | record | changes | reason |\n",
		"| create | push | vpc " + id, `\|`} {
		if !strings.Contains(review, part) {
			t.Errorf("the review has no %q:\n%s", part, review)
		}
	}
	w.Joined(`CALL iasql_rollback()`)
	if got := w.PSQL(`SELECT iasql_create_review('Nothing')`); !strings.Contains(got, "not staged in a batch") ||
		!strings.Contains(got, "-- nothing") {
		t.Errorf("without changes: %s", got)
	}
}

// A column of an administrator's own that PostgreSQL always fills in (GENERATED ALWAYS AS
// IDENTITY) is no obstacle to a rollback, and a row that comes back has its number.
func TestRollbackWithIdentityColumn(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_sqs")
	w.Admin(`ALTER TABLE queue ADD COLUMN number bigint GENERATED ALWAYS AS IDENTITY (START 40)`)
	w.PSQL(`INSERT INTO queue (name) VALUES ('deleted'), ('changed')`)
	w.Settled()
	numbers := w.PSQL(`SELECT string_agg(name || number, ',' ORDER BY id) FROM queue`)
	w.PSQL(`CALL iasql_begin('test')`)
	w.Joined(`DELETE FROM queue WHERE name = 'deleted'`, `UPDATE queue SET delay_seconds = 7`,
		`INSERT INTO queue (name) VALUES ('new')`, `CALL iasql_rollback()`)
	if got := w.PSQL(`SELECT string_agg(name || number, ',' ORDER BY id) FROM queue`,
		`SELECT count(*) FROM queue WHERE delay_seconds = 7`); got != numbers+"\n0" {
		t.Errorf("rolled back: %s, was %s", got, numbers)
	}
}
