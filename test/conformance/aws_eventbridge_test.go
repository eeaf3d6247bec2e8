package conformance

import "strings"

var awsEventBridge = Module{
	Name: "aws_eventbridge",
	Setup: []string{
		`INSERT INTO iam_role (role_name, assume_role_policy_document) SELECT name, '` + trust("events") +
			`' FROM unnest('{one,two}'::text[]) name`,
		`INSERT INTO event_bus (name) VALUES ('home')`,
		`INSERT INTO event_rule (name, schedule_expression) VALUES ('home', 'rate(1 hour)'), ('other-home', 'rate(2 hours)')`,
	},
	Tables: []Table{
		{
			Name: "event_bus", Identity: "name", ID: "bus-$n",
			Insert: `(name) VALUES ('$id')`,
			See:    `events list-event-buses --query EventBuses[?Name==\'$id\']`,
			Create: run(`events create-event-bus --name $id`),
			Delete: run(`events delete-event-bus --name $id`),
			Change: []Change{
				{
					"policy", `'` + send("a") + `'`, `events describe-event-bus --name $id --query Policy`, "",
					[]string{`events remove-permission --event-bus-name $id --remove-all-permissions`,
						`events put-permission --event-bus-name $id --policy '` + send("b") + `'`},
					`'` + send("b") + `'`,
				},
				tags(`events list-tags-for-resource --resource-arn $arn --query Tags`,
					`events tag-resource --resource-arn $arn --tags Key=by,Value=cli`),
			},
			Replace: Replace{Column: "name", SQL: `'bus-other'`, ID: "bus-other"},
			Skip: noUpdate("description", "kms_key_identifier", "dead_letter_arn", "log_level",
				"log_include_detail"),
		},
		{
			Name: "event_rule", Identity: "name", ID: "rule-$n",
			Insert: `(name, schedule_expression) VALUES ('$id', 'rate(1 minute)')`,
			See:    `events list-rules --query Rules[?Name==\'$id\']`,
			Create: run(`events put-rule --name $id --schedule-expression 'rate(1 minute)'`),
			Delete: run(`events delete-rule --name $id`),
			Change: []Change{
				eventRule("description", `'by sql'`, "Description", `'by cli'`),
				eventRule("event_pattern", `'{"source": ["sql"]}'`, "EventPattern", `'{"source": ["cli"]}'`),
				eventRule("schedule_expression", `'rate(2 minutes)'`, "ScheduleExpression", `'rate(3 minutes)'`),
				eventRule("state", `'DISABLED'`, "State", `'ENABLED'`),
				{
					"role_name", `'one'`, `events describe-rule --name $id --query RoleArn`,
					`arn:aws:iam::$account:role/one`, eventRule("", "", "", "").CLI, `'two'`,
				},
				tags(`events list-tags-for-resource --resource-arn $arn --query Tags`,
					`events tag-resource --resource-arn $arn --tags Key=by,Value=cli`),
			},
			Replace: Replace{Column: "name", SQL: `'rule-other'`, ID: "rule-other"},
			Skip:    map[string]string{move: "aws: every region has a bus default, so that the rule's bus does not hold it"},
			Apart: []Apart{{
				Insert: `(name, event_pattern) VALUES ('$id', '{"source": ["apart"]}')`,
				Left:   true,
				Set: []Change{{
					Column: "event_bus_name", SQL: `'home'`,
					See: `events list-rules --event-bus-name home --query Rules[?Name==\'$id\']|[0].EventBusName`,
				}},
			}},
		},
		{
			Name: "event_target", Identity: "target_id", ID: "target-$n",
			Insert: `(rule_id, target_id, arn) SELECT id, '$id', 'arn:aws:sqs:us-east-1:$account:first' FROM event_rule WHERE name = 'home'`,
			See:    `events list-targets-by-rule --rule home --query Targets[?Id==\'$id\']`,
			Create: run(`events put-targets --rule home --targets '[{"Id": "$id", "Arn": "arn:aws:sqs:us-east-1:$account:first"}]'`),
			Delete: run(`events remove-targets --rule home --ids $id`),
			Change: []Change{
				eventTarget("arn", `'arn:aws:sqs:us-east-1:$account:sql'`, "Arn",
					`'arn:aws:sqs:us-east-1:$account:cli'`),
				{
					"role_name", `'one'`, `events list-targets-by-rule --rule home --query Targets[?Id==\'$id\']|[0].RoleArn`, `arn:aws:iam::$account:role/one`, eventTarget("", "", "", "").CLI, `'two'`,
				},
				{"input", `'{"by": "sql"}'`, eventTarget("", "", "Input", "").See, `"{\"by\": \"sql\"}"`,
					eventTarget("", "", "", "").CLI, `NULL`},
				eventTarget("dead_letter_arn", `'arn:aws:sqs:us-east-1:$account:sql'`, "DeadLetterConfig.Arn",
					`'arn:aws:sqs:us-east-1:$account:cli'`),
				eventTarget("maximum_retry_attempts", `1`, "RetryPolicy.MaximumRetryAttempts", `2`),
				eventTarget("maximum_event_age_in_seconds", `60`, "RetryPolicy.MaximumEventAgeInSeconds", `70`),
				eventTarget("message_group_id", `'sql'`, "SqsParameters.MessageGroupId", `'cli'`),
				eventTarget("partition_key_path", `'$.sql'`, "KinesisParameters.PartitionKeyPath", `'$.cli'`),
				eventTarget("ecs_parameters", `'{"TaskDefinitionArn": "sql", "TaskCount": 1}'`, "EcsParameters",
					`'{"TaskDefinitionArn": "cli", "TaskCount": 2, "EnableECSManagedTags": false, "EnableExecuteCommand": false}'`),
				eventTarget("batch_parameters", `'{"JobDefinition": "sql", "JobName": "sql"}'`, "BatchParameters",
					`'{"JobDefinition": "cli", "JobName": "cli"}'`),
				eventTarget("http_parameters", `'{"HeaderParameters": {"by": "sql"}}'`, "HttpParameters",
					`'{"HeaderParameters": {"by": "cli"}}'`),
				eventTarget("run_command_parameters", `'{"RunCommandTargets": [{"Key": "sql", "Values": ["a"]}]}'`,
					"RunCommandParameters", `'{"RunCommandTargets": [{"Key": "cli", "Values": ["a"]}]}'`),
				eventTarget("redshift_data_parameters", `'{"Database": "sql", "Sql": "SELECT 1"}'`,
					"RedshiftDataParameters", `'{"Database": "cli", "Sql": "SELECT 2", "WithEvent": false}'`),
				eventTarget("sage_maker_pipeline_parameters",
					`'{"PipelineParameterList": [{"Name": "by", "Value": "sql"}]}'`, "SageMakerPipelineParameters",
					`'{"PipelineParameterList": [{"Name": "by", "Value": "cli"}]}'`),
				eventTarget("app_sync_parameters", `'{"GraphQLOperation": "sql"}'`, "AppSyncParameters",
					`'{"GraphQLOperation": "cli"}'`),
			},
			Replace: Replace{Column: "target_id", SQL: `'target-other'`, ID: "target-other"},
			Apart: []Apart{{
				Left: true,
				Set: []Change{{
					Column: "rule_id", SQL: `(SELECT id FROM event_rule WHERE name = 'other-home')`,
					See:  `events list-targets-by-rule --rule other-home --query Targets[?Id==\'$id\']|[0].Id`,
					Want: `$id`,
				}},
			}},
		},
		{
			Name: "event_target", Kind: "with a part of the event", Identity: "target_id", ID: "part-$n",
			Insert: `(rule_id, target_id, arn) SELECT id, '$id', 'arn:aws:sqs:us-east-1:$account:first' FROM event_rule WHERE name = 'other-home'`,
			See:    `events list-targets-by-rule --rule other-home --query Targets[?Id==\'$id\']`,
			Create: run(`events put-targets --rule other-home --targets '[{"Id": "$id", "Arn": "arn:aws:sqs:us-east-1:$account:first"}]'`),
			Delete: run(`events remove-targets --rule other-home --ids $id`),
			Change: []Change{
				{
					"input_path", `'$.sql'`, `events list-targets-by-rule --rule other-home --query Targets[?Id==\'$id\']|[0].InputPath`, "",
					run(`events put-targets --rule other-home --targets '[{"Id": "$id", "Arn": "arn:aws:sqs:us-east-1:$account:first", "InputTransformer": {"InputTemplate": "\"cli\""}}]'`), `NULL`,
				},
			},
			Replace: Replace{Column: "target_id", SQL: `'part-other'`, ID: "part-other"},
		},
		{
			Name: "event_target", Kind: "with a transformed event", Identity: "target_id", ID: "made-$n",
			Insert: `(rule_id, target_id, arn) SELECT id, '$id', 'arn:aws:sqs:us-east-1:$account:first' FROM event_rule WHERE name = 'other-home'`,
			See:    `events list-targets-by-rule --rule other-home --query Targets[?Id==\'$id\']`,
			Create: run(`events put-targets --rule other-home --targets '[{"Id": "$id", "Arn": "arn:aws:sqs:us-east-1:$account:first"}]'`),
			Delete: run(`events remove-targets --rule other-home --ids $id`),
			Change: []Change{
				{
					"input_transformer", `'{"InputTemplate": "1"}'`,
					`events list-targets-by-rule --rule other-home --query Targets[?Id==\'$id\']|[0].InputTransformer`,
					"",
					run(`events put-targets --rule other-home --targets '[{"Id": "$id", "Arn": "arn:aws:sqs:us-east-1:$account:first", "InputTransformer": {"InputTemplate": "2"}}]'`), `'{"InputTemplate": "2"}'`,
				},
			},
			Replace: Replace{Column: "target_id", SQL: `'made-other'`, ID: "made-other"},
		},
	},
}

