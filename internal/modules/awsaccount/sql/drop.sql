-- Run before the tables are dropped, which use two of the functions. Without
-- CASCADE: what users have built on them is theirs to drop.
ALTER TABLE public.aws_regions ALTER COLUMN account DROP DEFAULT;
DROP TRIGGER IF EXISTS aws_regions_one_default ON public.aws_regions;
DROP TRIGGER IF EXISTS aws_regions_keep_default ON public.aws_regions;
DROP TRIGGER IF EXISTS aws_account_one_default ON public.aws_account;
DROP TRIGGER IF EXISTS aws_account_first_default ON public.aws_account;
DROP TRIGGER IF EXISTS aws_account_zz_forget_staged ON public.aws_account;
DROP TRIGGER IF EXISTS aws_account_keep_secrets ON public.aws_account;
DROP TRIGGER IF EXISTS aws_account_hide_secrets ON public.aws_account;
DROP FUNCTION IF EXISTS iasql_internal.aws_regions_one_default();
DROP FUNCTION IF EXISTS iasql_internal.aws_regions_keep_default();
DROP FUNCTION IF EXISTS iasql_internal.aws_account_one_default();
DROP FUNCTION IF EXISTS iasql_internal.aws_account_first_default();
DROP FUNCTION IF EXISTS iasql_internal.aws_account_forget_staged();
DROP FUNCTION IF EXISTS iasql_internal.aws_account_keep_secrets();
DROP FUNCTION IF EXISTS iasql_internal.aws_account_hide_secrets();
DROP FUNCTION IF EXISTS public.default_aws_region();
DROP FUNCTION IF EXISTS public.default_aws_account();
DROP TABLE IF EXISTS iasql_internal.aws_secret_staged;
DROP TABLE IF EXISTS iasql_internal.aws_secret;
