package conformance

var awsIAM = Module{
	Name: "aws_iam",
	CLI: []string{
		`iam create-user --user-name holder`, `iam create-user --user-name holder-2`,
		`iam create-group --group-name by-sql`, `iam create-group --group-name by-cli`,
	},
	Tables: []Table{
		{
			Name: "iam_role", Identity: "role_name", ID: "role-$n",
			Insert: `(role_name, assume_role_policy_document) VALUES ('$id', '` + trust("ec2") + `')`,
			See:    `iam get-role --role-name $id`,
			Create: run(`iam create-role --role-name $id --assume-role-policy-document '` + trust("ec2") + `'`),
			Delete: []string{
				`iam delete-role --role-name $id`,
			},
			Change: []Change{
				{
					"assume_role_policy_document", `'` + trust("ecs") + `'`,
					`iam get-role --role-name $id --query Role.AssumeRolePolicyDocument`, "",
					run(`iam update-assume-role-policy --role-name $id --policy-document '` + trust("lambda") + `'`),
					`'` + trust("lambda") + `'`,
				},
				{
					"description", `'by sql'`, `iam get-role --role-name $id --query Role.Description`, "",
					run(`iam update-role --role-name $id --description 'by cli' --max-session-duration 7201`),
					`'by cli'`,
				},
				{
					"max_session_duration", `7200`, `iam get-role --role-name $id --query Role.MaxSessionDuration`, "",
					run(`iam update-role --role-name $id --description 'by cli' --max-session-duration 7201`), `7201`,
				},
				{
					"attached_policies_arns", `'{arn:aws:iam::aws:policy/ReadOnlyAccess}'`,
					`iam list-attached-role-policies --role-name $id --query AttachedPolicies[].PolicyArn`,
					`["arn:aws:iam::aws:policy/ReadOnlyAccess"]`,
					run(`iam detach-role-policy --role-name $id --policy-arn arn:aws:iam::aws:policy/ReadOnlyAccess`),
					`NULL`,
				},
				{
					"inline_policies", `'{"queue": ` + may("sqs:SendMessage") + `}'`,
					`iam get-role-policy --role-name $id --policy-name queue --query PolicyDocument`,
					may("sqs:SendMessage"),
					run(`iam delete-role-policy --role-name $id --policy-name queue`), `NULL`,
				},
				{
					"permissions_boundary", `'arn:aws:iam::aws:policy/ReadOnlyAccess'`,
					`iam get-role --role-name $id --query Role.PermissionsBoundary.PermissionsBoundaryArn`, "",
					run(`iam put-role-permissions-boundary --role-name $id --permissions-boundary arn:aws:iam::aws:policy/AdministratorAccess`),
					`'arn:aws:iam::aws:policy/AdministratorAccess'`,
				},
				tags(`iam list-role-tags --role-name $id --query Tags`,
					`iam tag-role --role-name $id --tags Key=by,Value=cli`),
			},
			Replace: Replace{Column: "role_name", SQL: `'role-other'`, ID: "role-other"},
			Fixed: []Change{
				{Column: "path", SQL: `'/by/sql/'`, See: `iam get-role --role-name $id --query Role.Path`},
			},
		},
		{
			Name: "iam_user", Identity: "user_name", ID: "user-$n",
			Insert: `(user_name) VALUES ('$id')`,
			See:    `iam get-user --user-name $id`,
			Create: run(`iam create-user --user-name $id`),
			Delete: run(`iam delete-user --user-name $id`),
			Change: []Change{
				{
					"path", `'/sql/'`, `iam get-user --user-name $id --query User.Path`, "",
					run(`iam update-user --user-name $id --new-path /cli/`), `'/cli/'`,
				},
				{
					"attached_policies_arns", `'{arn:aws:iam::aws:policy/ReadOnlyAccess}'`,
					`iam list-attached-user-policies --user-name $id --query AttachedPolicies[].PolicyArn`,
					`["arn:aws:iam::aws:policy/ReadOnlyAccess"]`,
					run(`iam detach-user-policy --user-name $id --policy-arn arn:aws:iam::aws:policy/ReadOnlyAccess`),
					`NULL`,
				},
				{
					"inline_policies", `'{"queue": ` + may("sqs:SendMessage") + `}'`,
					`iam get-user-policy --user-name $id --policy-name queue --query PolicyDocument`,
					may("sqs:SendMessage"),
					run(`iam delete-user-policy --user-name $id --policy-name queue`), `NULL`,
				},
				{
					"groups", `'{by-sql}'`, `iam list-groups-for-user --user-name $id --query Groups[].GroupName`,
					`["by-sql"]`,
					[]string{
						`iam add-user-to-group --user-name $id --group-name by-cli`,
						`iam remove-user-from-group --user-name $id --group-name by-sql`,
					}, `'{by-cli}'`,
				},
				tags(`iam list-user-tags --user-name $id --query Tags`,
					`iam tag-user --user-name $id --tags Key=by,Value=cli`),
			},
			Replace: Replace{Column: "user_name", SQL: `'user-other'`, ID: "user-other"},
			Skip: map[string]string{
				"permissions_boundary by SQL":        "moto: it has no PutUserPermissionsBoundary",
				"permissions_boundary by the CLI":    "moto: it has no PutUserPermissionsBoundary",
				"password by SQL":                    "moto: a column is set alone here, and a first password needs password_reset_required",
				"password_reset_required by SQL":     "moto: UpdateLoginProfile without Password removes the password",
				"password_reset_required by the CLI": "moto: UpdateLoginProfile without Password removes the password",
			},
		},
		{
			Name: "access_key", Identity: "access_key_id",
			See:    `iam list-access-keys --user-name holder --query AccessKeyMetadata[?AccessKeyId==\'$id\']`,
			Create: run(`iam create-access-key --user-name holder --query AccessKey.AccessKeyId`),
			Delete: run(`iam delete-access-key --user-name holder --access-key-id $id`),
			Change: []Change{{
				"status", `'Inactive'`, `iam list-access-keys --user-name holder --query AccessKeyMetadata[?AccessKeyId==\'$id\']|[0].Status`, "",
				run(`iam update-access-key --user-name holder --access-key-id $id --status Active`), `'Active'`,
			}},
			Skip: map[string]string{
				replace:              "aws: a key stays its user's, and is not created by SQL",
				"user_name replaced": "aws: a key stays its user's, and is not created by SQL",
			},
		},
	},
}

func trust(service string) string {
	return `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "` + service +
		`.amazonaws.com"}, "Action": "sts:AssumeRole"}]}`
}

func may(action string) string {
	return `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "` + action + `", "Resource": "*"}]}`
}
