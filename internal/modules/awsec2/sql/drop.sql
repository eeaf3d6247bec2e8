DROP FUNCTION IF EXISTS iasql_internal.aws_ec2_target_port();
