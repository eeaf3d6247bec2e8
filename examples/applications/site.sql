-- A static site with its certificate, its names, an old name that leads to it, and logs of who has read it, in one
-- transaction. The bucket with the logs is a configuration of its own, which stays when the site goes. It takes aws_cloudfront, aws_route53 and aws_s3.
-- Names of buckets are unique in the world: these end in the account's number.
-- ARNs and names have the account's number: aws_account.account_id has to be set.
BEGIN;
CALL iasql_begin();
CALL iasql_declare('site-logs');
INSERT INTO bucket (name, policy, lifecycle_configuration)
SELECT 'example-logs-' || account_id, jsonb_build_object('Version', '2012-10-17', 'Statement', jsonb_build_array(jsonb_build_object('Effect', 'Allow',
    'Principal', '{"Service": "logging.s3.amazonaws.com"}'::jsonb, 'Action', 's3:PutObject', 'Resource', 'arn:aws:s3:::example-logs-' || account_id || '/*'))),
    '[{"ID": "old", "Status": "Enabled", "Filter": {"Prefix": ""}, "Expiration": {"Days": 90}}]'
FROM aws_account WHERE name = default_aws_account();
CALL iasql_declared();
CALL iasql_declare('site');
INSERT INTO bucket (name, logging_configuration)
SELECT 'example-site-' || account_id, jsonb_build_object('TargetBucket', 'example-logs-' || account_id, 'TargetPrefix', 'site/')
FROM aws_account WHERE name = default_aws_account();
INSERT INTO bucket (name) SELECT 'example-old-' || account_id FROM aws_account WHERE name = default_aws_account();
INSERT INTO bucket_website (bucket_name, index_document, error_document)
SELECT name, 'index.html', '404.html' FROM bucket WHERE name LIKE 'example-site-%';
INSERT INTO bucket_website (bucket_name, redirect_host_name, redirect_protocol)
SELECT name, 'www.example.test', 'https' FROM bucket WHERE name LIKE 'example-old-%';
INSERT INTO hosted_zone (domain_name) VALUES ('example.test');
INSERT INTO certificate (domain_name, subject_alternative_names, dns_records) VALUES ('www.example.test', '{example.test}', true);
INSERT INTO distribution (comment, alternate_domain_names, custom_ssl_certificate_id, default_root_object, dns_records, origins, default_cache_behavior)
SELECT 'example', '{www.example.test,example.test}', c.id, 'index.html', true,
    jsonb_build_array(jsonb_build_object('Id', 'site', 'DomainName', b.name || '.s3-website-us-east-1.amazonaws.com',
        'CustomOriginConfig', '{"OriginProtocolPolicy": "http-only"}'::jsonb)),
    '{"TargetOriginId": "site", "ViewerProtocolPolicy": "redirect-to-https", "Compress": true, "CachePolicyId": "658327ea-f89d-4fab-a63d-7e88639e58f6"}'
FROM certificate c, bucket b WHERE c.domain_name = 'www.example.test' AND b.name LIKE 'example-site-%';
CALL iasql_declared();
CALL iasql_commit();
COMMIT;
SELECT iasql_wait_for_all(300);
SELECT d.enabled, c.status AS certificate, (SELECT count(*) FROM bucket_website) AS websites
FROM distribution d JOIN certificate c ON c.id = d.custom_ssl_certificate_id WHERE d.comment = 'example';

-- And away, by one DELETE.
DELETE FROM iasql_configurations WHERE name = 'site';
SELECT iasql_wait_for_all(300);
