-- Files of SQL are applied again and again. Where the cloud makes up an object's name, an INSERT meets no unique
-- constraint: it makes a second record of what the configuration has already. So, before what is no longer mentioned is
-- pruned, the records that a declaration has inserted are compared with those that it is about to let go of. One that is
-- the same by what people call it, or by its natural key (see repeat.sql), is that record: the new one goes, what refers to
-- it refers to the old one, and the old one gets the values that differ.

CREATE OR REPLACE FUNCTION iasql_internal.lists_in("table" text) RETURNS TABLE ("column" text, target text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT a.args[2], c.relname::text
    FROM pg_trigger g
    JOIN pg_proc f ON f.oid = g.tgfoid AND f.proname = 'leave_records' AND f.pronamespace = 'iasql_internal'::regnamespace
    JOIN pg_class c ON c.oid = g.tgrelid
    CROSS JOIN LATERAL (SELECT string_to_array(encode(g.tgargs, 'escape'), '\000') AS args) a
    WHERE a.args[1] = "table"
$$;
COMMENT ON FUNCTION iasql_internal.lists_in(text) IS 'The columns of a table that are lists of records, and of which table those are.';

-- pairs: {table: {id of a new record: id of the old one}}
CREATE OR REPLACE FUNCTION iasql_internal.refer_to_old(image jsonb, "table" text, about jsonb, pairs jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN image || coalesce((
        SELECT jsonb_object_agg(c.key, pairs #> ARRAY[c.value ->> 'refers', image ->> c.key])
        FROM jsonb_each(about -> 'columns') c
        WHERE pairs #> ARRAY[c.value ->> 'refers', image ->> c.key] IS NOT NULL), '{}') || coalesce((
        SELECT jsonb_object_agg(l."column", (
            SELECT jsonb_agg(coalesce(pairs #> ARRAY[l.target, e.value #>> '{}'], e.value) ORDER BY e.n)
            FROM jsonb_array_elements(image -> l."column") WITH ORDINALITY e (value, n)))
        FROM iasql_internal.lists_in("table") l WHERE jsonb_typeof(image -> l."column") = 'array'), '{}');
END
$$;
COMMENT ON FUNCTION iasql_internal.refer_to_old(jsonb, text, jsonb, jsonb) IS 'A row with the old records in place of the new ones that it refers to.';

CREATE OR REPLACE FUNCTION iasql_internal.label_of(image jsonb, names text[]) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
RETURN coalesce((SELECT min(t.value) FROM jsonb_each_text(CASE jsonb_typeof(image -> 'tags') WHEN 'object' THEN image -> 'tags' END) t
                 WHERE lower(t.key) = 'name' AND t.value <> ''),
                (SELECT min(image ->> n) FROM unnest(names) n));
COMMENT ON FUNCTION iasql_internal.label_of(jsonb, text[]) IS 'What people call a record: by a tag called name, however that is spelt, or by a column.';

CREATE OR REPLACE FUNCTION iasql_internal.again(configuration text, declaration bigint)
RETURNS TABLE (table_name text, height integer, news bigint[], olds bigint[], changes jsonb)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off
SET extra_float_digits = 1 SET "IntervalStyle" = 'postgres' SET bytea_output = 'hex' AS $$
#variable_conflict use_column
DECLARE
    "table"   record;
    managed   iasql_internal.managed_table;
    about     jsonb;
    pairs     jsonb := '{}';
    new_rows  jsonb;
    old_rows  jsonb;
    candidate record;
BEGIN
    FOR "table" IN
        WITH h AS MATERIALIZED (SELECT * FROM iasql_internal.heights())
        SELECT g.table_name AS name, g.olds, h.height, array_agg(s.record_id) AS news
        FROM (SELECT l.table_name, ARRAY(SELECT i FROM unnest(l.ids) i WHERE NOT iasql_internal.is_part(l.table_name, i)) AS olds
              FROM iasql_internal.let_go(configuration, declaration) l) g
        JOIN h ON h.name = g.table_name
        JOIN iasql_internal.declaration d ON d.id = declaration
        JOIN iasql_internal.staged s ON s.table_name = g.table_name AND s.batch = d.batch AND s.inserted
        JOIN iasql_internal.mention m ON m.declaration = d.id AND m.table_name = s.table_name AND m.record_id = s.record_id
        WHERE NOT iasql_internal.is_part(s.table_name, s.record_id) -- those their instance names
        GROUP BY 1, 2, 3 ORDER BY h.height, g.table_name
    LOOP
        SELECT * INTO managed FROM iasql_internal.managed_table m WHERE m.name = "table".name;
        about := iasql_internal.about("table".name);
        EXECUTE format('SELECT jsonb_agg(to_jsonb(t)) FILTER (WHERE t.id = ANY ($1)), jsonb_agg(to_jsonb(t)) FILTER (WHERE t.id = ANY ($2))
                        FROM public.%I t WHERE t.id = ANY ($1 || $2)', "table".name)
        INTO new_rows, old_rows USING "table".news, "table".olds;
        table_name := "table".name;
        height := "table".height;
        news := '{}';
        olds := '{}';
        changes := '[]';
        FOR candidate IN
            WITH n AS MATERIALIZED (
                SELECT (r.image ->> 'id')::bigint AS id, r.image, iasql_internal.label_of(r.image, managed.names) AS label
                FROM (SELECT iasql_internal.refer_to_old(j, "table".name, about, pairs) AS image FROM jsonb_array_elements(new_rows) j) r
            ), o AS MATERIALIZED (
                SELECT (r.image ->> 'id')::bigint AS id, r.image, iasql_internal.label_of(r.image, managed.names) AS label
                FROM jsonb_array_elements(old_rows) r (image)
            )
            SELECT n.id AS new, o.id AS old, d.differs, (
                       SELECT min(s) FROM unnest(managed.write_only) s WHERE n.image ->> s IS NOT NULL) AS secret
            FROM n JOIN o ON n.image ->> 'account' IS NOT DISTINCT FROM o.image ->> 'account'
                         AND (NOT managed.regional OR n.image ->> 'region' IS NOT DISTINCT FROM o.image ->> 'region')
            CROSS JOIN LATERAL (
                SELECT coalesce(jsonb_object_agg(c.name, n.image -> c.name), '{}') AS differs
                FROM jsonb_array_elements_text(about -> 'written') c (name)
                WHERE n.image -> c.name IS DISTINCT FROM o.image -> c.name
                  AND NOT (n.image -> c.name = 'null' AND c.name = ANY (managed.chosen || managed.follows))
                  AND NOT (c.name = ANY (managed.follows) AND jsonb_typeof(n.image -> c.name) = 'array' AND n.image -> c.name @> '[null]')
            ) d
            WHERE n.label = o.label OR d.differs = '{}'
               OR managed.natural_key <> '{}' AND NOT d.differs ?| managed.natural_key
            ORDER BY (n.label = o.label) IS TRUE DESC, (SELECT count(*) FROM jsonb_object_keys(d.differs)), n.id, o.id
        LOOP
            CONTINUE WHEN candidate.new = ANY (news) OR candidate.old = ANY (olds);
            IF candidate.secret IS NOT NULL THEN
                RAISE EXCEPTION 'record % of % is inserted again, as record %, with a value of %', candidate.old, "table".name,
                        candidate.new, candidate.secret
                    USING ERRCODE = 'IA031', TABLE = "table".name, COLUMN = candidate.secret,
                          HINT = 'Secrets cannot be compared. Update the record, or name it with iasql_mention(), where it is there already.';
            END IF;
            news := news || candidate.new;
            olds := olds || candidate.old;
            changes := changes || jsonb_build_array(candidate.differs);
        END LOOP;
        CONTINUE WHEN news = '{}';
        pairs := pairs || jsonb_build_object(table_name, (SELECT jsonb_object_agg(p.new, p.old) FROM unnest(news, olds) p (new, old)));
        INSERT INTO iasql_internal.mention (declaration, table_name, record_id)
        SELECT again.declaration, "table".name, i FROM unnest(olds) i ON CONFLICT DO NOTHING;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION iasql_internal.again(text, bigint) IS 'Which records that a declaration has inserted are records that it would let go of, with the values that differ; mentions those.';

-- With the caller's rights, by statements that the caller could make.
CREATE OR REPLACE FUNCTION iasql_internal.fold_again(configuration text, declaration bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found_ jsonb := (SELECT jsonb_agg(to_jsonb(a) ORDER BY a.height DESC) FROM iasql_internal.again(configuration, declaration) a);
    same   record;
    child  record;
    pair   record;
    total  bigint := 0;
BEGIN
    IF found_ IS NULL THEN
        RETURN 0;
    END IF;
    -- What refers to a new record is this batch's (R21): another new one, which goes too, or one that stays.
    FOR same IN SELECT * FROM jsonb_to_recordset(found_) f (table_name text, news bigint[], olds bigint[]) LOOP
        FOR child IN
            SELECT r.relname AS name, a.attname AS "column", false AS list
            FROM pg_constraint k
            JOIN pg_class r ON r.oid = k.conrelid AND r.relnamespace = 'public'::regnamespace
            JOIN public.iasql_tables t ON t."table" = r.relname
            JOIN pg_attribute a ON a.attrelid = r.oid AND a.attnum = k.conkey[1]
            JOIN pg_attribute b ON b.attrelid = k.confrelid AND b.attnum = k.confkey[1] AND b.attname = 'id'
            WHERE k.contype = 'f' AND k.confrelid = format('public.%I', same.table_name)::regclass AND cardinality(k.conkey) = 1
            UNION ALL
            SELECT t."table", l."column", true
            FROM public.iasql_tables t CROSS JOIN LATERAL iasql_internal.lists_in(t."table") l WHERE l.target = same.table_name
        LOOP
            EXECUTE format(CASE WHEN child.list THEN
                'UPDATE public.%1$I x SET %2$I = (SELECT array_agg(coalesce(p.old, e.id) ORDER BY e.n)
                                                  FROM unnest(x.%2$I) WITH ORDINALITY e (id, n) LEFT JOIN unnest($1, $2) p (new, old) ON p.new = e.id)
                 WHERE x.%2$I && $1 AND NOT x.id = ANY ($3)'
                ELSE 'UPDATE public.%1$I x SET %2$I = p.old FROM unnest($1, $2) p (new, old) WHERE x.%2$I = p.new AND NOT x.id = ANY ($3)' END,
                child.name, child."column")
            USING same.news, same.olds, ARRAY(
                SELECT n.id FROM jsonb_to_recordset(found_) f (table_name text, news bigint[]) CROSS JOIN LATERAL unnest(f.news) n (id)
                WHERE f.table_name = child.name);
        END LOOP;
    END LOOP;
    FOR same IN SELECT * FROM jsonb_to_recordset(found_) f (table_name text, news bigint[]) LOOP
        EXECUTE format('DELETE FROM public.%I t WHERE t.id = ANY ($1)', same.table_name) USING same.news;
    END LOOP;
    FOR same IN SELECT * FROM jsonb_to_recordset(found_) f (table_name text, height integer, olds bigint[], changes jsonb) ORDER BY height LOOP
        FOR pair IN SELECT p.old, p.differs FROM unnest(same.olds, ARRAY(SELECT jsonb_array_elements(same.changes))) p (old, differs) LOOP
            total := total + 1;
            CONTINUE WHEN pair.differs = '{}';
            EXECUTE (SELECT format('UPDATE public.%1$I t SET (%2$s) = (SELECT %3$s FROM jsonb_populate_record(t, $2) p) WHERE t.id = $1', same.table_name,
                                   string_agg(quote_ident(k), ', '), string_agg('p.' || quote_ident(k), ', '))
                     FROM jsonb_object_keys(pair.differs) k) USING pair.old, pair.differs;
        END LOOP;
    END LOOP;
    RETURN total;
END
$$;
COMMENT ON FUNCTION iasql_internal.fold_again(text, bigint) IS 'Has the records that a declaration inserts again be those that the configuration has; returns how many.';
