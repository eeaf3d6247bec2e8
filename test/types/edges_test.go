package types

import (
	"strings"
	"testing"
	"time"

	"iasql/internal/test/cloudcontrol"
)

// TestBothWays: adopted, tracked, previewed, in a batch, and learnt.
func TestBothWays(t *testing.T) {
	t.Parallel()
	w := start(t, cloudcontrol.Options{}, sender)
	arn, err := w.fake.Put(w.at, sender, map[string]any{"SenderName": "theirs", "DisplayName": "Theirs"})
	if err != nil {
		t.Fatal(err)
	}
	w.PSQL(`INSERT INTO example_mail_sender (arn, sender_name, daily_quota) VALUES ('` + arn + `', 'theirs', 7)`)
	w.Settled()
	w.is("theirs|Theirs|7", `SELECT sender_name, display_name, daily_quota FROM example_mail_sender`)
	w.holds(sender, `{"DailyQuota": 7}`)

	w.PSQL(`CALL iasql_begin('test')`)
	w.Joined(`UPDATE example_mail_sender SET display_name = 'batch'`)
	if said := w.Joined(`SELECT action, table_name FROM iasql_preview()`); !strings.Contains(said, "update|example_mail_sender") {
		t.Errorf("the preview says %q", said)
	}
	w.holds(sender, `{"DisplayName": "Theirs"}`)
	w.Joined(`CALL iasql_commit()`)
	w.holds(sender, `{"DisplayName": "batch"}`)

	w.fake.Fail("UpdateResource", sender, 1, "NotUpdatable")
	w.PSQL(`UPDATE example_mail_sender SET weight = 2`)
	w.Becomes(20*time.Second, "t",
		`SELECT review AND message LIKE '%iasql_retry(%' FROM iasql_status WHERE table_name = 'example_mail_sender'`)
	w.PSQL(`SELECT iasql_retry('example_mail_sender', id) FROM example_mail_sender`)
	w.Settled()
	if other := w.holds(sender, `{"SenderName": "theirs", "Weight": 2, "DisplayName": "batch"}`); other == arn {
		t.Error("the object was not replaced")
	}
	w.refused("IA051", `UPDATE example_mail_sender SET weight = 3`)

	w.PSQL(`INSERT INTO iasql_mode (table_name, mode) VALUES ('example_mail_sender', 'TRACK')`)
	w.refused("IA002", `UPDATE example_mail_sender SET display_name = 'mine'`)
	w.refused("IA002", `DELETE FROM example_mail_sender`)
	w.edit(sender, func(p map[string]any) { p["DisplayName"] = "cloud" })
	w.PSQL(`SELECT iasql_sync_now()`)
	w.is("cloud", `SELECT display_name FROM example_mail_sender`)
}

// TestNoSecondObject: whatever becomes of the engine, and of answers, between a request and
// its end, there is one object of a record.
func TestNoSecondObject(t *testing.T) {
	t.Parallel()
	w := start(t, cloudcontrol.Options{}, sender)
	one := func(name string) {
		t.Helper()
		w.Settled()
		n := 0
		for _, object := range w.fake.Objects(w.at, sender) {
			if object["SenderName"] == name {
				n++
			}
		}
		if n != 1 {
			t.Errorf("there are %d senders %s", n, name)
		}
		w.is("t", `SELECT arn IS NOT NULL FROM example_mail_sender WHERE sender_name = '`+name+`'`)
	}

	w.fake.Drop("CreateResource", sender) // between the request and its answer
	w.PSQL(`INSERT INTO example_mail_sender (sender_name) VALUES ('answer')`)
	one("answer")

	release := w.fake.Hold("CreateResource", sender) // between the answer and its end
	w.PSQL(`INSERT INTO example_mail_sender (sender_name) VALUES ('status')`)
	w.Becomes(20*time.Second, "t", `SELECT bool_or(request IS NOT NULL) FROM iasql_operations WHERE ended IS NULL`)
	calls := w.fake.Calls("CreateResource", sender)
	w.engine.Kill()
	release()
	w.engine = w.Serve()
	one("status")
	if n := w.fake.Calls("CreateResource", sender); n != calls {
		t.Errorf("the creation was called %d times more", n-calls)
	}

	w.fake.Drop("GetResourceRequestStatus", sender)
	w.PSQL(`INSERT INTO example_mail_sender (sender_name) VALUES ('lost')`)
	one("lost")

	w.fake.Inject(cloudcontrol.Fault{Action: "CreateResource", Type: sender, Code: "NotStabilized", Effect: true})
	w.PSQL(`INSERT INTO example_mail_sender (sender_name) VALUES ('unstable')`)
	one("unstable")

	w.fake.Fail("CreateResource", sender, 1, "ServiceInternalError")
	w.PSQL(`INSERT INTO example_mail_sender (sender_name) VALUES ('again')`)
	one("again")

	release = w.fake.Hold("DeleteResource", sender) // of a replacement: what is going looks like any other
	w.PSQL(allowed + `UPDATE example_mail_sender SET sender_name = 'moved' WHERE sender_name = 'status'`)
	w.Becomes(20*time.Second, "t",
		`SELECT bool_or(request IS NOT NULL) FROM iasql_operations WHERE ended IS NULL AND kind = 'delete'`)
	w.engine.Kill()
	w.engine = w.Serve()
	w.PSQL(`UPDATE example_mail_sender SET weight = 4 WHERE sender_name = 'answer'`)
	w.Becomes(time.Minute, "0", `SELECT count(*) FROM iasql_audit_log a JOIN example_mail_sender s ON s.id = a.record_id WHERE NOT a.settled AND s.sender_name = 'answer'`)
	release()
	w.PSQL(`SELECT iasql_sync_now()`) // or the next scheduled cycle
	one("moved")

	w.fake.Fail("UpdateResource", sender, 1, "Throttling")
	w.PSQL(`UPDATE example_mail_sender SET daily_quota = 3`)
	w.Settled()
	w.fake.Fail("DeleteResource", sender, 1, "ResourceConflict")
	w.PSQL(`DELETE FROM example_mail_sender WHERE sender_name = 'again'`)
	w.Settled()
	if left := w.fake.Objects(w.at, sender); len(left) != 4 {
		t.Errorf("left: %v", left)
	}
}

