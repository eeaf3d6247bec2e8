DROP FUNCTION IF EXISTS iasql_internal.aws_peering_accepter();
