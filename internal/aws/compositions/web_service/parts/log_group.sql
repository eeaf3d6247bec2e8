SELECT 'tasks' AS key, w.account, w.region, '/web_service/' || w.name AS log_group_name, w.log_days AS retention_in_days, w.tags
FROM web_service w
