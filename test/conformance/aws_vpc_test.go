package conformance

import "fmt"

var awsVPC = Module{
	Name: "aws_vpc",
	Setup: []string{
		`INSERT INTO vpc (cidr_block) VALUES ('10.100.0.0/16'), ('10.101.0.0/16'), ('10.102.0.0/16')`,
		// A subnet for each of the objects that are in one, and some more.
		`INSERT INTO subnet (vpc_id, cidr_block, availability_zone, tags)
			SELECT v.id, format('10.100.%s.0/24', i)::cidr, 'us-east-1' || substr('abcdef', i::int, 1), jsonb_build_object('for', name)
			FROM vpc v, unnest('{sql,cli,adopted,tracked,other,apart}'::text[]) WITH ORDINALITY n (name, i) WHERE v.cidr_block = '10.100.0.0/16'`,
		`INSERT INTO route_table (vpc_id, tags) SELECT v.id, jsonb_build_object('Name', name) FROM vpc v, unnest('{one,two,three,for-cli,for-adopted,for-tracked}'::text[]) name WHERE v.cidr_block = '10.100.0.0/16'`,
		`INSERT INTO internet_gateway (vpc_id, tags) SELECT id, '{"Name": "one"}' FROM vpc WHERE cidr_block = '10.100.0.0/16'`,
		`INSERT INTO network_acl (vpc_id, tags) SELECT v.id, jsonb_build_object('Name', name) FROM vpc v, unnest('{one,two}'::text[]) name WHERE v.cidr_block = '10.100.0.0/16'`,
		`INSERT INTO dhcp_options (dhcp_configurations, tags) SELECT jsonb_build_array(jsonb_build_object('Key', 'domain-name', 'Values', jsonb_build_array(jsonb_build_object('Value', name || '.example')))),
			jsonb_build_object('Name', name) FROM unnest('{one,two}'::text[]) name`,
		`INSERT INTO nat_gateway (subnet_id, connectivity_type, tags) SELECT id, 'private', '{"Name": "one"}' FROM subnet WHERE tags ->> 'for' = 'other'`,
		`INSERT INTO peering_connection (requester_id, accepter_id, tags) SELECT a.id, b.id, '{"Name": "one"}' FROM vpc a, vpc b WHERE a.cidr_block = '10.100.0.0/16' AND b.cidr_block = '10.101.0.0/16'`,
		`INSERT INTO endpoint_interface (vpc_id, service, tags) SELECT v.id, service, jsonb_build_object('Name', name)
			FROM vpc v, (VALUES ('ec2', 'one'), ('sts', 'two')) e (service, name) WHERE v.cidr_block = '10.100.0.0/16'`,
		`INSERT INTO elastic_ip (tags) VALUES ('{"Name": "one"}')`,
	},
	Vars: map[string]string{
		"vpc":            `SELECT vpc_id FROM vpc WHERE cidr_block = '10.100.0.0/16'`,
		"spare_vpc":      `SELECT vpc_id FROM vpc WHERE cidr_block = '10.101.0.0/16'`,
		"other_vpc":      `SELECT vpc_id FROM vpc WHERE cidr_block = '10.102.0.0/16'`,
		"subnet":         `SELECT subnet_id FROM subnet WHERE tags ->> 'for' = 'sql'`,
		"table":          `SELECT route_table_id FROM route_table WHERE tags ->> 'Name' = 'one'`,
		"table_two":      `SELECT route_table_id FROM route_table WHERE tags ->> 'Name' = 'two'`,
		"table_three":    `SELECT route_table_id FROM route_table WHERE tags ->> 'Name' = 'three'`,
		"main_table":     `SELECT t.route_table_id FROM route_table t JOIN vpc v ON v.id = t.vpc_id WHERE t.is_main AND v.cidr_block = '10.102.0.0/16'`,
		"gateway":        `SELECT internet_gateway_id FROM internet_gateway WHERE tags ->> 'Name' = 'one'`,
		"acl_two":        `SELECT network_acl_id FROM network_acl WHERE tags ->> 'Name' = 'two'`,
		"options_two":    `SELECT dhcp_options_id FROM dhcp_options WHERE tags ->> 'Name' = 'two'`,
		"nat":            `SELECT nat_gateway_id FROM nat_gateway WHERE tags ->> 'Name' = 'one'`,
		"peering":        `SELECT peering_connection_id FROM peering_connection WHERE tags ->> 'Name' = 'one'`,
		"endpoint":       `SELECT vpc_endpoint_id FROM endpoint_interface WHERE tags ->> 'Name' = 'one'`,
		"endpoint_two":   `SELECT vpc_endpoint_id FROM endpoint_interface WHERE tags ->> 'Name' = 'two'`,
		"address":        `SELECT allocation_id FROM elastic_ip WHERE tags ->> 'Name' = 'one'`,
		"farther_vpc":    `stranger ec2 create-vpc --region us-east-2 --cidr-block 10.201.0.0/16 --query Vpc.VpcId`,
		"far_vpc":        `ec2 create-vpc --region us-west-2 --cidr-block 10.200.0.0/16 --query Vpc.VpcId`,
		"vpn_gateway":    `ec2 create-vpn-gateway --type ipsec.1 --query VpnGateway.VpnGatewayId`,
		"egress_gateway": `ec2 create-egress-only-internet-gateway --vpc-id $vpc --query EgressOnlyInternetGateway.EgressOnlyInternetGatewayId`,
		"interface":      `ec2 create-network-interface --subnet-id $subnet --query NetworkInterface.NetworkInterfaceId`,
		"transit":        `ec2 create-transit-gateway --query TransitGateway.TransitGatewayId`,
		"instance":       `ec2 run-instances --image-id ami-12c6146b --instance-type t2.micro --subnet-id $subnet --query Instances[0].InstanceId`,
	},
	Tables: []Table{
		{Name: "availability_zone", Identity: "name",
			Listed: `ec2 describe-availability-zones --query AvailabilityZones[].ZoneName`},
		{
			Name: "dhcp_options", Identity: "dhcp_options_id",
			Insert: `(dhcp_configurations) VALUES ('[{"Key": "domain-name", "Values": [{"Value": "$n.example"}]}]')`,
			See:    `ec2 describe-dhcp-options --filters Name=dhcp-options-id,Values=$id --query DhcpOptions`,
			Create: run(`ec2 create-dhcp-options --dhcp-configurations Key=domain-name,Values=$n.example --query DhcpOptions.DhcpOptionsId`),
			Delete: run(`ec2 delete-dhcp-options --dhcp-options-id $id`),
			Change: []Change{ec2Tags},
			Replace: Replace{Column: "dhcp_configurations",
				SQL: `'[{"Key": "domain-name", "Values": [{"Value": "other.example"}]}]'`},
		},
		{
			Name: "vpc", Identity: "vpc_id",
			Insert: `(cidr_block) VALUES ('10.$i.0.0/16')`,
			See:    `ec2 describe-vpcs --filters Name=vpc-id,Values=$id --query Vpcs`,
			Create: run(`ec2 create-vpc --cidr-block 10.$i.0.0/16 --query Vpc.VpcId`),
			Delete: run(`ec2 delete-vpc --vpc-id $id`),
			Change: []Change{
				vpcAttribute("enable_dns_hostnames", "enableDnsHostnames", "EnableDnsHostnames", true,
					"enable-dns-hostnames"),
				vpcAttribute("enable_dns_support", "enableDnsSupport", "EnableDnsSupport", false, "enable-dns-support"),
				vpcAttribute("enable_network_address_usage_metrics", "enableNetworkAddressUsageMetrics",
					"EnableNetworkAddressUsageMetrics", true, "enable-network-address-usage-metrics"),
				ec2Tags,
			},
			Replace: Replace{
				Column: "cidr_block", SQL: `'10.99.0.0/16'`,
				Child:      `INSERT INTO route_table (vpc_id, tags) VALUES ($row, '{"Name": "child"}')`,
				Dependents: `SELECT id, tags FROM route_table WHERE vpc_id = $row AND NOT is_main`,
				Away:       `DELETE FROM route_table WHERE vpc_id = $row AND NOT is_main`,
			},
		},
		{
			Name: "vpc", Kind: "with options", Identity: "vpc_id",
			Insert: `(cidr_block) VALUES ('10.1$i.0.0/16')`,
			See:    `ec2 describe-vpcs --filters Name=vpc-id,Values=$id --query Vpcs`,
			Create: run(`ec2 create-vpc --cidr-block 10.1$i.0.0/16 --query Vpc.VpcId`),
			Delete: run(`ec2 delete-vpc --vpc-id $id`),
			Change: []Change{
				ec2Tags,
				{
					"dhcp_options_id", `(SELECT id FROM dhcp_options WHERE tags ->> 'Name' = 'one')`,
					`ec2 describe-vpcs --vpc-ids $id --query Vpcs[0].DhcpOptionsId!=\'$options_two\'&&Vpcs[0].DhcpOptionsId!=\'default\'`, "true",
					run(`ec2 associate-dhcp-options --vpc-id $id --dhcp-options-id $options_two`),
					`(SELECT id FROM dhcp_options WHERE tags ->> 'Name' = 'two')`,
				},
			},
			Skip: map[string]string{replace: "moto: DeleteVpc deletes the DHCP options too, which other VPCs may have"},
		},
		{
			Name: "network_acl", Identity: "network_acl_id",
			Insert: `(vpc_id) SELECT id FROM vpc WHERE cidr_block = '10.100.0.0/16'`,
			See:    `ec2 describe-network-acls --query NetworkAcls[?NetworkAclId==\'$id\']`,
			Create: run(`ec2 create-network-acl --vpc-id $vpc --query NetworkAcl.NetworkAclId`),
			Delete: run(`ec2 delete-network-acl --network-acl-id $id`),
			Change: []Change{
				ec2Tags,
				{
					"entries", `'` + entries("80") + `'`,
					`ec2 describe-network-acls --query NetworkAcls[?NetworkAclId==\'$id\']|[0].Entries[?RuleAction==\'allow\']|[0].PortRange.From`, "80",
					run(`ec2 replace-network-acl-entry --network-acl-id $id --rule-number 100 --protocol 6 --rule-action allow --ingress --cidr-block 0.0.0.0/0 --port-range From=81,To=81`),
					`'` + entries("81") + `'`,
				},
			},
			Replace: Replace{Column: "vpc_id", SQL: `(SELECT id FROM vpc WHERE cidr_block = '10.101.0.0/16')`},
		},
		{
			Name: "subnet", Identity: "subnet_id",
			Skip:   unkept("moto: ModifySubnetAttribute does not keep them, and its subnets have no IPv6", "ipv6_cidr_block", "private_dns_name_options_on_launch"),
			Insert: `(vpc_id, cidr_block, availability_zone) SELECT id, '10.100.10$i.0/24', 'us-east-1a' FROM vpc WHERE cidr_block = '10.100.0.0/16'`,
			See:    `ec2 describe-subnets --filters Name=subnet-id,Values=$id --query Subnets`,
			Create: run(`ec2 create-subnet --vpc-id $vpc --cidr-block 10.100.10$i.0/24 --availability-zone us-east-1a --query Subnet.SubnetId`),
			Delete: run(`ec2 delete-subnet --subnet-id $id`),
			Change: []Change{
				{
					"map_public_ip_on_launch", "true",
					`ec2 describe-subnets --subnet-ids $id --query Subnets[0].MapPublicIpOnLaunch`, "",
					run(`ec2 modify-subnet-attribute --subnet-id $id --no-map-public-ip-on-launch`), "false",
				},
				{
					"network_acl_id", `(SELECT id FROM network_acl WHERE tags ->> 'Name' = 'one')`,
					`ec2 describe-network-acls --filters Name=association.subnet-id,Values=$id --query NetworkAcls[0].Tags`, `{"Name": "one"}`,
					[]string{
						`association := ec2 describe-network-acls --filters Name=association.subnet-id,Values=$id --query NetworkAcls[0].Associations[?SubnetId==\'$id\']|[0].NetworkAclAssociationId`,
						`ec2 replace-network-acl-association --association-id $association --network-acl-id $acl_two`,
					},
					`(SELECT id FROM network_acl WHERE tags ->> 'Name' = 'two')`,
				},
				ec2Tags,
			},
			Replace: Replace{
				Column: "cidr_block", SQL: `'10.100.200.0/24'`,
				Child:      `INSERT INTO route_table_association (subnet_id, route_table_id) SELECT $row, id FROM route_table WHERE tags ->> 'Name' = 'one'`,
				Dependents: `SELECT id, route_table_id FROM route_table_association WHERE subnet_id = $row`,
				Away:       `DELETE FROM route_table_association WHERE subnet_id = $row`,
			},
			Fixed: []Change{
				{Column: "availability_zone", SQL: `'us-east-1c'`,
					See: `ec2 describe-subnets --subnet-ids $id --query Subnets[0].AvailabilityZone`},
			},
			Apart: []Apart{{
				With: `cidr_block = '10.101.105.0/24'`,
				Set: []Change{
					{Column: "vpc_id", SQL: `(SELECT id FROM vpc WHERE cidr_block = '10.101.0.0/16')`,
						See: `ec2 describe-subnets --subnet-ids $id --query Subnets[0].VpcId`, Want: `$spare_vpc`},
				},
			}},
		},
		{
			Name: "internet_gateway", Identity: "internet_gateway_id",
			Insert: `(tags) VALUES ('{"by": "$n"}')`,
			See:    `ec2 describe-internet-gateways --filters Name=internet-gateway-id,Values=$id --query InternetGateways`,
			Create: run(`ec2 create-internet-gateway --query InternetGateway.InternetGatewayId`),
			Delete: run(`ec2 delete-internet-gateway --internet-gateway-id $id`),
			Change: []Change{
				ec2Tags,
				{
					"vpc_id", `(SELECT id FROM vpc WHERE cidr_block = '10.101.0.0/16')`,
					`ec2 describe-internet-gateways --internet-gateway-ids $id --query InternetGateways[0].Attachments[0].VpcId`, `$spare_vpc`,
					run(`ec2 detach-internet-gateway --internet-gateway-id $id --vpc-id $spare_vpc`), `NULL`,
				},
			},
		},
		{
			Name: "elastic_ip", Identity: "allocation_id",
			Skip: map[string]string{"replace": "moto: AllocateAddress does not keep PublicIpv4Pool",
				"public_ipv4_pool replaced": "moto: AllocateAddress does not keep PublicIpv4Pool"},
			Insert: `(tags) VALUES ('{"by": "$n"}')`,
			See:    `ec2 describe-addresses --filters Name=allocation-id,Values=$id --query Addresses`,
			Create: run(`ec2 allocate-address --domain vpc --query AllocationId`),
			Delete: run(`ec2 release-address --allocation-id $id`),
			Change: []Change{ec2Tags},
		},
		{
			Name: "nat_gateway", Identity: "nat_gateway_id",
			Skip:    unkept("moto: it has no AssociateNatGatewayAddress", "secondary_allocation_ids", "secondary_private_ip_addresses"),
			Bound:   true, // its subnet
			Insert:  `(subnet_id, connectivity_type) SELECT id, 'private' FROM subnet WHERE tags ->> 'for' = 'sql'`,
			See:     `ec2 describe-nat-gateways --filter Name=nat-gateway-id,Values=$id --query NatGateways[?State!=\'deleted\']`,
			Create:  run(`ec2 create-nat-gateway --subnet-id $subnet --connectivity-type private --query NatGateway.NatGatewayId`),
			Delete:  run(`ec2 delete-nat-gateway --nat-gateway-id $id`),
			Change:  []Change{ec2Tags},
			Replace: Replace{Column: "subnet_id", SQL: `(SELECT id FROM subnet WHERE tags ->> 'for' = 'other')`},
			Fixed: []Change{
				{Column: "connectivity_type", SQL: `'public'`,
					See: `ec2 describe-nat-gateways --nat-gateway-ids $id --query NatGateways[0].ConnectivityType`},
				{
					Column: "elastic_ip_id", SQL: `(SELECT id FROM elastic_ip WHERE tags ->> 'Name' = 'one')`,
					See: `ec2 describe-nat-gateways --nat-gateway-ids $id --query NatGateways[0].NatGatewayAddresses[0].AllocationId`, Want: `$address`,
				},
			},
		},
		peering("", Change{
			"accepted", `true`, `ec2 describe-vpc-peering-connections --vpc-peering-connection-ids $id --query VpcPeeringConnections[0].Status.Code`, "active",
			nil, "",
		}),
		peering("accepted by the CLI", Change{
			Column: "accepted", CLI: run(`ec2 accept-vpc-peering-connection --vpc-peering-connection-id $id`),
			Then: `true`,
			See:  `ec2 describe-vpc-peering-connections --vpc-peering-connection-ids $id --query VpcPeeringConnections[0].Status.Code`,
		}),
		{
			Name: "route_table", Identity: "route_table_id",
			Insert: `(vpc_id) SELECT id FROM vpc WHERE cidr_block = '10.102.0.0/16'`,
			See:    `ec2 describe-route-tables --filters Name=route-table-id,Values=$id --query RouteTables`,
			Create: run(`ec2 create-route-table --vpc-id $other_vpc --query RouteTable.RouteTableId`),
			Delete: run(`ec2 delete-route-table --route-table-id $id`),
			Change: []Change{
				ec2Tags,
				{
					"is_main", `true`, `ec2 describe-route-tables --route-table-ids $id --query RouteTables[0].Associations[0].Main`, "",
					[]string{
						`association := ec2 describe-route-tables --route-table-ids $id --query RouteTables[0].Associations[0].RouteTableAssociationId`,
						`ec2 replace-route-table-association --association-id $association --route-table-id $main_table`,
					},
					`false`,
				},
			},
			Replace: Replace{
				Column: "vpc_id", SQL: `(SELECT id FROM vpc WHERE cidr_block = '10.100.0.0/16')`,
				Child:      `INSERT INTO route (route_table_id, destination, gateway_id) VALUES ($row, '192.168.99.0/24', '$vpn_gateway')`,
				Dependents: `SELECT id, destination, gateway_id FROM route WHERE route_table_id = $row AND origin = 'CreateRoute'`,
			},
		},
		{
			Name: "route_table_association", ID: `SELECT subnet_id FROM subnet WHERE tags ->> 'for' = '$n'`,
			Find:   `subnet_id = (SELECT id FROM subnet WHERE subnet_id = '$id')`,
			Insert: `(subnet_id, route_table_id) SELECT s.id, t.id FROM subnet s, route_table t WHERE s.subnet_id = '$id' AND t.tags ->> 'Name' = 'one'`,
			See:    `ec2 describe-route-tables --filters Name=association.subnet-id,Values=$id --query RouteTables`,
			Create: run(`ec2 associate-route-table --route-table-id $table --subnet-id $id`),
			Delete: run(`ec2 disassociate-route-table --association-id $route_table_association_id`),
			Change: []Change{{
				"route_table_id", `(SELECT id FROM route_table WHERE tags ->> 'Name' = 'two')`,
				`ec2 describe-route-tables --filters Name=association.subnet-id,Values=$id --query RouteTables[0].RouteTableId`, `$table_two`,
				run(`ec2 replace-route-table-association --association-id $route_table_association_id --route-table-id $table_three`),
				`(SELECT id FROM route_table WHERE tags ->> 'Name' = 'three')`,
			}},
			Replace: Replace{Column: "subnet_id", SQL: `(SELECT id FROM subnet WHERE tags ->> 'for' = 'other')`,
				ID: `SELECT subnet_id FROM subnet WHERE tags ->> 'for' = 'other'`},
		},
		routeTo("nat_gateway_id", 1, `(SELECT id FROM nat_gateway WHERE tags ->> 'Name' = 'one')`,
			"NatGatewayId", "$nat"),
		routeTo("vpc_peering_connection_id", 2, `(SELECT id FROM peering_connection WHERE tags ->> 'Name' = 'one')`,
			"VpcPeeringConnectionId", "$peering"),
		routeTo("gateway_id", 3, `'$vpn_gateway'`, "GatewayId", ""),
		routeTo("egress_only_internet_gateway_id", 4, `'$egress_gateway'`, "EgressOnlyInternetGatewayId", ""),
		routeTo("instance_id", 5, `'$instance'`, "InstanceId", ""),
		routeTo("network_interface_id", 6, `'$interface'`, "NetworkInterfaceId", ""),
		routeTo("transit_gateway_id", 7, `'$transit'`, "TransitGatewayId", ""),
		{
			Name: "endpoint_gateway", Identity: "vpc_endpoint_id",
			Insert: `(vpc_id, service, route_table_ids) SELECT id, 's3', '{$table}' FROM vpc WHERE cidr_block = '10.100.0.0/16'`,
			See:    `ec2 describe-vpc-endpoints --vpc-endpoint-ids $id --query VpcEndpoints[?State!=\'deleted\']`,
			// A route table has one endpoint of a service at most.
			Create: []string{
				`table_of := ec2 describe-route-tables --filters Name=tag:Name,Values=for-$n --query RouteTables[0].RouteTableId`,
				`ec2 create-vpc-endpoint --vpc-endpoint-type Gateway --vpc-id $vpc --service-name com.amazonaws.us-east-1.dynamodb --route-table-ids $table_of --query VpcEndpoint.VpcEndpointId`,
			},
			Adopts: `(vpc_endpoint_id, vpc_id, service, route_table_ids) SELECT '$id', vpc_id, 'dynamodb', ARRAY[route_table_id] FROM route_table WHERE tags ->> 'Name' = 'for-$n'`,
			Delete: run(`ec2 delete-vpc-endpoints --vpc-endpoint-ids $id`),
			Change: append(endpointChanges("s3:GetObject", "s3:PutObject"), Change{
				"route_table_ids", `'{$table,$table_three}'`,
				`ec2 describe-vpc-endpoints --vpc-endpoint-ids $id --query VpcEndpoints[0].RouteTableIds`,
				`["$table", "$table_three"]`,
				run(`ec2 modify-vpc-endpoint --vpc-endpoint-id $id --remove-route-table-ids $table_three`),
				`'{$table}'`,
			}),
			Replace: Replace{Column: "service", SQL: `'dynamodb'`},
			Apart:   []Apart{{With: `route_table_ids = NULL`, Set: []Change{endpointVPC}}},
		},
		{
			Name: "endpoint_interface", Identity: "vpc_endpoint_id",
			Insert:  `(vpc_id, service) SELECT id, 'ecr.api' FROM vpc WHERE cidr_block = '10.100.0.0/16'`,
			See:     `ec2 describe-vpc-endpoints --vpc-endpoint-ids $id --query VpcEndpoints[?State!=\'deleted\']`,
			Create:  run(`ec2 create-vpc-endpoint --vpc-endpoint-type Interface --vpc-id $vpc --service-name com.amazonaws.us-east-1.ecr.api --no-private-dns-enabled --query VpcEndpoint.VpcEndpointId`),
			Delete:  run(`ec2 delete-vpc-endpoints --vpc-endpoint-ids $id`),
			Change:  endpointChanges("ecr:GetDownloadUrlForLayer", "ecr:BatchGetImage"),
			Replace: Replace{Column: "service", SQL: `'ecr.dkr'`},
			Fixed:   []Change{endpointVPC},
			Skip: map[string]string{
				"security_group_ids by SQL":       "moto: ModifyVpcEndpoint does not keep security groups",
				"security_group_ids by the CLI":   "moto: ModifyVpcEndpoint does not keep security groups",
				"private_dns_enabled by SQL":      "moto: ModifyVpcEndpoint does not keep PrivateDnsEnabled",
				"private_dns_enabled by the CLI":  "moto: ModifyVpcEndpoint does not keep PrivateDnsEnabled",
				"dns_name_record_type by SQL":     "moto: ModifyVpcEndpoint does not keep DnsOptions",
				"dns_name_record_type by the CLI": "moto: ModifyVpcEndpoint does not keep DnsOptions",
			},
		},
		{
			Name: "endpoint_interface_subnets", ID: `SELECT subnet_id FROM subnet WHERE tags ->> 'for' = '$n'`,
			Find:   `subnet_id = (SELECT id FROM subnet WHERE subnet_id = '$id')`,
			Insert: `(endpoint_interface_id, subnet_id) SELECT e.id, s.id FROM endpoint_interface e, subnet s WHERE e.tags ->> 'Name' = 'one' AND s.subnet_id = '$id'`,
			See:    `ec2 describe-vpc-endpoints --vpc-endpoint-ids $endpoint --query VpcEndpoints[0].SubnetIds[?@==\'$id\']`,
			Create: run(`ec2 modify-vpc-endpoint --vpc-endpoint-id $endpoint --add-subnet-ids $id`),
			Delete: run(`ec2 modify-vpc-endpoint --vpc-endpoint-id $endpoint --remove-subnet-ids $id`),
			Replace: Replace{Column: "subnet_id", SQL: `(SELECT id FROM subnet WHERE tags ->> 'for' = 'other')`,
				ID: `SELECT subnet_id FROM subnet WHERE tags ->> 'for' = 'other'`},
			Apart: []Apart{{
				Left: true,
				Set: []Change{{
					Column: "endpoint_interface_id",
					SQL:    `(SELECT id FROM endpoint_interface WHERE tags ->> 'Name' = 'two')`,
					See:    `ec2 describe-vpc-endpoints --vpc-endpoint-ids $endpoint_two --query VpcEndpoints[0].SubnetIds[?@==\'$id\']|[0]`, Want: `$id`,
				}},
			}},
		},
	},
}

