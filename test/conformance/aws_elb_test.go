package conformance

var awsELB = Module{
	Name: "aws_elb",
	Setup: []string{
		`INSERT INTO vpc (cidr_block) VALUES ('10.1.0.0/16'), ('10.2.0.0/16')`,
		`INSERT INTO internet_gateway (vpc_id) SELECT id FROM vpc WHERE cidr_block = '10.1.0.0/16'`,
		`INSERT INTO subnet (vpc_id, cidr_block, availability_zone) SELECT id, format('10.1.%s.0/24', i)::cidr, 'us-east-1' || substr('abc', i, 1)
			FROM vpc, generate_series(1, 3) i WHERE cidr_block = '10.1.0.0/16'`,
		`INSERT INTO security_group (group_name, description, vpc_id) SELECT name, 'of a test', id
			FROM vpc, unnest('{base,sql,cli,adopted,tracked,other,apart}'::text[]) name WHERE cidr_block = '10.1.0.0/16'`,
		`INSERT INTO certificate (domain_name) VALUES ('one.example.com'), ('two.example.com')`,
		`INSERT INTO target_group (target_group_name, protocol, port, vpc) SELECT name, 'HTTP', 80, id FROM vpc, unnest('{one,two,three}'::text[]) name WHERE cidr_block = '10.1.0.0/16'`,
		`SELECT iasql_wait_for_all(30)`,
		`INSERT INTO load_balancer (load_balancer_name, subnets) SELECT name, array_agg(subnet_id) FROM subnet, unnest('{home,other-home}'::text[]) name
			WHERE cidr_block IN ('10.1.1.0/24', '10.1.2.0/24') GROUP BY name`,
		`INSERT INTO load_balancer_security_groups (load_balancer_id, security_group_id) SELECT b.id, g.id FROM load_balancer b, security_group g
			WHERE b.load_balancer_name LIKE '%home' AND g.group_name = 'base'`,
	},
	Vars: map[string]string{
		"vpc":        `SELECT vpc_id FROM vpc WHERE cidr_block = '10.1.0.0/16'`,
		"subnet":     `SELECT subnet_id FROM subnet WHERE cidr_block = '10.1.1.0/24'`,
		"subnet_2":   `SELECT subnet_id FROM subnet WHERE cidr_block = '10.1.2.0/24'`,
		"subnet_3":   `SELECT subnet_id FROM subnet WHERE cidr_block = '10.1.3.0/24'`,
		"home":       `SELECT load_balancer_arn FROM load_balancer WHERE load_balancer_name = 'home'`,
		"other_home": `SELECT load_balancer_arn FROM load_balancer WHERE load_balancer_name = 'other-home'`,
		"one":        `SELECT target_group_arn FROM target_group WHERE target_group_name = 'one'`,
		"two":        `SELECT target_group_arn FROM target_group WHERE target_group_name = 'two'`,
		"three":      `SELECT target_group_arn FROM target_group WHERE target_group_name = 'three'`,
		"cert_two":   `SELECT arn FROM certificate WHERE domain_name = 'two.example.com'`,
		"cert_one":   `SELECT arn FROM certificate WHERE domain_name = 'one.example.com'`,
		"other_vpc":  `SELECT vpc_id FROM vpc WHERE cidr_block = '10.2.0.0/16'`,
	},
	Tables: []Table{
		{
			Name: "target_group", Identity: "target_group_arn",
			Bound:  true, // its VPC
			Insert: `(target_group_name, target_type, protocol, port, vpc) SELECT 'group-$n', 'ip', 'HTTP', 80, id FROM vpc WHERE cidr_block = '10.1.0.0/16'`,
			See:    `elbv2 describe-target-groups --target-group-arns $id`,
			Create: run(`elbv2 create-target-group --name group-$n --target-type ip --protocol HTTP --port 80 --vpc-id $vpc --query TargetGroups[0].TargetGroupArn`),
			Delete: run(`elbv2 delete-target-group --target-group-arn $id`),
			Change: []Change{
				elbTags,
				targetGroupSetting("health_check_enabled", `true`, "HealthCheckEnabled", `true`),
				targetGroupSetting("health_check_protocol", `'HTTPS'`, "HealthCheckProtocol", `'HTTP'`),
				targetGroupSetting("health_check_port", `'8081'`, "HealthCheckPort", `'8082'`),
				targetGroupSetting("health_check_path", `'/sql'`, "HealthCheckPath", `'/cli'`),
				targetGroupSetting("health_check_interval_seconds", `60`, "HealthCheckIntervalSeconds", `70`),
				targetGroupSetting("health_check_timeout_seconds", `10`, "HealthCheckTimeoutSeconds", `11`),
				targetGroupSetting("healthy_threshold_count", `3`, "HealthyThresholdCount", `4`),
				targetGroupSetting("unhealthy_threshold_count", `4`, "UnhealthyThresholdCount", `6`),
				targetGroupSetting("matcher", `'200-299'`, "Matcher.HttpCode", `'201'`),
				{
					"attributes", `'{"deregistration_delay.timeout_seconds": "30"}'`,
					`elbv2 describe-target-group-attributes --target-group-arn $id --query Attributes[?Key==\'deregistration_delay.timeout_seconds\']|[0].Value`, "30",
					run(`elbv2 modify-target-group-attributes --target-group-arn $id --attributes Key=deregistration_delay.timeout_seconds,Value=40`),
					`attributes || '{"deregistration_delay.timeout_seconds": "40"}'`,
				},
			},
			Replace: Replace{Column: "port", SQL: `81`},
			Fixed: []Change{
				{Column: "target_group_name", SQL: `'group-renamed'`,
					See: `elbv2 describe-target-groups --target-group-arns $id --query TargetGroups[0].TargetGroupName`},
				{Column: "target_type", SQL: `'instance'`,
					See: `elbv2 describe-target-groups --target-group-arns $id --query TargetGroups[0].TargetType`},
				{Column: "protocol", SQL: `'HTTPS'`,
					See: `elbv2 describe-target-groups --target-group-arns $id --query TargetGroups[0].Protocol`},
				{Column: "protocol_version", SQL: `'HTTP2'`,
					See: `elbv2 describe-target-groups --target-group-arns $id --query TargetGroups[0].ProtocolVersion`},
				{Column: "vpc", SQL: `(SELECT id FROM vpc WHERE cidr_block = '10.2.0.0/16')`,
					See:  `elbv2 describe-target-groups --target-group-arns $id --query TargetGroups[0].VpcId`,
					Want: `$other_vpc`},
			},
			Apart: []Apart{{
				Set: []Change{
					{Column: "ip_address_type", SQL: `'ipv6'`,
						See: `elbv2 describe-target-groups --target-group-arns $id --query TargetGroups[0].IpAddressType`},
				},
			}},
		},
		{
			Name: "load_balancer", Identity: "load_balancer_arn",
			Bound:  true, // its VPC
			Insert: `(load_balancer_name, subnets) VALUES ('balancer-$n', '{$subnet,$subnet_2}')`,
			See:    `elbv2 describe-load-balancers --load-balancer-arns $id`,
			Create: run(`elbv2 create-load-balancer --name balancer-$n --subnets $subnet $subnet_2 --query LoadBalancers[0].LoadBalancerArn`),
			Delete: run(`elbv2 delete-load-balancer --load-balancer-arn $id`),
			Change: []Change{
				elbTags,
				{
					"subnets", `'{$subnet,$subnet_2,$subnet_3}'`,
					`elbv2 describe-load-balancers --load-balancer-arns $id --query LoadBalancers[0].AvailabilityZones[].SubnetId`,
					`["$subnet", "$subnet_2", "$subnet_3"]`,
					run(`elbv2 set-subnets --load-balancer-arn $id --subnets $subnet $subnet_2`),
					`CASE WHEN subnets @> '{$subnet,$subnet_2}' AND cardinality(subnets) = 2 THEN subnets END`,
				},
				{
					"ip_address_type", `'dualstack'`,
					`elbv2 describe-load-balancers --load-balancer-arns $id --query LoadBalancers[0].IpAddressType`, "",
					run(`elbv2 set-ip-address-type --load-balancer-arn $id --ip-address-type ipv4`), `'ipv4'`,
				},
				{
					"attributes", `'{"idle_timeout.timeout_seconds": "70"}'`,
					`elbv2 describe-load-balancer-attributes --load-balancer-arn $id --query Attributes[?Key==\'idle_timeout.timeout_seconds\']|[0].Value`, "70",
					run(`elbv2 modify-load-balancer-attributes --load-balancer-arn $id --attributes Key=idle_timeout.timeout_seconds,Value=80`),
					`attributes || '{"idle_timeout.timeout_seconds": "80"}'`,
				},
			},
			Replace: Replace{
				Column: "load_balancer_name", SQL: `'balancer-other'`,
				Child:      `INSERT INTO listener (load_balancer_id, port, protocol, target_group_id) SELECT $row, 80, 'HTTP', id FROM target_group WHERE target_group_name = 'three'`,
				Dependents: `SELECT id, port FROM listener WHERE load_balancer_id = $row`,
				Away:       `DELETE FROM listener WHERE load_balancer_id = $row`,
			},
			Fixed: []Change{
				{Column: "scheme", SQL: `'internal'`,
					See: `elbv2 describe-load-balancers --load-balancer-arns $id --query LoadBalancers[0].Scheme`},
			},
			Skip: both(map[string]string{"customer_owned_ipv4_pool replaced": "moto: CreateLoadBalancer does not keep " +
				"CustomerOwnedIpv4Pool"}, unkept("moto: it keeps none of them", "ipv4_ipam_pool_id",
				"enforce_security_group_inbound_rules_on_private_link_traffic", "allocation_ids", "private_ipv4_addresses"),
				unkept("moto: no ModifyCapacityReservation", "minimum_load_balancer_capacity")),
			Apart: []Apart{{
				With: `attributes = NULL`,
				Set: []Change{
					{Column: "load_balancer_type", SQL: `'network'`,
						See: `elbv2 describe-load-balancers --load-balancer-arns $id --query LoadBalancers[0].Type`},
					{Column: "has_security_groups", SQL: `true`,
						See: `elbv2 describe-load-balancers --load-balancer-arns $id --query LoadBalancers[0].SecurityGroups[0]!=null`},
				},
			}},
		},
		{
			Name: "load_balancer_security_groups", ID: `SELECT group_id FROM security_group WHERE group_name = '$n'`,
			Find:   `security_group_id = (SELECT id FROM security_group WHERE group_id = '$id')`,
			Insert: `(load_balancer_id, security_group_id) SELECT b.id, g.id FROM load_balancer b, security_group g WHERE b.load_balancer_name = 'home' AND g.group_id = '$id'`,
			See:    `elbv2 describe-load-balancers --load-balancer-arns $home --query LoadBalancers[0].SecurityGroups[?@==\'$id\']`,
			Create: []string{
				`groups := elbv2 describe-load-balancers --load-balancer-arns $home --query join(\'' '\',LoadBalancers[0].SecurityGroups)`,
				`elbv2 set-security-groups --load-balancer-arn $home --security-groups $id $groups`,
			},
			Delete: []string{
				`groups := elbv2 describe-load-balancers --load-balancer-arns $home --query join(\'' '\',LoadBalancers[0].SecurityGroups[?@!=\'$id\'])`,
				`elbv2 set-security-groups --load-balancer-arn $home --security-groups $groups`,
			},
			Replace: Replace{
				Column: "security_group_id", SQL: `(SELECT id FROM security_group WHERE group_name = 'other')`,
				ID: `SELECT group_id FROM security_group WHERE group_name = 'other'`,
			},
			Apart: []Apart{{
				Left: true,
				Set: []Change{{
					Column: "load_balancer_id", SQL: `(SELECT id FROM load_balancer WHERE load_balancer_name = 'other-home')`,
					See: `elbv2 describe-load-balancers --load-balancer-arns $other_home --query LoadBalancers[0].SecurityGroups[?@==\'$id\']|[0]`, Want: `$id`,
				}},
			}},
		},
		{
			Name: "listener", Identity: "listener_arn",
			Insert: `(load_balancer_id, port, protocol, target_group_id) SELECT b.id, 100$i, 'HTTP', g.id FROM load_balancer b, target_group g
				WHERE b.load_balancer_name = 'home' AND g.target_group_name = 'one'`,
			See: `elbv2 describe-listeners --listener-arns $id`,
			Create: run(`elbv2 create-listener --load-balancer-arn $home --port 100$i --protocol HTTP --default-actions Type=forward,TargetGroupArn=$one
				--query Listeners[0].ListenerArn`),
			Delete: run(`elbv2 delete-listener --listener-arn $id`),
			Change: []Change{
				elbTags,
				{
					"attributes", `'{"routing.http.response.server.enabled": "false"}'`,
					`elbv2 describe-listener-attributes --listener-arn $id --query Attributes[?Key==\'routing.http.response.server.enabled\']|[0].Value`, "false",
					run(`elbv2 modify-listener-attributes --listener-arn $id --attributes Key=routing.http.response.server.enabled,Value=true`),
					`attributes || '{"routing.http.response.server.enabled": "true"}'`,
				},
				listenerSetting("port", `5001`, "Port", "", `6001`),
				listenerSetting("protocol", `'HTTPS'`, "Protocol", "", `'HTTPS'`),
				listenerSetting("target_group_id", `(SELECT id FROM target_group WHERE target_group_name = 'two')`,
					"DefaultActions[0].TargetGroupArn", "$two",
					`(SELECT id FROM target_group WHERE target_group_name = 'three')`),
				listenerSetting("ssl_policy", `'ELBSecurityPolicy-TLS13-1-2-2021-06'`, "SslPolicy", "",
					`'ELBSecurityPolicy-2016-08'`),
				listenerSetting("certificate_id", `(SELECT id FROM certificate WHERE domain_name = 'one.example.com')`,
					"Certificates[0].CertificateArn", "$cert_one",
					`(SELECT id FROM certificate WHERE domain_name = 'two.example.com')`),
			},
			Replace: Replace{Column: "load_balancer_id",
				SQL: `(SELECT id FROM load_balancer WHERE load_balancer_name = 'other-home')`},
			Skip: map[string]string{
				"alpn_policy by SQL":     "moto: ModifyListener does not keep AlpnPolicy",
				"alpn_policy by the CLI": "moto: ModifyListener does not keep AlpnPolicy",
			},
		},
		{
			Name: "listener", Kind: "that answers", Identity: "listener_arn",
			Insert: `(load_balancer_id, port, protocol, action_type, default_actions) SELECT id, 200$i, 'HTTP', 'fixed-response', '` + answer("404") + `'
				FROM load_balancer WHERE load_balancer_name = 'home'`,
			See:    `elbv2 describe-listeners --listener-arns $id`,
			Create: run(`elbv2 create-listener --load-balancer-arn $home --port 200$i --protocol HTTP --default-actions '` + answer("404") + `' --query Listeners[0].ListenerArn`),
			Delete: run(`elbv2 delete-listener --listener-arn $id`),
			Change: []Change{
				elbTags,
				{
					"action_type", `'redirect'`, `elbv2 describe-listeners --listener-arns $id --query Listeners[0].DefaultActions[0].Type`, "",
					run(`elbv2 modify-listener --listener-arn $id --default-actions '` + answer("503") + `'`),
					`'fixed-response'`,
				},
				{
					"default_actions", `'` + redirection301 + `'`,
					`elbv2 describe-listeners --listener-arns $id --query Listeners[0].DefaultActions[0].RedirectConfig.Port`, "444",
					run(`elbv2 modify-listener --listener-arn $id --default-actions '` + answer("503") + `'`),
					`'` + answer("503") + `'`,
				},
			},
			Replace: Replace{Column: "load_balancer_id",
				SQL: `(SELECT id FROM load_balancer WHERE load_balancer_name = 'other-home')`},
		},
	},
}

