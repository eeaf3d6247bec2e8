package conformance

import "strings"

var awsCloudFront = Module{
	Name: "aws_cloudfront",
	Setup: []string{`INSERT INTO certificate (domain_name) VALUES ('one.example.com'), ('two.example.com')`,
		`INSERT INTO origin_access_control (name) VALUES ('one'), ('two')`},
	Vars: map[string]string{
		"oac_one":  `SELECT origin_access_control_id FROM origin_access_control WHERE name = 'one'`,
		"oac_two":  `SELECT origin_access_control_id FROM origin_access_control WHERE name = 'two'`,
		"cert_one": `SELECT arn FROM certificate WHERE domain_name = 'one.example.com'`,
		"cert_two": `SELECT arn FROM certificate WHERE domain_name = 'two.example.com'`,
	},
	Tables: []Table{
		{
			Name: "origin_access_control", Identity: "name", ID: "oac-$n",
			Insert: `(name) VALUES ('$id')`,
			See:    `cloudfront list-origin-access-controls --query OriginAccessControlList.Items[?Name==\'$id\']`,
			Create: run(`cloudfront create-origin-access-control --origin-access-control-config ` + cliAccess +
				`,SigningBehavior=always`),
			Delete: run(`cloudfront delete-origin-access-control --if-match any --id $origin_access_control_id`),
			Change: []Change{
				accessSetting("description", `'by sql'`, "Description", `'cli'`),
				accessSetting("origin_type", `'mediastore'`, "OriginAccessControlOriginType", `'s3'`),
				accessSetting("signing_behavior", `'never'`, "SigningBehavior", `'no-override'`),
				accessSetting("signing_protocol", `'sigv4a'`, "SigningProtocol", `'sigv4'`),
			},
			Replace: Replace{Column: "name", SQL: `'oac-other'`, ID: "oac-other"},
		},
		{
			Name: "distribution", Identity: "distribution_id",
			Insert: `(comment, origins, default_cache_behavior) VALUES ('$n', '` + origins("80") + `', '` +
				behavior("allow-all") + `')`,
			See: `cloudfront get-distribution --id $id`,
			Create: run(`cloudfront create-distribution --query Distribution.Id --distribution-config '` +
				configuration("$n", "$n", "80", "allow-all", "") + `'`),
			Delete: run(`cloudfront delete-distribution --id $id --if-match any`), // moto deletes what is enabled
			Change: []Change{
				distributed("comment", `'by sql'`, "Comment", "", `'by cli'`),
				distributed("enabled", `false`, "Enabled", "", `true`),
				distributed("alternate_domain_names", `'{sql.example.com}'`, "Aliases.Items", `["sql.example.com"]`,
					`'{cli.example.com}'`),
				distributed("default_cache_behavior", `'`+behavior("https-only")+`'`,
					"DefaultCacheBehavior.ViewerProtocolPolicy", "https-only", `default_cache_behavior || '`+
						behavior("redirect-to-https")+`'`),
				distributed("cache_behaviors", `'[`+behaviorAt("/sql/*")+`]'`, "CacheBehaviors.Items[].PathPattern",
					`["/sql/*"]`, `jsonb_set(cache_behaviors, '{0,PathPattern}', '"/cli/*"')`),
				distributed("origins", `'`+origins("81")+`'`, "Origins.Items[].CustomOriginConfig.HTTPPort", `[81, 81]`,
					`jsonb_set(origins, '{1,CustomOriginConfig,HTTPPort}', '82')`),
				{"origin_access_control_id", `(SELECT id FROM origin_access_control WHERE name = 'one')`,
					`cloudfront get-distribution-config --id $id --query DistributionConfig.Origins.Items[].OriginAccessControlId`,
					`["", "", "$oac_one"]`, run(`cloudfront update-distribution --id $id --if-match any --distribution-config '` +
						strings.Replace(configuration("$caller_reference", "by cli", "82", "redirect-to-https", changed),
							`"S3OriginConfig"`, `"OriginAccessControlId": "$oac_two", "S3OriginConfig"`, 1) + `'`),
					`(SELECT id FROM origin_access_control WHERE name = 'two')`},
				distributed("origin_groups", `'[`+originGroup("sql")+`]'`, "OriginGroups.Items[].Id", `["sql"]`,
					`jsonb_set(origin_groups, '{0,Id}', '"cli"')`),
				distributed("custom_error_responses", `'[{"ErrorCode": 404}]'`,
					"CustomErrorResponses.Items[].ErrorCode", `[404]`,
					`'[{"ErrorCode": 403, "ErrorCachingMinTTL": 20}]'`),
				distributed("default_root_object", `'sql.html'`, "DefaultRootObject", "", `'cli.html'`),
				distributed("price_class", `'PriceClass_100'`, "PriceClass", "", `'PriceClass_200'`),
				distributed("http_version", `'http2and3'`, "HttpVersion", "", `'http1.1'`),
				distributed("is_ipv6_enabled", `false`, "IsIPV6Enabled", "", `true`),
				distributed("web_acl_id", `'sql'`, "WebACLId", "", `'cli'`),
				distributed("geo_restriction", `'{"RestrictionType": "whitelist", "Items": ["DE"]}'`,
					"Restrictions.GeoRestriction.Items", `["DE"]`,
					`'{"RestrictionType": "blacklist", "Items": ["FR"]}'`),
				distributed("logging", `'{"Bucket": "sql.s3.amazonaws.com"}'`, "Logging.Bucket", "sql.s3.amazonaws.com",
					`'{"Enabled": true, "IncludeCookies": false, "Bucket": "cli.s3.amazonaws.com"}'`),
				distributed("custom_ssl_certificate_id",
					`(SELECT id FROM certificate WHERE domain_name = 'one.example.com')`,
					"ViewerCertificate.ACMCertificateArn", "$cert_one",
					`(SELECT id FROM certificate WHERE domain_name = 'two.example.com')`),
				distributed("ssl_support_method", `'vip'`, "ViewerCertificate.SSLSupportMethod", "", `'sni-only'`),
				distributed("minimum_protocol_version", `'TLSv1'`, "ViewerCertificate.MinimumProtocolVersion", "",
					`'TLSv1.2_2019'`),
				tags(`cloudfront list-tags-for-resource --resource $arn --query Tags.Items`,
					`cloudfront tag-resource --resource $arn --tags Items=[{Key=by,Value=cli}]`),
			},
			Replace: Replace{Column: "caller_reference", SQL: `'other'`},
		},
	},
}

