package conformance

import "strings"

var awsCloudWatch = Module{
	Name: "aws_cloudwatch",
	Tables: []Table{
		{
			Name: "log_group", Identity: "log_group_name", ID: "/group/$n",
			Insert: `(log_group_name) VALUES ('$id')`,
			See:    `logs describe-log-groups --log-group-name-prefix $id --query logGroups[?logGroupName==\'$id\']`,
			Create: run(`logs create-log-group --log-group-name $id`),
			Delete: run(`logs delete-log-group --log-group-name $id`),
			Change: []Change{
				{
					"retention_in_days", `7`, `logs describe-log-groups --log-group-name-prefix $id --query logGroups[0].retentionInDays`, "",
					run(`logs put-retention-policy --log-group-name $id --retention-in-days 14`), `14`,
				},
				tags(`logs list-tags-for-resource --resource-arn $log_group_arn --query tags`,
					`logs tag-resource --resource-arn $log_group_arn --tags by=cli`),
			},
			Replace: Replace{Column: "log_group_name", SQL: `'/group/other'`, ID: "/group/other"},
			Skip: map[string]string{ // TestLogGroupKey in internal/modules/awscloudwatch has a fake of it
				"data_protection_policy by SQL":     "moto: DescribeLogGroups does not tell DataProtectionStatus",
				"data_protection_policy by the CLI": "moto: DescribeLogGroups does not tell DataProtectionStatus",
				"kms_key_id by SQL":                 "moto: there is no AssociateKmsKey",
				"kms_key_id by the CLI":             "moto: there is no AssociateKmsKey",
			},
		},
		alarm("", `(alarm_name, comparison_operator, threshold, evaluation_periods, namespace, metric_name, period, statistic)
			VALUES ('$id', 'GreaterThanThreshold', 80, 1, 'AWS/EC2', 'CPUUtilization', 60, 'Average')`,
			`--namespace AWS/EC2 --metric-name CPUUtilization --period 60 --statistic Average --comparison-operator GreaterThanThreshold --threshold 80 --evaluation-periods 1`,
			`--alarm-description 'by cli' --no-actions-enabled --alarm-actions arn:aws:sns:us-east-1:$account:d --ok-actions arn:aws:sns:us-east-1:$account:e
				--insufficient-data-actions arn:aws:sns:us-east-1:$account:f --comparison-operator LessThanOrEqualToThreshold --threshold 20.5 --evaluation-periods 5
				--datapoints-to-alarm 4 --namespace AWS/SQS --metric-name NumberOfMessagesSent --dimensions Name=QueueName,Value=cli --period 300 --statistic Minimum
				--unit Count --treat-missing-data ignore`,
			alarmChange{"alarm_description", `'by sql'`, "AlarmDescription", `'by cli'`},
			alarmChange{"actions_enabled", `true`, "ActionsEnabled", `false`},
			alarmChange{"alarm_actions", `'["arn:aws:sns:us-east-1:$account:a"]'`, "AlarmActions",
				`'["arn:aws:sns:us-east-1:$account:d"]'`},
			alarmChange{"ok_actions", `'["arn:aws:sns:us-east-1:$account:b"]'`, "OKActions",
				`'["arn:aws:sns:us-east-1:$account:e"]'`},
			alarmChange{"insufficient_data_actions", `'["arn:aws:sns:us-east-1:$account:c"]'`,
				"InsufficientDataActions", `'["arn:aws:sns:us-east-1:$account:f"]'`},
			alarmChange{"comparison_operator", `'LessThanThreshold'`, "ComparisonOperator",
				`'LessThanOrEqualToThreshold'`},
			alarmChange{"threshold", `10.5`, "Threshold", `20.5`},
			alarmChange{"evaluation_periods", `3`, "EvaluationPeriods", `5`},
			alarmChange{"datapoints_to_alarm", `2`, "DatapointsToAlarm", `4`},
			alarmChange{"namespace", `'AWS/SNS'`, "Namespace", `'AWS/SQS'`},
			alarmChange{"metric_name", `'NumberOfMessagesPublished'`, "MetricName", `'NumberOfMessagesSent'`},
			alarmChange{"dimensions", `'[{"Name": "TopicName", "Value": "sql"}]'`, "Dimensions",
				`'[{"Name": "QueueName", "Value": "cli"}]'`},
			alarmChange{"period", `120`, "Period", `300`},
			alarmChange{"statistic", `'Sum'`, "Statistic", `'Minimum'`},
			alarmChange{"unit", `'None'`, "Unit", `'Count'`},
			alarmChange{"treat_missing_data", `'breaching'`, "TreatMissingData", `'ignore'`}),
		alarm("of a percentile", `(alarm_name, comparison_operator, threshold, evaluation_periods, namespace, metric_name, period, extended_statistic)
			VALUES ('$id', 'GreaterThanThreshold', 80, 1, 'AWS/EC2', 'CPUUtilization', 60, 'p99')`,
			`--namespace AWS/EC2 --metric-name CPUUtilization --period 60 --extended-statistic p99 --comparison-operator GreaterThanThreshold --threshold 80 --evaluation-periods 1`,
			`--namespace AWS/EC2 --metric-name CPUUtilization --period 60 --extended-statistic p80 --comparison-operator GreaterThanThreshold --threshold 80 --evaluation-periods 1
				--evaluate-low-sample-count-percentile evaluate`,
			alarmChange{"extended_statistic", `'p90'`, "ExtendedStatistic", `'p80'`},
			alarmChange{"evaluate_low_sample_count_percentile", `'ignore'`, "EvaluateLowSampleCountPercentile",
				`'evaluate'`}),
		alarm("of a computation", `(alarm_name, comparison_operator, threshold_metric_id, evaluation_periods, metrics) VALUES ('$id', 'GreaterThanUpperThreshold', 'band', 1, '`+computation("band", "2")+`')`,
			`--comparison-operator GreaterThanUpperThreshold --threshold-metric-id band --evaluation-periods 1 --metrics '`+computation("band", "2")+`'`,
			`--comparison-operator GreaterThanUpperThreshold --threshold-metric-id belt --evaluation-periods 1 --metrics '`+computation("belt", "4")+`'`,
			alarmChange{"threshold_metric_id", `'zone'`, "ThresholdMetricId", `'belt'`},
			alarmChange{"metrics", `'` + computation("zone", "3") + `'`, "Metrics",
				`'` + computation("belt", "4") + `'`}),
	},
}

