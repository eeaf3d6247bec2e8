package cfn

import (
	"slices"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"KMSKeyId": "kms_key_id", "VPCs": "vpcs", "ARNsOfRoles": "arns_of_roles", "IPv6CidrBlock": "ipv6_cidr_block",
		"DBInstanceV2": "db_instance_v2",
		"IoTFleetHub":  "iot_fleet_hub", "FSxWindows": "fsx_windows", "OAuth2Provider": "oauth2_provider",
		"AllowedOAuthFlows": "allowed_oauth_flows",
		"DDoSProtection":    "ddos_protection", "OnSourceDDoS": "on_source_ddos", "MaxSizeInKiB": "max_size_in_kib",
		"ETag": "etag", "IdCConfiguration": "idc_configuration",
		// These letters are of other words.
		"SAMETag": "same_tag", "VoIoTest": "vo_io_test", "RIdCount": "r_id_count", "IdPath": "id_path",
		"IdCount": "id_count",
		"Größe":   "gr_e", "a.b": "a_b",
	} {
		if got := snake(name); got != want {
			t.Errorf("%s is %s instead of %s", name, got, want)
		}
	}
	for typeName, want := range map[string]string{
		"AWS::SES::Template": "ses_template", "AWS::IoT::Thing": "iot_thing", "AWS::B2BI::Profile": "b2bi_profile",
		"Datadog::Monitors::Monitor": "datadog_monitors_monitor",
		// What people call it, and who would have that name by the rule.
		"AWS::IAM::ManagedPolicy": "iam_policy", "AWS::IAM::Policy": "aws_iam_policy",
		"AWS::Scheduler::Schedule": "schedule",
	} {
		if got := TableName(typeName); got != want {
			t.Errorf("%s is the table %s instead of %s", typeName, got, want)
		}
	}
}

// TestTakenNames: what something else has is left to it; a table that is there keeps its name.
func TestTakenNames(t *testing.T) {
	schema := func(typeName string) *Schema {
		s, err := Parse([]byte(`{"typeName": "` + typeName + `", "properties": {"Arn": {"type": "string"}},
			"primaryIdentifier": ["/properties/Arn"], "handlers": {"read": {}, "create": {}}}`))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, c := range []struct {
		typeName, taken, earlier, want string
	}{
		{"AWS::IAM::ManagedPolicy", "", "", "iam_policy"},
		{"AWS::IAM::ManagedPolicy", "iam_policy", "", "iam_managed_policy"},
		{"AWS::IAM::ManagedPolicy", "iam_policy iam_managed_policy", "", "aws_iam_managed_policy"},
		{"AWS::IAM::ManagedPolicy", "", "iam_managed_policy", "iam_managed_policy"},
		{"AWS::IAM::ManagedPolicy", "iam_policy iam_managed_policy aws_iam_managed_policy", "", ""},
		{"AWS::IAM::Policy", "", "", "aws_iam_policy"},
		{"AWS::IAM::Group", "iam_group", "", "aws_iam_group"}, // the rule's name is the one that people know
		{"AWS::SES::Template", "ses_template", "", "aws_ses_template"},
	} {
		l, err := Lay(schema(c.typeName), Layout{Table: c.earlier}, 1, Around{Taken: func(name string) bool {
			return slices.Contains(strings.Fields(c.taken), name)
		}})
		if (err != nil) != (c.want == "") || err == nil && l.Table != c.want {
			t.Errorf("%s beside %q is %s, and not %s (%v)", c.typeName, c.taken, l.Table, c.want, err)
		}
	}
}
