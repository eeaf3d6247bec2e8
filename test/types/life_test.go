package types

import (
	"strings"
	"testing"

	"iasql/internal/test/cloudcontrol"
)

// allowed has one transaction replace objects.
const allowed = `SET LOCAL iasql.allow_replace = 'on'; `

// TestLife takes an object of one type through its life.
func TestLife(t *testing.T) {
	t.Parallel()
	w := start(t, cloudcontrol.Options{})
	w.is("Example::Mail::Sender|example_mail_sender|f",
		`SELECT type_name, table_name, installed FROM iasql_types('Example::Mail::S*')`)
	w.is("Example::Mail::Sender|example_mail_sender|0", `SELECT * FROM iasql_install('Example::Mail::Sender')`)
	w.is("t", `SELECT installed FROM iasql_types('Example::Mail::Sender')`)
	for _, search := range []string{"example::mail::SENDER", "Example::%::send%", "sender", "mail_sender", "*Sender",
		"Example::Mail::Sen*"} {
		w.is("example_mail_sender", `SELECT table_name FROM iasql_types('`+search+`')`)
	}
	w.refused("Do you mean Example::Mail::Sender?", `SELECT * FROM iasql_install('Example::Mial::Sender')`)
	w.refused("Do you mean Example::Mail?", `SELECT * FROM iasql_install('Exmple::Mail')`)
	w.refused("iasql_types('mail') shows", `SELECT * FROM iasql_install('AWS::Elsewhere::Altogether')`)
	w.refused("is no pattern of resource types", `SELECT * FROM iasql_types('a b')`)
	if said := w.Refused(`SELECT * FROM iasql_types('a b')`); strings.Contains(said, "DETAIL") {
		t.Errorf("has a detail, and says nothing there: %s", said)
	}
	w.is("", `SELECT * FROM iasql_install('Example::Mail::Sender')`)

	for statement, says := range map[string]string{
		`INSERT INTO example_mail_sender (display_name) VALUES ('x')`:                                           `null value in column "sender_name"`,
		`INSERT INTO example_mail_sender (sender_name) VALUES ('Upper')`:                                        `example_mail_sender_sender_name_check`,
		`INSERT INTO example_mail_sender (sender_name) VALUES ('a')`:                                            `example_mail_sender_sender_name_check`,
		`INSERT INTO example_mail_sender (sender_name, kind) VALUES ('news', 'ROBOT')`:                          `example_mail_sender_kind_enum`,
		`INSERT INTO example_mail_sender (sender_name, daily_quota) VALUES ('news', 1001)`:                      `example_mail_sender_daily_quota_check`,
		`INSERT INTO example_mail_sender (sender_name, routing) VALUES ('news', '{"Host": "h", "Token": "s"}')`: `example_mail_sender_routing_check`,
	} {
		w.refused(says, statement)
	}

	w.PSQL(`INSERT INTO example_mail_sender (sender_name, display_name, daily_quota, weight, sender_order, domains, password, routing, routing_write_only, policy, tags)
		VALUES ('news', 'The ''News''', 10, 1.5, 3, '{b.example,a.example}', 'very secret', '{"Host": "mx", "Zone": "z1"}', '{"Token": "hush hush"}',
			'{"Version": "2012-10-17", "Statement": []}', '{"env": "test"}')`)
	w.Settled()
	first := w.holds(sender, `{"SenderName": "news", "DisplayName": "The 'News'", "Kind": "PERSON", "DailyQuota": 10, "Weight": 1.5, "Enabled": true, "Order": 3,
		"Domains": ["b.example", "a.example"], "Password": "very secret", "Tags": [{"Key": "env", "Value": "test"}]}`)
	_, object := w.only(sender)
	if token := object["Routing"].(map[string]any)["Token"]; token != "hush hush" {
		t.Errorf("the token is %v", token)
	}
	w.is("||t|t", `SELECT password, routing_write_only, arn = '`+first+
		`', created_at IS NOT NULL FROM example_mail_sender`)
	for _, secret := range []string{"very secret", "hush hush"} {
		w.is("0", `SELECT count(*) FROM iasql_audit_log l WHERE l::text LIKE '%`+secret+`%'`)
		w.is("0", `SELECT count(*) FROM iasql_operations o WHERE o::text LIKE '%`+secret+`%'`)
	}

	w.edit(sender, func(p map[string]any) {
		p["DisplayName"] = "drift"
		p["Routing"].(map[string]any)["State"] = "MOVED"
		p["Domains"] = []any{"a.example", "b.example"} // whose order means nothing
	})
	w.PSQL(`SELECT iasql_sync_now()`)
	w.is(`drift|MOVED|{b.example,a.example}`,
		`SELECT display_name, routing ->> 'State', domains FROM example_mail_sender`)

	calls := w.fake.Calls("UpdateResource", sender)
	w.PSQL(`UPDATE example_mail_sender SET display_name = NULL, daily_quota = 20, routing = jsonb_set(routing, '{Host}', '"mx2"'), tags = '{"env": "live", "a": "b"}'`)
	w.Settled()
	if id := w.holds(sender, `{"DailyQuota": 20, "DisplayName": null}`); id != first {
		t.Error("the object was replaced")
	}
	if n := w.fake.Calls("UpdateResource", sender) - calls; n != 1 {
		t.Errorf("there were %d updates", n)
	}
	w.PSQL(`UPDATE example_mail_sender SET password = 'another secret'`)
	w.Settled()
	w.holds(sender, `{"Password": "another secret"}`)

	id := w.PSQL(`SELECT id FROM example_mail_sender`)
	w.refused("IA051", `UPDATE example_mail_sender SET routing = jsonb_set(routing, '{Zone}', '"z2"')`)
	w.PSQL(allowed + `UPDATE example_mail_sender SET routing = jsonb_set(routing, '{Zone}', '"z2"')`)
	w.Settled()
	second := w.holds(sender, `{"SenderName": "news", "DailyQuota": 20}`)
	if second == first {
		t.Error("a part that is fixed at creation was changed in place")
	}
	w.is(id, `SELECT id FROM example_mail_sender WHERE arn = '`+second+`'`)
	w.refused("IA001", `UPDATE example_mail_sender SET arn = 'x'`)
	w.PSQL(allowed + `UPDATE example_mail_sender SET sender_name = 'olds'`)
	w.Settled()
	w.holds(sender, `{"SenderName": "olds"}`)

	w.PSQL(`DELETE FROM example_mail_sender`)
	w.Settled()
	if left := w.fake.Objects(w.at, sender); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	w.is("Example::Mail::Sender|example_mail_sender|0", `SELECT * FROM iasql_uninstall('Example::Mail')`)
	w.refused("unknown module", `SELECT * FROM iasql_uninstall('aws_nothing')`)
}