var elbTags = tags(`elbv2 describe-tags --resource-arns $id --query TagDescriptions[0].Tags`,
	`elbv2 add-tags --resource-arns $id --tags Key=by,Value=cli`)

const redirection301 = `[{"Type": "redirect", "RedirectConfig": {"Protocol": "HTTPS", "Port": "444", "StatusCode": "HTTP_301"}}]`

func answer(code string) string {
	return `[{"Type": "fixed-response", "FixedResponseConfig": {"StatusCode": "` + code +
		`", "ContentType": "text/plain", "MessageBody": "no"}}]`
}

func targetGroupSetting(column, sql, member, then string) Change {
	return Change{
		column, sql, `elbv2 describe-target-groups --target-group-arns $id --query TargetGroups[0].` + member, "",
		run(`elbv2 modify-target-group --target-group-arn $id --health-check-enabled --health-check-protocol HTTP --health-check-port 8082 --health-check-path /cli
			--health-check-interval-seconds 70 --health-check-timeout-seconds 11 --healthy-threshold-count 4 --unhealthy-threshold-count 6 --matcher HttpCode=201`), then,
	}
}

func listenerSetting(column, sql, member, want, then string) Change {
	return Change{
		column, sql, `elbv2 describe-listeners --listener-arns $id --query Listeners[0].` + member, want,
		run(`elbv2 modify-listener --listener-arn $id --port 6001 --protocol HTTPS --ssl-policy ELBSecurityPolicy-2016-08 --certificates CertificateArn=$cert_two
			--default-actions Type=forward,TargetGroupArn=$three`), then,
	}
}
