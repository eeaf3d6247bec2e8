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
