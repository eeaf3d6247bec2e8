CREATE OR REPLACE FUNCTION public.iasql_preview_costs()
RETURNS TABLE (action text, table_name text, id bigint, description text, before numeric, after numeric, difference numeric, unknown text)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    made bigint := iasql_internal.preview_declared();
BEGIN
    RETURN QUERY
    SELECT p.action, p.table_name, p.id, p.description, c.before, c.after, c.difference, c.unknown
    FROM iasql_internal.preview_costs(made) c JOIN iasql_internal.previewed p ON p.request = made AND p.ord = c.ord ORDER BY p.ord;
END
$$;
COMMENT ON FUNCTION public.iasql_preview_costs() IS
$$What each push of iasql_preview() changes in a month's costs, by iasql_prices and iasql_bills: before, after, and the difference, which is NULL where unknown says why. Changes nothing.
Sample: SELECT sum(difference), count(unknown) AS unknown FROM iasql_preview_costs()$$;
