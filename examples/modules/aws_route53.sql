-- A zone and its records, in one transaction.
BEGIN;
INSERT INTO hosted_zone (domain_name) VALUES ('example.test.');
INSERT INTO resource_record_set (parent_hosted_zone_id, name, record_type, record, ttl)
SELECT id, 'www.example.test.', 'A', '192.0.2.1', 300 FROM hosted_zone WHERE domain_name = 'example.test.';
COMMIT;
SELECT iasql_wait_for_all(60);
UPDATE resource_record_set SET ttl = 60 WHERE name = 'www.example.test.';
SELECT iasql_wait_for_all(60);
SELECT r.name, r.record_type, r.record, r.ttl FROM resource_record_set r WHERE r.name = 'www.example.test.';
BEGIN;
DELETE FROM resource_record_set WHERE name = 'www.example.test.';
DELETE FROM hosted_zone WHERE domain_name = 'example.test.';
COMMIT;
SELECT iasql_wait_for_all(60);
