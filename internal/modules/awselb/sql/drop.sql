DROP FUNCTION IF EXISTS iasql_internal.aws_elb_name();
