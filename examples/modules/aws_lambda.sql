-- A function and the role it runs as, in one transaction. zip_b64 is a zip file with one line of Python.
BEGIN;
INSERT INTO iam_role (role_name, assume_role_policy_document) VALUES ('example-function',
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}]}');
INSERT INTO lambda_function (name, role_name, runtime, handler, zip_b64) VALUES ('example', 'example-function', 'python3.12', 'index.handler',
    'UEsDBBQAAAAAAAAAIVy0CHBpLgAAAC4AAAAIAAAAaW5kZXgucHlkZWYgaGFuZGxlcihldmVudCwgY29udGV4dCk6CiAgICByZXR1cm4gZXZlbnQKUEsBAhQDFAAAAAAAAAAhXLQIcGkuAAAALgAAAAgAAAAAAAAAAAAAAKQBAAAAAGluZGV4LnB5UEsFBgAAAAABAAEANgAAAFQAAAAAAA==');
COMMIT;
SELECT iasql_wait_for_all(60);
UPDATE lambda_function SET memory_size = 256, environment = '{"STAGE": "test"}' WHERE name = 'example';
SELECT iasql_wait_for_all(60);
SELECT name, arn IS NOT NULL AS created, memory_size, environment FROM lambda_function WHERE name = 'example';
BEGIN;
DELETE FROM lambda_function WHERE name = 'example';
DELETE FROM iam_role WHERE role_name = 'example-function';
COMMIT;
SELECT iasql_wait_for_all(60);
