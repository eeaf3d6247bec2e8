package contract

import (
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"iasql/internal/test/harness"
)

// Installing and uninstalling, settings, modes: what acts says what it did, and
// refuses what is wrong by its name.
func TestActing(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east)
	client := sqs.NewFromConfig(w.AWS.Config("us-east-1"))
	if _, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: awssdk.String("was-there")}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ statement, want string }{
		{`SELECT * FROM iasql_install('aws_sqs', 'aws_s3') ORDER BY 1, 2`,
			"aws_s3|bucket|0\naws_s3|bucket_object|0\naws_s3|bucket_website|0\naws_s3|public_access_block|0\naws_sqs|queue|1"},
		{`SELECT * FROM iasql_install('aws_sqs')`, ""},
		{`SELECT name FROM queue`, "was-there"},
		{`SELECT module_name, dependencies FROM iasql_modules_installed() ORDER BY 1`,
			"aws_account|{}\naws_s3|{aws_account}\naws_sqs|{aws_account}"},
		{`SELECT "table", module FROM iasql_tables WHERE module <> 'aws_account' ORDER BY 1`,
			"bucket|aws_s3\nbucket_object|aws_s3\nbucket_website|aws_s3\npublic_access_block|aws_s3\nqueue|aws_sqs"},
		{`SELECT * FROM iasql_uninstall('aws_sqs')`, "aws_sqs|queue|1"},
		{`SELECT count(*) FROM iasql_tables WHERE module = 'aws_sqs'`, "0"},
		{`SELECT to_regclass('queue') IS NULL`, "t"},
		{`SELECT * FROM iasql_install('aws_sqs')`, "aws_sqs|queue|1"},
		{`SELECT min(id) FROM queue`, "2"}, // the number 1 was another record's
		{`SELECT iasql_sync_now()`, "t"},
		{`UPDATE iasql_settings SET value = '70 seconds' WHERE name = 'sync_interval' RETURNING value`,
			"70 seconds\nUPDATE 1"},
		{`SELECT default_aws_account(), default_aws_region()`, "default|us-east-1"},
		{`SELECT iasql_mode_of('queue'), (SELECT count(*) FROM iasql_mode_explain('queue'))`, "NORMAL|0"},
		{`INSERT INTO iasql_mode (table_name, mode) VALUES ('queue', 'TRACK'), (NULL, 'ENFORCE') RETURNING mode`,
			"TRACK\nENFORCE\nINSERT 0 2"},
		{`INSERT INTO iasql_mode (table_name, column_name, mode) VALUES ('queue', 'tags', 'NORMAL') RETURNING mode`,
			"NORMAL\nINSERT 0 1"},
		{`SELECT iasql_mode_of('queue'), iasql_mode_of('queue', 1), iasql_mode_of('queue', 1, 'tags'), iasql_mode_of('bucket')`, "TRACK|TRACK|NORMAL|ENFORCE"},
		{`SELECT table_name, column_name, mode FROM iasql_mode_explain('queue', 1, 'tags')`, "queue|tags|NORMAL"},
		{`SELECT mode FROM iasql_status WHERE table_name = 'queue'`, "TRACK"},
	} {
		if got := w.PSQL(c.statement); got != c.want {
			t.Errorf("%s\n gives %s\n want %s", c.statement, got, c.want)
		}
	}
	// How to look no more where nothing can be read, the platform says without knowing whose regions they are.
	// of one alone it is that table's line
	if got := w.Admin(`BEGIN`, `UPDATE iasql_internal.managed_table SET regional = true WHERE name = 'bucket'`,
		`INSERT INTO iasql_internal.unread (account, table_name, region, error, denied, partly)
			SELECT 'default', name, 'nowhere-1', 'denied', true, false FROM iasql_internal.managed_table WHERE regional AND NOT settings`,
		`SELECT message FROM iasql_problems WHERE record = 'region nowhere-1'`, `ROLLBACK`); !strings.Contains(got, "tables can be read: denied. Permit it, or UPDATE aws_regions SET is_enabled = false WHERE region = 'nowhere-1'") {
		t.Errorf("a region of which nothing can be read: %s", got)
	}
	for statement, says := range map[string]string{
		`SELECT * FROM iasql_install('aws_s33')`: "IA009: unknown " +
			"module 'aws_s33'\nHINT:  Did you mean 'aws_s3'?",
		`SELECT * FROM iasql_uninstall('aws_account')`: "IA016: module " +
			"aws_account cannot be uninstalled",
		`UPDATE iasql_settings SET value = '7' WHERE name = 'max_deletes'`: "42501: setting " +
			"max_deletes is for administrators",
		`UPDATE iasql_settings SET value = '1 day' WHERE name = 'audit_retention'`: "42501: setting " +
			"audit_retention is for administrators",
		`UPDATE iasql_settings SET value = '1 week' WHERE name = 'sync_interval'`: "IA007: setting " +
			"sync_interval cannot be '1 week'",
		`UPDATE iasql_settings SET value = 'guess' WHERE name = 'conflict_policy'`: "It must be " +
			"push or hold.",
		`INSERT INTO iasql_mode (table_name, mode) VALUES ('queue', 'ENFORCE')`: "23505: duplicate key",
		`INSERT INTO iasql_mode (mode) VALUES ('NORMAL')`:                       "23505: duplicate key",
		`INSERT INTO iasql_mode (table_name, mode) VALUES ('nothing', 'TRACK')`: "IA006: table " +
			"nothing is not managed",
		`INSERT INTO iasql_mode (table_name, record_id, mode) VALUES ('queue', 0, 'TRACK')`: "IA006: table " +
			"queue has no record 0",
		`INSERT INTO iasql_mode (table_name, column_name, mode) VALUES ('queue', 'color', 'TRACK')`: "IA006: table " +
			"queue has no managed column color",
		`INSERT INTO iasql_mode (table_name, mode) VALUES ('bucket', 'SOMETIMES')`: "23514",
		`INSERT INTO queue (name) VALUES ('refused')`: "IA002: table " +
			"queue is tracked",
		`SELECT iasql_retry('nothing', 1)`: "IA006: table " +
			"nothing is not managed",
		`INSERT INTO aws_regions (region) VALUES ('mars-1')`: "IA003: records " +
			"of aws_regions cannot be inserted",
	} {
		if got := w.Refused(statement); !strings.Contains(got, says) {
			t.Errorf("%s\n says %s\n want %s", statement, got, says)
		}
	}
	if out, err := client.ListQueues(t.Context(), nil); err != nil || len(out.QueueUrls) != 1 {
		t.Errorf("the cloud's queues are %v %v", out, err)
	}
}
