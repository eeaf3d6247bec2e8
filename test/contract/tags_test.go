package contract

import (
	"fmt"
	"strings"
	"testing"

	"iasql/internal/test/harness"
)

// An object may have fifty tags, and a user all of them: the engine's own gives way, be they asked for when the object
// is created or later.
func TestFiftyTags(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, []string{"us-east-1"}, "aws_vpc")
	const fifty = `(SELECT jsonb_object_agg('tag' || lpad(i::text, 2, '0'), 'v') FROM generate_series(1, 50) i)`
	w.PSQL(`INSERT INTO vpc (cidr_block, tags) VALUES ('10.50.0.0/16', `+fifty+`), ('10.51.0.0/16', '{"tag01": "v"}')`,
		`SELECT iasql_wait_for_all()`)
	w.PSQL(`UPDATE vpc SET tags = `+fifty+` WHERE cidr_block = '10.51.0.0/16'`, `SELECT iasql_wait_for_all()`)
	for range 2 {
		for _, network := range []string{"10.50.0.0/16", "10.51.0.0/16"} {
			said := fmt.Sprint(w.CLI("ec2", "describe-vpcs", "--filters", "Name=cidr,Values="+network)["Vpcs"])
			if n := strings.Count(said, "Key:"); n != 50 || strings.Contains(said, "iasql:token") {
				t.Errorf("%s has %d tags: %s", network, n, said)
			}
		}
		if got := w.PSQL(`SELECT count(*) FROM vpc WHERE tags = ` + fifty); got != "2" {
			t.Errorf("%s records have all tags", got)
		}
		w.PSQL(`SELECT iasql_sync_now()`)
	}
}
