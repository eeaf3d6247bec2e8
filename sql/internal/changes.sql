-- What iasql_changes_since asks: what records are called, which batches their changes belong to, and what a first reading has
-- found. Each is asked once for many records.

-- With the caller's own rights. Who may not see all columns of a table knows what its records are called by the audit log alone.
CREATE OR REPLACE FUNCTION iasql_internal.labels("table" text, ids bigint[]) RETURNS TABLE (record_id bigint, name text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    class    oid := to_regclass(format('public.%I', "table"));
    names    text[] := '{name}'; -- of a table that is not installed any more
    identity text[] := '{}';
    there    bigint[] := '{}';
BEGIN
    SELECT m.names, m.identity INTO names, identity FROM iasql_internal.managed_table m WHERE m.name = labels."table";
    IF FOUND AND class IS NOT NULL AND has_schema_privilege('public', 'USAGE') AND has_table_privilege(class, 'SELECT') THEN
        EXECUTE format('SELECT coalesce(array_agg(t.id), ''{}'') FROM public.%I t WHERE t.id = ANY ($1)', "table") INTO there USING ids;
        RETURN QUERY EXECUTE format('SELECT t.id, iasql_internal.label(to_jsonb(t), $2, $3) FROM public.%I t WHERE t.id = ANY ($1)', "table")
        USING there, names, identity;
    END IF;
    RETURN QUERY
    SELECT DISTINCT ON (l.record_id) l.record_id, iasql_internal.label(coalesce(l.change -> 'original', l.change -> 'change'), coalesce(names, '{name}'), identity)
    FROM public.iasql_audit_log l
    WHERE l.record_id IN (SELECT i.id FROM unnest(ids) i (id) EXCEPT SELECT h.id FROM unnest(there) h (id))
      AND l.table_name = labels."table" AND l.change_type IN ('INSERT', 'DELETE')
    ORDER BY l.record_id, l.id DESC;
END
$$;
COMMENT ON FUNCTION iasql_internal.labels(text, bigint[]) IS 'What people call records of a table, or called them when they went, as far as the caller may see them.';

-- No more than what iasql_batches shows of batches and iasql_configurations of configurations, however old.
CREATE OR REPLACE FUNCTION iasql_internal.batch_origins(ids bigint[]) RETURNS TABLE (id bigint, how text, left_out boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
    SELECT b.id, concat(CASE
               WHEN b.undoes IS NOT NULL THEN format('undo of batch %s (batch %s)', b.undoes, b.id)
               WHEN b.name = 'configuration ' || b.declares[1] AND cardinality(b.declares) = 1 THEN format('declaration of %s (batch %s)', b.declares[1], b.id)
               ELSE concat('batch ', b.id, ' (' || b.name || ')', ', with the declaration of ' || nullif(array_to_string(b.declares, ', '), '')) END,
               CASE WHEN b.closed_at IS NULL THEN ', not committed' WHEN b.outcome <> 'committed' THEN ', ' || b.outcome END),
           b.outcome IS NOT DISTINCT FROM 'rolled back'
    FROM iasql_internal.batch b WHERE b.id = ANY (ids);
END
$$;
COMMENT ON FUNCTION iasql_internal.batch_origins(bigint[]) IS 'In words which batches, declarations and undoings those are, and whether nothing is left of them.';

CREATE OR REPLACE FUNCTION iasql_internal.imports(accounts text[], tables text[]) RETURNS TABLE (account text, table_name text, until timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
    SELECT a.name, m.name, coalesce(i.at, 'infinity')
    FROM (SELECT DISTINCT u.account, u.table_name FROM unnest(accounts, tables) u (account, table_name)) u
    JOIN iasql_internal.account a ON a.name = u.account
    JOIN iasql_internal.managed_table m ON m.name = u.table_name
    LEFT JOIN iasql_internal.imported i ON i.account = a.name AND i.table_name = m.name;
END
$$;
COMMENT ON FUNCTION iasql_internal.imports(text[], text[]) IS 'Until when each table was first read of each account: what was found by then had been there before.';

-- The audit log's rows that somebody's change is behind. What the engine notes of it is no change of its own: what the cloud
-- assigns or chooses for what is created or replaced (is_drift), secrets that have gone out, what the first reading of a table
-- finds; nor are batches that were rolled back, with what was put back. With the caller's own rights.
CREATE OR REPLACE FUNCTION iasql_internal.changes(earliest timestamptz) RETURNS TABLE (entry public.iasql_audit_log, replaced boolean, how text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
    WITH logged AS MATERIALIZED (
        SELECT l AS entry, l.table_name, l.account, l.transaction_id AS batch
        FROM public.iasql_audit_log l
        WHERE l.ts >= earliest AND l.table_name IS NOT NULL AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE')
          AND NOT (l.origin = 'engine' AND l.xid IN (
              SELECT r.xid FROM public.iasql_audit_log r WHERE r.ts >= earliest - interval '1 hour' AND r.change_type = 'START_REVERT'))
    ), batches AS MATERIALIZED (
        SELECT o.* FROM iasql_internal.batch_origins(ARRAY(SELECT DISTINCT g.batch FROM logged g WHERE g.batch IS NOT NULL)) o
    ), imports AS MATERIALIZED (
        SELECT i.* FROM (SELECT array_agg(g.account) AS accounts, array_agg(g.table_name) AS tables
                         FROM (SELECT DISTINCT g.account, g.table_name FROM logged g) g) p
        CROSS JOIN LATERAL iasql_internal.imports(p.accounts, p.tables) i
    ), managed AS MATERIALIZED (
        SELECT m.name, m.assigned, m.assigned || m.local || m.write_only AS computed, m.assigned || m.local || m.write_only || m.chosen AS given,
               m.fixed || m.identity || CASE WHEN m.regional THEN '{region}'::text[] END AS fixed
        FROM iasql_internal.managed_table m
    ), sorted AS (
        SELECT g.entry, x.replaced, b.left_out, CASE
                   WHEN (g.entry).origin = 'user' THEN coalesce(b.how, 'batch ' || g.batch,
                            CASE WHEN (g.entry).message LIKE 'it has expired:%' THEN 'expiry' END, 'edit')
                   WHEN x.replaced THEN CASE WHEN NOT iasql_internal.asked_for(g.entry, m.fixed) THEN 'replacement by the engine' END
                   WHEN (g.entry).change_type = 'UPDATE' AND CASE
                       WHEN ((g.entry).change -> 'change') - m.computed = '{}' THEN true
                       WHEN ((g.entry).change -> 'change') - m.given <> '{}' THEN false
                       ELSE NOT iasql_internal.is_drift(g.entry, m.assigned) END THEN NULL
                   WHEN (g.entry).change_type = 'INSERT' AND (g.entry).ts <= i.until THEN NULL
                   WHEN (g.entry).change_type = 'DELETE' AND (g.table_name, replace((g.entry).key, E'\x1f', '|'), (g.entry)."user") IN (
                       SELECT f.table_name, f.cloud_id, f.by FROM public.iasql_forgotten f) THEN 'iasql_forget'
                   WHEN (g.entry).event_id IS NOT NULL THEN 'event of the cloud'
                   ELSE 'reading of the cloud' END AS how
        FROM logged g
        LEFT JOIN batches b ON b.id = g.batch
        LEFT JOIN imports i ON i.account = g.account AND i.table_name = g.table_name
        LEFT JOIN managed m ON m.name = g.table_name
        CROSS JOIN LATERAL (SELECT CASE
            WHEN (g.entry).change_type <> 'UPDATE' OR m.name IS NULL OR (g.entry).origin = 'engine' AND (g.entry).key IS NULL THEN false
            WHEN (g.entry).change -> 'change' ?| m.fixed THEN iasql_internal.was_replaced(g.entry)
            ELSE false END AS replaced) x
    )
    SELECT s.entry, s.replaced, s.how FROM sorted s WHERE s.how IS NOT NULL AND s.left_out IS NOT TRUE;
END
$$;
COMMENT ON FUNCTION iasql_internal.changes(timestamptz) IS 'The changes since then that somebody has made, here or in the cloud, and how each is known.';

-- Where two objects of a kind cannot be there at once the old one goes first, else the new one comes first. A user's change is
-- before that, what the engine notes of it after.
CREATE OR REPLACE FUNCTION iasql_internal.was_replaced(l public.iasql_audit_log) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT FROM public.iasql_operations o
                   WHERE o.table_name = l.table_name AND o.record_id = l.record_id AND o.replaces AND o.result IS DISTINCT FROM 'failed'
                     AND CASE l.origin WHEN 'user' THEN o.started BETWEEN l.ts AND coalesce(l.settled_at, 'infinity')
                         ELSE o.started <= l.ts AND coalesce(o.ended, l.ts) >= l.ts - interval '1 hour' END);
END
$$;
COMMENT ON FUNCTION iasql_internal.was_replaced(public.iasql_audit_log) IS 'Whether the object of a record was replaced because of an UPDATE, or what an UPDATE notes is that it was.';

CREATE OR REPLACE FUNCTION iasql_internal.asked_for(l public.iasql_audit_log, fixed text[]) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT FROM public.iasql_audit_log e
                   WHERE e.record_id = l.record_id AND e.table_name = l.table_name AND e.id < l.id AND e.origin = 'user' AND e.change_type = 'UPDATE'
                     AND coalesce(e.settled_at, 'infinity') >= l.ts AND e.change -> 'change' ?| fixed);
END
$$;
COMMENT ON FUNCTION iasql_internal.asked_for(public.iasql_audit_log, text[]) IS 'Whether a user''s edit of the record itself is behind a replacement: that has a row of its own.';
