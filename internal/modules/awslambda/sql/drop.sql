DROP FUNCTION IF EXISTS iasql_internal.aws_lambda_groups_in_vpc();
