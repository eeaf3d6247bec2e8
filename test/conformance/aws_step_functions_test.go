package conformance

var awsStepFunctions = Module{
	Name: "aws_step_functions",
	Setup: []string{`INSERT INTO iam_role (role_name, assume_role_policy_document) SELECT name, '` + trust("states") +
		`' FROM unnest('{one,two,three}'::text[]) name`},
	Tables: []Table{{
		Name: "state_machine", Identity: "name", ID: "machine-$n",
		Insert: `(name, role_name, definition) VALUES ('$id', 'one', '` + states("first") + `')`,
		See:    `stepfunctions list-state-machines --query stateMachines[?name==\'$id\']`,
		Create: run(`stepfunctions create-state-machine --name $id --role-arn arn:aws:iam::$account:role/one --definition '` + states("first") + `'`),
		Delete: run(`stepfunctions delete-state-machine --state-machine-arn $arn`),
		Change: []Change{
			machineSetting("definition", `'`+states("sql")+`'`, "definition", `--definition '`+states("cli")+`'`,
				`'`+states("cli")+`'`),
			{
				"role_name", `'two'`, `stepfunctions describe-state-machine --state-machine-arn $arn --query roleArn`,
				`arn:aws:iam::$account:role/two`,
				run(`stepfunctions update-state-machine --state-machine-arn $arn --role-arn arn:aws:iam::$account:role/three`), `'three'`,
			},
			machineSetting("log_level", `'ALL'`, "loggingConfiguration.level", logging("ERROR", "cli", "false"),
				`'ERROR'`),
			machineSetting("log_group_arn", `'arn:aws:logs:us-east-1:$account:log-group:sql:*'`,
				"loggingConfiguration.destinations[0].cloudWatchLogsLogGroup.logGroupArn",
				logging("ERROR", "cli", "false"), `'arn:aws:logs:us-east-1:$account:log-group:cli:*'`),
			machineSetting("include_execution_data", `true`, "loggingConfiguration.includeExecutionData",
				logging("ERROR", "cli", "false"), `false`),
			machineSetting("tracing_enabled", `true`, "tracingConfiguration.enabled",
				`--tracing-configuration enabled=false`, `false`),
			machineSetting("kms_key_id", `'alias/sql'`, "encryptionConfiguration.kmsKeyId",
				`--encryption-configuration type=CUSTOMER_MANAGED_KMS_KEY,kmsKeyId=alias/cli,kmsDataKeyReusePeriodSeconds=70`, `'alias/cli'`),
			machineSetting("kms_data_key_reuse_period_seconds", `60`,
				"encryptionConfiguration.kmsDataKeyReusePeriodSeconds",
				`--encryption-configuration type=CUSTOMER_MANAGED_KMS_KEY,kmsKeyId=alias/cli,kmsDataKeyReusePeriodSeconds=70`, `70`),
			tags(`stepfunctions list-tags-for-resource --resource-arn $arn --query tags`,
				`stepfunctions tag-resource --resource-arn $arn --tags key=by,value=cli`),
		},
		Replace: Replace{Column: "name", SQL: `'machine-other'`, ID: "machine-other"},
		Skip:    map[string]string{"type replaced": "moto: CreateStateMachine does not keep type"},
	}},
}

func machineSetting(column, sql, member, cli, then string) Change {
	return Change{column, sql, `stepfunctions describe-state-machine --state-machine-arn $arn --query ` + member, "",
		run(`stepfunctions update-state-machine --state-machine-arn $arn ` + cli), then}
}

func logging(level, group, data string) string {
	return `--logging-configuration level=` + level + `,includeExecutionData=` + data +
		`,destinations=[{cloudWatchLogsLogGroup={logGroupArn=arn:aws:logs:us-east-1:$account:log-group:` +
		group + `:*}}]`
}

func states(comment string) string {
	return `{"Comment": "` + comment + `", "StartAt": "Done", "States": {"Done": {"Type": "Succeed"}}}`
}
