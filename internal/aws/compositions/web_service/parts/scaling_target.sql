SELECT 'tasks' AS key, w.account, w.region, s.id AS service_id, w.number AS min_capacity, w.max_number AS max_capacity
FROM web_service w JOIN part s ON s.part = 'service'
WHERE w.max_number IS NOT NULL
