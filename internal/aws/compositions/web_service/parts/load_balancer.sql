SELECT 'front' AS key, w.account, w.region, w.name AS load_balancer_name, w.public_subnets AS subnets_records, w.tags
FROM web_service w
