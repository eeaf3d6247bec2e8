package conformance

var awsDynamo = Module{
	Name: "aws_dynamo",
	Tables: []Table{{
		Name: "dynamo_table", Identity: "table_name", ID: "table-$n",
		Insert: `(table_name, primary_key) VALUES ('$id', '{"id": "S"}')`,
		See:    `dynamodb describe-table --table-name $id`,
		Create: run(`dynamodb create-table --table-name $id --attribute-definitions AttributeName=id,AttributeType=S --key-schema AttributeName=id,KeyType=HASH --billing-mode PAY_PER_REQUEST`),
		Delete: run(`dynamodb delete-table --table-name $id`),
		Change: []Change{
			{
				"throughput", `'{"ReadCapacityUnits": 2, "WriteCapacityUnits": 3}'`,
				`dynamodb describe-table --table-name $id --query Table.ProvisionedThroughput.{ReadCapacityUnits:ReadCapacityUnits,WriteCapacityUnits:WriteCapacityUnits}`, "",
				run(`dynamodb update-table --table-name $id --billing-mode PROVISIONED --provisioned-throughput ReadCapacityUnits=4,WriteCapacityUnits=5`),
				`'{"ReadCapacityUnits": 4, "WriteCapacityUnits": 5}'`,
			},
			{
				"table_class", `'STANDARD_INFREQUENT_ACCESS'`,
				`dynamodb describe-table --table-name $id --query Table.TableClassSummary.TableClass`, "",
				run(`dynamodb update-table --table-name $id --table-class STANDARD`), `'STANDARD'`,
			},
			{
				"stream_view_type", `'NEW_IMAGE'`,
				`dynamodb describe-table --table-name $id --query Table.StreamSpecification.StreamViewType`, "",
				run(`dynamodb update-table --table-name $id --stream-specification StreamEnabled=false`), `NULL`,
			},
			{
				"time_to_live_attribute", `'sql'`,
				`dynamodb describe-time-to-live --table-name $id --query TimeToLiveDescription.AttributeName`, "",
				[]string{
					`dynamodb update-time-to-live --table-name $id --time-to-live-specification Enabled=false,AttributeName=sql`,
					`dynamodb update-time-to-live --table-name $id --time-to-live-specification Enabled=true,AttributeName=cli`,
				},
				`'cli'`,
			},
			{
				"deletion_protection_enabled", `true`,
				`dynamodb describe-table --table-name $id --query Table.DeletionProtectionEnabled`, "",
				run(`dynamodb update-table --table-name $id --no-deletion-protection-enabled`), `false`,
			},
			{
				"global_secondary_indexes", `'[{"IndexName": "sql", "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}], "Projection": {"ProjectionType": "KEYS_ONLY"}}]'`,
				`dynamodb describe-table --table-name $id --query Table.GlobalSecondaryIndexes[].IndexName`, `["sql"]`,
				run(`dynamodb update-table --table-name $id --global-secondary-index-updates '[{"Delete": {"IndexName": "sql"}}]'`), `NULL`,
			},
			{
				"point_in_time_recovery_days", `7`,
				`dynamodb describe-continuous-backups --table-name $id --query ContinuousBackupsDescription.PointInTimeRecoveryDescription.RecoveryPeriodInDays`, "",
				run(`dynamodb update-continuous-backups --table-name $id --point-in-time-recovery-specification PointInTimeRecoveryEnabled=true,RecoveryPeriodInDays=14`), `14`,
			},
			{
				"policy", `'{"Version": "2012-10-17", "Statement": [], "Id": "sql"}'`,
				`dynamodb get-resource-policy --resource-arn $arn --query Policy`, "",
				run(`dynamodb put-resource-policy --resource-arn $arn --policy '{"Version": "2012-10-17", "Statement": [], "Id": "cli"}'`),
				`'{"Version": "2012-10-17", "Statement": [], "Id": "cli"}'`,
			},
			tags(`dynamodb list-tags-of-resource --resource-arn $arn --query Tags`,
				`dynamodb tag-resource --resource-arn $arn --tags Key=by,Value=cli`),
		},
		Skip: map[string]string{
			// internal/modules/awsdynamo has fakes of these: TestIndexesChange, TestSettingsOfATable.
			"attribute_definitions by SQL":            "aws: they are of indexes, and change with them",
			"attribute_definitions by the CLI":        "aws: they are of indexes, and change with them",
			"contributor_insights_mode by SQL":        "moto: there is no UpdateContributorInsights",
			"contributor_insights_mode by the CLI":    "moto: there is no UpdateContributorInsights",
			"kinesis_stream_specification by SQL":     "moto: there is no EnableKinesisStreamingDestination",
			"kinesis_stream_specification by the CLI": "moto: there is no EnableKinesisStreamingDestination",
			"on_demand_throughput by SQL":             "moto: UpdateTable does not keep OnDemandThroughput",
			"on_demand_throughput by the CLI":         "moto: UpdateTable does not keep OnDemandThroughput",
			"sse_specification by SQL":                "moto: UpdateTable does not keep SSESpecification",
			"sse_specification by the CLI":            "moto: UpdateTable does not keep SSESpecification",
			"warm_throughput by SQL":                  "moto: UpdateTable does not keep WarmThroughput",
			"warm_throughput by the CLI":              "moto: UpdateTable does not keep WarmThroughput",
			"table_class by SQL":                      "moto: UpdateTable does not keep TableClass",
			"table_class by the CLI":                  "moto: UpdateTable does not keep TableClass",
		},
		Replace: Replace{Column: "table_name", SQL: `'table-other'`, ID: "table-other"},
		Fixed: []Change{
			{Column: "primary_key", SQL: `'{"name": "S", "year": "N"}'`,
				See:  `dynamodb describe-table --table-name $id --query Table.KeySchema[].AttributeName`,
				Want: `["name", "year"]`},
			{Column: "local_secondary_indexes", SQL: `'[{"IndexName": "local", "KeySchema": [{"AttributeName": "name", "KeyType": "HASH"}, {"AttributeName": "year", "KeyType": "RANGE"}], "Projection": {"ProjectionType": "KEYS_ONLY"}}]'`,
				See:  `dynamodb describe-table --table-name $id --query Table.LocalSecondaryIndexes[].IndexName`,
				Want: `["local"]`},
		},
	}},
}
