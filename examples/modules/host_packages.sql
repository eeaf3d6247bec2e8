-- A host's packages. Here the host is made, and has none.
INSERT INTO host (name, address) VALUES ('example', '192.0.2.1');
INSERT INTO host_scope (account, kind, pattern) VALUES ('example', 'package', 'nginx*');
BEGIN;
INSERT INTO host_package (account, name) VALUES ('example', 'nginx');
INSERT INTO host_package (account, name, version, held, may_remove) VALUES ('example', 'nginx-extras', '1.22.1-9', true, '{nginx-core}');
SELECT name, version, latest, held, automatic, configured FROM host_package ORDER BY name;
ROLLBACK;
DELETE FROM host WHERE name = 'example';
