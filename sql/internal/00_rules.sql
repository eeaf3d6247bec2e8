-- Part of rules_version (R19): a cycle that was decided by other rules begins anew.
CREATE OR REPLACE FUNCTION iasql_internal.protection_version() RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT coalesce(sum(hashtextextended((p.table_name, p.record_id, p.protected)::text, 0)), 0) FROM public.iasql_protection p)
        || ':' || (SELECT coalesce(sum(hashtextextended((i.table_name, i.match)::text, 0)), 0) FROM public.iasql_ignore i)
        || ':' || (SELECT coalesce(sum(hashtextextended((f.table_name, f.account, f.region, f.key)::text, 0)), 0) FROM iasql_internal.forgotten f)
        || ':' || (SELECT coalesce(sum(hashtextextended((a.table_name, a.key)::text, 0)), 0) FROM iasql_internal.adopted a)
        || ':' || iasql_internal.setting('drift');
END
$$;
COMMENT ON FUNCTION iasql_internal.protection_version() IS 'Changes whenever what is protected, ignored, forgotten or asked for does.';
