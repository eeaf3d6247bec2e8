SELECT 'tasks' AS key, w.account, w.region, s.id AS service_id, g.id AS security_group_id
FROM web_service w JOIN part s ON s.part = 'service' JOIN part g ON g.part = 'task_group'
