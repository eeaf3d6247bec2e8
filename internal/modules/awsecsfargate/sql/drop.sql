DROP FUNCTION IF EXISTS iasql_internal.aws_ecs_groups_in_vpc();
