-- A bucket that anybody may read, and then not.
INSERT INTO bucket (name, tags, policy) VALUES ('iasql-example-bucket', '{"team": "web"}',
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::iasql-example-bucket/*"}]}');
SELECT iasql_wait_for_all(60);
UPDATE bucket SET policy = NULL WHERE name = 'iasql-example-bucket';
SELECT iasql_wait_for_all(60);
SELECT name, policy, tags FROM bucket WHERE name = 'iasql-example-bucket';
DELETE FROM bucket WHERE name = 'iasql-example-bucket';
SELECT iasql_wait_for_all(60);
