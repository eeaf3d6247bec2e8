INSERT INTO origin_access_control (name) VALUES ('postcards');
INSERT INTO distribution (enabled, is_ipv6_enabled, comment, default_root_object, alternate_domain_names, price_class, custom_ssl_certificate_id,
    origin_access_control_id, origins, logging, geo_restriction, default_cache_behavior, cache_behaviors, tags)
SELECT true, true, 'Postcards', 'index.html', '{www.postcards.example.com,postcards.example.com}', 'PriceClass_200', NULL, id,
    '[{"Id": "cards", "DomainName": "postcards-7c1d.s3.us-east-1.amazonaws.com"}]',
    '{"Enabled": true, "Bucket": "watch-7c1d.s3.amazonaws.com", "Prefix": "cards/", "IncludeCookies": false}',
    '{"RestrictionType": "whitelist", "Items": ["AT", "DE", "FR"]}',
    '{"TargetOriginId": "cards", "ViewerProtocolPolicy": "allow-all", "AllowedMethods": {"Items": ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"],
      "CachedMethods": {"Items": ["GET", "HEAD"]}}, "ForwardedValues": {"QueryString": false, "Cookies": {"Forward": "none"}},
      "MinTTL": 0, "DefaultTTL": 1800, "MaxTTL": 43200}',
    '[{"PathPattern": "/stamps/*", "TargetOriginId": "cards", "ViewerProtocolPolicy": "redirect-to-https", "Compress": true,
       "AllowedMethods": {"Items": ["GET", "HEAD", "OPTIONS"], "CachedMethods": {"Items": ["GET", "HEAD", "OPTIONS"]}},
       "ForwardedValues": {"QueryString": false, "Headers": {"Items": ["Origin"]}, "Cookies": {"Forward": "none"}},
       "MinTTL": 0, "DefaultTTL": 43200, "MaxTTL": 15768000,
       "LambdaFunctionAssociations": {"Items": [{"EventType": "origin-request", "IncludeBody": false,
         "LambdaFunctionARN": "arn:aws:lambda:us-east-1:123456789012:function:stamps:7"}]},
       "FunctionAssociations": {"Items": [{"EventType": "viewer-request", "FunctionARN": "arn:aws:cloudfront::123456789012:function/stamps"}]}}]',
    '{"stage": "trial"}'
FROM origin_access_control WHERE name = 'postcards';
INSERT INTO distribution (comment, origins, origin_groups, default_cache_behavior) VALUES ('Letters',
    '[{"Id": "one", "DomainName": "letters-7c1d.s3.us-east-1.amazonaws.com", "S3OriginConfig": {"OriginAccessIdentity": "origin-access-identity/cloudfront/E0A1B2C3D4E5F"}},
      {"Id": "two", "DomainName": "letters-7c1e.s3.us-east-1.amazonaws.com", "S3OriginConfig": {"OriginAccessIdentity": "origin-access-identity/cloudfront/E0A1B2C3D4E5F"}}]',
    '[{"Id": "both", "FailoverCriteria": {"StatusCodes": {"Items": [403, 404, 500, 503]}}, "Members": {"Items": [{"OriginId": "one"}, {"OriginId": "two"}]}}]',
    '{"TargetOriginId": "both", "ViewerProtocolPolicy": "https-only", "CachePolicyId": "658327ea-f89d-4fab-a63d-7e88639e58f6"}');
