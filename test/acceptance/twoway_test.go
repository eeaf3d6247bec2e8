package acceptance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"iasql/internal/test/harness"
)

// A row becomes a VPC within two seconds of its INSERT, without any other
// statement.
func TestInsertBecomesVPC(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, []string{"us-east-1"}, "aws_vpc")
	id := firstLine(w.PSQL(`INSERT INTO vpc (cidr_block, tags) VALUES ('10.0.0.0/16', '{"Name": "one"}') RETURNING id`))
	w.Becomes(2*time.Second, "t", `SELECT vpc_id IS NOT NULL FROM vpc WHERE id = `+id)
	vpcs := w.CLI("ec2", "describe-vpcs", "--vpc-ids", w.PSQL(`SELECT vpc_id FROM vpc WHERE id = `+id))["Vpcs"].([]any)
	if got := vpcs[0].(map[string]any)["CidrBlock"]; got != "10.0.0.0/16" {
		t.Errorf("the VPC's block is %v", got)
	}
	w.Settled()
}

// What is made, changed and deleted with the aws command shows up with the
// next full cycle, and what is changed and deleted here shows up there.
func TestVPCBothWays(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, []string{"us-east-1"}, "aws_vpc")
	made := w.CLI("ec2", "create-vpc", "--cidr-block", "10.7.0.0/16")["Vpc"].(map[string]any)["VpcId"].(string)
	w.PSQL(`SELECT iasql_sync_now()`)
	where := fmt.Sprintf(` FROM vpc WHERE vpc_id = '%s'`, made)
	if got := w.PSQL(`SELECT cidr_block` + where); got != "10.7.0.0/16" {
		t.Fatalf("the cloud's VPC is not in the table: %q", got)
	}

	w.CLI("ec2", "create-tags", "--resources", made, "--tags", "Key=from,Value=cloud")
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT tags` + where); got != `{"from": "cloud"}` {
		t.Fatalf("tags: %s", got)
	}
	w.PSQL(fmt.Sprintf(`UPDATE vpc SET tags = tags || '{"also": "database"}' WHERE vpc_id = '%s'`, made))
	w.Settled()
	tags := fmt.Sprint(w.CLI("ec2", "describe-vpcs", "--vpc-ids", made)["Vpcs"].([]any)[0].(map[string]any)["Tags"])
	if !strings.Contains(tags, "database") || !strings.Contains(tags, "cloud") {
		t.Errorf("the cloud's tags are %s", tags)
	}

	w.CLI("ec2", "delete-vpc", "--vpc-id", made)
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT count(*)` + where); got != "0" {
		t.Errorf("a VPC deleted in the cloud is still a record")
	}

	w.PSQL(`INSERT INTO vpc (cidr_block) VALUES ('10.8.0.0/16')`)
	w.Settled()
	mine := w.PSQL(`SELECT vpc_id FROM vpc WHERE cidr_block = '10.8.0.0/16'`)
	w.PSQL(`DELETE FROM vpc WHERE cidr_block = '10.8.0.0/16'`)
	w.Settled()
	left := w.CLI("ec2", "describe-vpcs", "--filters", "Name=vpc-id,Values="+mine)["Vpcs"].([]any)
	if len(left) != 0 {
		t.Errorf("a VPC deleted here is still in the cloud: %v", left)
	}
}

// A subnet and its VPC, a bucket and a queue are inserted in one transaction
// and deleted in another; each arrives after, and leaves before, what it needs.
func TestOneTransactionInOrder(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, []string{"us-east-1"}, "aws_vpc", "aws_s3", "aws_sqs")
	w.PSQL(`BEGIN`,
		`INSERT INTO vpc (cidr_block) VALUES ('10.1.0.0/16')`,
		`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '10.1.1.0/24' FROM vpc WHERE cidr_block = '10.1.0.0/16'`,
		`INSERT INTO bucket (name, tags) VALUES ('in-order', '{"a": "b"}')`,
		`INSERT INTO queue (name, visibility_timeout) VALUES ('in-order', 45)`,
		`COMMIT`)
	w.Settled()
	const order = `SELECT string_agg(action, ' ' ORDER BY id) FROM iasql_operations WHERE kind = '%s' AND table_name IN ('vpc', 'subnet')`
	if got := w.PSQL(fmt.Sprintf(order, "create")); got != "CreateVpc CreateSubnet" {
		t.Errorf("created in the order %s", got)
	}
	subnets := w.CLI("ec2", "describe-subnets", "--filters", "Name=cidr-block,Values=10.1.1.0/24")["Subnets"].([]any)
	if len(subnets) != 1 || subnets[0].(map[string]any)["SubnetId"] != w.PSQL(
		`SELECT subnet_id FROM subnet WHERE cidr_block = '10.1.1.0/24'`) {
		t.Errorf("subnets in the cloud: %v", subnets)
	}
	if buckets := fmt.Sprint(w.CLI("s3api", "list-buckets")["Buckets"]); !strings.Contains(buckets, "in-order") {
		t.Errorf("buckets in the cloud: %s", buckets)
	}
	url := w.PSQL(`SELECT url FROM queue WHERE name = 'in-order'`)
	attributes := w.CLI("sqs", "get-queue-attributes", "--queue-url", url, "--attribute-names",
		"VisibilityTimeout")["Attributes"].(map[string]any)
	if attributes["VisibilityTimeout"] != "45" {
		t.Errorf("the queue's attributes are %v", attributes)
	}

	w.PSQL(`BEGIN`,
		`DELETE FROM subnet WHERE cidr_block = '10.1.1.0/24'`,
		`DELETE FROM vpc WHERE cidr_block = '10.1.0.0/16'`,
		`DELETE FROM bucket`, `DELETE FROM queue`,
		`COMMIT`)
	w.Settled()
	if got := w.PSQL(fmt.Sprintf(order, "delete")); got != "DeleteSubnet DeleteVpc" {
		t.Errorf("deleted in the order %s", got)
	}
	if buckets := w.CLI("s3api", "list-buckets")["Buckets"]; buckets != nil && len(buckets.([]any)) != 0 {
		t.Errorf("buckets left in the cloud: %v", buckets)
	}
}

