package conformance

var awsKMS = Module{
	Name: "aws_kms",
	Setup: []string{
		`INSERT INTO kms_key (description, tags) SELECT 'home ' || name, jsonb_build_object('home', name) FROM unnest('{one,two,three}'::text[]) name`,
	},
	Vars: map[string]string{
		"key_one":   `SELECT key_id FROM kms_key WHERE tags ->> 'home' = 'one'`,
		"key_two":   `SELECT key_id FROM kms_key WHERE tags ->> 'home' = 'two'`,
		"key_three": `SELECT key_id FROM kms_key WHERE tags ->> 'home' = 'three'`,
	},
	Tables: []Table{
		{
			Name: "kms_key", Identity: "key_id",
			Insert: `(description) VALUES ('$n')`,
			See:    `kms describe-key --key-id $id --query [KeyMetadata][?KeyState!=\'PendingDeletion\']`,
			Create: run(`kms create-key --description $n --key-usage ENCRYPT_DECRYPT --query KeyMetadata.KeyId`),
			Delete: run(`kms schedule-key-deletion --key-id $id`),
			Change: []Change{
				{
					"description", `'by sql'`, `kms describe-key --key-id $id --query KeyMetadata.Description`, "",
					run(`kms update-key-description --key-id $id --description 'by cli'`), `'by cli'`,
				},
				{
					"policy", `'` + allow("kms:*", "*") + `'`,
					`kms get-key-policy --key-id $id --policy-name default --query Policy`, "",
					run(`kms put-key-policy --key-id $id --policy-name default --policy '` + allow("kms:Get*", "*") +
						`'`), `'` + allow("kms:Get*", "*") + `'`,
				},
				{"enable_key_rotation", `true`, `kms get-key-rotation-status --key-id $id --query KeyRotationEnabled`,
					"", run(`kms disable-key-rotation --key-id $id`), `false`},
				{"enabled", `false`, `kms describe-key --key-id $id --query KeyMetadata.Enabled`, "",
					run(`kms enable-key --key-id $id`), `true`},
				tags(`kms list-resource-tags --key-id $id --query Tags`,
					`kms tag-resource --key-id $id --tags TagKey=by,TagValue=cli`),
			},
			Replace: Replace{
				Column: "multi_region", SQL: `true`,
				Child:      `INSERT INTO kms_alias (alias_name, target_key_id) VALUES ('alias/moves', $row)`,
				Dependents: `SELECT alias_name FROM kms_alias WHERE target_key_id = $row AND arn IS NOT NULL`,
				Away:       `DELETE FROM kms_alias WHERE alias_name = 'alias/moves'`,
			},
			Apart: []Apart{
				{Set: []Change{
					{Column: "key_spec", SQL: `'RSA_2048'`,
						See: `kms describe-key --key-id $id --query KeyMetadata.KeySpec`},
					{Column: "key_usage", SQL: `'SIGN_VERIFY'`,
						See: `kms describe-key --key-id $id --query KeyMetadata.KeyUsage`},
				}},
				{Set: []Change{{Column: "origin", SQL: `'EXTERNAL'`,
					See: `kms describe-key --key-id $id --query KeyMetadata.Origin`}}},
			},
			Skip: map[string]string{ // TestRotation in internal/modules/awskms has a fake of it
				"rotation_period_in_days by SQL":     "moto: EnableKeyRotation does not keep RotationPeriodInDays",
				"rotation_period_in_days by the CLI": "moto: EnableKeyRotation does not keep RotationPeriodInDays",
				"custom_key_store_id replaced":       "moto: CreateKey does not keep CustomKeyStoreId",
				"xks_key_id replaced":                "moto: CreateKey does not keep XksKeyId",
			},
		},
		{
			Name: "kms_alias", Identity: "alias_name", ID: "alias/$n",
			Insert: `(alias_name, target_key_id) SELECT '$id', id FROM kms_key WHERE key_id = '$key_one'`,
			See:    `kms list-aliases --query Aliases[?AliasName==\'$id\']`,
			Create: run(`kms create-alias --alias-name $id --target-key-id $key_one`),
			Delete: run(`kms delete-alias --alias-name $id`),
			Change: []Change{{
				"target_key_id", `(SELECT id FROM kms_key WHERE key_id = '$key_two')`,
				`kms list-aliases --query Aliases[?AliasName==\'$id\']|[0].TargetKeyId`, `$key_two`,
				run(`kms update-alias --alias-name $id --target-key-id $key_three`),
				`(SELECT id FROM kms_key WHERE key_id = '$key_three')`,
			}},
			Replace: Replace{Column: "alias_name", SQL: `'alias/other'`, ID: "alias/other"},
		},
	},
}