// noUpdate skips the changes of columns of a bus; TestBusUpdate in
// internal/modules/awseventbridge has a fake of them.
func noUpdate(columns ...string) map[string]string {
	skip := map[string]string{}
	for _, column := range columns {
		skip[column+" by SQL"], skip[column+" by the CLI"] = "moto: there is no UpdateEventBus",
			"moto: there is no UpdateEventBus"
	}
	return skip
}

// eventRule changes a column of a rule. The CLI always says a rule whole.
func eventRule(column, sql, member, then string) Change {
	return Change{
		column, sql, `events describe-rule --name $id --query ` + member, "",
		run(`events put-rule --name $id --description 'by cli' --event-pattern '{"source": ["cli"]}' --schedule-expression 'rate(3 minutes)' --state ENABLED --role-arn arn:aws:iam::$account:role/two`), then,
	}
}

// eventTarget changes a column of a target. The CLI always says a target whole.
func eventTarget(column, sql, member, then string) Change {
	return Change{column, sql, `events list-targets-by-rule --rule home --query Targets[?Id==\'$id\']|[0].` + member,
		"", run(`events put-targets --rule home --targets '` + strings.Join(strings.Fields(`[{
		"Id": "$id", "Arn": "arn:aws:sqs:us-east-1:$account:cli", "RoleArn": "arn:aws:iam::$account:role/two", "DeadLetterConfig": {"Arn": "arn:aws:sqs:us-east-1:$account:cli"},
		"RetryPolicy": {"MaximumRetryAttempts": 2, "MaximumEventAgeInSeconds": 70}, "SqsParameters": {"MessageGroupId": "cli"}, "KinesisParameters": {"PartitionKeyPath": "$.cli"},
		"EcsParameters": {"TaskDefinitionArn": "cli", "TaskCount": 2}, "BatchParameters": {"JobDefinition": "cli", "JobName": "cli"}, "HttpParameters": {"HeaderParameters": {"by": "cli"}},
		"RunCommandParameters": {"RunCommandTargets": [{"Key": "cli", "Values": ["a"]}]}, "RedshiftDataParameters": {"Database": "cli", "Sql": "SELECT 2"},
		"SageMakerPipelineParameters": {"PipelineParameterList": [{"Name": "by", "Value": "cli"}]}, "AppSyncParameters": {"GraphQLOperation": "cli"}}]`), " ") + `'`), then}
}

func send(sid string) string {
	return `{"Version": "2012-10-17", "Statement": [{"Sid": "` + sid +
		`", "Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::$account:root"}, "Action": "events:PutEvents", "Resource": "arn:aws:events:us-east-1:$account:event-bus/$id"}]}`
}
