-- Which security groups are unused?
-- Groups that no instance, load balancer, database or function is in, and that no rule of another group names. What else may have them, such as a mount target or an endpoint, is not looked at.
-- needs: aws_security_group.security_group aws_security_group.security_group_rule aws_ec2.instance_security_groups aws_elb.load_balancer_security_groups aws_rds.rds_security_groups aws_rds.db_cluster_security_groups aws_lambda.lambda_function_security_groups
SELECT g.id, g.account, g.region, g.group_id, g.group_name, g.description
FROM security_group g
WHERE g.is_default IS NOT TRUE
  AND NOT EXISTS (SELECT FROM instance_security_groups u WHERE u.security_group_id = g.id)
  AND NOT EXISTS (SELECT FROM load_balancer_security_groups u WHERE u.security_group_id = g.id)
  AND NOT EXISTS (SELECT FROM rds_security_groups u WHERE u.security_group_id = g.id)
  AND NOT EXISTS (SELECT FROM db_cluster_security_groups u WHERE u.security_group_id = g.id)
  AND NOT EXISTS (SELECT FROM lambda_function_security_groups u WHERE u.security_group_id = g.id)
  AND NOT EXISTS (SELECT FROM security_group_rule r WHERE r.source_security_group = g.id AND r.security_group_id <> g.id)
ORDER BY g.account, g.region, g.group_name;
