package cells

import (
	"fmt"
	"testing"

	"iasql/internal/test/stopwatch"
)

// TestMoveMany: an account of many records moves as one of few does. It prints how long that takes; make move-cells says with
// how many.
func TestMoveMany(t *testing.T) {
	m := startMoving(t, "aws_sqs", "aws_vpc")
	eu := m.cells["eu"]
	m.engines["eu"].Stop() // these records have no objects
	m.engines["us"].Stop()
	eu.PSQL(fmt.Sprintf(`INSERT INTO queue (account, name) SELECT 'shop', 'q' || i FROM generate_series(1, %d) i`, *records/2),
		fmt.Sprintf(`INSERT INTO vpc (account, cidr_block, tags)
			SELECT 'shop', '10.0.0.0/16', jsonb_build_object('Name', 'v' || i) FROM generate_series(1, %d) i`, *records/4),
		fmt.Sprintf(`INSERT INTO subnet (account, vpc_id, cidr_block)
			SELECT 'shop', v.id, '10.0.1.0/24' FROM vpc v WHERE v.tags ->> 'Name' LIKE 'v%%' LIMIT %d`, *records/4),
		`UPDATE queue SET delay_seconds = 3 WHERE account = 'shop'`)
	history := eu.Admin(`SELECT count(*) FROM iasql_audit_log WHERE account = 'shop'`)
	begun := stopwatch.Start()
	m.engine("move", "shop", "--to", "us", "--preview")
	t.Logf("%d records, %s rows of history: the preview took %s", *records, history, begun.Elapsed())
	begun = stopwatch.Start()
	m.engine("move", "shop", "--to", "us")
	t.Logf("the move took %s", begun.Elapsed())
	us := m.cells["us"]
	if got := us.Admin(`SELECT count(*) FROM iasql_audit_log WHERE account = 'shop'`); got != history {
		t.Errorf("%s rows of history, want %s", got, history)
	}
	if got, want := us.Admin(`SELECT count(*) FROM subnet s JOIN vpc v ON v.id = s.vpc_id WHERE v.tags ->> 'Name' LIKE 'v%'`),
		fmt.Sprint(*records/4); got != want {
		t.Errorf("%s subnets with their VPCs, want %s", got, want)
	}
	if got := m.traces("eu"); got != "" {
		t.Errorf("the source still has something in: %s", got)
	}
}
