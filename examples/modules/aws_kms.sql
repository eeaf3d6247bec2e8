-- A key that is rotated every year, and the name by which programs use it.
INSERT INTO kms_key (description, enable_key_rotation, tags) VALUES ('of the orders', true, '{"team": "orders"}');
INSERT INTO kms_alias (alias_name, target_key_id) SELECT 'alias/orders', id FROM kms_key WHERE tags ->> 'team' = 'orders';
SELECT iasql_wait_for_all(60);
UPDATE kms_key SET description = 'of the orders and their invoices' WHERE tags ->> 'team' = 'orders';
SELECT iasql_wait_for_all(60);
SELECT alias_name, description, key_state, enable_key_rotation FROM kms_alias a JOIN kms_key k ON k.id = a.target_key_id WHERE alias_name = 'alias/orders';
-- The key waits 30 days for its deletion, and the alias goes at once.
DELETE FROM kms_key WHERE tags ->> 'team' = 'orders';
SELECT iasql_wait_for_all(60);
