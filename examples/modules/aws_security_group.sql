-- Two groups whose rules name each other, in one transaction.
BEGIN;
INSERT INTO vpc (cidr_block, tags) VALUES ('10.40.0.0/16', '{"Name": "security-example"}');
INSERT INTO security_group (group_name, description, vpc_id)
SELECT name, 'Example group ' || name, v.id FROM vpc v, unnest('{web,db}'::text[]) name WHERE v.cidr_block = '10.40.0.0/16';
INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, from_port, to_port, cidr_ipv4)
SELECT id, false, 'tcp', 443, 443, '0.0.0.0/0' FROM security_group WHERE group_name = 'web';
INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, from_port, to_port, source_security_group)
SELECT db.id, false, 'tcp', 5432, 5432, web.id FROM security_group db, security_group web WHERE db.group_name = 'db' AND web.group_name = 'web';
COMMIT;
SELECT iasql_wait_for_all(60);
SELECT g.group_name, r.is_egress, r.ip_protocol, r.from_port, r.cidr_ipv4, s.group_name AS source
FROM security_group_rule r JOIN security_group g ON g.id = r.security_group_id LEFT JOIN security_group s ON s.id = r.source_security_group
WHERE g.group_name IN ('web', 'db') ORDER BY 1, 2, 4;

-- And away, all at once: what AWS made by itself for the VPC, its default group, goes along with it.
BEGIN;
DELETE FROM security_group_rule WHERE security_group_id IN (SELECT id FROM security_group WHERE group_name IN ('web', 'db'));
DELETE FROM security_group WHERE group_name IN ('web', 'db');
DELETE FROM vpc WHERE cidr_block = '10.40.0.0/16';
COMMIT;
SELECT iasql_wait_for_all(60);