// cliAccess is most of an origin access control's configuration, which has to be
// said as a whole.
const cliAccess = `Name=$id,OriginAccessControlOriginType=s3,SigningProtocol=sigv4`

func accessSetting(column, sql, member, then string) Change {
	return Change{column, sql, `cloudfront get-origin-access-control --id $origin_access_control_id --query OriginAccessControl.OriginAccessControlConfig.` + member, "",
		run(`cloudfront update-origin-access-control --if-match any --id $origin_access_control_id --origin-access-control-config ` + cliAccess + `,SigningBehavior=no-override,Description=cli`), then}
}

func distributed(column, sql, member, want, then string) Change {
	return Change{column, sql, `cloudfront get-distribution-config --id $id --query DistributionConfig.` + member, want,
		run(`cloudfront update-distribution --id $id --if-match any --distribution-config '` +
			configuration("$caller_reference", "by cli", "82", "redirect-to-https", changed) + `'`), then}
}

// configuration is that of a distribution, which has to be said as a whole.
func configuration(reference, comment, port, policy, more string) string {
	return `{"CallerReference": "` + reference + `", "Comment": "` + comment +
		`", "Enabled": true, "Origins": {"Quantity": 3, "Items": ` + origins(port) + `}, "DefaultCacheBehavior": ` +
		behavior(policy) + more + `}`
}

// changed is what a command changes besides.
var changed = `, "Aliases": {"Quantity": 1, "Items": ["cli.example.com"]}, "CacheBehaviors": {"Quantity": 1, "Items": [` + behaviorAt("/cli/*") + `]}, "OriginGroups": {"Quantity": 1, "Items": [` + originGroup("cli") + `]}, ` +
	`"CustomErrorResponses": {"Quantity": 1, "Items": [{"ErrorCode": 403, "ErrorCachingMinTTL": 20}]}, "DefaultRootObject": "cli.html", "PriceClass": "PriceClass_200", "HttpVersion": "http1.1", "IsIPV6Enabled": true, ` +
	`"WebACLId": "cli", "Restrictions": {"GeoRestriction": {"RestrictionType": "blacklist", "Quantity": 1, "Items": ["FR"]}}, ` +
	`"Logging": {"Enabled": true, "IncludeCookies": false, "Bucket": "cli.s3.amazonaws.com", "Prefix": ""}, ` +
	`"ViewerCertificate": {"CloudFrontDefaultCertificate": false, "ACMCertificateArn": "$cert_two", "SSLSupportMethod": "sni-only", "MinimumProtocolVersion": "TLSv1.2_2019"}`

// behavior says that answers are compressed, which moto has of all that do not say
// otherwise.
func behavior(policy string) string {
	return `{"TargetOriginId": "one", "ViewerProtocolPolicy": "` + policy +
		`", "Compress": true, "CachePolicyId": "658327ea-f89d-4fab-a63d-7e88639e58f6"}`
}

func behaviorAt(path string) string {
	return strings.Replace(behavior("https-only"), "{", `{"PathPattern": "`+path+`", `, 1)
}

func origins(port string) string {
	const rest = `, "HTTPSPort": 443, "OriginProtocolPolicy": "match-viewer", "OriginSslProtocols": {"Quantity": 1, "Items": ["TLSv1.2"]}}}`
	return `[{"Id": "one", "DomainName": "one.example.com", "CustomOriginConfig": {"HTTPPort": ` + port + rest +
		`, {"Id": "two", "DomainName": "two.example.com", "CustomOriginConfig": {"HTTPPort": ` + port + rest +
		`, {"Id": "zip", "DomainName": "zip.s3.us-east-1.amazonaws.com", "S3OriginConfig": {"OriginAccessIdentity": ""}}]`
}

func originGroup(id string) string {
	return `{"Id": "` + id + `", "FailoverCriteria": {"StatusCodes": {"Quantity": 1, "Items": [500]}}, "Members": {"Quantity": 2, "Items": [{"OriginId": "one"}, {"OriginId": "two"}]}}`
}
