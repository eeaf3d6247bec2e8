-- A first session. Install two modules: their tables are made, and what the account has is imported.
SELECT * FROM iasql_install('aws_vpc', 'aws_s3', 'aws_sqs');
