SELECT s.key, n.account, n.region, s.id AS subnet_id, t.id AS route_table_id
FROM network n JOIN part s ON s.part = 'private_subnet'
JOIN part t ON t.part = 'private_route_table' AND t.key = s.key
