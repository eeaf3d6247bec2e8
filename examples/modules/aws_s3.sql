-- A website that anybody may read, in one transaction.
BEGIN;
INSERT INTO bucket (name, list_objects, tags, policy) VALUES ('iasql-example-bucket', true, '{"team": "web"}',
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::iasql-example-bucket/*"}]}');
INSERT INTO public_access_block (bucket_name, block_public_policy, restrict_public_buckets) VALUES ('iasql-example-bucket', false, false);
INSERT INTO bucket_website (bucket_name, index_document) VALUES ('iasql-example-bucket', 'index.html');
COMMIT;
SELECT iasql_wait_for_all(60);
SELECT status FROM s3_upload_object('iasql-example-bucket', 'index.html', '<h1>Hello</h1>', 'text/html');
SELECT convert_from(content, 'UTF8'), content_type FROM s3_get_object('iasql-example-bucket', 'index.html');
-- A bucket must be empty to go.
SELECT iasql_sync_now();
DELETE FROM bucket_object WHERE bucket_name = 'iasql-example-bucket';
-- And then nobody: the website and the block go along with the bucket.
UPDATE bucket SET policy = NULL WHERE name = 'iasql-example-bucket';
SELECT iasql_wait_for_all(60);
SELECT name, policy, tags FROM bucket WHERE name = 'iasql-example-bucket';
DELETE FROM bucket WHERE name = 'iasql-example-bucket';
SELECT iasql_wait_for_all(60);
