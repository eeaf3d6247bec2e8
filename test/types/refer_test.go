package types

import (
	"testing"

	"iasql/internal/test/cloudcontrol"
)

const campaign = "Example::Mail::Campaign"

// TestReferences: what names objects of another type is a foreign key once that is a table,
// beside the name, which stays.
func TestReferences(t *testing.T) {
	t.Parallel()
	w := start(t, cloudcontrol.Options{}, campaign)
	arn, err := w.fake.Put(w.at, sender, map[string]any{"SenderName": "theirs"})
	if err != nil {
		t.Fatal(err)
	}
	w.PSQL(`INSERT INTO example_mail_campaign (campaign_name, sender_arn) VALUES ('first', '` + arn +
		`'), ('astray', 'arn:elsewhere')`)
	w.Settled()

	w.PSQL(`SELECT * FROM iasql_install('Example::Mail::Sender')`) // comes later
	w.is("2", `SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND conrelid = 'example_mail_campaign'::regclass AND confrelid = 'example_mail_sender'::regclass`)
	w.PSQL(`SELECT iasql_sync_now()`)
	w.is("theirs", `SELECT s.sender_name FROM example_mail_campaign c JOIN example_mail_sender s ON s.id = c.sender_arn_record WHERE c.campaign_name = 'first'`)
	w.is("arn:elsewhere|", `SELECT sender_arn, sender_arn_record FROM example_mail_campaign WHERE campaign_name = 'astray'`)

	// A new one waits for a new one, which has no name in the cloud yet.
	creations := w.fake.Calls("CreateResource", campaign)
	w.PSQL(`WITH s AS (INSERT INTO example_mail_sender (sender_name) VALUES ('news') RETURNING id)
		INSERT INTO example_mail_campaign (campaign_name, sender_arn_record) SELECT 'second', id FROM s`)
	w.Settled()
	w.is("t", `SELECT c.sender_arn = s.arn FROM example_mail_campaign c JOIN example_mail_sender s ON s.id = c.sender_arn_record WHERE s.sender_name = 'news'`)
	if n := w.fake.Calls("CreateResource", campaign) - creations; n != 1 {
		t.Errorf("the campaign was created by %d calls", n)
	}
	w.refused("example_mail_campaign_sender_arn_record_check",
		`INSERT INTO example_mail_campaign (campaign_name) VALUES ('none')`)
	w.refused("23503", `DELETE FROM example_mail_sender`)
	w.refused("name different objects",
		`INSERT INTO example_mail_campaign (campaign_name, sender_arn, sender_arn_record) SELECT 'both', 'arn:elsewhere', id FROM example_mail_sender`)

	// Either is written, and the other follows.
	w.PSQL(`UPDATE example_mail_campaign SET sender_arn = '` + arn + `' WHERE campaign_name = 'second'`)
	w.Settled()
	w.is("theirs", `SELECT s.sender_name FROM example_mail_campaign c JOIN example_mail_sender s ON s.id = c.sender_arn_record WHERE c.campaign_name = 'second'`)
	w.PSQL(`UPDATE example_mail_campaign SET sender_arn_record = (SELECT id FROM example_mail_sender WHERE sender_name = 'news') WHERE campaign_name = 'astray'`)
	w.Settled()
	w.is("t", `SELECT sender_arn = (SELECT arn FROM example_mail_sender WHERE sender_name = 'news') FROM example_mail_campaign WHERE campaign_name = 'astray'`)
	w.PSQL(`UPDATE example_mail_campaign SET sender_arn = 'arn:abroad' WHERE campaign_name = 'astray'`)
	w.Settled()
	w.is("arn:abroad|", `SELECT sender_arn, sender_arn_record FROM example_mail_campaign WHERE campaign_name = 'astray'`)

	// An object takes the place of another one: what names it follows.
	w.PSQL(`UPDATE example_mail_campaign SET sender_arn_record = (SELECT id FROM example_mail_sender WHERE sender_name = 'news') WHERE campaign_name = 'second'`)
	w.Settled()
	w.PSQL(allowed + `UPDATE example_mail_sender SET sender_name = 'olds' WHERE sender_name = 'news'`)
	w.Settled()
	w.is("t", `SELECT c.sender_arn = s.arn FROM example_mail_campaign c JOIN example_mail_sender s ON s.id = c.sender_arn_record WHERE s.sender_name = 'olds'`)
	w.is("", `SELECT message FROM iasql_problems`)
	if got := w.Admin(`SELECT count(*) FROM ((TABLE iasql_internal.records EXCEPT SELECT * FROM iasql_internal.filled_records())
			UNION ALL (SELECT * FROM iasql_internal.filled_records() EXCEPT TABLE iasql_internal.records)) d`); got != "0" {
		t.Errorf("%s records are in one of the ways to read all of them only", got)
	}

	// What has gone in the cloud loses its record, and its name stays.
	if err := w.fake.Remove(w.at, sender, arn); err != nil {
		t.Fatal(err)
	}
	w.PSQL(`SELECT iasql_sync_now()`)
	w.is(arn+"|", `SELECT sender_arn, sender_arn_record FROM example_mail_campaign WHERE campaign_name = 'first'`)
	w.is("0", `SELECT count(*) FROM example_mail_sender WHERE sender_name = 'theirs'`)

	w.refused("Example::Mail::Campaign depends on it", `SELECT * FROM iasql_uninstall('Example::Mail::Sender')`)
	w.PSQL(`SELECT * FROM iasql_uninstall('Example::Mail')`)
	w.is("0", `SELECT count(*) FROM pg_proc WHERE proname = 'beside_example_mail_campaign'`)
}
