package conformance

import "strings"

var awsOpenSearch = Module{
	Name: "aws_opensearch",
	Setup: []string{
		`INSERT INTO security_group (group_name, description, vpc_id) SELECT name, 'of a test', id FROM vpc, unnest('{base,sql,cli,adopted,tracked,other,apart}'::text[]) name WHERE is_default`,
		`INSERT INTO certificate (domain_name) VALUES ('one.example.com'), ('two.example.com')`,
		`INSERT INTO domain (domain_name, version, instance_type, instance_count, subnets) SELECT name, 'OpenSearch_2.11', 't3.small.search', 1, ARRAY[subnet_id]
			FROM subnet, unnest('{home,other-home}'::text[]) name WHERE default_for_az AND availability_zone = 'us-east-1a'`,
		`INSERT INTO domain_security_groups (domain_id, security_group_id) SELECT d.id, g.id FROM domain d, security_group g WHERE d.domain_name LIKE '%home' AND g.group_name = 'base'`,
	},
	Vars: map[string]string{
		"subnet":   `SELECT subnet_id FROM subnet WHERE default_for_az AND availability_zone = 'us-east-1a'`,
		"subnet_2": `SELECT subnet_id FROM subnet WHERE default_for_az AND availability_zone = 'us-east-1b'`,
		"subnet_3": `SELECT subnet_id FROM subnet WHERE default_for_az AND availability_zone = 'us-east-1c'`,
		"cert_one": `SELECT arn FROM certificate WHERE domain_name = 'one.example.com'`,
		"cert_two": `SELECT arn FROM certificate WHERE domain_name = 'two.example.com'`,
	},
	Tables: []Table{
		{
			Name: "domain", Identity: "domain_name", ID: "domain-$n",
			Insert: `(domain_name, version, instance_type, instance_count, subnets) VALUES ('$id', 'OpenSearch_2.11', 't3.small.search', 1, '{$subnet}')`,
			See:    `opensearch describe-domain --domain-name $id`,
			Create: run(`opensearch create-domain --domain-name $id --engine-version OpenSearch_2.11 --cluster-config InstanceType=t3.small.search,InstanceCount=1 --vpc-options SubnetIds=$subnet ` +
				`--encryption-at-rest-options Enabled=true --node-to-node-encryption-options Enabled=true --domain-endpoint-options EnforceHTTPS=true`),
			Delete: run(`opensearch delete-domain --domain-name $id`),
			Change: []Change{
				domainSetting("instance_type", `'m6g.large.search'`, "ClusterConfig.InstanceType", cliCluster,
					`'r6g.large.search'`),
				domainSetting("instance_count", `2`, "ClusterConfig.InstanceCount", cliCluster, `6`),
				domainSetting("availability_zone_count", `2`, "ClusterConfig.ZoneAwarenessConfig.AvailabilityZoneCount",
					cliCluster, `3`),
				domainSetting("cold_storage", `true`, "ClusterConfig.ColdStorageOptions.Enabled", cliCluster, `false`),
				domainSetting("ebs_options", `'{"EBSEnabled": true, "VolumeType": "gp3", "VolumeSize": 10}'`,
					"EBSOptions.VolumeSize", `--ebs-options EBSEnabled=true,VolumeType=gp3,VolumeSize=20`,
					`'{"EBSEnabled": true, "VolumeType": "gp3", "VolumeSize": 20}'`),
				domainSetting("access_policy", `'`+allow("es:ESHttpGet", "*")+`'`,
					"contains(AccessPolicies,\\'ESHttpGet\\')", `--access-policies '`+allow("es:ESHttpPut", "*")+`'`,
					`'`+allow("es:ESHttpPut", "*")+`'`),
				domainSetting("advanced_options", `'{"indices.fielddata.cache.size": "20"}'`, "AdvancedOptions",
					`--advanced-options indices.fielddata.cache.size=30`,
					`'{"indices.fielddata.cache.size": "30"}'`),
				domainSetting("subnets", `'{$subnet_2}'`, "VPCOptions.SubnetIds[0]",
					`--vpc-options SubnetIds=$subnet_3`, `'{$subnet_3}'`),
				domainSetting("custom_endpoint", `'sql.example.com'`, "DomainEndpointOptions.CustomEndpoint",
					cliEndpoint, `'cli.example.com'`),
				domainSetting("endpoint_certificate_id",
					`(SELECT id FROM certificate WHERE domain_name = 'one.example.com')`,
					"DomainEndpointOptions.CustomEndpointCertificateArn", cliEndpoint,
					`(SELECT id FROM certificate WHERE domain_name = 'two.example.com')`),
				domainSetting("enforce_https", `false`, "DomainEndpointOptions.EnforceHTTPS", cliEndpoint, `true`),
				domainSetting("tls_security_policy", `'Policy-Min-TLS-1-2-2019-07'`,
					"DomainEndpointOptions.TLSSecurityPolicy", cliEndpoint, `'Policy-Min-TLS-1-2-PFS-2023-10'`),
				domainSetting("encryption_at_rest", `false`, "EncryptionAtRestOptions.Enabled",
					`--encryption-at-rest-options Enabled=true,KmsKeyId=cli`, `true`),
				domainSetting("kms_key_id", `'sql'`, "EncryptionAtRestOptions.KmsKeyId",
					`--encryption-at-rest-options Enabled=true,KmsKeyId=cli`, `'cli'`),
				domainSetting("node_to_node_encryption", `false`, "NodeToNodeEncryptionOptions.Enabled",
					`--node-to-node-encryption-options Enabled=true`, `true`),
				domainSetting("enable_fine_grained_access_control", `true`, "AdvancedSecurityOptions.Enabled",
					`--advanced-security-options Enabled=true`, `true`),
				tags(`opensearch list-tags --arn $arn --query TagList`,
					`opensearch add-tags --arn $arn --tag-list Key=by,Value=cli`),
			},
			Replace: Replace{Column: "domain_name", SQL: `'domain-other'`, ID: "domain-other"},
			Skip: both(unkept("moto: no UpgradeDomain", "version"),
				unkept("moto: UpdateDomainConfig does not keep it", "auto_tune", "ip_address_type"),
				unkept("aws: type and number are set together", "dedicated_master_type", "dedicated_master_count",
					"warm_instance_type", "warm_instance_count"),
				unkept("aws: it is not told", "fine_grained_access_control_user_arn",
					"fine_grained_access_control_master_username", "fine_grained_access_control_master_password")),
		},
		{
			Name: "domain_security_groups", ID: `SELECT group_id FROM security_group WHERE group_name = '$n'`,
			Find:   `security_group_id = (SELECT id FROM security_group WHERE group_id = '$id')`,
			Insert: `(domain_id, security_group_id) SELECT d.id, g.id FROM domain d, security_group g WHERE d.domain_name = 'home' AND g.group_id = '$id'`,
			See:    `opensearch describe-domain --domain-name home --query DomainStatus.VPCOptions.SecurityGroupIds[?@==\'$id\']`,
			Create: []string{
				`groups := opensearch describe-domain --domain-name home --query join(\',\',DomainStatus.VPCOptions.SecurityGroupIds)`,
				`opensearch update-domain-config --domain-name home --vpc-options SubnetIds=$subnet,SecurityGroupIds=$id,$groups`,
			},
			Delete: []string{
				`groups := opensearch describe-domain --domain-name home --query join(\',\',DomainStatus.VPCOptions.SecurityGroupIds[?@!=\'$id\'])`,
				`opensearch update-domain-config --domain-name home --vpc-options SubnetIds=$subnet,SecurityGroupIds=$groups`,
			},
			Replace: Replace{
				Column: "security_group_id", SQL: `(SELECT id FROM security_group WHERE group_name = 'other')`,
				ID: `SELECT group_id FROM security_group WHERE group_name = 'other'`,
			},
			Apart: []Apart{{
				Left: true,
				Set: []Change{{
					Column: "domain_id", SQL: `(SELECT id FROM domain WHERE domain_name = 'other-home')`,
					See: `opensearch describe-domain --domain-name other-home --query DomainStatus.VPCOptions.SecurityGroupIds[?@==\'$id\']|[0]`, Want: `$id`,
				}},
			}},
		},
	},
}

