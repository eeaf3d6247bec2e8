-- Run after the tables have been dropped. Without CASCADE: what users have built on these is theirs to drop.
DROP FUNCTION IF EXISTS iasql_internal.aws_regions_one_default();
DROP FUNCTION IF EXISTS iasql_internal.aws_regions_keep_default();
DROP FUNCTION IF EXISTS iasql_internal.aws_regions_keep_choice();
DROP FUNCTION IF EXISTS iasql_internal.aws_account_let_go();
DROP FUNCTION IF EXISTS iasql_internal.aws_account_move_choices();
DROP FUNCTION IF EXISTS iasql_internal.aws_account_one_default();
DROP FUNCTION IF EXISTS iasql_internal.aws_account_check_identity();
DROP FUNCTION IF EXISTS iasql_internal.aws_account_first_default();
DROP FUNCTION IF EXISTS public.default_aws_region(text);
DROP FUNCTION IF EXISTS public.default_aws_region();
DROP FUNCTION IF EXISTS public.default_aws_account();
DROP VIEW IF EXISTS iasql_internal.aws_secret;
DROP TABLE IF EXISTS iasql_internal.aws_region_choice;
DROP TABLE IF EXISTS public.aws_identity_allowed;
