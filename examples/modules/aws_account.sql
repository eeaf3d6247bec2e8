-- A second account, with an access key of its own. The secret is never shown again. COMMIT it with a key that is yours.
BEGIN;
INSERT INTO aws_account (name, access_key_id, secret_access_key) VALUES ('staging', 'AKIAIOSFODNN7EXAMPLE', 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY');
SELECT name, is_default, access_key_id, secret_access_key FROM aws_account ORDER BY name;
ROLLBACK;

-- Roles and profiles that the engine's host can use take a member of iasql_engine to allow them first:
--   INSERT INTO aws_identity_allowed (role_arn) VALUES ('arn:aws:iam::123456789012:role/iasql-*');
--   INSERT INTO aws_account (name, role_arn) VALUES ('audit', 'arn:aws:iam::123456789012:role/iasql-audit');

-- Look at two regions only, and put new records into the second unless they say otherwise.
UPDATE aws_regions SET is_enabled = region IN ('us-east-1', 'eu-west-1') WHERE account = default_aws_account();
UPDATE aws_regions SET is_default = true WHERE account = default_aws_account() AND region = 'eu-west-1';
SELECT default_aws_region();

UPDATE aws_regions SET is_default = true WHERE account = default_aws_account() AND region = 'us-east-1';
