SELECT w.domain AS key, w.account, w.region, w.domain AS domain_name, nullif(w.further_domains, '{}') AS subject_alternative_names,
       'DNS' AS validation_method, true AS dns_records, w.tags
FROM web_service w WHERE w.domain IS NOT NULL AND w.certificate IS NULL
