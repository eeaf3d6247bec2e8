SELECT s.key, n.account, n.region, s.id AS subnet_id, t.id AS route_table_id
FROM network n JOIN part s ON s.part = 'public_subnet'
JOIN part t ON t.part = 'public_route_table'
