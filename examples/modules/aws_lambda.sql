-- A function in the default VPC, its security group and the role it runs as, which may write its log and reach the VPC, in one transaction. zip_b64 is a zip file with one line of Python.
BEGIN;
INSERT INTO iam_role (role_name, assume_role_policy_document, attached_policies_arns) VALUES ('example-function',
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}]}',
    '{arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole,arn:aws:iam::aws:policy/service-role/AWSLambdaVPCAccessExecutionRole}');
INSERT INTO security_group (group_name, description, vpc_id) SELECT 'example-function', 'What functions reach', id FROM vpc WHERE is_default AND region = default_aws_region();
INSERT INTO lambda_function (name, role_name, runtime, handler, subnets, zip_b64) SELECT 'example', 'example-function', 'python3.12', 'index.handler', array_agg(subnet_id),
    'UEsDBBQAAAAAAAAAIVy0CHBpLgAAAC4AAAAIAAAAaW5kZXgucHlkZWYgaGFuZGxlcihldmVudCwgY29udGV4dCk6CiAgICByZXR1cm4gZXZlbnQKUEsBAhQDFAAAAAAAAAAhXLQIcGkuAAAALgAAAAgAAAAAAAAAAAAAAKQBAAAAAGluZGV4LnB5UEsFBgAAAAABAAEANgAAAFQAAAAAAA=='
FROM subnet WHERE default_for_az AND region = default_aws_region();
INSERT INTO lambda_function_security_groups (lambda_function_id, security_group_id)
SELECT f.id, g.id FROM lambda_function f, security_group g WHERE f.name = 'example' AND g.group_name = 'example-function';
COMMIT;
SELECT iasql_wait_for_all(60);
UPDATE lambda_function SET memory_size = 256, environment = '{"STAGE": "test"}' WHERE name = 'example';
SELECT iasql_wait_for_all(60);
SELECT name, arn IS NOT NULL AS created, memory_size, environment FROM lambda_function WHERE name = 'example';
SELECT g.group_name FROM lambda_function_security_groups fg JOIN lambda_function f ON f.id = fg.lambda_function_id JOIN security_group g ON g.id = fg.security_group_id
WHERE f.name = 'example';
BEGIN;
DELETE FROM lambda_function WHERE name = 'example';
DELETE FROM security_group WHERE group_name = 'example-function';
DELETE FROM iam_role WHERE role_name = 'example-function';
COMMIT;
SELECT iasql_wait_for_all(60);
