-- A secret, whose value can be set and never seen.
INSERT INTO secret (name, description, value) VALUES ('example/password', 'Of the example', 'correct horse');
SELECT iasql_wait_for_all(60);
SELECT version_id IS NOT NULL AS has_a_value, value FROM secret WHERE name = 'example/password';
UPDATE secret SET value = 'battery staple' WHERE name = 'example/password';
SELECT iasql_wait_for_all(60);
DELETE FROM secret WHERE name = 'example/password';
SELECT iasql_wait_for_all(60);
