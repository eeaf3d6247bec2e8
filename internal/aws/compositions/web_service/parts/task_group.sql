SELECT 'tasks' AS key, w.account, w.region, w.name || '-tasks' AS group_name, 'Tasks of ' || w.name AS description,
       (SELECT s.vpc_id FROM public.subnet s WHERE s.id = w.public_subnets[1]) AS vpc_id, w.tags
FROM web_service w
