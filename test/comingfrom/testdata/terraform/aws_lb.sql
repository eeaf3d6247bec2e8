INSERT INTO load_balancer (load_balancer_name, scheme, load_balancer_type, subnets_records, attributes, tags)
SELECT 'gangway', 'internal', 'application', array_agg(id ORDER BY cidr_block),
    '{"deletion_protection.enabled": "true", "access_logs.s3.bucket": "gangway-logs", "access_logs.s3.prefix": "inside", "access_logs.s3.enabled": "true"}',
    '{"stage": "trial"}'
FROM subnet WHERE tags ->> 'Name' = 'quay';
INSERT INTO load_balancer_security_groups (load_balancer_id, security_group_id)
SELECT b.id, g.id FROM load_balancer b, security_group g WHERE b.load_balancer_name = 'gangway' AND g.group_name = 'quay';
INSERT INTO elastic_ip (domain, tags) VALUES ('vpc', '{"Name": "gangway"}'), ('vpc', '{"Name": "gangway"}');
INSERT INTO load_balancer (load_balancer_name, scheme, load_balancer_type, subnets_records, allocation_ids_records)
SELECT 'gangway-public', 'internet-facing', 'network', (SELECT array_agg(id ORDER BY cidr_block) FROM subnet WHERE tags ->> 'Name' = 'quay'),
    array_agg(id ORDER BY id) FROM elastic_ip WHERE tags ->> 'Name' = 'gangway';
INSERT INTO load_balancer (load_balancer_name, scheme, load_balancer_type, subnets_records, private_ipv4_addresses)
SELECT 'gangway-fixed', 'internal', 'network', array_agg(id ORDER BY cidr_block), '{10.60.1.15,10.60.2.15}' FROM subnet WHERE tags ->> 'Name' = 'quay';
