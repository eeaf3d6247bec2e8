SELECT 'internet' AS key, n.account, n.region, t.id AS route_table_id, '0.0.0.0/0' AS destination, g.id AS internet_gateway_id
FROM network n JOIN part t ON t.part = 'public_route_table' JOIN part g ON g.part = 'internet_gateway'