type alarmChange struct{ column, sql, member, then string }

// alarm describes alarms of a kind; made and changed are what the CLI says of
// one, which it always says whole.
func alarm(kind, insert, made, changed string, changes ...alarmChange) Table {
	const see = `cloudwatch describe-alarms --alarm-names $id --query MetricAlarms`
	t := Table{
		Name: "metric_alarm", Kind: kind, Identity: "alarm_name", ID: strings.TrimSpace("alarm " + kind + " $n"),
		Insert: insert,
		See:    strings.ReplaceAll(see, "$id", "'$id'"),
		Create: run(`cloudwatch put-metric-alarm --alarm-name '$id' ` + made),
		Delete: run(`cloudwatch delete-alarms --alarm-names '$id'`),
		Change: []Change{tags(`cloudwatch list-tags-for-resource --resource-arn '$alarm_arn' --query Tags`,
			`cloudwatch tag-resource --resource-arn '$alarm_arn' --tags Key=by,Value=cli`)},
		Replace: Replace{Column: "alarm_name", SQL: `'other $old'`, ID: "other $old"},
		Skip: skipAll("moto: PutMetricAlarm does not keep it", // TestUnions in internal/modules/awscloudwatch has a fake of it
			"evaluation_criteria by SQL", "evaluation_criteria by the CLI", "evaluation_interval by SQL",
			"evaluation_interval by the CLI", "evaluation_window by SQL", "evaluation_window by the CLI"),
	}
	for _, c := range changes {
		t.Change = append(t.Change, Change{c.column, c.sql, t.See + `[0].` + c.member, "",
			run(`cloudwatch put-metric-alarm --alarm-name '$id' ` + changed), c.then})
	}
	return t
}

func computation(id, width string) string {
	return `[{"Id": "` + id + `", "Expression": "ANOMALY_DETECTION_BAND(m, ` + width +
		`)", "Label": "band", "ReturnData": true},
		{"Id": "m", "MetricStat": {"Metric": {"Namespace": "AWS/EC2", "MetricName": "CPUUtilization", "Dimensions": [{"Name": "a", "Value": "b"}]}, "Period": 60, "Stat": "p99"}, "ReturnData": true}]`
}
