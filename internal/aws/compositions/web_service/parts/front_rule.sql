SELECT p.port::text AS key, w.account, w.region, g.id AS security_group_id, false AS is_egress, 'tcp' AS ip_protocol,
       p.port AS from_port, p.port AS to_port, '0.0.0.0/0'::cidr AS cidr_ipv4
FROM web_service w JOIN part g ON g.part = 'front_group'
JOIN (VALUES (80), (443)) p (port) ON p.port = 80 OR num_nonnulls(w.certificate, w.domain) > 0
