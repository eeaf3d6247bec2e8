SELECT e.key, n.account, n.region, s.id AS subnet_id, e.id AS elastic_ip_id,
       n.tags || jsonb_build_object('Name', n.name || '-' || e.key) AS tags
FROM network n JOIN part e ON e.part = 'elastic_ip' JOIN part s ON s.part = 'public_subnet' AND s.key = e.key
