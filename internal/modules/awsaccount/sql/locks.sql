-- Two transactions that set a default each do not see each other's, and so must not run at once. The advisory locks of
-- version 1 could be taken, and kept, by anybody. Of the modes that exclude each other this is the one that nobody without
-- rights on the table can take, or hold up: to mention a table is to lock it, whatever one may do with it, but only in
-- modes that do not conflict with this one (manual, section 13.3.1).
CREATE OR REPLACE FUNCTION iasql_internal.aws_account_one_default() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    LOCK TABLE iasql_internal.account IN SHARE UPDATE EXCLUSIVE MODE;
    UPDATE public.aws_account AS a
    SET is_default = false
    WHERE a.is_default
        AND a.id <> NEW.id
        -- An earlier row of the same statement may have won already.
        AND EXISTS (SELECT FROM public.aws_account AS n WHERE n.id = NEW.id AND n.is_default);
    RETURN NULL;
END;
$$;

CREATE OR REPLACE FUNCTION iasql_internal.aws_regions_one_default() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    LOCK TABLE iasql_internal.account IN SHARE UPDATE EXCLUSIVE MODE;
    UPDATE public.aws_regions AS r
    SET is_default = false
    WHERE r.account = NEW.account
        AND r.is_default
        AND r.id <> NEW.id
        AND EXISTS (SELECT FROM public.aws_regions AS n WHERE n.id = NEW.id AND n.is_default);
    RETURN NULL;
END;
$$;
