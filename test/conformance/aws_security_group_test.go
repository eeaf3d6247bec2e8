package conformance

var awsSecurityGroup = Module{
	Name: "aws_security_group",
	Setup: []string{
		`INSERT INTO vpc (cidr_block) VALUES ('10.1.0.0/16'), ('10.2.0.0/16')`,
		`INSERT INTO security_group (group_name, description, vpc_id) SELECT 'base', 'for rules', id FROM vpc WHERE cidr_block = '10.1.0.0/16'`,
		`INSERT INTO security_group (group_name, description, vpc_id) SELECT 'other-base', 'for rules', id FROM vpc WHERE cidr_block = '10.1.0.0/16'`,
	},
	Vars: map[string]string{
		"vpc":         `SELECT vpc_id FROM vpc WHERE cidr_block = '10.1.0.0/16'`,
		"other_vpc":   `SELECT vpc_id FROM vpc WHERE cidr_block = '10.2.0.0/16'`,
		"group":       `SELECT group_id FROM security_group WHERE group_name = 'base'`,
		"other_group": `SELECT group_id FROM security_group WHERE group_name = 'other-base'`,
		"prefixes":    `ec2 create-managed-prefix-list --prefix-list-name prefixes --address-family IPv4 --max-entries 5 --query PrefixList.PrefixListId`,
	},
	Tables: []Table{
		{
			Name: "security_group", Identity: "group_id",
			Bound:  true, // its rules
			Insert: `(group_name, description, vpc_id) SELECT 'group-$n', 'first', id FROM vpc WHERE cidr_block = '10.1.0.0/16'`,
			See:    `ec2 describe-security-groups --group-ids $id`,
			Create: run(`ec2 create-security-group --group-name group-$n --description first --vpc-id $vpc --query GroupId`),
			Delete: run(`ec2 delete-security-group --group-id $id`),
			Change: []Change{ec2Tags},
			Replace: Replace{
				Column: "description", SQL: `'second'`,
				Dependents: `SELECT is_egress, ip_protocol, cidr_ipv4 FROM security_group_rule WHERE security_group_id = $row`,
			},
			Fixed: []Change{
				{Column: "group_name", SQL: `'group-renamed'`,
					See: `ec2 describe-security-groups --group-ids $id --query SecurityGroups[0].GroupName`},
				{
					Column: "vpc_id", SQL: `(SELECT id FROM vpc WHERE cidr_block = '10.2.0.0/16')`,
					See:  `ec2 describe-security-groups --group-ids $id --query SecurityGroups[0].VpcId`,
					Want: `$other_vpc`,
				},
			},
		},
		{
			Name: "security_group_rule", Identity: "security_group_rule_id",
			Insert: `(security_group_id, is_egress, ip_protocol, from_port, to_port, cidr_ipv4) SELECT id, false, 'tcp', 80, 80, '10.$i.0.0/16' FROM security_group WHERE group_name = 'base'`,
			See:    `ec2 describe-security-group-rules --filters Name=security-group-rule-id,Values=$id --query SecurityGroupRules`,
			Create: run(`ec2 authorize-security-group-ingress --group-id $group --ip-permissions IpProtocol=tcp,FromPort=80,ToPort=80,IpRanges=[{CidrIp=10.$i.0.0/16}] --query SecurityGroupRules[0].SecurityGroupRuleId`),
			Delete: run(`ec2 revoke-security-group-ingress --group-id $group --security-group-rule-ids $id`),
			Change: []Change{
				ruleSetting("ip_protocol", `'udp'`, "IpProtocol", `'tcp'`),
				ruleSetting("from_port", `53`, "FromPort", `54`),
				ruleSetting("to_port", `55`, "ToPort", `56`),
				{"cidr_ipv4", `'10.99.0.0/16'`,
					`ec2 describe-security-group-rules --filters Name=security-group-rule-id,Values=$id --query SecurityGroupRules[0].CidrIpv4`, "",
					run(`ec2 modify-security-group-rules --group-id $group --security-group-rules 'SecurityGroupRuleId=$id,SecurityGroupRule={IpProtocol=tcp,FromPort=54,ToPort=56,CidrIpv4=10.98.0.0/16}'`), `'10.98.0.0/16'`},
				ruleSetting("description", `'by sql'`, "Description", `'by cli'`),
				ec2Tags,
			},
			Skip: map[string]string{
				replace: "aws: a rule that goes the other way, or is of another group, is deleted by " +
					"other words: see Apart",
				"cidr_ipv6 by SQL":     "aws: ModifySecurityGroupRules does not make an IPv4 rule one of IPv6",
				"cidr_ipv6 by the CLI": "aws: ModifySecurityGroupRules does not make an IPv4 rule one of IPv6",
			},
			Apart: []Apart{
				{
					With: `cidr_ipv4 = NULL`,
					Set: []Change{
						ruleFixed("security_group_id",
							`(SELECT id FROM security_group WHERE group_name = 'other-base')`, "GroupId",
							`$other_group`),
						ruleFixed("is_egress", `true`, "IsEgress", ""),
						ruleFixed("source_security_group", `(SELECT id FROM security_group WHERE group_name = 'base')`,
							"ReferencedGroupInfo.GroupId", `$group`),
					},
				},
				{With: `cidr_ipv4 = NULL`, Set: []Change{ruleFixed("prefix_list_id", `'$prefixes'`,
					"PrefixListId", "")}},
			},
		},
	},
}

func ruleSetting(column, sql, member, then string) Change {
	return Change{
		column, sql, `ec2 describe-security-group-rules --filters Name=security-group-rule-id,Values=$id --query SecurityGroupRules[0].` + member, "",
		run(`ec2 modify-security-group-rules --group-id $group --security-group-rules
			'SecurityGroupRuleId=$id,SecurityGroupRule={IpProtocol=tcp,FromPort=54,ToPort=56,CidrIpv4=$cidr_ipv4,Description="by cli"}'`), then,
	}
}

func ruleFixed(column, sql, member, want string) Change {
	return Change{Column: column, SQL: sql,
		See: `ec2 describe-security-group-rules --filters Name=security-group-rule-id,Values=$id --query SecurityGroupRules[0].` + member, Want: want}
}

// ec2Tags is the change of an EC2 object's tags.
var ec2Tags = tags(`ec2 describe-tags --filters Name=resource-id,Values=$id --query Tags[].{Key:Key,Value:Value}`,
	`ec2 create-tags --resources $id --tags Key=by,Value=cli`)
