SELECT e.service AS key, n.account, n.region, v.id AS vpc_id, e.service,
       (SELECT array_agg(t.id ORDER BY t.key) FROM part t WHERE t.part = 'private_route_table') AS route_table_ids_records,
       n.tags || jsonb_build_object('Name', n.name || '-' || e.service) AS tags
FROM network n JOIN part v ON v.part = 'vpc' CROSS JOIN unnest(n.endpoints) e (service)
