package conformance

import "strings"

var awsRoute53 = Module{
	Name:  "aws_route53",
	Setup: []string{`INSERT INTO hosted_zone (domain_name) VALUES ('records.test.'), ('others.test.')`},
	Vars: map[string]string{
		"zone":       `SELECT hosted_zone_id FROM hosted_zone WHERE domain_name = 'records.test.'`,
		"other_zone": `SELECT hosted_zone_id FROM hosted_zone WHERE domain_name = 'others.test.'`,
	},
	Tables: []Table{
		{
			Name: "hosted_zone", Identity: "hosted_zone_id",
			Insert: `(domain_name) VALUES ('zone-$n.test')`,
			See:    `route53 get-hosted-zone --id $id`,
			Create: run(`route53 create-hosted-zone --name zone-$n.test --caller-reference $n --query HostedZone.Id`),
			Delete: run(`route53 delete-hosted-zone --id $id`),
			Change: []Change{
				{
					"comment", `'by sql'`, `route53 get-hosted-zone --id $id --query HostedZone.Config.Comment`, "",
					run(`route53 update-hosted-zone-comment --id $id --comment 'by cli'`), `'by cli'`,
				},
				tags(`route53 list-tags-for-resource --resource-type hostedzone --resource-id $id --query ResourceTagSet.Tags`,
					`route53 change-tags-for-resource --resource-type hostedzone --resource-id $id --add-tags Key=by,Value=cli`),
			},
			Replace: Replace{Column: "domain_name", SQL: `'zone-other.test.'`},
			Skip: map[string]string{
				"vpcs by SQL":                     "aws: with VPCs it is another zone, a private one",
				"vpcs by the CLI":                 "aws: with VPCs it is another zone, a private one",
				"vpcs replaced":                   "moto: its ListHostedZones tells no private zone from others",
				"query_log_group_arn by SQL":      "moto: it makes no configuration without a log group of aws_cloudwatch",
				"query_log_group_arn by the CLI":  "moto: it makes no configuration without a log group of aws_cloudwatch",
				"accelerated_recovery by SQL":     "moto: it has no UpdateHostedZoneFeatures",
				"accelerated_recovery by the CLI": "moto: it has no UpdateHostedZoneFeatures",
			},
		},
		record("", "plain", `(parent_hosted_zone_id, name, record_type, record, ttl) SELECT id, '$id', 'A', '192.0.2.1', 60`,
			`"TTL": 60, "ResourceRecords": [{"Value": "192.0.2.1"}]`,
			`"TTL": 62, "ResourceRecords": [{"Value": "192.0.2.3"}]`,
			`"TTL": $ttl, "ResourceRecords": [{"Value": "$record"}]`,
			recordChange{"record", `'192.0.2.2'`, "ResourceRecords[].Value", `["192.0.2.2"]`, `'192.0.2.3'`},
			recordChange{"ttl", `61`, "TTL", "61", `62`}),
		record("that is an alias", "alias",
			`(parent_hosted_zone_id, name, record_type, alias_dns_name, alias_hosted_zone_id) SELECT id, '$id', 'A', 'a.elb.amazonaws.com', 'Z35SXDOTRQ7X7K'`,
			`"AliasTarget": {"DNSName": "a.elb.amazonaws.com", "HostedZoneId": "Z35SXDOTRQ7X7K", "EvaluateTargetHealth": false}`,
			`"AliasTarget": {"DNSName": "c.elb.amazonaws.com", "HostedZoneId": "Z35SXDOTRQ7X7M", "EvaluateTargetHealth": false}`,
			`"AliasTarget": {"DNSName": "$alias_dns_name", "HostedZoneId": "$alias_hosted_zone_id", "EvaluateTargetHealth": false}`,
			recordChange{"alias_dns_name", `'b.elb.amazonaws.com'`, "AliasTarget.DNSName", "", `'c.elb.amazonaws.com'`},
			recordChange{"alias_hosted_zone_id", `'Z35SXDOTRQ7X7L'`, "AliasTarget.HostedZoneId", "",
				`'Z35SXDOTRQ7X7M'`},
			recordChange{"alias_evaluate_target_health", `true`, "AliasTarget.EvaluateTargetHealth", "", `false`}),
		routed("weight", `1`, `"Weight": 1`, `"Weight": 3`,
			recordChange{"weight", `2`, "Weight", "", `3`},
			recordChange{"health_check_id", `'0b5f5b5e-0000-4000-8000-000000000001'`, "HealthCheckId", "", `NULL`}),
		routed("latency_region", `'us-east-1'`, `"Region": "us-east-1"`, `"Region": "eu-west-2"`,
			recordChange{"latency_region", `'eu-west-1'`, "Region", "", `'eu-west-2'`}),
		routed("failover", `'PRIMARY'`, `"Failover": "PRIMARY"`, `"Failover": "PRIMARY"`,
			recordChange{"failover", `'SECONDARY'`, "Failover", "", `'PRIMARY'`}),
		routed("geo_location", `'{"ContinentCode": "EU"}'`, `"GeoLocation": {"ContinentCode": "EU"}`,
			`"GeoLocation": {"ContinentCode": "AS"}`,
			recordChange{"geo_location", `'{"ContinentCode": "AF"}'`, "GeoLocation", `{"ContinentCode": "AF"}`,
				`'{"ContinentCode": "AS"}'`}),
		routed("multivalue_answer", `true`, `"MultiValueAnswer": true`, `"Weight": 4`,
			recordChange{"multivalue_answer", `true`, "MultiValueAnswer", "", `NULL`}),
	},
}

