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

CREATE OR REPLACE FUNCTION public.iasql_batch_costs(batch bigint)
RETURNS TABLE (table_name text, id bigint, before numeric, after numeric, difference numeric, unknown text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    records jsonb;
BEGIN
    IF batch IS NULL THEN
        PERFORM iasql_internal.refuse_null('iasql_batch_costs', 'batch', 'SELECT id FROM iasql_batches lists the batches.');
    END IF;
    SELECT jsonb_agg(jsonb_build_object('n', r.n, 'table', r.table_name, 'id', r.record_id,
               'before', CASE WHEN r.readable THEN iasql_internal.image(r.table_name, r.record_id, r.first) END,
               'after', CASE WHEN r.readable THEN iasql_internal.image(r.table_name, r.record_id, r.last + 1) END,
               'unknown', CASE WHEN NOT r.readable THEN 'you may not see all columns of the record' END))
    INTO records
    FROM (SELECT row_number() OVER (ORDER BY min(l.id)) AS n, l.table_name, l.record_id, min(l.id) AS first, max(l.id) AS last,
                 coalesce(has_table_privilege(to_regclass(format('public.%I', l.table_name)), 'SELECT'), false) AS readable
          FROM public.iasql_audit_log l
          WHERE l.transaction_id = batch AND l.origin = 'user' AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE')
          GROUP BY l.table_name, l.record_id) r;
    RETURN QUERY
    SELECT r ->> 'table', (r ->> 'id')::bigint, d.before, d.after, d.difference, d.unknown
    FROM iasql_internal.differences(coalesce(records, '[]')) d JOIN jsonb_array_elements(records) r ON (r ->> 'n')::bigint = d.n ORDER BY d.n;
END
$$;
COMMENT ON FUNCTION public.iasql_batch_costs(bigint) IS
$$What a batch, open or closed, changes in a month's costs, by iasql_prices and iasql_bills of today: of each record before, after, and the difference, which is NULL where unknown says why.
Sample: SELECT sum(difference) FROM iasql_batch_costs(1)$$;

CREATE OR REPLACE FUNCTION public.iasql_monthly("table" text, record jsonb) RETURNS numeric
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    price numeric;
BEGIN
    PERFORM iasql_internal.check_table("table");
    EXECUTE format('SELECT p.monthly FROM (%s) p', iasql_internal.pricing("table", 'SELECT 1::bigint AS n, $1 AS image')) INTO price USING record;
    RETURN price;
END
$$;
COMMENT ON FUNCTION public.iasql_monthly(text, jsonb) IS
$$What a record with these columns would cost in a month by iasql_prices; NULL if that is not known. For CHECK constraints and what-if questions.
Sample: SELECT iasql_monthly('elastic_ip', '{"region": "us-east-1"}')$$;
