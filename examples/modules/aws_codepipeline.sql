-- A pipeline that takes what is put into a bucket and has somebody approve of it. Its source can be a repository, and further stages build and deploy.
BEGIN;
INSERT INTO iam_role (role_name, assume_role_policy_document) VALUES ('example-releaser',
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "codepipeline.amazonaws.com"}, "Action": "sts:AssumeRole"}]}');
INSERT INTO pipeline_declaration (name, service_role_name, artifact_store, stages) VALUES ('example', 'example-releaser', '{"Type": "S3", "Location": "example-artifacts"}', '[
    {"Name": "Source", "Actions": [{"Name": "Source", "ActionTypeId": {"Category": "Source", "Owner": "AWS", "Provider": "S3", "Version": "1"},
        "Configuration": {"S3Bucket": "example-releases", "S3ObjectKey": "app.zip"}, "OutputArtifacts": [{"Name": "source"}]}]},
    {"Name": "Approval", "Actions": [{"Name": "Approval", "ActionTypeId": {"Category": "Approval", "Owner": "AWS", "Provider": "Manual", "Version": "1"}}]}]');
COMMIT;
SELECT iasql_wait_for_all(60);
UPDATE pipeline_declaration SET execution_mode = 'QUEUED' WHERE name = 'example';
SELECT iasql_wait_for_all(60);
SELECT name, execution_mode, version, arn IS NOT NULL AS created FROM pipeline_declaration WHERE name = 'example';
BEGIN;
DELETE FROM pipeline_declaration WHERE name = 'example';
DELETE FROM iam_role WHERE role_name = 'example-releaser';
COMMIT;
SELECT iasql_wait_for_all(60);
