SELECT 'front' AS key, w.account, w.region, w.name || '-front' AS group_name, 'Load balancer of ' || w.name AS description,
       (SELECT s.vpc_id FROM public.subnet s WHERE s.id = w.public_subnets[1]) AS vpc_id, w.tags
FROM web_service w
