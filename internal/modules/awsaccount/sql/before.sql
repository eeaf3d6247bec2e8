-- The functions that the columns account and region of every AWS table have as
-- their defaults. In PL/pgSQL, which looks for tables when it runs: these come
-- first, because aws_regions itself has such a default. They are the owner's,
-- so that a default works for whoever may insert.

CREATE OR REPLACE FUNCTION public.default_aws_account() RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN (
        SELECT a.name
        FROM public.aws_account AS a
        ORDER BY a.is_default DESC, a.id
        LIMIT 1
    );
END;
$$;

COMMENT ON FUNCTION public.default_aws_account() IS
    'The account that rows belong to which name none: the one of aws_account with is_default. Sample usage: SELECT default_aws_account();';

CREATE OR REPLACE FUNCTION public.default_aws_region() RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN coalesce(
        (
            SELECT r.region
            FROM public.aws_regions AS r
            WHERE r.account = public.default_aws_account() AND r.is_default
            ORDER BY r.id
            LIMIT 1
        ),
        'us-east-1'
    );
END;
$$;

COMMENT ON FUNCTION public.default_aws_region() IS
    'The region that rows belong to which name none: the default account''s region with is_default, us-east-1 if there is none. Sample usage: SELECT default_aws_region();';
