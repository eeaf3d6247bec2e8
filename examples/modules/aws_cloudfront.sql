-- A distribution of what a web server has. The cache policy is AWS's CachingOptimized.
INSERT INTO distribution (comment, origins, default_cache_behavior, tags) VALUES ('The site',
    '[{"Id": "site", "DomainName": "origin.example.com", "CustomOriginConfig": {"OriginProtocolPolicy": "https-only"}}]',
    '{"TargetOriginId": "site", "ViewerProtocolPolicy": "redirect-to-https", "Compress": true, "CachePolicyId": "658327ea-f89d-4fab-a63d-7e88639e58f6"}',
    '{"Name": "site"}');
-- What is in a private bucket is delivered by an origin such as {"Id": "files", "DomainName": "example-files.s3.us-east-1.amazonaws.com"}
-- with this as the distribution's origin_access_control_id, and the bucket's policy lets CloudFront in. static_site makes all of that.
INSERT INTO origin_access_control (name, description) VALUES ('example-files', 'Reads files');
SELECT iasql_wait_for_all(60);
-- An application in one page finds its way by itself.
UPDATE distribution SET custom_error_responses = '[{"ErrorCode": 404, "ResponseCode": "200", "ResponsePagePath": "/index.html"}]' WHERE tags ->> 'Name' = 'site';
SELECT iasql_wait_for_all(60);
SELECT enabled, price_class, custom_error_responses, domain_name IS NOT NULL AS reachable FROM distribution WHERE tags ->> 'Name' = 'site';
SELECT name, signing_behavior, origin_access_control_id IS NOT NULL AS created FROM origin_access_control WHERE name = 'example-files';
-- A distribution is disabled first, which takes AWS minutes.
DELETE FROM distribution WHERE tags ->> 'Name' = 'site';
DELETE FROM origin_access_control WHERE name = 'example-files';
SELECT iasql_wait_for_all(900);
