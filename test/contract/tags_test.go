package contract

import (
	"testing"

	"iasql/internal/test/harness"
)

// All tags of all tables are in one view, of which everybody sees what is in records that he may read.
func TestTags(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	const all = `SELECT table_name, key, value, count(*) FROM iasql_tags GROUP BY 1, 2, 3 ORDER BY 1, 2`
	if got := w.PSQL(all); got != "" {
		t.Errorf("without a table there are the tags %s", got)
	}
	w.Serve()
	w.Install(east, "aws_sqs", "aws_vpc")
	w.PSQL(`INSERT INTO queue (name, tags) VALUES ('first', '{"team": "shop", "empty": ""}'), ('second', '{"team": "shop"}'), ('third', NULL)`,
		`INSERT INTO vpc (cidr_block, tags) VALUES ('10.9.0.0/16', '{"Name": "main"}')`)
	w.Settled()
	if got := w.PSQL(all); got != "queue|empty||1\nqueue|team|shop|2\nvpc|Name|main|1" {
		t.Errorf("the tags are\n%s", got)
	}
	if got := w.PSQL(`SELECT q.name FROM iasql_tags g JOIN queue q ON q.id = g.record_id WHERE g.table_name = 'queue' AND g.key = 'empty'`); got != "first" {
		t.Errorf("the tag is that of %s", got)
	}
	// A column of somebody's own is none, nor is what one may not read.
	w.Admin(`ALTER TABLE elastic_ip ADD COLUMN labels jsonb DEFAULT '{"a": "b"}'`,
		`REVOKE SELECT ON vpc FROM iasql_reader`,
		`CREATE POLICY second ON queue FOR SELECT TO iasql_user USING (name = 'second')`,
		`ALTER TABLE queue ENABLE ROW LEVEL SECURITY`)
	if got := w.PSQL(all); got != "queue|team|shop|1" {
		t.Errorf("of what one may read the tags are\n%s", got)
	}
	if got := w.Refused(`DELETE FROM iasql_tags`); got == "" {
		t.Error("tags can be deleted in the view")
	}
}
