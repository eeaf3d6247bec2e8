-- CloudFront takes certificates of us-east-1 alone.
SELECT s.domain AS key, s.account, 'us-east-1' AS region, s.domain AS domain_name, nullif(s.further_domains, '{}') AS subject_alternative_names,
       'DNS' AS validation_method, true AS dns_records, s.tags
FROM static_site s WHERE s.domain IS NOT NULL
