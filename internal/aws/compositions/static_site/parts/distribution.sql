-- The cache policy is AWS's CachingOptimized.
SELECT 'distribution' AS key, s.account, s.name || ' (' || s.region || ')' AS comment, s.enabled, s.index_document AS default_root_object, s.price_class,
       'http2and3' AS http_version, true AS is_ipv6_enabled, a.id AS origin_access_control_id,
       jsonb_build_array(jsonb_build_object('Id', 'bucket', 'DomainName', b.name || '.s3.' || s.region || '.amazonaws.com')) AS origins,
       '{"TargetOriginId": "bucket", "ViewerProtocolPolicy": "redirect-to-https", "Compress": true, "CachePolicyId": "658327ea-f89d-4fab-a63d-7e88639e58f6"}'::jsonb AS default_cache_behavior,
       CASE WHEN s.error_document IS NOT NULL THEN jsonb_build_array(jsonb_build_object('ErrorCode', 404, 'ResponseCode', s.error_status,
           'ResponsePagePath', '/' || s.error_document)) END AS custom_error_responses,
       CASE WHEN s.domain IS NOT NULL THEN s.domain || s.further_domains END AS alternate_domain_names,
       c.id AS custom_ssl_certificate_id, s.domain IS NOT NULL AS dns_records, s.tags
FROM static_site s JOIN part a ON a.part = 'access' JOIN part p ON p.part = 'bucket' JOIN public.bucket b ON b.id = p.id
LEFT JOIN part c ON c.part = 'certificate'
