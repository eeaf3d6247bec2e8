-- Prints user changes as SQL that repeats them in another database and account. There, ids and what the cloud assigns are
-- others, so that a record is named by what it is: by its natural key (the identity where users choose it, else the columns
-- that cannot change without a replacement), by its tags as well if that is not one record alone, and among twins made by
-- the same changes by their order. Each statement stands by itself: it needs no variables and no common transaction.
--
-- With the caller's own rights, so that it prints only what the caller sees.
--
-- What is known of the changes as a whole is found out once and handed down (known):
--   tables  table → see iasql_internal.about
--   born    record → the audit row that made it, of those that are repeated
--   alike   table and values of the natural key → the records made that ever had them
CREATE OR REPLACE FUNCTION iasql_internal.about("table" text) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    account text;
    about   jsonb;
BEGIN
    -- The account of rows that name none.
    SELECT pg_get_expr(d.adbin, d.adrelid) INTO account
    FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
    WHERE d.adrelid = format('public.%I', "table")::regclass AND a.attname = 'account';
    IF FOUND THEN
        EXECUTE 'SELECT ' || account INTO account;
    END IF;
    SELECT jsonb_build_object(
        'account', account, 'one_account', (SELECT count(*) < 2 FROM iasql_internal.account),
        'natural', m.natural_key, 'identity', m.identity, 'named', m.identity <@ m.natural_key AND m.natural_key <> '{}', 'secrets', m.write_only,
        'written', (SELECT jsonb_agg(a.attname ORDER BY a.attnum) FROM pg_attribute a
                    WHERE a.attrelid = c.oid AND a.attname = ANY (m.columns || m.local) AND NOT a.attname = ANY (m.assigned || m.write_only)),
        'columns', (SELECT jsonb_object_agg(a.attname, jsonb_build_object(
                        'default', a.atthasdef,
                        'kind', CASE WHEN t.oid IN ('jsonb'::regtype, 'json'::regtype) THEN 'json' WHEN t.typcategory IN ('A', 'C') THEN 'list'
                                     WHEN t.typcategory IN ('N', 'B') THEN 'number' ELSE 'text' END,
                        'refers', (SELECT r.relname
                                   FROM pg_constraint f
                                   CROSS JOIN LATERAL unnest(f.conkey, f.confkey) k (mine, theirs)
                                   JOIN pg_class r ON r.oid = f.confrelid AND r.relnamespace = c.relnamespace
                                   JOIN pg_attribute b ON b.attrelid = r.oid AND b.attnum = k.theirs AND b.attname = 'id'
                                   JOIN iasql_internal.managed_table i ON i.name = r.relname
                                   WHERE f.contype = 'f' AND f.conrelid = c.oid AND k.mine = a.attnum LIMIT 1)))
                    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
                    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped))
    INTO about
    FROM iasql_internal.managed_table m JOIN pg_class c ON c.oid = format('public.%I', m.name)::regclass
    WHERE m.name = about."table";
    RETURN about;
END
$$;
COMMENT ON FUNCTION iasql_internal.about(text) IS 'What repeating changes of a managed table needs to know of it.';

CREATE OR REPLACE FUNCTION iasql_internal.literal("table" text, "column" text, value jsonb, about jsonb) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET "DateStyle" = 'ISO' SET "IntervalStyle" = 'postgres' AS $$
DECLARE
    kind text := about #>> ARRAY['columns', "column", 'kind'];
    text text;