// TestPartsOfAnotherType: objects of a type that is listed for each object of another, that
// has no update, and whose identifier has two parts.
func TestPartsOfAnotherType(t *testing.T) {
	t.Parallel()
	w := start(t, cloudcontrol.Options{}, sender, list)
	w.PSQL(`INSERT INTO example_mail_sender (sender_name) VALUES ('news')`)
	w.Settled()
	arn, _ := w.only(sender)
	w.PSQL(`INSERT INTO example_mail_list (sender_arn, list_name, members) SELECT arn, 'all', '{a,b}' FROM example_mail_sender`)
	w.Settled()
	w.holds(list, `{"ListName": "all", "Members": ["a", "b"]}`)
	w.PSQL(allowed + `UPDATE example_mail_list SET members = '{a,b,c}'`)
	w.Settled()
	w.holds(list, `{"Members": ["a", "b", "c"]}`)

	if _, err := w.fake.Put(w.at, list, map[string]any{"SenderArn": arn, "ListName": "found", "Members": []any{"x"}}); err != nil {
		t.Fatal(err)
	}
	w.PSQL(`SELECT iasql_sync_now()`)
	w.is("{x}", `SELECT members FROM example_mail_list WHERE list_name = 'found'`)
	if err := w.fake.Remove(w.at, list, arn+"|found"); err != nil {
		t.Fatal(err)
	}
	w.PSQL(`SELECT iasql_sync_now()`)
	w.is("all", `SELECT list_name FROM example_mail_list`)
}
