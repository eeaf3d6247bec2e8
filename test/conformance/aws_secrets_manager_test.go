package conformance

var awsSecretsManager = Module{
	Name: "aws_secrets_manager",
	Tables: []Table{{
		Name: "secret", Identity: "name", ID: "secret-$n",
		Insert: `(name, value) VALUES ('$id', 'first')`,
		See:    `secretsmanager list-secrets --filters Key=name,Values=$id --query SecretList[?Name==\'$id\']`,
		Create: run(`secretsmanager create-secret --name $id --secret-string first`),
		Delete: []string{
			`secretsmanager remove-regions-from-replication --secret-id $id --remove-replica-regions eu-west-1 eu-west-2`,
			`secretsmanager delete-secret --secret-id $id --force-delete-without-recovery`,
		},
		Change: []Change{
			{
				"description", `'by sql'`, `secretsmanager describe-secret --secret-id $id --query Description`, "",
				run(`secretsmanager update-secret --secret-id $id --description 'by cli'`), `'by cli'`,
			},
			{Column: "value", SQL: `'second'`,
				See: `secretsmanager get-secret-value --secret-id $id --query SecretString`},
			{
				"kms_key_id", `'alias/sql'`, `secretsmanager describe-secret --secret-id $id --query KmsKeyId`, "",
				run(`secretsmanager update-secret --secret-id $id --kms-key-id alias/cli`), `'alias/cli'`,
			},
			{
				"replica_regions", `'[{"Region": "eu-west-1"}]'`,
				`secretsmanager describe-secret --secret-id $id --query ReplicationStatus[].Region`, `["eu-west-1"]`,
				run(`secretsmanager replicate-secret-to-regions --secret-id $id --add-replica-regions Region=eu-west-2`),
				`'[{"Region": "eu-west-1", "KmsKeyId": "alias/aws/secretsmanager"}, {"Region": "eu-west-2", "KmsKeyId": "alias/aws/secretsmanager"}]'`,
			},
			tags(`secretsmanager describe-secret --secret-id $id --query Tags`,
				`secretsmanager tag-resource --secret-id $id --tags Key=by,Value=cli`),
		},
		Replace: Replace{Column: "name", SQL: `'secret-other'`, ID: "secret-other"},
	}},
}
