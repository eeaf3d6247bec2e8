package batches

import (
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
	"iasql/internal/test/stopwatch"
)

// What AWS refuses for certain a preview says, and a commit that is to undo what fails does not begin: it names all of
// it, at once, and changes nothing.
func TestRefusedForCertain(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_security_group", "aws_sqs", "aws_iam")
	w.CLI("iam", "create-service-linked-role", "--aws-service-name", "autoscaling.amazonaws.com")
	w.PSQL(`INSERT INTO vpc (cidr_block) VALUES ('10.9.0.0/16')`) // without subnets, which name the network ACL
	w.Settled()
	w.PSQL(`SELECT iasql_sync_now()`)
	fresh := `vpc_id = (SELECT id FROM vpc WHERE cidr_block = '10.9.0.0/16')`
	s := user(w)
	s.do(`CALL iasql_begin('in vain')`, `INSERT INTO queue (name) VALUES ('harmless')`,
		`DELETE FROM security_group WHERE is_default AND `+fresh, `DELETE FROM network_acl WHERE is_default AND `+fresh,
		`DELETE FROM route_table WHERE is_main AND `+fresh,
		`DELETE FROM iam_role WHERE path LIKE '/aws-service-role/%'`)
	want := map[string]string{
		"network_acl": "it is the VPC's default network ACL, which AWS made by itself and which goes with the " +
			"VPC; AWS refuses to delete it (https://docs.aws.amazon.com/",
		"security_group": "it is the VPC's default security group, which AWS made by itself and which goes with the " +
			"VPC; AWS refuses to delete it (https://docs.aws.amazon.com/",
		"route_table": "it is the VPC's main route table, which goes with the VPC; AWS refuses to delete it " +
			"(https://docs.aws.amazon.com/",
		"iam_role": "it is the service-linked role of autoscaling.amazonaws.com, which only that service can " +
			"do without; AWS refuses to delete it (https://docs.aws.amazon.com/",
	}
	rows := s.get(`SELECT string_agg(concat_ws(' ', direction, action, table_name, reason), E'\n' ORDER BY table_name) FROM iasql_preview() WHERE direction = 'refused'`)
	for table, why := range want {
		if !strings.Contains(rows, "refused delete "+table+" is not deleted from here: "+why) {
			t.Errorf("the preview does not say of %s that %s:\n%s", table, why, rows)
		}
	}
	if got := s.get(`SELECT string_agg(action || ' ' || table_name, ', ') FROM iasql_preview() WHERE direction = 'push'`); got != "create queue" {
		t.Errorf("the preview would push %s", got)
	}
	begun := stopwatch.Start()
	var says []string
	for table, why := range want {
		says = append(says, table+" ", why)
	}
	s.refused("IA029", append(says, "was not begun"), `CALL iasql_commit()`)
	if took := begun.Took(); took > 30*time.Second {
		t.Errorf("it took %s to say so", took)
	}
	if got := w.PSQL(`SELECT phase FROM iasql_batches WHERE name = 'in vain'`,
		`SELECT count(*) FROM queue WHERE url IS NOT NULL`,
		`SELECT count(*) FROM iasql_operations WHERE transaction_id IS NOT NULL`); got != "open\n0\n0" {
		t.Errorf("after that: %s", got)
	}
	s.do(`CALL iasql_commit(on_error => 'keep')`)
	if got := w.PSQL(`SELECT count(*) FROM queue WHERE url IS NOT NULL`); got != "1" {
		t.Errorf("kept are %s queues", got)
	}
	if said := s.notices(); !strings.Contains(said, "default security group") ||
		!strings.Contains(said, "service-linked role") {
		t.Errorf("it warned of %s", said)
	}
}

// A default subnet AWS deletes when it is asked to; so does a commit.
func TestDefaultSubnetIsDeleted(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, east, "aws_vpc")
	s := user(w)
	s.do(`CALL iasql_begin()`, `DELETE FROM subnet WHERE id = (SELECT min(id) FROM subnet WHERE default_for_az)`)
	if got := s.get(`SELECT string_agg(direction || ' ' || action || ' ' || table_name, ', ') FROM iasql_preview()`); got != "push delete subnet" {
		t.Errorf("the preview says %s", got)
	}
	inCloud := func() int { return len(w.CLI("ec2", "describe-subnets")["Subnets"].([]any)) }
	before := inCloud()
	s.do(`CALL iasql_commit()`)
	if after := inCloud(); after != before-1 {
		t.Errorf("of %d subnets there are %d", before, after)
	}
}
