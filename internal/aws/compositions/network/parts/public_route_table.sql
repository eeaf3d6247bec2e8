SELECT 'public' AS key, n.account, n.region, v.id AS vpc_id, n.tags || jsonb_build_object('Name', n.name || '-public') AS tags
FROM network n JOIN part v ON v.part = 'vpc'
