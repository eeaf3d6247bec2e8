-- An instance, and what there is to know of it.
BEGIN;
INSERT INTO key_pair (name, public_key) VALUES ('example', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPcXVGCQmBKFHkGfbkPlmdPXo0rTAd6hhsbYuMLF+uI8 someone');
INSERT INTO instance (ami, instance_type, key_pair_name, tags)
VALUES ('resolve:ssm:/aws/service/ami-amazon-linux-latest/amzn2-ami-hvm-x86_64-gp2', 'm5.large', 'example', '{"Name": "example"}');
COMMIT;
SELECT iasql_wait_for_all(60);
SELECT iasql_sync_now();
SELECT m.architecture, m.cpu_cores, m.mem_size_mb, m.root_device_type, m.private_ip_address IS NOT NULL AS has_address
FROM instance_metadata m JOIN instance i USING (account, region, instance_id) WHERE i.tags ->> 'Name' = 'example';
BEGIN;
DELETE FROM instance WHERE tags ->> 'Name' = 'example';
DELETE FROM key_pair WHERE name = 'example';
COMMIT;
SELECT iasql_wait_for_all(60);
