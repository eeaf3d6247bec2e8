package economy

import (
	"strings"
	"testing"
	"time"
)

// Records of a zone that are written at once go to Route 53, which takes five calls a second
// for an account, by few calls.
func TestRecordsTogether(t *testing.T) {
	t.Parallel()
	w, proxy := world(t)
	w.Serve()
	w.PSQL(`UPDATE iasql_settings SET value = '1 hour' WHERE name = 'sync_interval'`)
	w.Install([]string{"us-east-1"}, "aws_route53")
	w.PSQL(`INSERT INTO hosted_zone (domain_name) VALUES ('economy.test')`)
	w.Settled()
	changes := func() (n int) {
		for action, count := range proxy.Counts() {
			if strings.HasPrefix(action, "POST /2013-04-01/hostedzone/") && strings.Contains(action, "/rrset") {
				n += count
			}
		}
		return n
	}
	for _, statement := range []string{
		`INSERT INTO resource_record_set (parent_hosted_zone_id, name, record_type, record, ttl) SELECT id, 'n' || i || '.economy.test', 'A', '192.0.2.' || i, 300 FROM hosted_zone, generate_series(1, 60) i`,
		`UPDATE resource_record_set SET ttl = 60 WHERE record_type = 'A'`,
	} {
		before := changes()
		w.PSQL(statement)
		w.Eventually(90*time.Second, "the records to be written", func() bool { return w.PSQL(`SELECT count(*) FROM iasql_audit_log WHERE NOT settled`) == "0" })
		if n := changes() - before; n == 0 || n > 30 {
			t.Errorf("%d calls for 60 records: %s", n, statement)
		}
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_operations WHERE table_name = 'resource_record_set' AND result = 'ok'`); got != "120" {
		t.Errorf("%s operations, not 120", got)
	}
}
