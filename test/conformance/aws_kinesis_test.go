package conformance

var awsKinesis = Module{
	Name: "aws_kinesis",
	Tables: []Table{
		stream("", `(name, shard_count) VALUES ('$id', 2)`, `--shard-count 2`,
			streamSetting("shard_count", `4`, "OpenShardCount",
				`update-shard-count --scaling-type UNIFORM_SCALING --target-shard-count 3`, `3`),
			streamSetting("retention_period_hours", `48`, "RetentionPeriodHours",
				`increase-stream-retention-period --retention-period-hours 72`, `72`),
			streamSetting("kms_key_id", `'alias/sql'`, "KeyId",
				`start-stream-encryption --encryption-type KMS --key-id alias/cli`, `'alias/cli'`),
			Change{
				"shard_level_metrics", `'{IncomingBytes}'`,
				`kinesis describe-stream-summary --stream-name $id --query StreamDescriptionSummary.EnhancedMonitoring[0].ShardLevelMetrics`, `["IncomingBytes"]`,
				run(`kinesis disable-enhanced-monitoring --stream-name $id --shard-level-metrics IncomingBytes`),
				`NULL`,
			},
			tags(`kinesis list-tags-for-stream --stream-name $id --query Tags`,
				`kinesis add-tags-to-stream --stream-name $id --tags by=cli`)),
		stream("on demand", `(name, stream_mode) VALUES ('$id', 'ON_DEMAND')`,
			`--stream-mode-details StreamMode=ON_DEMAND`,
			Change{
				"stream_mode", `'PROVISIONED'`,
				`kinesis describe-stream-summary --stream-name $id --query StreamDescriptionSummary.StreamModeDetails.StreamMode`, "",
				run(`kinesis update-stream-mode --stream-arn $arn --stream-mode-details StreamMode=ON_DEMAND`),
				`'ON_DEMAND'`,
			},
			Change{Column: "shard_count", SQL: `4`,
				See: `kinesis describe-stream-summary --stream-name $id --query StreamDescriptionSummary.OpenShardCount`}),
	},
}

// stream describes streams of a mode.
func stream(kind, insert, create string, changes ...Change) Table {
	t := Table{
		Name: "kinesis_stream", Kind: kind, Identity: "name", ID: "stream-$n",
		Insert:  insert,
		See:     `kinesis describe-stream-summary --stream-name $id`,
		Create:  run(`kinesis create-stream --stream-name $id ` + create),
		Delete:  run(`kinesis delete-stream --stream-name $id`),
		Change:  changes,
		Replace: Replace{Column: "name", SQL: `'stream-other'`, ID: "stream-other"},
	}
	if kind != "" {
		t.ID, t.Replace = "demand-$n", Replace{Column: "name", SQL: `'demand-other'`, ID: "demand-other"}
		return t
	}
	t.Skip = map[string]string{ // TestChanges in internal/modules/awskinesis has a fake of it
		"warm_throughput_mi_bps by SQL":     "moto: there is no UpdateStreamWarmThroughput",
		"warm_throughput_mi_bps by the CLI": "moto: there is no UpdateStreamWarmThroughput",
		"max_record_size_in_kib by SQL":     "moto: there is no UpdateMaxRecordSize",
		"max_record_size_in_kib by the CLI": "moto: there is no UpdateMaxRecordSize",
	}
	return t
}

func streamSetting(column, sql, member, cli, then string) Change {
	return Change{column, sql, `kinesis describe-stream-summary --stream-name $id --query StreamDescriptionSummary.` +
		member, "", run(`kinesis ` + cli + ` --stream-name $id`), then}
}