var endpointVPC = Change{
	Column: "vpc_id", SQL: `(SELECT id FROM vpc WHERE cidr_block = '10.101.0.0/16')`,
	See: `ec2 describe-vpc-endpoints --vpc-endpoint-ids $id --query VpcEndpoints[0].VpcId`, Want: `$spare_vpc`,
}

func vpcAttribute(column, attribute, member string, value bool, option string) Change {
	if value {
		option = "no-" + option
	}
	return Change{
		column, fmt.Sprint(value), `ec2 describe-vpc-attribute --vpc-id $id --attribute ` + attribute + ` --query ` +
			member + `.Value`, "",
		run(`ec2 modify-vpc-attribute --vpc-id $id --` + option), fmt.Sprint(!value),
	}
}

func entries(port string) string {
	return `[{"RuleNumber": 100, "Egress": false, "RuleAction": "allow", "Protocol": "6", "CidrBlock": "0.0.0.0/0", "PortRange": {"From": ` + port + `, "To": ` + port + `}}]`
}

// peering describes peering connections, which are accepted once and for all.
func peering(kind string, accepted Change) Table {
	return Table{
		Name: "peering_connection", Kind: kind, Identity: "peering_connection_id",
		Bound:   true, // the VPC that asks
		Insert:  `(requester_id, accepter_id, accepted) SELECT a.id, b.id, false FROM vpc a, vpc b WHERE a.cidr_block = '10.100.0.0/16' AND b.cidr_block = '10.101.0.0/16'`,
		See:     `ec2 describe-vpc-peering-connections --query VpcPeeringConnections[?VpcPeeringConnectionId==\'$id\'&&Status.Code!=\'deleted\']`,
		Create:  run(`ec2 create-vpc-peering-connection --vpc-id $vpc --peer-vpc-id $spare_vpc --query VpcPeeringConnection.VpcPeeringConnectionId`),
		Delete:  run(`ec2 delete-vpc-peering-connection --vpc-peering-connection-id $id`),
		Change:  []Change{ec2Tags, accepted},
		Replace: Replace{Column: "accepter_id", SQL: `(SELECT id FROM vpc WHERE cidr_block = '10.102.0.0/16')`},
		Fixed: []Change{peeringEnd("requester_id", `(SELECT id FROM vpc WHERE cidr_block = '10.101.0.0/16')`,
			"Requester", "VpcId", `$spare_vpc`)},
		Apart: []Apart{{
			// VPCs without records: no other region is enabled.
			Insert: `(requester_id, accepter_vpc_id, accepter_region, accepted) SELECT id, '$far_vpc', 'us-west-2', false FROM vpc WHERE cidr_block = '10.100.0.0/16'`,
			Set: []Change{
				peeringEnd("accepter_vpc_id", `'$farther_vpc'`, "Accepter", "VpcId", ""),
				peeringEnd("accepter_region", `'us-east-2'`, "Accepter", "Region", ""),
				peeringEnd("accepter_owner_id", `'$stranger'`, "Accepter", "OwnerId", `$stranger`),
			},
		}, { // from a VPC with a record to one without
			With: `accepter_id = NULL`,
			Set: []Change{
				peeringEnd("accepter_vpc_id", `'$far_vpc'`, "Accepter", "VpcId", ""),
				peeringEnd("accepter_region", `'us-west-2'`, "Accepter", "Region", ""),
			},
		}},
	}
}

