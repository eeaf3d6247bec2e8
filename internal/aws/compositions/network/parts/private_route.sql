SELECT t.key, n.account, n.region, t.id AS route_table_id, '0.0.0.0/0' AS destination, g.id AS nat_gateway_id
FROM network n JOIN part t ON t.part = 'private_route_table'
JOIN part g ON g.part = 'nat_gateway' AND g.key = CASE n.nat WHEN 'each' THEN t.key ELSE '1' END
