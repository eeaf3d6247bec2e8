SELECT 'group' AS key, d.account, d.region, i.id AS rds_id, g.id AS security_group_id
FROM database d JOIN part i ON i.part = 'instance' JOIN part g ON g.part = 'security_group'
