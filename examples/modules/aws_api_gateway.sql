-- An HTTP API that browsers may call from another site.
INSERT INTO api (name, description, cors_configuration)
VALUES ('example', 'Calls from a web page', '{"AllowOrigins": ["https://www.example.com"], "AllowMethods": ["GET", "POST"]}');
SELECT iasql_wait_for_all(60);
UPDATE api SET version = '2' WHERE name = 'example';
SELECT iasql_wait_for_all(60);
SELECT name, protocol_type, version, api_endpoint IS NOT NULL AS reached FROM api WHERE name = 'example';
DELETE FROM api WHERE name = 'example';
SELECT iasql_wait_for_all(60);