// What the commands set of a section, which has to be said as a whole.
const (
	cliCluster = `--cluster-config InstanceType=r6g.large.search,InstanceCount=6,ZoneAwarenessEnabled=true,ZoneAwarenessConfig={AvailabilityZoneCount=3},ColdStorageOptions={Enabled=false}`

	cliEndpoint = `--domain-endpoint-options EnforceHTTPS=true,TLSSecurityPolicy=Policy-Min-TLS-1-2-PFS-2023-10,CustomEndpointEnabled=true,CustomEndpoint=cli.example.com,CustomEndpointCertificateArn=$cert_two`
)

func domainSetting(column, sql, member, option, then string) Change {
	c := Change{column, sql, `opensearch describe-domain --domain-name $id --query DomainStatus.` + member, "",
		run(`opensearch update-domain-config --domain-name $id ` + option), then}
	switch {
	case strings.HasPrefix(member, "contains("):
		c.See = `opensearch describe-domain --domain-name $id --query ` +
			strings.Replace(member, "contains(", "contains(DomainStatus.", 1)
		c.Want = "true"
	case column == "ebs_options":
		c.Want = "10"
	case column == "advanced_options":
		c.See, c.Want = `opensearch describe-domain --domain-name $id --query values(DomainStatus.AdvancedOptions)[0]`,
			"20"
	case column == "subnets":
		c.Want = "$subnet_2"
	case column == "endpoint_certificate_id":
		c.Want = "$cert_one"
	}
	return c
}
