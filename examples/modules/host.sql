-- A host that is reached by SSH, and what of it is looked at. Nothing is done before its key has been confirmed:
-- SELECT iasql_confirm('identity', 'example');
INSERT INTO host (name, address, user_name, become, labels) VALUES ('example', '192.0.2.1', 'admin', true, '{"role": "web"}');
INSERT INTO host_scope (account, pattern) VALUES ('example', '/etc/myapp/**');
UPDATE host SET locked_by = 'the night shift' WHERE name = 'example';
SELECT name, address, labels, locked_by, private_key FROM host WHERE name = 'example';
SELECT pattern, prune FROM host_scope WHERE account = 'example';
DELETE FROM host WHERE name = 'example';
