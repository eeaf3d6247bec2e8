SELECT 'execution' AS key, w.account, w.name || '-' || w.region || '-execution' AS role_name,
       '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "ecs-tasks.amazonaws.com"}, "Action": "sts:AssumeRole"}]}'::jsonb AS assume_role_policy_document,
       '{arn:aws:iam::aws:policy/service-role/AmazonECSTaskExecutionRolePolicy}'::text[] AS attached_policies_arns, w.tags
FROM web_service w