func peeringEnd(column, sql, end, member, want string) Change {
	return Change{
		Column: column, SQL: sql, See: `ec2 describe-vpc-peering-connections --vpc-peering-connection-ids $id --query VpcPeeringConnections[0].` + end + `VpcInfo.` + member, Want: want,
	}
}

// routeTo describes routes that lead from an internet gateway to another target
// and back.
func routeTo(column string, i int, sql, member, want string) Table {
	see := `ec2 describe-route-tables --route-table-ids $table --query RouteTables[0].Routes[?DestinationCidrBlock==\'$id\']`
	if want == "" {
		want = literal(sql)
	}
	gateway := run(`ec2 replace-route --route-table-id $table --destination-cidr-block $id --gateway-id $gateway`)
	return Table{
		Name: "route", Kind: "by " + column, Identity: "destination", ID: fmt.Sprintf("192.168.%d$i.0/24", i),
		Insert: `(route_table_id, destination, internet_gateway_id) SELECT t.id, '$id', g.id FROM route_table t, internet_gateway g
			WHERE t.tags ->> 'Name' = 'one' AND g.tags ->> 'Name' = 'one'`,
		See:    see,
		Create: run(`ec2 create-route --route-table-id $table --destination-cidr-block $id --gateway-id $gateway`),
		Delete: run(`ec2 delete-route --route-table-id $table --destination-cidr-block $id`),
		Change: []Change{
			{column, sql, see + `|[0].` + member, want, gateway, `NULL`},
			{"internet_gateway_id", `NULL`, see + `|[0].GatewayId!=\'$gateway\'`, "true", gateway,
				`(SELECT id FROM internet_gateway WHERE tags ->> 'Name' = 'one')`},
		},
		Skip: map[string]string{
			"local_gateway_id by SQL":       "moto: CreateRoute and ReplaceRoute do not keep LocalGatewayId",
			"local_gateway_id by the CLI":   "moto: CreateRoute and ReplaceRoute do not keep LocalGatewayId",
			"carrier_gateway_id by SQL":     "moto: ReplaceRoute does not keep CarrierGatewayId",
			"carrier_gateway_id by the CLI": "moto: ReplaceRoute does not keep CarrierGatewayId",
			"core_network_arn by SQL":       "moto: CreateRoute and ReplaceRoute do not keep CoreNetworkArn",
			"core_network_arn by the CLI":   "moto: CreateRoute and ReplaceRoute do not keep CoreNetworkArn",
		},
		Replace: Replace{Column: "destination", SQL: fmt.Sprintf(`'192.168.%d9.0/24'`, i),
			ID: fmt.Sprintf(`192.168.%d9.0/24`, i)},
		Apart: []Apart{{
			Left: true,
			Set: []Change{{
				Column: "route_table_id", SQL: `(SELECT id FROM route_table WHERE tags ->> 'Name' = 'two')`,
				See: `ec2 describe-route-tables --route-table-ids $table_two --query RouteTables[0].Routes[?DestinationCidrBlock==\'$id\']|[0].GatewayId`, Want: `$gateway`,
			}},
		}},
	}
}

func endpointChanges(sql, cli string) []Change {
	policy := func(action string) string {
		return `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "` + action +
			`", "Resource": "*"}]}`
	}
	return []Change{
		ec2Tags,
		{
			"policy", `'` + policy(sql) + `'`,
			`ec2 describe-vpc-endpoints --vpc-endpoint-ids $id --query VpcEndpoints[0].PolicyDocument`, "",
			run(`ec2 modify-vpc-endpoint --vpc-endpoint-id $id --policy-document '` + policy(cli) + `'`),
			`'` + policy(cli) + `'`,
		},
	}
}
