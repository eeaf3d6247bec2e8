INSERT INTO lambda_function (name, role_name, handler, runtime, environment, layers, ephemeral_storage_size, file_system_configs, subnets_records, zip_b64)
SELECT 'tide-tables', 'lambda-of-the-quay', 'index.handler', 'python3.12', '{"HARBOUR": "north"}',
    '{arn:aws:lambda:us-east-1:123456789012:layer:tides:3}', 2048,
    '[{"Arn": "arn:aws:elasticfilesystem:us-east-1:123456789012:access-point/fsap-0a1b2c3d4e5f60718", "LocalMountPath": "/mnt/tides"}]', array_agg(id),
    'UEsDBBQAAAAAAAAAIVy0CHBpLgAAAC4AAAAIAAAAaW5kZXgucHlkZWYgaGFuZGxlcihldmVudCwgY29udGV4dCk6CiAgICByZXR1cm4gZXZlbnQKUEsBAhQDFAAAAAAAAAAhXLQIcGkuAAAALgAAAAgAAAAAAAAAAAAAAKQBAAAAAGluZGV4LnB5UEsFBgAAAAABAAEANgAAAFQAAAAAAA=='
FROM subnet WHERE tags ->> 'Name' = 'quay';
INSERT INTO lambda_function_security_groups (lambda_function_id, security_group_id)
SELECT f.id, g.id FROM lambda_function f, security_group g WHERE f.name = 'tide-tables' AND g.group_name = 'quay';
