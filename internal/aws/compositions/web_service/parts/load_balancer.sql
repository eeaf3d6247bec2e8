SELECT 'front' AS key, w.account, w.region, w.name AS load_balancer_name, w.public_subnets AS subnets_records,
       CASE WHEN w.domain IS NOT NULL THEN w.domain || w.further_domains END AS dns_names, w.tags
FROM web_service w
