package conformance

var awsCloudWatch = Module{
	Name: "aws_cloudwatch",
	Tables: []Table{{
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
			tags(`logs list-tags-for-resource --resource-arn $log_group_arn --query tags`, `logs tag-resource --resource-arn $log_group_arn --tags by=cli`),
		},
		Replace: Replace{Column: "log_group_name", SQL: `'/group/other'`, ID: "/group/other"},
	}},
}
