-- How many tasks there are, the policies say where it scales: number is where it begins.
SELECT 'service' AS key, w.account, w.region, w.name, c.id AS cluster_id, d.id AS task_definition_id,
       coalesce((SELECT s.desired_count FROM public.service s WHERE s.cluster_id = c.id AND s.name = w.name AND w.max_number IS NOT NULL), w.number) AS desired_count,
       w.task_subnets AS subnets_records, t.id AS target_group_id, 'web' AS container_name, w.port AS container_port, w.tags
FROM web_service w JOIN part c ON c.part = 'cluster' JOIN part d ON d.part = 'task_definition' JOIN part t ON t.part = 'target_group'
