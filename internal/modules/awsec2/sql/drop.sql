DROP FUNCTION IF EXISTS iasql_internal.aws_ec2_target_port();
DROP FUNCTION IF EXISTS iasql_internal.aws_ec2_address_target();
