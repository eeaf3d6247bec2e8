-- A role that instances may assume, with a managed policy and one of its own.
INSERT INTO iam_role (role_name, assume_role_policy_document, attached_policies_arns, inline_policies) VALUES ('example-web',
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]}',
    '{arn:aws:iam::aws:policy/AmazonS3ReadOnlyAccess}',
    '{"queue": {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": "*"}]}}');
INSERT INTO iam_user (user_name) VALUES ('example-user');
SELECT iasql_wait_for_all(60);
UPDATE iam_role SET description = 'Web servers', attached_policies_arns = NULL WHERE role_name = 'example-web';
SELECT iasql_wait_for_all(60);
SELECT role_name, arn IS NOT NULL AS created, description, attached_policies_arns FROM iam_role WHERE role_name = 'example-web';
DELETE FROM iam_role WHERE role_name = 'example-web';
DELETE FROM iam_user WHERE user_name = 'example-user';
SELECT iasql_wait_for_all(60);