// A bucket and a queue travel both ways too.
func TestBucketAndQueueFromTheCloud(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, []string{"us-east-1"}, "aws_s3", "aws_sqs")
	w.CLI("s3api", "create-bucket", "--bucket", "from-the-cloud")
	w.CLI("s3api", "put-bucket-tagging", "--bucket", "from-the-cloud", "--tagging", "TagSet=[{Key=k,Value=v}]")
	w.CLI("sqs", "create-queue", "--queue-name", "from-the-cloud", "--attributes", "DelaySeconds=7")
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT name, tags FROM bucket`); got != `from-the-cloud|{"k": "v"}` {
		t.Errorf("bucket: %s", got)
	}
	if got := w.PSQL(`SELECT name, delay_seconds FROM queue`); got != "from-the-cloud|7" {
		t.Errorf("queue: %s", got)
	}
	w.PSQL(`UPDATE queue SET delay_seconds = 9`, `UPDATE bucket SET tags = '{"k": "w"}'`)
	w.Settled()
	attributes := w.CLI("sqs", "get-queue-attributes", "--queue-url", w.PSQL(`SELECT url FROM queue`),
		"--attribute-names", "All")["Attributes"].(map[string]any)
	if attributes["DelaySeconds"] != "9" {
		t.Errorf("the queue's attributes are %v", attributes)
	}
	if tags := fmt.Sprint(w.CLI("s3api", "get-bucket-tagging", "--bucket", "from-the-cloud")); !strings.Contains(tags, "Value:w") {
		t.Errorf("the bucket's tags are %s", tags)
	}
	w.CLI("s3api", "delete-bucket", "--bucket", "from-the-cloud")
	w.CLI("sqs", "delete-queue", "--queue-url", w.PSQL(`SELECT url FROM queue`))
	w.PSQL(`SELECT iasql_sync_now()`)
	if got := w.PSQL(`SELECT (SELECT count(*) FROM bucket), (SELECT count(*) FROM queue)`); got != "0|0" {
		t.Errorf("deleted in the cloud and still here: %s", got)
	}
}

// Two regions work side by side.
func TestTwoRegions(t *testing.T) {
	t.Parallel()
	w := harness.Start(t, []string{"us-east-1", "eu-west-1"}, "aws_vpc")
	w.PSQL(`INSERT INTO vpc (cidr_block, region) VALUES ('10.1.0.0/16', 'us-east-1'), ('10.1.0.0/16', 'eu-west-1')`)
	w.Settled()
	for _, region := range []string{"us-east-1", "eu-west-1"} {
		vpcs := w.CLI("--region", region, "ec2", "describe-vpcs", "--filters",
			"Name=cidr,Values=10.1.0.0/16")["Vpcs"].([]any)
		if len(vpcs) != 1 || vpcs[0].(map[string]any)["VpcId"] != w.PSQL(
			fmt.Sprintf(`SELECT vpc_id FROM vpc WHERE cidr_block = '10.1.0.0/16' AND region = '%s'`, region)) {
			t.Errorf("%s has %v", region, vpcs)
		}
	}
	message := w.Refused(`INSERT INTO subnet (vpc_id, cidr_block) SELECT id, '10.1.1.0/24' FROM vpc WHERE cidr_block = '10.1.0.0/16' AND region = 'eu-west-1'`)
	if !strings.Contains(message, "of subnet is in us-east-1, and its vpc_id refers to record") ||
		!strings.Contains(message, "of vpc, which is in eu-west-1") {
		t.Errorf("a subnet in another region than its VPC: %s", message)
	}
}

// A user edits one column while the cloud changes another of the same record.
func TestBothSidesChangeDifferentColumns(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t)
	engine := w.Serve()
	w.Install([]string{"us-east-1"}, "aws_sqs")
	w.PSQL(`INSERT INTO queue (name) VALUES ('both')`)
	w.Settled()
	url := w.PSQL(`SELECT url FROM queue`)
	engine.Stop()
	w.PSQL(`UPDATE queue SET visibility_timeout = 77`)
	w.CLI("sqs", "set-queue-attributes", "--queue-url", url, "--attributes", "DelaySeconds=5")
	w.Serve()
	w.Settled()
	if got := w.PSQL(`SELECT visibility_timeout, delay_seconds FROM queue`); got != "77|5" {
		t.Errorf("the record is %s", got)
	}
	attributes := w.CLI("sqs", "get-queue-attributes", "--queue-url", url, "--attribute-names",
		"All")["Attributes"].(map[string]any)
	if attributes["VisibilityTimeout"] != "77" || attributes["DelaySeconds"] != "5" {
		t.Errorf("the queue is %v", attributes)
	}
	if got := w.PSQL(`SELECT count(*) FROM iasql_conflicts`); got != "0" {
		t.Errorf("%s conflicts", got)
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
