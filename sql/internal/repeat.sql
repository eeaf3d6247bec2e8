-- Prints user changes as SQL that repeats them in another database and account. There, ids and what the cloud assigns are
-- others, so that a record is named by what it is: by its natural key (the identity where users choose it, else the columns
-- that cannot change without a replacement), by its tags as well if that is not one record alone, and among twins made by
-- the same changes by their order. Each statement stands by itself: it needs no variables and no common transaction.
CREATE OR REPLACE FUNCTION iasql_internal.refers("table" text, "column" text) RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
RETURN (
    SELECT t.relname
    FROM pg_constraint c
    JOIN pg_class s ON s.oid = c.conrelid AND s.relnamespace = 'public'::regnamespace AND s.relname = refers."table"
    JOIN pg_class t ON t.oid = c.confrelid AND t.relnamespace = 'public'::regnamespace
    CROSS JOIN LATERAL unnest(c.conkey, c.confkey) k (mine, theirs)
    JOIN pg_attribute a ON a.attrelid = s.oid AND a.attnum = k.mine AND a.attname = refers."column"
    JOIN pg_attribute b ON b.attrelid = t.oid AND b.attnum = k.theirs AND b.attname = 'id'
    JOIN public.iasql_tables i ON i."table" = t.relname
    WHERE c.contype = 'f'
    LIMIT 1);
COMMENT ON FUNCTION iasql_internal.refers(text, text) IS 'The managed table whose ids a column holds; NULL for other columns.';

CREATE OR REPLACE FUNCTION iasql_internal.literal("table" text, "column" text, value jsonb) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET "DateStyle" = 'ISO' SET "IntervalStyle" = 'postgres' AS $$
DECLARE
    type pg_type;
    text text;
