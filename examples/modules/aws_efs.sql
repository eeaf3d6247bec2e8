-- A file system that can be mounted in a subnet.
INSERT INTO vpc (cidr_block, tags) VALUES ('10.80.0.0/16', '{"Name": "files"}');
INSERT INTO subnet (vpc_id, cidr_block, availability_zone, tags) SELECT id, '10.80.1.0/24', 'us-east-1a', '{"Name": "files"}' FROM vpc WHERE tags ->> 'Name' = 'files';
INSERT INTO efs_file_system (tags) VALUES ('{"Name": "files"}');
INSERT INTO efs_mount_target (file_system_id, subnet_id)
  SELECT f.id, s.id FROM efs_file_system f, subnet s WHERE f.tags ->> 'Name' = 'files' AND s.tags ->> 'Name' = 'files';
SELECT iasql_wait_for_all(120);
UPDATE efs_file_system SET lifecycle_policies = '[{"TransitionToIA": "AFTER_30_DAYS"}]' WHERE tags ->> 'Name' = 'files';
SELECT iasql_wait_for_all(60);
SELECT f.encrypted, f.throughput_mode, f.lifecycle_policies, m.ip_address IS NOT NULL AS mounted FROM efs_file_system f JOIN efs_mount_target m ON m.file_system_id = f.id WHERE f.tags ->> 'Name' = 'files';
-- Its mount target goes first, and all its files with it.
DELETE FROM efs_file_system WHERE tags ->> 'Name' = 'files';
SELECT iasql_wait_for_all(120);
DELETE FROM subnet WHERE tags ->> 'Name' = 'files';
DELETE FROM vpc WHERE tags ->> 'Name' = 'files';
SELECT iasql_wait_for_all(60);
