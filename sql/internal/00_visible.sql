-- What the caller may see of the managed tables, by the grants and row-level security policies that administrators put on
-- them (manual, sections 5.7 and 5.8), for everything else that speaks of their rows. With the caller's own rights: in a
-- policy, and in a view, functions run as whoever asks, whoever owns the view (manual, CREATE VIEW).

CREATE OR REPLACE FUNCTION iasql_internal.restricted() RETURNS text[]
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT coalesce(array_agg(r.name), '{}')
    FROM (SELECT t."table" AS name
          FROM public.iasql_tables t
          LEFT JOIN pg_class c ON c.relname = t."table" AND c.relnamespace = 'public'::regnamespace
          WHERE c.oid IS NULL OR row_security_active(c.oid) OR NOT has_table_privilege(c.oid, 'SELECT')
          UNION ALL
          SELECT h.name FROM iasql_internal.hidden_table h
          WHERE NOT pg_has_role('iasql_engine', 'USAGE') AND NOT EXISTS (SELECT FROM public.iasql_tables t WHERE t."table" = h.name)) r;
END;
COMMENT ON FUNCTION iasql_internal.restricted() IS 'The tables of which the caller may not see all rows or all columns.';

CREATE OR REPLACE FUNCTION iasql_internal.limited() RETURNS text[]
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT coalesce(array_agg(r.name), '{}') FROM unnest(iasql_internal.restricted()) r (name)
    LEFT JOIN pg_class c ON c.relname = r.name AND c.relnamespace = 'public'::regnamespace
    WHERE c.oid IS NULL OR NOT has_table_privilege(c.oid, 'SELECT');
END;
COMMENT ON FUNCTION iasql_internal.limited() IS 'The tables of which the caller may not see all columns.';

CREATE OR REPLACE FUNCTION iasql_internal.seen() RETURNS TABLE (table_name text, record_id bigint)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    name text;
BEGIN
    FOR name IN
        SELECT c.relname FROM unnest(iasql_internal.restricted()) r (name)
        JOIN pg_class c ON c.relname = r.name AND c.relnamespace = 'public'::regnamespace
        WHERE EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'id' AND has_column_privilege(a.attrelid, a.attnum, 'SELECT'))
    LOOP
        RETURN QUERY EXECUTE format('SELECT %L::text, t.id FROM public.%I t', name, name);
    END LOOP;
END
$$;
COMMENT ON FUNCTION iasql_internal.seen() IS 'The records that the caller sees of the tables that are restricted().';

CREATE OR REPLACE FUNCTION iasql_internal.readable("table" text, image jsonb) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT coalesce(bool_and(a.attnum IS NOT NULL AND has_column_privilege(a.attrelid, a.attnum, 'SELECT')), true)
    FROM jsonb_object_keys(CASE WHEN jsonb_typeof(image) = 'object' THEN image ELSE '{}' END) k (name)
    LEFT JOIN (pg_attribute a JOIN pg_class c ON c.oid = a.attrelid AND c.relnamespace = 'public'::regnamespace)
        ON c.relname = readable."table" AND a.attname = k.name AND NOT a.attisdropped;
END;
COMMENT ON FUNCTION iasql_internal.readable(text, jsonb) IS 'Whether the caller may read every column that is a key of the object.';

CREATE OR REPLACE FUNCTION iasql_internal.seen_accounts() RETURNS text[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    definer text;
    names   text[];
    part    text[];
BEGIN
    FOR definer IN -- the tables whose rows are accounts
        SELECT c.relname FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid AND c.relnamespace = 'public'::regnamespace
        WHERE g.tgname = 'iasql_account' AND NOT g.tgisinternal AND c.relname = ANY (iasql_internal.restricted())
    LOOP
        part := '{}';
        IF has_column_privilege(format('public.%I', definer), 'name', 'SELECT') THEN
            EXECUTE format('SELECT coalesce(array_agg(t.name), ''{}'') FROM public.%I t', definer) INTO part;
        END IF;
        names := coalesce(names, '{}') || part;
    END LOOP;
    RETURN names;
END
$$;
COMMENT ON FUNCTION iasql_internal.seen_accounts() IS 'The accounts whose rows the caller sees; NULL: all.';

-- Row-level security lets a row be locked only by who may change it (manual, CREATE POLICY, table 290).
CREATE OR REPLACE FUNCTION iasql_internal.may(what text, "table" text, id bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    class oid := to_regclass(format('public.%I', "table"));
    found_it boolean;
BEGIN
    IF class IS NULL OR NOT EXISTS (SELECT FROM public.iasql_tables t WHERE t."table" = may."table") THEN
        RETURN false;
    ELSIF what = 'change' AND NOT has_any_column_privilege(class, 'UPDATE') AND NOT has_table_privilege(class, 'DELETE')
          OR what = 'see' AND NOT has_column_privilege(class, 'id', 'SELECT') THEN
        RETURN false;
    ELSIF NOT row_security_active(class) THEN
        RETURN true;
    END IF;
    EXECUTE format('SELECT true FROM public.%I t WHERE t.id = $1 %s', "table", CASE what WHEN 'change' THEN 'FOR KEY SHARE' ELSE '' END)
    INTO found_it USING id;
    RETURN coalesce(found_it, false)
        -- What one has deleted oneself is one's own.
        OR EXISTS (SELECT FROM public.iasql_audit_log l
                   WHERE l.table_name = may."table" AND l.record_id = may.id AND NOT l.settled AND l.change_type = 'DELETE'
                     AND l."user" = iasql_internal.writer());
END
$$;
COMMENT ON FUNCTION iasql_internal.may(text, text, bigint) IS 'Whether the caller may see or change a record.';

CREATE OR REPLACE FUNCTION iasql_internal.permit(what text, "table" text, ids bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    id bigint;
BEGIN
    FOREACH id IN ARRAY ids LOOP
        IF iasql_internal.may(what, "table", id) THEN
            INSERT INTO iasql_internal.permit (table_name, record_id, may) VALUES ("table", id, what);
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION iasql_internal.permit(text, text, bigint[]) IS 'Puts on record which of the records the caller may see or change, for a function with the system''s rights.';

CREATE OR REPLACE FUNCTION iasql_internal.permitted(what text, "table" text, id bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM iasql_internal.permit p
    WHERE p.xid = pg_current_xact_id_if_assigned() AND p.table_name = permitted."table" AND p.record_id = permitted.id AND p.may IN (what, 'change');
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION iasql_internal.permitted(text, text, bigint) IS 'Whether the caller has just been found to be allowed to; takes the permit.';

CREATE OR REPLACE FUNCTION iasql_internal.refuse_hidden("table" text, id bigint) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'permission denied: record % of % is not yours to change', id, "table"
        USING ERRCODE = '42501', TABLE = "table", HINT = 'Grants or row-level security of the table say so; an administrator can change them.';
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_hidden(text, bigint) IS 'Raises for a record that the caller may not change.';
