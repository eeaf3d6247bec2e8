package weblinks

import (
	"slices"
	"testing"

	"iasql/internal/aws"
	"iasql/internal/modules"
	"iasql/internal/modules/all"
)

func TestOf(t *testing.T) {
	t.Parallel()
	type columns = map[string]string
	for _, c := range []struct {
		table string
		has   columns
		want  string
	}{
		{"instance", columns{"region": "eu-central-1", "instance_id": "i-0a"}, "https://console.aws.amazon.com/ec2/home?region=eu-central-1#InstanceDetails:instanceId=i-0a"},
		{"instance", columns{"region": "cn-north-1", "instance_id": "i-0a"}, "https://console.amazonaws.cn/ec2/home?region=cn-north-1#InstanceDetails:instanceId=i-0a"},
		{"vpc", columns{"region": "us-gov-west-1", "vpc_id": "vpc-1"}, "https://console.amazonaws-us-gov.com/vpcconsole/home?region=us-gov-west-1#VpcDetails:VpcId=vpc-1"},
		{"vpc", columns{"region": "us-iso-east-1", "vpc_id": "vpc-1"}, ""},
		{"instance", columns{"region": "eu-central-1"}, ""}, // it is not there yet
		{"instance", columns{"region": "evil.example.com/", "instance_id": "i-0a"}, ""},
		{"iam_role", columns{"role_name": "a role/б", "arn": "arn:aws-us-gov:iam::1:role/x"}, "https://console.amazonaws-us-gov.com/iam/home#/roles/details/a%20role%2F%D0%B1"},
		{"iam_user", columns{"user_name": `"><script>`}, "https://console.aws.amazon.com/iam/home#/users/details/%22%3E%3Cscript%3E"},
		{"queue", columns{"region": "us-east-1", "url": "https://sqs.us-east-1.amazonaws.com/1/a"}, "https://console.aws.amazon.com/sqs/v3/home?region=us-east-1#/queues/https%3A%2F%2Fsqs.us-east-1.amazonaws.com%2F1%2Fa"},
		{"log_group", columns{"region": "us-east-1", "log_group_name": "/aws/lambda/f"}, "https://console.aws.amazon.com/cloudwatch/home?region=us-east-1#logsV2:log-groups/log-group/$252Faws$252Flambda$252Ff"},
		{"topic", columns{"region": "us-east-1", "arn": "arn:aws:sns:us-east-1:1:t"}, "https://console.aws.amazon.com/sns/v3/home?region=us-east-1#/topic/arn:aws:sns:us-east-1:1:t"},
		{"topic", columns{"region": "us-east-1", "arn": "arn:else:sns:us-east-1:1:t"}, ""},
		{"hosted_zone", columns{"hosted_zone_id": "/hostedzone/Z1"}, "https://console.aws.amazon.com/route53/v2/hostedzones#ListRecordSets/Z1"},
		{"hosted_zone", columns{"hosted_zone_id": "Z1", "name_servers": "{ns-1.awsdns-cn-05.com}"}, "https://console.amazonaws.cn/route53/v2/hostedzones#ListRecordSets/Z1"},
		{"nonsense", columns{"region": "us-east-1"}, ""},
	} {
		if got := Of(c.table, c.has); got != c.want {
			t.Errorf("%s %v: %s, want %s", c.table, c.has, got, c.want)
		}
	}
}

// Every table and column that an address names is there.
func TestPages(t *testing.T) {
	t.Parallel()
	columns := map[string][]string{}
	for _, m := range all.Modules(aws.New(aws.Options{})) {
		for _, table := range m.Tables() {
			for _, c := range table.Columns {
				columns[table.Name] = append(columns[table.Name], c.Name)
			}
			columns[table.Name] = append(columns[table.Name], modules.ColumnRegion)
		}
	}
	for table, page := range pages {
		if columns[table] == nil {
			t.Errorf("there is no table %s", table)
		}
		for _, m := range place.FindAllStringSubmatch(page, -1) {
			if !slices.Contains(columns[table], m[1]) {
				t.Errorf("%s has no column %s", table, m[1])
			}
		}
	}
}
