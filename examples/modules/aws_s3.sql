-- A website that anybody may read, in one transaction.
BEGIN;
INSERT INTO bucket (name, tags, policy) VALUES ('iasql-example-bucket', '{"team": "web"}',
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "arn:aws:s3:::iasql-example-bucket/*"}]}');
INSERT INTO public_access_block (bucket_name, block_public_policy, restrict_public_buckets) VALUES ('iasql-example-bucket', false, false);
INSERT INTO bucket_website (bucket_name, index_document) VALUES ('iasql-example-bucket', 'index.html');
COMMIT;
SELECT iasql_wait_for_all(60);
-- And then nobody: the website and the block go along with the bucket.
UPDATE bucket SET policy = NULL WHERE name = 'iasql-example-bucket';
SELECT iasql_wait_for_all(60);
SELECT name, policy, tags FROM bucket WHERE name = 'iasql-example-bucket';
DELETE FROM bucket WHERE name = 'iasql-example-bucket';
SELECT iasql_wait_for_all(60);
