package conformance

var awsSQS = Module{
	Name: "aws_sqs",
	Tables: []Table{{
		Name: "queue", Identity: "name", ID: "queue-$n",
		Insert: `(name, visibility_timeout) VALUES ('$id', 60)`,
		See:    `sqs get-queue-url --queue-name $id`,
		Create: run(`sqs create-queue --queue-name $id`),
		Delete: run(`sqs delete-queue --queue-url $url`),
		Change: []Change{
			queueAttribute("visibility_timeout", "VisibilityTimeout", "70", "71"),
			queueAttribute("delay_seconds", "DelaySeconds", "5", "6"),
			queueAttribute("receive_message_wait_time_seconds", "ReceiveMessageWaitTimeSeconds", "7", "8"),
			queueAttribute("message_retention_period", "MessageRetentionPeriod", "3600", "3601"),
			queueAttribute("maximum_message_size", "MaximumMessageSize", "2048", "4096"),
			{
				"kms_master_key_id", `'alias/aws/sqs'`,
				`sqs get-queue-attributes --queue-url $url --attribute-names All --query Attributes.KmsMasterKeyId`,
				"alias/aws/sqs", run(`sqs set-queue-attributes --queue-url $url --attributes KmsMasterKeyId=alias/mine`),
				`'alias/mine'`,
			},
			queueAttribute("kms_data_key_reuse_period_seconds", "KmsDataKeyReusePeriodSeconds", "600", "900"),
			// moto forgets the policy when something else is set.
			{
				"policy", `'` + allow("sqs:SendMessage", "*") + `'`,
				`sqs get-queue-attributes --queue-url $url --attribute-names All --query Attributes.Policy`, "",
				run(`sqs set-queue-attributes --queue-url $url --attributes '{"Policy": "` +
					quoted(allow("sqs:ReceiveMessage", "*")) + `"}'`),
				`'` + allow("sqs:ReceiveMessage", "*") + `'`,
			},
			tags(`sqs list-queue-tags --queue-url $url --query Tags`, `sqs tag-queue --queue-url $url --tags by=cli`),
		},
		Replace: Replace{Column: "name", SQL: `'queue-other'`, ID: "queue-other"},
		Skip: both(unkept("moto: GetQueueAttributes does not tell it, or not of this queue", "redrive_allow_policy",
			"redrive_policy", "sqs_managed_sse_enabled"),
			unkept("aws: it is of FIFO queues alone", "content_based_deduplication", "deduplication_scope",
				"fifo_throughput_limit")),
		Apart: []Apart{{
			With: `name = 'queue-other.fifo'`,
			Set: []Change{
				{Column: "fifo_queue", SQL: `true`,
					See: `sqs get-queue-attributes --queue-url $url --attribute-names All --query Attributes.FifoQueue`},
			},
		}},
	}},
}

func queueAttribute(column, name, sql, cli string) Change {
	return Change{
		column, sql, `sqs get-queue-attributes --queue-url $url --attribute-names All --query Attributes.` + name, "",
		run(`sqs set-queue-attributes --queue-url $url --attributes ` + name + `=` + cli), cli,
	}
}
