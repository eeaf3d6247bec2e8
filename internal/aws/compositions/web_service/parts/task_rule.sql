SELECT 'front' AS key, w.account, w.region, t.id AS security_group_id, false AS is_egress, 'tcp' AS ip_protocol,
       w.port AS from_port, w.port AS to_port, f.id AS source_security_group
FROM web_service w JOIN part t ON t.part = 'task_group' JOIN part f ON f.part = 'front_group'
