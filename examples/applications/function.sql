-- A function in a network of its own, with a queue for the events that it could not be called with, in one transaction. It
-- takes aws_lambda and aws_sqs. zip_b64 is a zip file with one line of Python.
-- ARNs and names have the account's number: aws_account.account_id has to be set.
BEGIN;
CALL iasql_declare('worker');
INSERT INTO vpc (cidr_block, tags) VALUES ('10.63.0.0/16', '{"Name": "worker"}');
INSERT INTO subnet (vpc_id, cidr_block, availability_zone, tags)
SELECT v.id, s.network, default_aws_region() || s.zone, '{"Name": "worker"}'
FROM vpc v, (VALUES ('10.63.0.0/24'::cidr, 'a'), ('10.63.1.0/24', 'b')) s (network, zone) WHERE v.tags ->> 'Name' = 'worker';
INSERT INTO security_group (group_name, description, vpc_id) SELECT 'worker', 'What the function reaches', id FROM vpc WHERE tags ->> 'Name' = 'worker';
INSERT INTO queue (name, message_retention_period) VALUES ('worker-failed', 1209600);
INSERT INTO iam_role (role_name, assume_role_policy_document, attached_policies_arns, inline_policies) VALUES ('worker',
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}]}',
    '{arn:aws:iam::aws:policy/service-role/AWSLambdaVPCAccessExecutionRole}',
    '{"failed": {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": "*"}]}}');
INSERT INTO lambda_function (name, role_name, runtime, handler, memory_size, timeout, subnets_records, dead_letter_config, tracing_config, zip_b64)
SELECT 'worker', 'worker', 'python3.12', 'index.handler', 256, 30, (SELECT array_agg(id) FROM subnet WHERE tags ->> 'Name' = 'worker'),
    jsonb_build_object('TargetArn', format('arn:aws:sqs:%s:%s:worker-failed', default_aws_region(), a.account_id)), '{"Mode": "Active"}',
    'UEsDBBQAAAAAAAAAIVy0CHBpLgAAAC4AAAAIAAAAaW5kZXgucHlkZWYgaGFuZGxlcihldmVudCwgY29udGV4dCk6CiAgICByZXR1cm4gZXZlbnQKUEsBAhQDFAAAAAAAAAAhXLQIcGkuAAAALgAAAAgAAAAAAAAAAAAAAKQBAAAAAGluZGV4LnB5UEsFBgAAAAABAAEANgAAAFQAAAAAAA=='
FROM aws_account a WHERE a.name = default_aws_account();
INSERT INTO lambda_function_security_groups (lambda_function_id, security_group_id)
SELECT f.id, g.id FROM lambda_function f, security_group g WHERE f.name = 'worker' AND g.group_name = 'worker';
CALL iasql_declared();
COMMIT;
SELECT iasql_wait_for_all(300);
SELECT state, memory_size, dead_letter_config IS NOT NULL AS keeps_failures, cardinality(subnets) AS subnets FROM lambda_function WHERE name = 'worker';

-- And away, by one DELETE.
DELETE FROM iasql_configurations WHERE name = 'worker';
SELECT iasql_wait_for_all(300);
