-- A parameter, and one whose value is a secret.
INSERT INTO ssm_parameter (name, value, tags) VALUES ('/example/url', 'https://example.com', '{"team": "orders"}');
INSERT INTO ssm_parameter (name, type, secure_value) VALUES ('/example/password', 'SecureString', 'correct horse battery staple');
SELECT iasql_wait_for_all(60);
UPDATE ssm_parameter SET value = 'https://www.example.com' WHERE name = '/example/url';
-- The row shows that the value has changed, never the value.
UPDATE ssm_parameter SET secure_value = 'incorrect horse' WHERE name = '/example/password';
SELECT iasql_wait_for_all(60);
SELECT name, type, value, secure_value, version FROM ssm_parameter ORDER BY name;
DELETE FROM ssm_parameter WHERE name LIKE '/example/%';
SELECT iasql_wait_for_all(60);
