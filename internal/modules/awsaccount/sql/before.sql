-- The functions that the columns account and region of every AWS table have as
-- their defaults. In PL/pgSQL, which looks for tables when it runs: these come
-- first, because aws_regions itself has such a default. They are the owner's,
-- so that a default works for whoever may insert.

CREATE OR REPLACE FUNCTION public.default_aws_account() RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
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
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
DECLARE
    default_account text := public.default_aws_account();
    found           text;
BEGIN
    SELECT r.region INTO found
    FROM public.aws_regions AS r
    WHERE r.account = default_account
    ORDER BY r.is_default DESC, r.region = 'us-east-1' DESC, r.id
    LIMIT 1;
    -- Any name would break the row's foreign key, which does not say why.
    IF found IS NULL THEN
        RAISE EXCEPTION 'no region of account % is known yet', coalesce(default_account, '(none)')
            USING ERRCODE = 'IA028', TABLE = 'aws_regions', HINT = 'SELECT * FROM iasql_get_errors() says why, such as credentials that AWS does not know. '
                'Once that is mended, SELECT iasql_sync_now() reads the regions, or wait for the next cycle.';
    END IF;
    RETURN found;
END;
$$;

COMMENT ON FUNCTION public.default_aws_region() IS
    'The region that rows belong to which name none: the default account''s region with is_default. An error if no region of the account is known yet. Sample usage: SELECT default_aws_region();';

-- With the caller's rights: it writes what an UPDATE of his own would.
CREATE OR REPLACE FUNCTION public.default_aws_region(region text) RETURNS text
    LANGUAGE plpgsql VOLATILE
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
DECLARE
    default_account text := public.default_aws_account();
BEGIN
    UPDATE public.aws_regions AS r SET is_default = true WHERE r.account = default_account AND r.region = default_aws_region.region;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'account % has no region %', coalesce(default_account, '(none)'), coalesce(region, 'NULL')
            USING ERRCODE = 'IA028', TABLE = 'aws_regions', HINT = 'SELECT region FROM aws_regions lists them.';
    END IF;
    RETURN region;
END;
$$;

COMMENT ON FUNCTION public.default_aws_region(text) IS
    'Makes a region of the default account the one that rows belong to which name none, and returns it. Sample usage: SELECT default_aws_region(''eu-west-1'');';
