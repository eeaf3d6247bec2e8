-- One for each zone, so that nat can change without new ones.
SELECT s.key, n.account, n.region, v.id AS vpc_id, n.tags || jsonb_build_object('Name', n.name || '-private-' || s.key) AS tags
FROM network n JOIN part v ON v.part = 'vpc' JOIN part s ON s.part = 'private_subnet'
