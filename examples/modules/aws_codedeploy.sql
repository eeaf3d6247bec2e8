-- An application, and the instances with the tag app=web that it is deployed to. Nothing is deployed yet: codedeploy_deploy does it.
BEGIN;
INSERT INTO iam_role (role_name, assume_role_policy_document) VALUES ('example-deployer',
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "codedeploy.amazonaws.com"}, "Action": "sts:AssumeRole"}]}');
INSERT INTO codedeploy_application (name) VALUES ('example');
INSERT INTO codedeploy_deployment_group (application_id, name, role_name, ec2_tag_filters)
SELECT id, 'production', 'example-deployer', '[{"Key": "app", "Value": "web", "Type": "KEY_AND_VALUE"}]' FROM codedeploy_application WHERE name = 'example';
COMMIT;
SELECT iasql_wait_for_all(60);
SELECT a.name, a.compute_platform, g.name, g.deployment_config_name, g.deployment_group_id IS NOT NULL AS created
FROM codedeploy_application a JOIN codedeploy_deployment_group g ON g.application_id = a.id WHERE a.name = 'example';
