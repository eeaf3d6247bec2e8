package conformance

var awsSNS = Module{
	Name: "aws_sns",
	Tables: []Table{
		{
			Name: "topic", Identity: "name", ID: "topic-$n.fifo",
			Insert: `(name, fifo_topic) VALUES ('$id', true)`,
			See:    `sns get-topic-attributes --topic-arn arn:aws:sns:us-east-1:$account:$id`,
			Create: run(`sns create-topic --name $id --attributes FifoTopic=true`),
			Delete: run(`sns delete-topic --topic-arn $arn`),
			Change: []Change{
				topicAttribute("display_name", "DisplayName", `'by sql'`, `'by cli'`),
				topicAttribute("policy", "Policy", `'`+allow("sns:Publish", "*")+`'`,
					`'`+allow("sns:Subscribe", "*")+`'`),
				topicAttribute("delivery_policy", "DeliveryPolicy", `'`+retries("3")+`'`, `'`+retries("4")+`'`),
				topicAttribute("tracing_config", "TracingConfig", `'Active'`, `'PassThrough'`),
				topicAttribute("kms_master_key_id", "KmsMasterKeyId", `'alias/aws/sns'`, `'alias/other'`),
				topicAttribute("signature_version", "SignatureVersion", `'2'`, `'1'`),
				topicAttribute("content_based_deduplication", "ContentBasedDeduplication", `true`, `false`),
				tags(`sns list-tags-for-resource --resource-arn $arn --query Tags`,
					`sns tag-resource --resource-arn $arn --tags Key=by,Value=cli`),
			},
			Skip: map[string]string{
				"archive_policy by SQL":              "moto: GetTopicAttributes does not tell it",
				"archive_policy by the CLI":          "moto: GetTopicAttributes does not tell it",
				"fifo_throughput_scope by SQL":       "moto: GetTopicAttributes does not tell it",
				"fifo_throughput_scope by the CLI":   "moto: GetTopicAttributes does not tell it",
				"delivery_status_logging by SQL":     "moto: GetTopicAttributes does not tell it",
				"delivery_status_logging by the CLI": "moto: GetTopicAttributes does not tell it",
				"tracing_config by SQL":              "moto: SetTopicAttributes does not keep TracingConfig",
				"tracing_config by the CLI":          "moto: SetTopicAttributes does not keep TracingConfig",
				"signature_version by SQL":           "moto: SetTopicAttributes does not keep SignatureVersion",
				"signature_version by the CLI":       "moto: SetTopicAttributes does not keep SignatureVersion",
			},
			Replace: Replace{Column: "name", SQL: `'topic-other.fifo'`, ID: "topic-other.fifo"},
			Apart: []Apart{{
				Insert: `(name) VALUES ('topic-$n')`,
				With:   `name = 'topic-apart.fifo'`,
				Set: []Change{
					{Column: "fifo_topic", SQL: `true`,
						See: `sns get-topic-attributes --topic-arn $arn --query Attributes.FifoTopic`},
				},
			}},
		},
		{
			Name: "subscription", Identity: "endpoint", ID: "arn:aws:firehose:us-east-1:$account:deliverystream/$n",
			Insert: `(topic, protocol, endpoint, subscription_role_arn) VALUES ('news', 'firehose', '$id', 'arn:aws:iam::$account:role/news')`,
			See:    `sns list-subscriptions --query Subscriptions[?Endpoint==\'$id\']`,
			Create: run(`sns subscribe --topic-arn arn:aws:sns:us-east-1:$account:news --protocol firehose --notification-endpoint $id --attributes SubscriptionRoleArn=arn:aws:iam::$account:role/news`),
			Delete: run(`sns unsubscribe --subscription-arn $arn`),
			Change: []Change{
				subscriptionAttribute("raw_message_delivery", "RawMessageDelivery", `true`, `false`),
				subscriptionAttribute("filter_policy_scope", "FilterPolicyScope", `'MessageBody'`,
					`'MessageAttributes'`),
				subscriptionAttribute("filter_policy", "FilterPolicy", `'{"kind": ["sql"]}'`, `'{"kind": ["cli"]}'`),
				subscriptionAttribute("redrive_policy", "RedrivePolicy",
					`'{"deadLetterTargetArn": "arn:aws:sqs:us-east-1:$account:dead"}'`,
					`'{"deadLetterTargetArn": "arn:aws:sqs:us-east-1:$account:other"}'`),
				subscriptionAttribute("subscription_role_arn", "SubscriptionRoleArn", `'arn:aws:iam::$account:role/a'`,
					`'arn:aws:iam::$account:role/b'`),
			},
			Skip: unkept("moto: GetSubscriptionAttributes does not tell it", "delivery_policy", "replay_policy"),
			Replace: Replace{Column: "endpoint", SQL: `'arn:aws:firehose:us-east-1:$account:deliverystream/another'`,
				ID: "arn:aws:firehose:us-east-1:$account:deliverystream/another"},
			Fixed: []Change{
				{Column: "topic", SQL: `'other-news'`,
					See:  `sns get-subscription-attributes --subscription-arn $arn --query Attributes.TopicArn`,
					Want: `arn:aws:sns:us-east-1:$account:other-news`},
			},
			Apart: []Apart{{
				With: `endpoint = 'arn:aws:sqs:us-east-1:$account:dead', subscription_role_arn = NULL`,
				Set: []Change{
					{Column: "protocol", SQL: `'sqs'`,
						See: `sns list-subscriptions --query Subscriptions[?Endpoint==\'$id\']|[0].Protocol`},
				},
			}},
		},
	},
	Setup: []string{`INSERT INTO topic (name) VALUES ('news'), ('other-news')`},
	CLI:   []string{`sqs create-queue --queue-name dead`, `sqs create-queue --queue-name other`},
}

func retries(n string) string {
	return `{"http": {"defaultHealthyRetryPolicy": {"minDelayTarget": 20, "maxDelayTarget": 20, "numRetries": ` + n +
		`}}}`
}

func topicAttribute(column, name, sql, cli string) Change {
	return Change{
		column, sql, `sns get-topic-attributes --topic-arn $arn --query Attributes.` + name, "",
		run(`sns set-topic-attributes --topic-arn $arn --attribute-name ` + name + ` --attribute-value '` +
			literal(cli) + `'`), cli,
	}
}

func subscriptionAttribute(column, name, sql, cli string) Change {
	return Change{
		column, sql, `sns get-subscription-attributes --subscription-arn $arn --query Attributes.` + name, "",
		run(`sns set-subscription-attributes --subscription-arn $arn --attribute-name ` + name +
			` --attribute-value '` + literal(cli) + `'`), cli,
	}
}
