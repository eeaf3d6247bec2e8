-- A GraphQL API whose callers have keys, and then are users and roles of AWS, too.
INSERT INTO graphql_api (name, authentication_type) VALUES ('example', 'API_KEY');
SELECT iasql_wait_for_all(60);
UPDATE graphql_api SET additional_authentication_providers = '[{"AuthenticationType": "AWS_IAM"}]', xray_enabled = true WHERE name = 'example';
SELECT iasql_wait_for_all(60);
SELECT name, authentication_type, additional_authentication_providers, uris, arn IS NOT NULL AS created FROM graphql_api WHERE name = 'example';
DELETE FROM graphql_api WHERE name = 'example';
SELECT iasql_wait_for_all(60);
