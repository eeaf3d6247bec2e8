SELECT 'tasks' AS key, w.account, w.region, w.name AS target_group_name, 'ip' AS target_type, 'HTTP' AS protocol, w.port,
       (SELECT s.vpc_id FROM public.subnet s WHERE s.id = w.public_subnets[1]) AS vpc, w.health_path AS health_check_path, w.tags
FROM web_service w
