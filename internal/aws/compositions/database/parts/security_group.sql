SELECT 'database' AS key, d.account, d.region, d.name || '-database' AS group_name, 'Database ' || d.name AS description,
       (SELECT s.vpc_id FROM public.subnet s WHERE s.id = d.subnets[1]) AS vpc_id, d.tags
FROM database d
