-- The rows of the present with the changes since taken back, newest first in effect: of each column the oldest original
-- counts, and a record whose first change since is an INSERT was not there. With the caller's own rights.
CREATE OR REPLACE FUNCTION iasql_internal.rows_as_of("table" text, at timestamptz) RETURNS SETOF jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    since timestamptz := iasql_internal.log_since();
BEGIN
    PERFORM iasql_internal.check_table("table");
    IF at IS NULL OR at < since THEN
        RAISE EXCEPTION 'table % cannot be shown as of %', "table", coalesce(at::text, 'NULL')
            USING ERRCODE = 'IA019', TABLE = "table",
                  HINT = CASE WHEN at IS NULL THEN 'Name a time, such as now() - interval ''1 hour''.'
                              ELSE format('The audit log reaches back to %s; the setting audit_retention says how long it is kept.', since) END;
    END IF;
    RETURN QUERY EXECUTE format($sql$
        WITH since AS (
            SELECT l.record_id, l.id, l.change_type, l.change -> 'original' AS original,
                   count(*) FILTER (WHERE l.change_type <> 'UPDATE') OVER (PARTITION BY l.record_id ORDER BY l.id) AS lives
            FROM public.iasql_audit_log l
            WHERE l.table_name = %1$L AND l.ts > $1 AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE')
        ), ends AS ( -- how the life that a record led at the time ended or, for an INSERT, that it led none
            SELECT s.record_id, s.change_type, s.original FROM since s WHERE s.lives = 1 AND s.change_type <> 'UPDATE'
        ), originals AS (
            SELECT f.record_id, jsonb_object_agg(f.key, f.value) AS original
            FROM (SELECT DISTINCT ON (s.record_id, e.key) s.record_id, e.key, e.value
                  FROM since s CROSS JOIN LATERAL jsonb_each(s.original) e
                  WHERE s.change_type = 'UPDATE' AND s.lives = 0
                  ORDER BY s.record_id, e.key, s.id) f
            GROUP BY f.record_id
        )
        SELECT iasql_internal.mask(coalesce(e.original, to_jsonb(t)) || coalesce(o.original, '{}'), $2)
        FROM public.%1$I t
        FULL JOIN ends e ON e.record_id = t.id
        LEFT JOIN originals o ON o.record_id = coalesce(t.id, e.record_id)
        WHERE e.change_type IS DISTINCT FROM 'INSERT'
        ORDER BY coalesce(t.id, e.record_id)
        $sql$, "table") USING at, iasql_internal.secrets("table");
END
$$;
COMMENT ON FUNCTION iasql_internal.rows_as_of(text, timestamptz) IS 'The rows of a managed table as they were.';

CREATE OR REPLACE FUNCTION public.iasql_as_of("table" text, ts timestamptz) RETURNS TABLE (record jsonb)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT r.record FROM iasql_internal.rows_as_of("table", ts) r (record);
END;
COMMENT ON FUNCTION public.iasql_as_of(text, timestamptz) IS
$$A table's rows as they were at that time, each as jsonb, as far back as the audit log is kept. Times are those of the writes; secrets stay masked. For typed rows pass NULL of the table's type instead of its name.
Sample: SELECT record -> 'tags' AS tags FROM iasql_as_of('vpc', now() - interval '1 hour')$$;

CREATE OR REPLACE FUNCTION public.iasql_as_of("table" anyelement, ts timestamptz) RETURNS SETOF anyelement
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    name text;
BEGIN
    SELECT c.relname INTO name FROM pg_type t JOIN pg_class c ON c.oid = t.typrelid
    WHERE t.oid = pg_typeof("table") AND c.relnamespace = 'public'::regnamespace;
    RETURN QUERY
    SELECT p.* FROM iasql_internal.rows_as_of(coalesce(name, pg_typeof("table")::text), ts) r (record)
    CROSS JOIN LATERAL jsonb_populate_record("table", r.record) p;
END
$$;
COMMENT ON FUNCTION public.iasql_as_of(anyelement, timestamptz) IS
$$A table's rows as they were at that time, with the table's own columns: pass NULL of the table's type.
Sample: SELECT vpc_id, tags FROM iasql_as_of(NULL::vpc, now() - interval '1 hour')$$;
