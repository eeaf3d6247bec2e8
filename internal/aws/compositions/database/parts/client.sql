-- A key is the number of a client's record.
SELECT c.id::text AS key, d.account, d.region, g.id AS security_group_id, false AS is_egress, 'tcp' AS ip_protocol,
       p.port AS from_port, p.port AS to_port, c.id AS source_security_group
FROM database d JOIN part g ON g.part = 'security_group'
CROSS JOIN LATERAL (SELECT CASE d.engine WHEN 'postgres' THEN 5432 ELSE 3306 END AS port) p
CROSS JOIN LATERAL (SELECT DISTINCT u.id FROM unnest(d.clients) u (id)) c
