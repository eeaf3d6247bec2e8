package likeness

import (
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
	"iasql/internal/test/likeness"
)

// A denied region and a denied bucket are shown as such, hide nothing else and are no error of
// any cycle; an expired session loses no change.
func TestDenied(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	session := &likeness.Session{}
	for _, name := range []string{"open", "shut"} {
		w.CLI("s3api", "create-bucket", "--bucket", name+"-"+w.AWS.ID)
	}
	l := likeness.Start(t, w.AWS.Endpoint, session, likeness.DeniedRegion{Region: "eu-west-1"},
		likeness.DeniedBucket{Name: "shut-" + w.AWS.ID}, likeness.OwnTags{})
	w.Endpoint = l.URL
	w.Serve()
	w.Install([]string{"us-east-1", "eu-west-1"}, "aws_s3", "aws_sqs", "aws_vpc", "aws_dynamo")
	if got := w.PSQL(`SELECT string_agg(DISTINCT region, ' ') FROM iasql_listings WHERE denied LIKE '%service control policy%'`); got != "eu-west-1" {
		t.Errorf("denied are %s", got)
	}
	if got := w.PSQL(`SELECT string_agg(split_part(name, '-', 1) || ' ' || coalesce(versioning_enabled::text, 'unknown'), ', ' ORDER BY name) FROM bucket`); got != "open false, shut unknown" {
		t.Errorf("the buckets are %s", got)
	}
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT * FROM iasql_get_errors()`); got != "" {
		t.Errorf("the second cycle has the errors %s", got)
	}
	session.Expire()
	w.PSQL(`INSERT INTO queue (name) VALUES ('late')`, `INSERT INTO vpc (cidr_block) VALUES ('10.3.0.0/16')`)
	w.Eventually(20*time.Second, "the session to be found expired", func() bool {
		return strings.Contains(w.PSQL(`SELECT string_agg(message, ' ') FROM iasql_status WHERE state <> 'Present'`),
			"xpired")
	})
	if _, err := w.TryPSQL(w.UserURL, `SELECT iasql_sync_now()`); err == nil {
		t.Error("a cycle without credentials is no error")
	}
	if got := w.PSQL(`SELECT count(*) FROM bucket`); got != "2" {
		t.Errorf("%s buckets are left", got)
	}
	session.Renew()
	w.PSQL(`SELECT iasql_sync_now()`)
	w.Eventually(40*time.Second, "the changes to be pushed", func() bool { return w.PSQL(unsettled) == "" })
	if got := w.PSQL(`SELECT count(*) FROM queue WHERE url IS NOT NULL`); got != "1" {
		t.Errorf("%s queues", got)
	}
}
