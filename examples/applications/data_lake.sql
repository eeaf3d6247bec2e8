-- A data lake: what comes in is versioned, encrypted by KMS, told to a queue, copied to another region, and
-- moved to where it costs less, in one transaction. It takes aws_s3, aws_sqs and aws_iam.
-- Names of buckets are unique in the world: these end in the account's number.
-- ARNs and names have the account's number: aws_account.account_id has to be set.
BEGIN;
CALL iasql_declare('lake');
INSERT INTO queue (name, policy)
SELECT 'example-lake', jsonb_build_object('Version', '2012-10-17', 'Statement', jsonb_build_array(jsonb_build_object('Effect', 'Allow',
    'Principal', '{"Service": "s3.amazonaws.com"}'::jsonb, 'Action', 'sqs:SendMessage',
    'Resource', format('arn:aws:sqs:%s:%s:example-lake', default_aws_region(), account_id),
    'Condition', jsonb_build_object('ArnLike', jsonb_build_object('aws:SourceArn', 'arn:aws:s3:::example-lake-' || account_id)))))
FROM aws_account WHERE name = default_aws_account();
INSERT INTO iam_role (role_name, assume_role_policy_document, inline_policies) VALUES ('example-lake-copies',
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "s3.amazonaws.com"}, "Action": "sts:AssumeRole"}]}',
    '{"copy": {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Resource": "*",
      "Action": ["s3:GetReplicationConfiguration", "s3:ListBucket", "s3:GetObjectVersionForReplication", "s3:ReplicateObject", "s3:ReplicateDelete"]}]}}');
INSERT INTO bucket (name, region, versioning_enabled, lifecycle_configuration)
SELECT 'example-lake-copy-' || account_id, 'us-west-2', true,
    '[{"ID": "cold", "Status": "Enabled", "Filter": {"Prefix": ""}, "Transitions": [{"Days": 30, "StorageClass": "GLACIER"}]}]'
FROM aws_account WHERE name = default_aws_account();
INSERT INTO bucket (name, versioning_enabled, bucket_encryption, lifecycle_configuration, notification_configuration, replication_configuration)
SELECT 'example-lake-' || account_id, true,
    '{"Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms"}, "BucketKeyEnabled": true}]}',
    '[{"ID": "raw", "Status": "Enabled", "Filter": {"Prefix": "raw/"}, "Transitions": [{"Days": 30, "StorageClass": "STANDARD_IA"}, {"Days": 180, "StorageClass": "GLACIER"}],
       "NoncurrentVersionExpiration": {"NoncurrentDays": 30}}]',
    jsonb_build_object('QueueConfigurations', jsonb_build_array(jsonb_build_object('Id', 'new',
        'QueueArn', format('arn:aws:sqs:%s:%s:example-lake', default_aws_region(), account_id), 'Events', '["s3:ObjectCreated:*"]'::jsonb))),
    jsonb_build_object('Role', format('arn:aws:iam::%s:role/example-lake-copies', account_id), 'Rules', jsonb_build_array(jsonb_build_object(
        'ID', 'all', 'Priority', 1, 'Status', 'Enabled', 'Filter', '{"Prefix": ""}'::jsonb, 'DeleteMarkerReplication', '{"Status": "Disabled"}'::jsonb,
        'Destination', jsonb_build_object('Bucket', 'arn:aws:s3:::example-lake-copy-' || account_id))))
FROM aws_account WHERE name = default_aws_account();
INSERT INTO public_access_block (bucket_name) SELECT name FROM bucket WHERE name LIKE 'example-lake-%';
CALL iasql_declared();
COMMIT;
SELECT iasql_wait_for_all(300);
SELECT versioning_enabled, lifecycle_configuration IS NOT NULL AS moves, replication_configuration IS NOT NULL AS copied,
    notification_configuration IS NOT NULL AS tells FROM bucket WHERE name LIKE 'example-lake-%' AND name NOT LIKE '%copy%';

-- And away, by one DELETE.
DELETE FROM iasql_configurations WHERE name = 'lake';
SELECT iasql_wait_for_all(300);