type recordChange struct{ column, sql, member, want, then string }

// record describes records of a kind; made, changed and gone are what the CLI
// says of one: what is deleted has to be said as it is.
func record(kind, label, insert, made, changed, gone string, changes ...recordChange) Table {
	t := Table{
		Name: "resource_record_set", Kind: kind, Identity: "name", ID: label + "-$n.records.test.",
		Insert:  insert + ` FROM hosted_zone WHERE domain_name = 'records.test.'`,
		See:     `route53 list-resource-record-sets --hosted-zone-id $zone --query ResourceRecordSets[?Name==\'$id\']`,
		Create:  recordSet("CREATE", `"Name": "$id", `+made),
		Delete:  recordSet("DELETE", `"Name": "$id", `+gone),
		Replace: Replace{Column: "name", SQL: `'other-$old'`, ID: `other-$old`},
	}
	if kind == "" {
		const see = `route53 list-resource-record-sets --hosted-zone-id $other_zone --query ResourceRecordSets[?Name==\'$id\']|[0].`
		t.Apart = []Apart{{
			With: `name = 'plain.others.test.', record = 'by sql'`, Left: true,
			Set: []Change{
				{Column: "parent_hosted_zone_id",
					SQL: `(SELECT id FROM hosted_zone WHERE domain_name = 'others.test.')`, See: see + `Name`,
					Want: `plain.others.test.`},
				{Column: "record_type", SQL: `'TXT'`, See: see + `Type`},
			},
		}}
	}
	for _, c := range changes {
		t.Change = append(t.Change, Change{c.column, c.sql, t.See + `|[0].` + c.member, c.want,
			recordSet("UPSERT", `"Name": "$id", `+changed), c.then})
	}
	return t
}

func recordSet(action, members string) []string {
	return run(`route53 change-resource-record-sets --hosted-zone-id $zone --change-batch '{"Changes": [{"Action": "` +
		action +
		`", "ResourceRecordSet": {"Type": "A", ` + members + `}}]}'`)
}

// routed describes records of which one among several, which set_identifier
// tells apart, is picked by a column. moto deletes by set_identifier alone: no
// two have the same.
func routed(column, first, made, changed string, changes ...recordChange) Table {
	const rest = `"Name": "routed.records.test.", "SetIdentifier": "$id", "TTL": 60, "ResourceRecords": [{"Value": "192.0.2.1"}], `
	t := Table{
		Name: "resource_record_set", Kind: "picked by " + column, Identity: "set_identifier",
		ID: strings.ReplaceAll(column, "_", "-") + "-$n",
		Insert: `(parent_hosted_zone_id, name, record_type, set_identifier, record, ttl, ` + column +
			`) SELECT id, 'routed.records.test.', 'A', '$id', '192.0.2.1', 60, ` + first +
			` FROM hosted_zone WHERE domain_name = 'records.test.'`,
		See:     `route53 list-resource-record-sets --hosted-zone-id $zone --query ResourceRecordSets[?SetIdentifier==\'$id\']`,
		Create:  recordSet("CREATE", rest+made),
		Delete:  recordSet("DELETE", rest+made),
		Replace: Replace{Column: "set_identifier", SQL: `'other-$old'`, ID: `other-$old`},
	}
	t.Skip = map[string]string{
		"geo_proximity_location by SQL":     "moto: it keeps no GeoProximityLocation",
		"geo_proximity_location by the CLI": "moto: it keeps no GeoProximityLocation",
		"cidr_routing_config by SQL":        "moto: it keeps no CidrRoutingConfig",
		"cidr_routing_config by the CLI":    "moto: it keeps no CidrRoutingConfig",
	}
	for _, c := range changes {
		t.Change = append(t.Change, Change{c.column, c.sql, t.See + `|[0].` + c.member, c.want,
			recordSet("UPSERT", rest+changed), c.then})
	}
	return t
}
