SELECT s.key, n.account, n.region, n.tags || jsonb_build_object('Name', n.name || '-nat-' || s.key) AS tags
FROM network n JOIN part s ON s.part = 'public_subnet'
WHERE n.nat = 'each' OR n.nat = 'one' AND s.key = '1'
