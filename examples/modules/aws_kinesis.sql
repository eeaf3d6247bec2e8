-- A stream of two shards, which keeps its records for two days.
INSERT INTO kinesis_stream (name, shard_count, retention_period_hours, kms_key_id) VALUES ('example', 2, 48, 'alias/aws/kinesis');
SELECT iasql_wait_for_all(120);
UPDATE kinesis_stream SET shard_count = 4, shard_level_metrics = '{IncomingBytes}' WHERE name = 'example';
SELECT iasql_wait_for_all(120);
SELECT name, stream_mode, shard_count, retention_period_hours, kms_key_id, shard_level_metrics FROM kinesis_stream WHERE name = 'example';
DELETE FROM kinesis_stream WHERE name = 'example';
SELECT iasql_wait_for_all(120);
