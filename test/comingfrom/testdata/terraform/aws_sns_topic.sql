INSERT INTO topic (name, delivery_policy) VALUES ('tides',
    '{"http": {"defaultHealthyRetryPolicy": {"minDelayTarget": 20, "maxDelayTarget": 20, "numRetries": 3, "backoffFunction": "linear"}}}');
INSERT INTO topic (name, kms_master_key_id) VALUES ('sealed-tides', 'alias/aws/sns');
INSERT INTO topic (name, fifo_topic, content_based_deduplication) VALUES ('tides-in-order.fifo', true, true);
