DROP FUNCTION IF EXISTS iasql_internal.aws_route53_name();
