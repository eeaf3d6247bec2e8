SELECT 'front' AS key, w.account, w.region, b.id AS load_balancer_id, g.id AS security_group_id
FROM web_service w JOIN part b ON b.part = 'load_balancer' JOIN part g ON g.part = 'front_group'
