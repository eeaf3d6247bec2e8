CREATE OR REPLACE FUNCTION iasql_internal.undone_batches() RETURNS bigint[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
RETURN (SELECT coalesce(array_agg(b.id), '{}') FROM iasql_internal.batch b WHERE b.closed_at IS NOT NULL AND b.outcome <> 'committed');
COMMENT ON FUNCTION iasql_internal.undone_batches() IS 'The batches that were closed and not committed.';

CREATE OR REPLACE FUNCTION iasql_internal.batch_exists(id bigint) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
RETURN (SELECT EXISTS (SELECT FROM iasql_internal.batch b WHERE b.id = batch_exists.id));
COMMENT ON FUNCTION iasql_internal.batch_exists(bigint) IS 'Whether there is or was a batch of that number.';

CREATE OR REPLACE FUNCTION public.iasql_get_sql_since(ts timestamptz DEFAULT NULL) RETURNS TABLE (sql text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT r.statement
    FROM iasql_internal.repeat((
        SELECT coalesce(array_agg(l.id ORDER BY l.id), '{}')
        FROM public.iasql_audit_log l
        WHERE l.origin = 'user' AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE')
          AND (iasql_get_sql_since.ts IS NULL OR l.ts >= iasql_get_sql_since.ts)
          AND NOT coalesce(l.transaction_id = ANY ((SELECT iasql_internal.undone_batches())::bigint[]), false))) r (statement);
END;
COMMENT ON FUNCTION public.iasql_get_sql_since(timestamptz) IS
$$The SQL that repeats what users have changed since that time, of all the audit log if none is given, in another database and account. Foreign keys become sub-selects on what names the row; ids, secrets, what the cloud assigns, and batches that were rolled back are left out.
Sample: SELECT sql FROM iasql_get_sql_since(now() - interval '1 day')$$;

CREATE OR REPLACE FUNCTION public.iasql_get_sql_for_transaction(id bigint DEFAULT NULL) RETURNS TABLE (sql text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    batch bigint := coalesce(id, (SELECT max(l.transaction_id) FROM public.iasql_audit_log l));
BEGIN
    IF id IS NOT NULL AND NOT iasql_internal.batch_exists(batch)
       AND NOT EXISTS (SELECT FROM public.iasql_audit_log l WHERE l.transaction_id = batch) THEN
        RAISE EXCEPTION 'there is no batch %', id
            USING ERRCODE = 'IA022', HINT = 'SELECT DISTINCT transaction_id, message FROM iasql_audit_log lists the batches.';
    END IF;
    RETURN QUERY
    SELECT r.statement
    FROM iasql_internal.repeat((
        SELECT coalesce(array_agg(l.id ORDER BY l.id), '{}')
        FROM public.iasql_audit_log l
        WHERE l.transaction_id = batch AND l.origin = 'user' AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE'))) r (statement);
END
$$;
COMMENT ON FUNCTION public.iasql_get_sql_for_transaction(bigint) IS
$$The SQL that repeats a batch, the newest if none is named, in another database and account. Foreign keys become sub-selects on what names the row; ids, secrets and what the cloud assigns are left out.
Sample: SELECT sql FROM iasql_get_sql_for_transaction(1)$$;
