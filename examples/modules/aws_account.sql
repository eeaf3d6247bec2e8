-- A second account, reached by assuming a role from the first one's credentials.
INSERT INTO aws_account (name, role_arn) VALUES ('staging', 'arn:aws:iam::123456789012:role/iasql');
SELECT name, is_default, role_arn FROM aws_account ORDER BY name;

-- Look at two regions only, and put new records into the second unless they say otherwise.
UPDATE aws_regions SET is_enabled = region IN ('us-east-1', 'eu-west-1') WHERE account = default_aws_account();
UPDATE aws_regions SET is_default = true WHERE account = default_aws_account() AND region = 'eu-west-1';
SELECT default_aws_region();

UPDATE aws_regions SET is_default = true WHERE account = default_aws_account() AND region = 'us-east-1';
DELETE FROM aws_account WHERE name = 'staging';
