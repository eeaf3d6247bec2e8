INSERT INTO queue (name, delay_seconds, maximum_message_size, message_retention_period, receive_message_wait_time_seconds, redrive_policy, tags)
VALUES ('parcels', 80, 4096, 90000, 12, '{"deadLetterTargetArn": "arn:aws:sqs:us-east-1:123456789012:lost-parcels", "maxReceiveCount": 3}', '{"stage": "trial"}');
INSERT INTO queue (name, fifo_queue, content_based_deduplication) VALUES ('parcels-in-order.fifo', true, true);
INSERT INTO queue (name, fifo_queue, deduplication_scope, fifo_throughput_limit) VALUES ('parcels-by-ship.fifo', true, 'messageGroup', 'perMessageGroupId');
INSERT INTO queue (name, sqs_managed_sse_enabled) VALUES ('sealed-parcels', true);
INSERT INTO queue (name, kms_master_key_id, kms_data_key_reuse_period_seconds) VALUES ('locked-parcels', 'alias/aws/sqs', 600);
