package types

import (
	"testing"
	"time"

	"iasql/internal/test/cloudcontrol"
)

const relay = "Example::Post::Relay"

// TestNativeReferences: what names objects of a module's table is a foreign key to it,
// which can be written before AWS has given the name; what can be named in several ways has
// a record that can only be read.
func TestNativeReferences(t *testing.T) {
	t.Parallel()
	w := startBeside(t, cloudcontrol.Options{}, []string{"aws_vpc", "aws_acm", "aws_kms"}, relay)
	w.is("certificate_arn_record certificate,home_vpc_id_record vpc,kms_key_id_record kms_key,vpc_id_record vpc", `
		SELECT string_agg(a.attname || ' ' || k.confrelid::regclass, ',' ORDER BY a.attname) FROM pg_constraint k JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[1]
		WHERE k.contype = 'f' AND k.conrelid = 'example_post_relay'::regclass AND a.attname LIKE '%_record'`)

	w.PSQL(`
		WITH v AS (INSERT INTO vpc (cidr_block) VALUES ('10.41.0.0/16') RETURNING id),
			c AS (INSERT INTO certificate (domain_name) VALUES ('relay.example.com') RETURNING id)
		INSERT INTO example_post_relay (relay_name, vpc_id_record, home_vpc_id_record, certificate_arn_record) SELECT 'first', v.id, v.id, c.id FROM v, c;
		INSERT INTO kms_key (description) VALUES ('relay')`)
	w.Settled()
	w.is("t|t|t", `SELECT r.vpc_id = v.vpc_id, r.home_vpc_id = v.vpc_id, r.certificate_arn = c.arn FROM example_post_relay r JOIN vpc v ON v.id = r.vpc_id_record JOIN certificate c ON c.id = r.certificate_arn_record`)
	if n := w.fake.Calls("CreateResource", relay); n != 1 {
		t.Errorf("the relay was created by %d calls", n)
	}
	w.holds(relay, `{"VpcId": "`+w.PSQL(`SELECT vpc_id FROM vpc WHERE cidr_block = '10.41.0.0/16'`)+`"}`)

	// AWS shows the ARN of a key or its id: the record is the same.
	w.refused("IA001", `UPDATE example_post_relay SET kms_key_id_record = (SELECT id FROM kms_key)`)
	for _, name := range []string{`'arn:aws:kms:us-east-1:123456789012:key/' || key_id`, `key_id`} {
		w.PSQL(`UPDATE example_post_relay SET kms_key_id = (SELECT ` + name +
			` FROM kms_key WHERE description = 'relay')`)
		w.Settled()
		w.PSQL(`SELECT iasql_sync_now()`)
		w.is("relay", `SELECT k.description FROM example_post_relay r JOIN kms_key k ON k.id = r.kms_key_id_record`)
	}

	// A VPC without a record is a name alone.
	w.PSQL(`UPDATE example_post_relay SET vpc_id = 'vpc-of-somebody'`)
	w.Settled()
	w.is("vpc-of-somebody|", `SELECT vpc_id, vpc_id_record FROM example_post_relay`)
	w.refused("23503", `DELETE FROM vpc WHERE cidr_block = '10.41.0.0/16'`)
	w.is("", `SELECT message FROM iasql_problems`)
	w.refused("depends on it", `SELECT * FROM iasql_uninstall('aws_kms')`)
	w.refused("Module aws_vpc is installed. SELECT property, table_name, column_name, reason FROM iasql_properties WHERE type = 'AWS::EC2::VPC'",
		`SELECT * FROM iasql_install('AWS::EC2::VPC')`)
}

// TestReplacedParentUnderEnforce: where the database wins, what names a replaced object
// follows it, as ever: by an update, or, where the name is fixed when it is made, not at
// all, for what it holds.
func TestReplacedParentUnderEnforce(t *testing.T) {
	t.Parallel()
	w := startBeside(t, cloudcontrol.Options{}, []string{"aws_vpc"}, sender, campaign, relay)
	w.PSQL(`SELECT iasql_sync_now()`)
	w.PSQL(`INSERT INTO iasql_mode (table_name, mode) VALUES ('example_mail_sender', 'ENFORCE'), ('example_mail_campaign', 'ENFORCE'), ('example_post_relay', 'ENFORCE'), ('vpc', 'ENFORCE')`)
	w.PSQL(`
		WITH s AS (INSERT INTO example_mail_sender (sender_name, display_name) VALUES ('news', 'News') RETURNING id)
		INSERT INTO example_mail_campaign (campaign_name, sender_arn_record) SELECT unnest('{first,second}'::text[]), id FROM s`)
	w.Settled()
	before := w.PSQL(`SELECT string_agg(arn, ',' ORDER BY id) FROM example_mail_campaign`)
	old := w.PSQL(`SELECT arn FROM example_mail_sender`)

	w.PSQL(allowed + `UPDATE example_mail_sender SET sender_name = 'olds'`)
	w.Settled()
	if id := w.holds(sender, `{"SenderName": "olds", "DisplayName": "News"}`); id == old {
		t.Error("the sender was not replaced")
	}
	w.is("2", `SELECT count(*) FROM example_mail_campaign c JOIN example_mail_sender s ON s.id = c.sender_arn_record AND s.arn = c.sender_arn`)
	w.is(before, `SELECT string_agg(arn, ',' ORDER BY id) FROM example_mail_campaign`)
	for id, object := range w.fake.Objects(w.at, campaign) {
		if object["SenderArn"] != w.PSQL(`SELECT arn FROM example_mail_sender`) {
			t.Errorf("%s names %v", id, object["SenderArn"])
		}
	}

	// Somebody else's change of the name is taken back.
	for id := range w.fake.Objects(w.at, campaign) {
		if err := w.fake.Edit(w.at, campaign, id, func(p map[string]any) {
			p["SenderArn"] = "arn:elsewhere"
		}); err != nil {
			t.Fatal(err)
		}
	}
	w.PSQL(`UPDATE iasql_settings SET value = '1 second' WHERE name = 'consistency_window'; SELECT iasql_sync_now()`)
	arn := w.PSQL(`SELECT arn FROM example_mail_sender`)
	w.Eventually(30*time.Second, "the campaigns name their sender again", func() bool {
		for _, object := range w.fake.Objects(w.at, campaign) {
			if object["SenderArn"] != arn {
				return false
			}
		}
		return true
	})
	w.Settled()
	w.is("2", `SELECT count(*) FROM example_mail_campaign c JOIN example_mail_sender s ON s.id = c.sender_arn_record AND s.arn = c.sender_arn`)
	w.is("", `SELECT message FROM iasql_problems`)

	// The parent is a module's, and the name is fixed when the relay is made.
	w.PSQL(`WITH v AS (INSERT INTO vpc (cidr_block) VALUES ('10.42.0.0/16') RETURNING id)
		INSERT INTO example_post_relay (relay_name, home_vpc_id_record) SELECT 'first', id FROM v`)
	w.Settled()
	made := w.holds(relay, `{"RelayName": "first"}`)
	w.PSQL(allowed + `UPDATE vpc SET cidr_block = '10.43.0.0/16' WHERE cidr_block = '10.42.0.0/16'`)
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Becomes(30*time.Second, "t",
		`SELECT bool_or(review AND message LIKE '%holds data%') FROM iasql_status WHERE table_name = 'example_post_relay'`)
	if id := w.holds(relay, `{"RelayName": "first"}`); id != made {
		t.Error("the relay was replaced along with its VPC")
	}
}