BEGIN
    IF value IS NULL OR value = 'null' THEN
        RETURN 'NULL';
    ELSIF kind = 'json' THEN
        RETURN quote_literal(value::text);
    ELSIF kind = 'list' THEN -- arrays and composites: as their own type prints them
        EXECUTE format('SELECT (jsonb_populate_record(NULL::public.%I, $1)).%I::text', "table", "column")
        INTO text USING jsonb_build_object("column", value);
        RETURN quote_literal(text);
    ELSIF kind = 'number' AND jsonb_typeof(value) IN ('number', 'boolean') THEN
        RETURN value::text;
    END IF;
    RETURN quote_literal(value #>> '{}');
END
$$;
COMMENT ON FUNCTION iasql_internal.literal(text, text, jsonb, jsonb) IS 'A column''s value, as the audit log has it, as an SQL literal.';

CREATE OR REPLACE FUNCTION iasql_internal.image("table" text, id bigint, before bigint) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
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

CREATE OR REPLACE FUNCTION iasql_internal.part(image jsonb, columns jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
RETURN (SELECT jsonb_object_agg(c, image -> c) FROM jsonb_array_elements_text(columns) c);
COMMENT ON FUNCTION iasql_internal.part(jsonb, jsonb) IS 'Some columns of a row.';

CREATE OR REPLACE FUNCTION iasql_internal.twins("table" text, id bigint, candidates jsonb, part jsonb, before bigint, known jsonb, about jsonb,
                                                OUT made bigint, OUT made_later bigint, OUT others bigint)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT count(*), count(*) FILTER (WHERE c::bigint > twins.id) INTO made, made_later
    FROM jsonb_array_elements_text(candidates) c
    WHERE c::bigint <> twins.id AND (known #>> ARRAY['born', concat(twins."table", ' ', c)])::bigint < before
      AND iasql_internal.part(iasql_internal.image(twins."table", c::bigint, before), (SELECT jsonb_agg(k) FROM jsonb_object_keys(part) k)) = part;
    EXECUTE format('SELECT count(*) FROM public.%I t WHERE t.id <> $1 AND %s AND NOT $2 ? concat(%L, '' '', t.id)', "table",
                   (SELECT string_agg(format('t.%I %s', a.key, coalesce('= ' || nullif(iasql_internal.literal("table", a.key, a.value, about), 'NULL'), 'IS NULL')), ' AND ')
                    FROM jsonb_each(part) a), "table")
    INTO others USING id, known -> 'born';
END
$$;
COMMENT ON FUNCTION iasql_internal.twins(text, bigint, jsonb, jsonb, bigint, jsonb, jsonb) IS 'How many records are alike: made by the same changes, of these with a greater id, and others.';

CREATE OR REPLACE FUNCTION iasql_internal.named("table" text, id bigint, before bigint, known jsonb, depth integer DEFAULT 0) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    about     jsonb := coalesce(known #> ARRAY['tables', "table"], iasql_internal.about("table"));
    image     jsonb := iasql_internal.image("table", id, before);
    known_by  jsonb := about -> 'natural';
    alike     jsonb;
    twins     record;
    in_order  text := '';
    condition text;
BEGIN
    IF image IS NULL THEN
        RETURN format('(SELECT id FROM %I WHERE false) /* record %s is not in the audit log any more */', "table", id);
    END IF;
    IF NOT (about ->> 'named')::boolean THEN
        alike := known #> ARRAY['alike', concat("table", ' ', iasql_internal.part(image, known_by))];
        twins := iasql_internal.twins("table", id, alike, iasql_internal.part(image, known_by), before, known, about);
        IF (twins.made > 0 OR twins.others > 0) AND image ? 'tags' THEN
            known_by := known_by || '["tags"]';
            twins := iasql_internal.twins("table", id, alike, iasql_internal.part(image, known_by), before, known, about);
        END IF;
        IF (known #>> ARRAY['born', concat("table", ' ', id)])::bigint < before THEN
            IF twins.made > 0 OR twins.others > 0 THEN
                in_order := concat(' ORDER BY id DESC', ' OFFSET ' || nullif(twins.made_later, 0), ' LIMIT 1');
            END IF;
        ELSIF twins.made > 0 OR twins.others > 0 OR depth > 8 THEN
            known_by := about -> 'identity'; -- no more than the cloud's own id tells it from the others
        END IF;
    END IF;
    SELECT string_agg(
        CASE WHEN image ->> k.name IS NULL THEN format('%I IS NULL', k.name)
             WHEN r.target IS NOT NULL THEN format('%I = %s', k.name, iasql_internal.named(r.target, (image ->> k.name)::bigint, before, known, depth + 1))
             ELSE format('%I = %s', k.name, iasql_internal.literal("table", k.name, image -> k.name, about)) END, ' AND ' ORDER BY k.ord)
    INTO condition
    FROM jsonb_array_elements_text(known_by) WITH ORDINALITY k (name, ord)
    CROSS JOIN LATERAL (SELECT about #>> ARRAY['columns', k.name, 'refers']) r (target)
    WHERE NOT (k.name = 'account' AND image ->> 'account' IS NOT DISTINCT FROM about ->> 'account' AND (about ->> 'one_account')::boolean);
    RETURN format('(SELECT id FROM %I WHERE %s%s)', "table", coalesce(condition, 'true'), in_order);
END
$$;
COMMENT ON FUNCTION iasql_internal.named(text, bigint, bigint, jsonb, integer) IS 'A sub-select for a record''s id by what names it elsewhere, as of an audit row.';

CREATE OR REPLACE FUNCTION iasql_internal.repeat(ids bigint[]) RETURNS SETOF text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known   jsonb;
    about   jsonb;
    entry   public.iasql_audit_log;
    image   jsonb;
    names   text;
    list    text;
    sets    text;
    hidden  text;
BEGIN
    -- An instance of a composition makes its parts there as well.
    IF EXISTS (SELECT FROM iasql_internal.composition_part) THEN
        ids := ARRAY(
            SELECT l.id FROM public.iasql_audit_log l
            WHERE l.id = ANY (ids) AND NOT EXISTS (
                SELECT FROM iasql_internal.composed c
                JOIN public.iasql_audit_log i ON i.record_id = c.instance AND i.table_name = c.composition AND i.xid = l.xid
                WHERE c.table_name = l.table_name AND c.record_id = l.record_id)
            ORDER BY l.id);
    END IF;
    SELECT jsonb_build_object('tables', coalesce(jsonb_object_agg(t.table_name, iasql_internal.about(t.table_name)), '{}')) INTO known
    FROM (SELECT DISTINCT l.table_name FROM public.iasql_audit_log l JOIN iasql_internal.managed_table m ON m.name = l.table_name WHERE l.id = ANY (ids)) t;
    known := known || jsonb_build_object(
        'born', (SELECT coalesce(jsonb_object_agg(concat(l.table_name, ' ', l.record_id), l.id), '{}')
                 FROM public.iasql_audit_log l WHERE l.id = ANY (ids) AND l.change_type = 'INSERT'),
        'alike', (SELECT coalesce(jsonb_object_agg(a.key, a.records), '{}')
                  FROM (SELECT concat(l.table_name, ' ', iasql_internal.part(CASE l.change_type WHEN 'INSERT' THEN l.change -> 'change' ELSE
                                          iasql_internal.image(l.table_name, l.record_id, l.id) || (l.change -> 'change') END, t.about -> 'natural')) AS key,
                               jsonb_agg(DISTINCT l.record_id) AS records
                        FROM public.iasql_audit_log l CROSS JOIN LATERAL (SELECT known #> ARRAY['tables', l.table_name]) t (about)
                        WHERE l.id = ANY (ids) AND NOT (t.about ->> 'named')::boolean
                          AND (l.change_type = 'INSERT' OR l.change_type = 'UPDATE' AND EXISTS (
                                   SELECT FROM jsonb_object_keys(l.change -> 'change') c WHERE t.about -> 'natural' ? c))
                        GROUP BY 1) a));
    FOR entry IN
        SELECT l.* FROM public.iasql_audit_log l
        WHERE l.id = ANY (ids) AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE')
        ORDER BY l.id
    LOOP
        about := known #> ARRAY['tables', entry.table_name];
        image := entry.change -> 'change';
        IF about IS NULL THEN
            RETURN NEXT format('-- %s of record %s of %s is left out: its module is not installed any more', entry.change_type, entry.record_id, entry.table_name);
            CONTINUE;
        ELSIF entry.change_type = 'DELETE' THEN
            RETURN NEXT format('DELETE FROM %I WHERE id = %s;', entry.table_name, iasql_internal.named(entry.table_name, entry.record_id, entry.id, known));
            CONTINUE;
        END IF;
        SELECT string_agg(quote_ident(c.name), ', ' ORDER BY c.ord), string_agg(v.literal, ', ' ORDER BY c.ord),
               string_agg(format('%I = %s', c.name, v.literal), ', ' ORDER BY c.ord)
        INTO names, list, sets
        FROM jsonb_array_elements_text(about -> 'written') WITH ORDINALITY c (name, ord)
        CROSS JOIN LATERAL (SELECT about #>> ARRAY['columns', c.name, 'refers']) r (target)
        CROSS JOIN LATERAL (SELECT CASE WHEN r.target IS NULL OR image ->> c.name IS NULL THEN iasql_internal.literal(entry.table_name, c.name, image -> c.name, about)
                                        ELSE iasql_internal.named(r.target, (image ->> c.name)::bigint, entry.id, known) END) v (literal)
        WHERE image ? c.name
          AND NOT (entry.change_type = 'INSERT' AND (
                       image ->> c.name IS NULL AND NOT (about #>> ARRAY['columns', c.name, 'default'])::boolean
                       OR c.name = 'account' AND image ->> 'account' = about ->> 'account'));
        SELECT format(E'-- %s of %s is a secret and left out: the audit log does not have it\n', string_agg(c.name, ', ' ORDER BY c.name), entry.table_name) INTO hidden
        FROM jsonb_array_elements_text(about -> 'secrets') c (name) WHERE image ->> c.name IS NOT NULL
        HAVING count(*) > 0;
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
                                              iasql_internal.named(entry.table_name, entry.record_id, entry.id, known)));
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION iasql_internal.repeat(bigint[]) IS 'The SQL that repeats these changes elsewhere, in their order.';