// TestTypesThatChange: a newer schema alters the table; an engine that has not installed a
// type knows it all the same; what a module has is refused.
func TestTypesThatChange(t *testing.T) {
	t.Parallel()
	w := start(t, cloudcontrol.Options{}, sender)
	w.refused("IA022", `SELECT * FROM iasql_install('AWS::EC2::VPC')`)
	w.refused("managed by the table vpc", `SELECT * FROM iasql_install('AWS::EC2::VPC')`)
	w.is("", `SELECT * FROM iasql_install('AWS::EC2')`)
	w.is("vpc", `SELECT managed_by FROM iasql_types('AWS::EC2::VPC')`)
	w.refused("IA009", `SELECT * FROM iasql_install('AWS::None::Such')`)

	w.PSQL(`INSERT INTO example_mail_sender (sender_name, weight) VALUES ('news', 1)`)
	w.Settled()
	text, err := schemas.ReadFile("schemas/sender.json")
	if err != nil {
		t.Fatal(err)
	}
	newer := strings.NewReplacer(`"Weight": {"type": "number"},`,
		`"Motto": {"type": "string", "maxLength": 20}, "Pin": {"type": "string"},`, `"/properties/Password",`,
		`"/properties/Password", "/properties/Pin",`, `"BULK", "PERSON"`,
		`"BULK", "PERSON", "ROBOT"`).Replace(string(text))
	if err := w.fake.Publish(cloudcontrol.Publication{Schema: []byte(newer)}); err != nil {
		t.Fatal(err)
	}
	w.edit(sender, func(p map[string]any) { delete(p, "Weight") })
	second := w.Serve()
	w.is("", `SELECT * FROM iasql_install('Example::Mail::Sender')`)
	w.engine.Stop() // what the other engine has learnt is in the database
	w.is("1", `SELECT weight FROM example_mail_sender`)
	w.is("Not in the type's schema any more, and kept. The property Weight.",
		`SELECT col_description('example_mail_sender'::regclass, attnum) FROM pg_attribute WHERE attrelid = 'example_mail_sender'::regclass AND attname = 'weight'`)
	w.PSQL(`UPDATE example_mail_sender SET motto = 'Onwards', kind = 'ROBOT'`)
	w.Settled()
	w.holds(sender, `{"Motto": "Onwards", "Kind": "ROBOT"}`)
	w.PSQL(`UPDATE example_mail_sender SET pin = 'nobody sees it'`)
	w.Settled()
	w.holds(sender, `{"Pin": "nobody sees it"}`)
	w.is("0", `SELECT count(*) FROM iasql_audit_log l WHERE l::text LIKE '%nobody sees it%'`)
	w.is("", `SELECT pin FROM example_mail_sender`)
	second.Stop()
}
