-- A project that builds what a repository of GitHub has, and the role as which it does, in one transaction.
BEGIN;
INSERT INTO iam_role (role_name, assume_role_policy_document) VALUES ('example-builder',
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "codebuild.amazonaws.com"}, "Action": "sts:AssumeRole"}]}');
INSERT INTO codebuild_project (project_name, source_type, source_location, environment_variables, service_role_name)
VALUES ('example', 'GITHUB', 'https://github.com/example/app', '[{"Name": "STAGE", "Value": "test"}]', 'example-builder');
COMMIT;
SELECT iasql_wait_for_all(60);
SELECT project_name, source_location, image, compute_type, arn IS NOT NULL AS created FROM codebuild_project WHERE project_name = 'example';
BEGIN;
DELETE FROM codebuild_project WHERE project_name = 'example';
DELETE FROM iam_role WHERE role_name = 'example-builder';
COMMIT;
SELECT iasql_wait_for_all(60);
