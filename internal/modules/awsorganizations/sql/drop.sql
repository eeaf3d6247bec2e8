DROP TABLE IF EXISTS iasql_internal.aws_organization_added;
DROP TABLE IF EXISTS public.aws_organization_rule;
DROP FUNCTION IF EXISTS iasql_internal.aws_organization_rule_changed();
DROP FUNCTION IF EXISTS iasql_internal.aws_organization_add_accounts();
