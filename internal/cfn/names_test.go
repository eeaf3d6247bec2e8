package cfn

import "testing"

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
	} {
		if got := TableName(typeName); got != want {
			t.Errorf("%s is the table %s instead of %s", typeName, got, want)
		}
	}
}
