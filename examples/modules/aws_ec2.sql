-- A web server with a key, a firewall, a role, a volume and an address of its own, in one transaction.
BEGIN;
INSERT INTO key_pair (name, public_key) VALUES ('example', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPcXVGCQmBKFHkGfbkPlmdPXo0rTAd6hhsbYuMLF+uI8 someone');
INSERT INTO security_group (group_name, description) VALUES ('example-web', 'Web servers');
INSERT INTO iam_role (role_name, assume_role_policy_document) VALUES ('example-server',
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]}');
INSERT INTO instance (ami, instance_type, key_pair_name, role_name, subnet_id, user_data, metadata_http_tokens, tags)
SELECT 'resolve:ssm:/aws/service/ami-amazon-linux-latest/amzn2-ami-hvm-x86_64-gp2', 't3.micro', 'example', 'example-server', id,
    E'#!/bin/sh\nyum install -y nginx', 'required', '{"Name": "example"}'
FROM subnet WHERE default_for_az AND region = default_aws_region() AND availability_zone = 'us-east-1a';
INSERT INTO instance_security_groups (instance_id, security_group_id)
SELECT i.id, g.id FROM instance i, security_group g WHERE i.tags ->> 'Name' = 'example' AND g.group_name = 'example-web';
INSERT INTO general_purpose_volume (availability_zone, size, tags) VALUES ('us-east-1a', 20, '{"Name": "example-data"}');
INSERT INTO instance_block_device_mapping (instance_id, volume_id, device_name)
SELECT i.id, v.id, '/dev/sdf' FROM instance i, general_purpose_volume v WHERE i.tags ->> 'Name' = 'example' AND v.tags ->> 'Name' = 'example-data';
INSERT INTO elastic_ip (tags) VALUES ('{"Name": "example"}');
INSERT INTO elastic_ip_association (elastic_ip_id, instance_id)
SELECT e.id, i.id FROM elastic_ip e, instance i WHERE e.tags ->> 'Name' = 'example' AND i.tags ->> 'Name' = 'example';
COMMIT;
SELECT iasql_wait_for_all(120);
SELECT i.state, i.status, i.role_name, i.private_ip_address IS NOT NULL AS has_address, m.device_name, v.state AS volume, m.delete_on_termination
FROM instance i JOIN instance_block_device_mapping m ON m.instance_id = i.id JOIN general_purpose_volume v ON v.id = m.volume_id
WHERE i.tags ->> 'Name' = 'example' ORDER BY m.device_name;
SELECT g.group_name FROM instance_security_groups ig JOIN instance i ON i.id = ig.instance_id JOIN security_group g ON g.id = ig.security_group_id
WHERE i.tags ->> 'Name' = 'example';

-- A larger one, which is stopped and started again for that, and a larger volume.
UPDATE instance SET instance_type = 't3.small' WHERE tags ->> 'Name' = 'example';
UPDATE general_purpose_volume SET size = 30 WHERE tags ->> 'Name' = 'example-data';
SELECT iasql_wait_for_all(120);
SELECT instance_type, state FROM instance WHERE tags ->> 'Name' = 'example';

-- And away: its volumes go with it.
BEGIN;
DELETE FROM instance WHERE tags ->> 'Name' = 'example';
DELETE FROM elastic_ip WHERE tags ->> 'Name' = 'example';
DELETE FROM security_group WHERE group_name = 'example-web';
DELETE FROM iam_role WHERE role_name = 'example-server';
DELETE FROM key_pair WHERE name = 'example';
COMMIT;
SELECT iasql_wait_for_all(120);
SELECT count(*) AS volumes FROM general_purpose_volume WHERE tags ->> 'Name' = 'example-data';
