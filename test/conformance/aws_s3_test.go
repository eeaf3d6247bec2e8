package conformance

var awsS3 = Module{
	Name: "aws_s3",
	CLI: []string{
		`s3api create-bucket --bucket site-cli-$account`,
		`s3api create-bucket --bucket site-adopted-$account`, `s3api create-bucket --bucket site-tracked-$account`,
		`s3api create-bucket --bucket site-other-$account`,
		`s3api create-bucket --bucket redirect-sql-$account`, `s3api create-bucket --bucket redirect-cli-$account`,
		`s3api create-bucket --bucket redirect-adopted-$account`,
		`s3api create-bucket --bucket redirect-tracked-$account`,
		`s3api create-bucket --bucket redirect-other-$account`,
	},
	Setup: []string{`INSERT INTO bucket (name, list_objects) VALUES ('site-sql-$account', true)`},
	Tables: []Table{
		{
			Name: "bucket", Identity: "name", ID: "bucket-$n-$account",
			Insert: `(name) VALUES ('$id')`,
			See:    `s3api get-bucket-location --bucket $id --output text`,
			Create: run(`s3api create-bucket --bucket $id`),
			Delete: run(`s3api delete-bucket --bucket $id`),
			Change: []Change{
				{
					"versioning_enabled", "true", `s3api get-bucket-versioning --bucket $id --query Status`, "Enabled",
					run(`s3api put-bucket-versioning --bucket $id --versioning-configuration Status=Suspended`),
					"false",
				},
				{
					"policy", `'` + allow("s3:GetObject", "arn:aws:s3:::$id/*") + `'`,
					`s3api get-bucket-policy --bucket $id --query Policy`, "",
					run(`s3api put-bucket-policy --bucket $id --policy '` +
						allow("s3:PutObject", "arn:aws:s3:::$id/*") + `'`),
					`'` + allow("s3:PutObject", "arn:aws:s3:::$id/*") + `'`,
				},
				{
					"bucket_encryption", `'{"Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms"}}]}'`,
					`s3api get-bucket-encryption --bucket $id --query ServerSideEncryptionConfiguration.Rules[0].ApplyServerSideEncryptionByDefault.SSEAlgorithm`,
					"aws:kms",
					run(`s3api put-bucket-encryption --bucket $id --server-side-encryption-configuration '` + aes + `'`),
					`'` + aes + `'`,
				},
				{
					"cors_configuration", `'` + corsOf("sql") + `'`, `s3api get-bucket-cors --bucket $id --query CORSRules`, "",
					run(`s3api put-bucket-cors --bucket $id --cors-configuration '{"CORSRules": ` + corsOf("cli") + `}'`),
					`'` + corsOf("cli") + `'`,
				},
				{
					"lifecycle_configuration", `'` + expireAfter("30") + `'`,
					`s3api get-bucket-lifecycle-configuration --bucket $id --query Rules`, "",
					run(`s3api put-bucket-lifecycle-configuration --bucket $id --lifecycle-configuration '{"Rules": ` +
						expireAfter("60") + `}'`), `'` + expireAfter("60") + `'`,
				},
				{
					"ownership_controls", `'[{"ObjectOwnership": "ObjectWriter"}]'`,
					`s3api get-bucket-ownership-controls --bucket $id --query OwnershipControls.Rules`, "",
					run(`s3api put-bucket-ownership-controls --bucket $id --ownership-controls 'Rules=[{ObjectOwnership=BucketOwnerPreferred}]'`),
					`'[{"ObjectOwnership": "BucketOwnerPreferred"}]'`,
				},
				{
					"accelerate_configuration", `'Enabled'`,
					`s3api get-bucket-accelerate-configuration --bucket $id --query Status`, "Enabled",
					run(`s3api put-bucket-accelerate-configuration --bucket $id --accelerate-configuration Status=Suspended`),
					`'Suspended'`,
				},
				tags(`s3api get-bucket-tagging --bucket $id --query TagSet`,
					`s3api put-bucket-tagging --bucket $id --tagging TagSet=[{Key=by,Value=cli}]`),
			},
			Replace: Replace{Column: "name", SQL: `'bucket-other-$account'`, ID: "bucket-other-$account"},
			Skip: both(unkept("moto: it does not keep the configuration", "transition_default_minimum_object_size",
				"analytics_configurations", "metrics_configurations", "intelligent_tiering_configurations"),
				unkept("moto: it has other rules of what the bucket or the target has to be", "logging_configuration",
					"notification_configuration", "object_lock_enabled", "object_lock_configuration",
					"replication_configuration", "inventory_configurations")),
		},
		{
			Name: "public_access_block", Identity: "bucket_name", ID: "site-$n-$account",
			Insert: `(bucket_name, restrict_public_buckets) VALUES ('$id', false)`,
			See:    `s3api get-public-access-block --bucket $id`,
			Create: run(block(`false`)),
			Delete: run(`s3api delete-public-access-block --bucket $id`),
			Change: []Change{
				blocked("block_public_acls", "BlockPublicAcls"), blocked("ignore_public_acls", "IgnorePublicAcls"),
				blocked("block_public_policy", "BlockPublicPolicy"),
				blocked("restrict_public_buckets", "RestrictPublicBuckets"),
			},
			Replace: Replace{Column: "bucket_name", SQL: `'site-other-$account'`, ID: "site-other-$account"},
		},
		{
			Name: "bucket_website", Identity: "bucket_name", ID: "site-$n-$account",
			Insert: `(bucket_name, index_document) VALUES ('$id', 'index.html')`,
			See:    `s3api get-bucket-website --bucket $id`,
			Create: run(`s3api put-bucket-website --bucket $id --website-configuration '{"IndexDocument": {"Suffix": "i"}}'`),
			Delete: run(`s3api delete-bucket-website --bucket $id`),
			Change: []Change{
				website("index_document", `'sql.html'`, "IndexDocument.Suffix", `'cli.html'`),
				website("error_document", `'no-sql.html'`, "ErrorDocument.Key", `'no-cli.html'`),
				website("routing_rules", `'`+rule("sql")+`'`, "RoutingRules", `'`+rule("cli")+`'`),
			},
			Replace: Replace{Column: "bucket_name", SQL: `'site-other-$account'`, ID: "site-other-$account"},
		},
		{
			Name: "bucket_website", Kind: "of redirections", Identity: "bucket_name", ID: "redirect-$n-$account",
			Insert: `(bucket_name, redirect_host_name) VALUES ('$id', 'example.com')`,
			See:    `s3api get-bucket-website --bucket $id`,
			Create: run(`s3api put-bucket-website --bucket $id --website-configuration '{"RedirectAllRequestsTo": {"HostName": "example.com"}}'`),
			Delete: run(`s3api delete-bucket-website --bucket $id`),
			Change: []Change{
				redirection("redirect_host_name", `'sql.example.com'`, "HostName", `'cli.example.com'`),
				redirection("redirect_protocol", `'https'`, "Protocol", `'http'`),
			},
			Replace: Replace{Column: "bucket_name", SQL: `'redirect-other-$account'`, ID: "redirect-other-$account"},
		},
		{
			Name: "bucket_object", Identity: "key", ID: "$n.txt",
			See:    `s3api head-object --bucket site-sql-$account --key $id`,
			Create: run(`s3api put-object --bucket site-sql-$account --key $id`),
			Delete: run(`s3api delete-object --bucket site-sql-$account --key $id`),
			Skip: map[string]string{
				replace:                "aws: an object's key is not changed, another is uploaded",
				"bucket_name replaced": "aws: an object stays in its bucket, another is uploaded",
				"key replaced":         "aws: an object's key is not changed, another is uploaded",
				told: "aws: uploads and deletions are data events, of which rules and trails send " +
					"none unless they are told to",
				seen: "aws: uploads and deletions are data events, of which rules and trails send " +
					"none unless they are told to",
			},
		},
	},
}

