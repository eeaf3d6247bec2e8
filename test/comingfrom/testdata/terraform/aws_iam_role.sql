INSERT INTO iam_role (role_name, path, assume_role_policy_document, inline_policies, attached_policies_arns, tags) VALUES ('purser', '/crew/',
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]}',
    '{"look": {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "ec2:Describe*", "Resource": "*"}]}}',
    '{arn:aws:iam::aws:policy/ReadOnlyAccess}', '{"team": "harbour"}');