BEGIN
    IF value IS NULL OR value = 'null' THEN
        RETURN 'NULL';
    END IF;
    SELECT t.* INTO type FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
    WHERE a.attrelid = format('public.%I', "table")::regclass AND a.attname = "column";
    IF type.oid IN ('jsonb'::regtype, 'json'::regtype) THEN
        RETURN quote_literal(value::text);
    ELSIF type.typcategory IN ('A', 'C') THEN -- arrays and composites: as their own type prints them
        EXECUTE format('SELECT (jsonb_populate_record(NULL::public.%I, $1)).%I::text', "table", "column")
        INTO text USING jsonb_build_object("column", value);
        RETURN quote_literal(text);
    ELSIF type.typcategory IN ('N', 'B') AND jsonb_typeof(value) IN ('number', 'boolean') THEN
        RETURN value::text;
    END IF;
    RETURN quote_literal(value #>> '{}');
END
$$;
COMMENT ON FUNCTION iasql_internal.literal(text, text, jsonb) IS 'A column''s value, as the audit log has it, as an SQL literal.';

CREATE OR REPLACE FUNCTION iasql_internal.image("table" text, id bigint, before bigint) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    image jsonb;
    ended bigint;
    how   text;
    old   jsonb;
BEGIN
    SELECT l.id, l.change_type, l.change -> 'original' INTO ended, how, image
    FROM public.iasql_audit_log l
    WHERE l.table_name = image."table" AND l.record_id = image.id AND l.id >= before AND l.change_type IN ('INSERT', 'DELETE')
    ORDER BY l.id LIMIT 1;
    IF how = 'INSERT' THEN
        RETURN NULL;
    ELSIF how IS NULL THEN
        EXECUTE format('SELECT to_jsonb(t) FROM public.%I t WHERE t.id = $1', "table") INTO image USING id;
    END IF;
    SELECT jsonb_object_agg(f.key, f.value) INTO old
    FROM (SELECT DISTINCT ON (e.key) e.key, e.value
          FROM public.iasql_audit_log l CROSS JOIN LATERAL jsonb_each(l.change -> 'original') e
          WHERE l.table_name = image."table" AND l.record_id = image.id AND l.id >= before AND l.id < coalesce(ended, 9223372036854775807)
            AND l.change_type = 'UPDATE'
          ORDER BY e.key, l.id) f;
    RETURN image || coalesce(old, '{}');
END
$$;
COMMENT ON FUNCTION iasql_internal.image(text, bigint, bigint) IS 'A record as it was just before an audit row; NULL if it was not, or is not known any more.';

CREATE OR REPLACE FUNCTION iasql_internal.twins("table" text, id bigint, alike jsonb, before bigint, ids bigint[], OUT made bigint, OUT made_later bigint, OUT others bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT count(*), count(*) FILTER (WHERE l.record_id > twins.id) INTO made, made_later
    FROM public.iasql_audit_log l
    WHERE l.id = ANY (ids) AND l.id < before AND l.table_name = twins."table" AND l.change_type = 'INSERT' AND l.record_id <> twins.id
      AND (NOT EXISTS (SELECT FROM jsonb_each(alike) a WHERE l.change -> 'change' -> a.key IS DISTINCT FROM a.value)
           OR EXISTS (SELECT FROM public.iasql_audit_log u
                      WHERE u.table_name = l.table_name AND u.record_id = l.record_id AND u.change_type = 'UPDATE' AND u.id < before))
      AND NOT EXISTS (SELECT FROM jsonb_each(alike) a
                      WHERE coalesce((SELECT u.change -> 'change' -> a.key FROM public.iasql_audit_log u
                                      WHERE u.table_name = l.table_name AND u.record_id = l.record_id AND u.change_type = 'UPDATE'
                                        AND u.id < before AND u.change -> 'change' ? a.key
                                      ORDER BY u.id DESC LIMIT 1), l.change -> 'change' -> a.key) IS DISTINCT FROM a.value)
      AND NOT EXISTS (SELECT FROM public.iasql_audit_log d
                      WHERE d.table_name = l.table_name AND d.record_id = l.record_id AND d.change_type = 'DELETE' AND d.id = ANY (ids) AND d.id < before);
    EXECUTE format(
        'SELECT count(*) FROM public.%1$I t WHERE t.id <> $1 AND %2$s
         AND NOT EXISTS (SELECT FROM public.iasql_audit_log l WHERE l.table_name = %1$L AND l.record_id = t.id AND l.change_type = ''INSERT'' AND l.id = ANY ($2))',
        "table", (SELECT string_agg(format('t.%I IS NOT DISTINCT FROM %s', a.key, iasql_internal.literal("table", a.key, a.value)), ' AND ') FROM jsonb_each(alike) a))
    INTO others USING id, ids;
END
$$;
COMMENT ON FUNCTION iasql_internal.twins(text, bigint, jsonb, bigint, bigint[]) IS 'How many records are alike: made by the same changes, of these with a greater id, and others.';

CREATE OR REPLACE FUNCTION iasql_internal.named("table" text, id bigint, before bigint, ids bigint[], depth integer DEFAULT 0) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    managed   iasql_internal.managed_table;
    image     jsonb := iasql_internal.image("table", id, before);
    known_by  text[];
    alike     record;
    in_order  text := '';
    condition text;
BEGIN
    SELECT * INTO managed FROM iasql_internal.managed_table m WHERE m.name = named."table";
    IF image IS NULL THEN
        RETURN format('(SELECT id FROM %I WHERE false) /* record %s is not in the audit log any more */', "table", id);
    END IF;
    known_by := managed.natural_key;
    IF NOT managed.identity <@ known_by OR known_by = '{}' THEN
        alike := iasql_internal.twins("table", id, (SELECT jsonb_object_agg(k, image -> k) FROM unnest(known_by) k), before, ids);
        IF (alike.made > 0 OR alike.others > 0) AND image ? 'tags' THEN
            known_by := known_by || '{tags}'::text[];
            alike := iasql_internal.twins("table", id, (SELECT jsonb_object_agg(k, image -> k) FROM unnest(known_by) k), before, ids);
        END IF;
        IF EXISTS (SELECT FROM public.iasql_audit_log l WHERE l.id = ANY (ids) AND l.id < before AND l.change_type = 'INSERT'
                   AND l.table_name = named."table" AND l.record_id = named.id) THEN
            IF alike.made > 0 OR alike.others > 0 THEN
                in_order := concat(' ORDER BY id DESC', ' OFFSET ' || nullif(alike.made_later, 0), ' LIMIT 1');
            END IF;
        ELSIF alike.made > 0 OR alike.others > 0 OR depth > 8 THEN
            known_by := managed.identity; -- no more than the cloud's own id tells it from the others
        END IF;
    END IF;
    SELECT string_agg(
        CASE WHEN image ->> k.name IS NULL THEN format('%I IS NULL', k.name)
             WHEN r.target IS NOT NULL THEN format('%I = %s', k.name, iasql_internal.named(r.target, (image ->> k.name)::bigint, before, ids, depth + 1))
             ELSE format('%I = %s', k.name, iasql_internal.literal("table", k.name, image -> k.name)) END, ' AND ' ORDER BY k.ord)
    INTO condition
    FROM unnest(known_by) WITH ORDINALITY k (name, ord)
    CROSS JOIN LATERAL iasql_internal.refers("table", k.name) r (target)
    WHERE NOT (k.name = 'account' AND iasql_internal.is_default_account("table", image ->> 'account') AND (SELECT count(*) FROM iasql_internal.account) < 2);
    RETURN format('(SELECT id FROM %I WHERE %s%s)', "table", coalesce(condition, 'true'), in_order);
END
$$;
COMMENT ON FUNCTION iasql_internal.named(text, bigint, bigint, bigint[], integer) IS 'A sub-select for a record''s id by what names it elsewhere, as of an audit row; ids are the changes that are repeated.';

-- Whether a row that names no account is in this one.
CREATE OR REPLACE FUNCTION iasql_internal.is_default_account("table" text, account text) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    expression text;
    answer     boolean;
BEGIN
    SELECT pg_get_expr(d.adbin, d.adrelid) INTO expression
    FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
    WHERE d.adrelid = format('public.%I', "table")::regclass AND a.attname = 'account';
    IF expression IS NULL THEN
        RETURN false;
    END IF;
    EXECUTE format('SELECT %s = $1', expression) INTO answer USING account;
    RETURN answer;
END
$$;
COMMENT ON FUNCTION iasql_internal.is_default_account(text, text) IS 'Whether the account is what the column account of a table has by default.';

CREATE OR REPLACE FUNCTION iasql_internal.repeat(ids bigint[]) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    managed iasql_internal.managed_table;
    entry   public.iasql_audit_log;
    values_ jsonb;
    names   text;
    list    text;
    sets    text;
    hidden  text;
BEGIN
    FOR entry IN
        SELECT l.* FROM public.iasql_audit_log l
        WHERE l.id = ANY (ids) AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE')
        ORDER BY l.id
    LOOP
        SELECT * INTO managed FROM iasql_internal.managed_table m WHERE m.name = entry.table_name;
        IF NOT FOUND THEN
            RETURN NEXT format('-- %s of record %s of %s is left out: its module is not installed any more', entry.change_type, entry.record_id, entry.table_name);
            CONTINUE;
        END IF;
        IF entry.change_type = 'DELETE' THEN
            RETURN NEXT format('DELETE FROM %I WHERE id = %s;', entry.table_name, iasql_internal.named(entry.table_name, entry.record_id, entry.id, ids));
            CONTINUE;
        END IF;
        values_ := entry.change -> 'change';
        SELECT string_agg(quote_ident(c.name), ', ' ORDER BY a.attnum), string_agg(v.literal, ', ' ORDER BY a.attnum),
               string_agg(format('%I = %s', c.name, v.literal), ', ' ORDER BY a.attnum)
        INTO names, list, sets
        FROM unnest(managed.columns || managed.local) c (name)
        JOIN pg_attribute a ON a.attrelid = format('public.%I', entry.table_name)::regclass AND a.attname = c.name
        CROSS JOIN LATERAL iasql_internal.refers(entry.table_name, c.name) r (target)
        CROSS JOIN LATERAL (SELECT CASE WHEN r.target IS NULL OR values_ ->> c.name IS NULL THEN iasql_internal.literal(entry.table_name, c.name, values_ -> c.name)
                                        ELSE iasql_internal.named(r.target, (values_ ->> c.name)::bigint, entry.id, ids) END AS literal) v
        WHERE values_ ? c.name AND NOT c.name = ANY (managed.assigned || managed.write_only)
          AND NOT (entry.change_type = 'INSERT' AND (
                       values_ ->> c.name IS NULL AND NOT a.atthasdef
                       OR c.name = 'account' AND iasql_internal.is_default_account(entry.table_name, values_ ->> 'account')));
        SELECT string_agg(c.name, ', ' ORDER BY c.name) INTO hidden
        FROM unnest(managed.write_only) c (name) WHERE values_ ->> c.name IS NOT NULL;
        IF hidden IS NOT NULL THEN
            hidden := format(E'-- %s of %s is a secret and left out: the audit log does not have it\n', hidden, entry.table_name);
        END IF;
        IF names IS NULL THEN
            IF entry.change_type = 'INSERT' THEN
                RETURN NEXT concat(hidden, format('INSERT INTO %I DEFAULT VALUES;', entry.table_name));
            ELSIF hidden IS NOT NULL THEN
                RETURN NEXT rtrim(hidden, E'\n');
            END IF;
        ELSIF entry.change_type = 'INSERT' THEN
            RETURN NEXT concat(hidden, format('INSERT INTO %I (%s) VALUES (%s);', entry.table_name, names, list));
        ELSE
            RETURN NEXT concat(hidden, format('UPDATE %I SET %s WHERE id = %s;', entry.table_name, sets,
                                              iasql_internal.named(entry.table_name, entry.record_id, entry.id, ids)));
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION iasql_internal.repeat(bigint[]) IS 'The SQL that repeats these changes elsewhere, in their order.';