// aes encrypts with S3's own keys.
const aes = `{"Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}, "BucketKeyEnabled": false}]}`

func corsOf(site string) string {
	return `[{"AllowedMethods": ["GET"], "AllowedOrigins": ["https://` + site + `.example.com"]}]`
}

func expireAfter(days string) string {
	return `[{"ID": "logs", "Status": "Enabled", "Filter": {"Prefix": "logs/"}, "Expiration": {"Days": ` + days + `}}]`
}

func block(value string) string {
	return `s3api put-public-access-block --bucket $id --public-access-block-configuration BlockPublicAcls=` + value +
		`,IgnorePublicAcls=` + value + `,BlockPublicPolicy=` + value + `,RestrictPublicBuckets=` + value
}

func blocked(column, name string) Change {
	return Change{column, "false",
		`s3api get-public-access-block --bucket $id --query PublicAccessBlockConfiguration.` + name, "",
		run(block("true")), "true"}
}

// site is all that a website configuration can have, which is set at once.
const site = `{"IndexDocument": {"Suffix": "cli.html"}, "ErrorDocument": {"Key": "no-cli.html"}, "RoutingRules": [{"Condition": {"KeyPrefixEquals": "cli/"}, "Redirect": {"ReplaceKeyPrefixWith": "to/"}}]}`

func website(column, sql, member, then string) Change {
	return Change{
		column, sql, `s3api get-bucket-website --bucket $id --query ` + member, "",
		run(`s3api put-bucket-website --bucket $id --website-configuration '` + site + `'`), then,
	}
}

func redirection(column, sql, member, then string) Change {
	return Change{
		column, sql, `s3api get-bucket-website --bucket $id --query RedirectAllRequestsTo.` + member, "",
		run(`s3api put-bucket-website --bucket $id --website-configuration '{"RedirectAllRequestsTo": {"HostName": "cli.example.com", "Protocol": "http"}}'`), then,
	}
}

func rule(prefix string) string {
	return `[{"Condition": {"KeyPrefixEquals": "` + prefix + `/"}, "Redirect": {"ReplaceKeyPrefixWith": "to/"}}]`
}
