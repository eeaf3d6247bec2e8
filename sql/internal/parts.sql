-- What is a part of something else goes with it (modules.Reference.Part). This says in words what is in the way of that, and
-- keeps a deletion from taking along what the cloud itself would refuse to delete with it.

CREATE OR REPLACE FUNCTION iasql_internal.takes_contents() RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN iasql_internal.writer_is_engine()
        OR coalesce(current_setting('iasql.with_contents', true), '') IN ('on', 'true', 'yes', '1')
        OR coalesce(current_setting('iasql.restoring', true), '') = 'on' -- an undo or a rollback deletes in any order
        OR coalesce(current_setting('iasql.origin', true), '') = 'batch' AND pg_has_role(session_user, 'iasql_engine', 'MEMBER');
END
$$;
COMMENT ON FUNCTION iasql_internal.takes_contents() IS 'Whether this transaction may delete what is not empty: it says so, or the change is no user''s.';

-- With the image of its caller, who has the row.
CREATE OR REPLACE FUNCTION iasql_internal.refuse_protected("table" text, image jsonb) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    record bigint := (image ->> 'id')::bigint;
BEGIN
    IF iasql_internal.writer_is_engine() OR NOT iasql_internal.guarded("table") OR NOT iasql_internal.is_protected("table", record)
       OR NOT EXISTS (SELECT iasql_internal.with_object("table", ARRAY[record])) THEN
        RETURN;
    END IF;
    RAISE EXCEPTION '% cannot be deleted: it is protected', iasql_internal.called("table", record, image)
        USING ERRCODE = 'IA050', SCHEMA = 'public', TABLE = "table",
              HINT = format('SELECT iasql_unprotect(%1$L, %2$s) lifts the protection; SELECT iasql_forget(%1$L, %2$s) lets go of the record and leaves the object.', "table", record);
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_protected(text, jsonb) IS 'Raises if a user deletes a record that is protected.';

-- The foreign keys of managed tables that lead to a table, without those by which a record is a part that goes along.
CREATE OR REPLACE FUNCTION iasql_internal.children_of(class regclass) RETURNS TABLE (name text, condition text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT m.name, string_agg(format('x.%I::text = $1 ->> %L', c.attname, f.attname), ' AND ' ORDER BY k.n)
    FROM pg_constraint o
    JOIN pg_class r ON r.oid = o.conrelid AND r.relnamespace = 'public'::regnamespace
    JOIN iasql_internal.managed_table m ON m.name = r.relname
    CROSS JOIN LATERAL unnest(o.conkey, o.confkey) WITH ORDINALITY k (ours, theirs, n)
    JOIN pg_attribute c ON c.attrelid = o.conrelid AND c.attnum = k.ours
    JOIN pg_attribute f ON f.attrelid = o.confrelid AND f.attnum = k.theirs
    WHERE o.confrelid = children_of.class AND o.contype = 'f' AND o.confdeltype IN ('a', 'r')
    GROUP BY o.oid, m.name
$$;
COMMENT ON FUNCTION iasql_internal.children_of(regclass) IS 'The foreign keys that lead to a table: the child, and the condition on x, its row, for the image $1 of the parent.';

-- images: [{"table": …, "image": row}], what is to go. With the caller's rights, who is told only of what he sees.
CREATE OR REPLACE FUNCTION iasql_internal.in_the_way_of(going jsonb, OUT said text, OUT hint text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    whole record;
    child record;
    ids   bigint[];
    found_ jsonb := '{}';
BEGIN
    FOR whole IN SELECT w."table", w.image FROM jsonb_to_recordset(going) w ("table" text, image jsonb) LOOP
        FOR child IN SELECT c.name, c.condition FROM iasql_internal.children_of(format('public.%I', whole."table")::regclass) c LOOP
            CONTINUE WHEN NOT has_table_privilege(format('public.%I', child.name), 'SELECT');
            EXECUTE format('SELECT array_agg(x.id) FROM public.%I x WHERE %s', child.name, child.condition) INTO ids USING whole.image;
            found_ := found_ || jsonb_build_object(child.name, coalesce(found_ -> child.name, '[]') || coalesce(to_jsonb(ids), '[]'));
        END LOOP;
    END LOOP;
    SELECT string_agg(format('%s of %s (id%s %s%s)', CASE n WHEN 1 THEN '1 record' ELSE n || ' records' END, name, CASE n WHEN 1 THEN '' ELSE 's' END,
                             first, CASE WHEN n > 5 THEN ', …' ELSE '' END), ', ' ORDER BY name),
           string_agg(format('DELETE FROM %I WHERE id IN (%s%s);', name, first, CASE WHEN n > 5 THEN ', …' ELSE '' END), ' ' ORDER BY name)
    INTO said, hint
    FROM (SELECT k.key AS name, count(*) AS n, string_agg(i.id::text, ', ' ORDER BY i.id) FILTER (WHERE i.place <= 5) AS first
          FROM jsonb_each(found_) k
          CROSS JOIN LATERAL (SELECT d.id, row_number() OVER (ORDER BY d.id) AS place
                              FROM (SELECT DISTINCT e::bigint AS id FROM jsonb_array_elements_text(k.value) e) d
                              WHERE NOT EXISTS (SELECT FROM jsonb_to_recordset(going) w ("table" text, image jsonb)
                                                WHERE w."table" = k.key AND (w.image ->> 'id')::bigint = d.id)) i
          GROUP BY k.key) c;
END
$$;
COMMENT ON FUNCTION iasql_internal.in_the_way_of(jsonb) IS 'Which records refer to what is to be deleted, in words and as statements; NULL if the caller sees none.';

-- The parts of a record, and theirs: [{"table": …, "image": row}], with the caller's rights.
CREATE OR REPLACE FUNCTION iasql_internal.going_with("table" text, image jsonb, depth integer DEFAULT 0) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    args  text[];
    going jsonb := jsonb_build_array(jsonb_build_object('table', "table", 'image', image));
    part  jsonb;
    condition text;
BEGIN
    IF depth > 8 THEN
        RETURN going;
    END IF;
    FOR args IN
        SELECT string_to_array(encode(g.tgargs, 'escape'), '\000') FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid
        WHERE g.tgrelid = format('public.%I', "table")::regclass AND p.proname = 'delete_parts' AND p.pronamespace = 'iasql_internal'::regnamespace
    LOOP
        CONTINUE WHEN to_regclass(format('public.%I', args[1])) IS NULL OR NOT has_table_privilege(format('public.%I', args[1]), 'SELECT');
        SELECT string_agg(format('x.%I::text = $1 ->> %L', args[i], args[i + 1]), ' AND ') || CASE WHEN args[2] <> '' THEN format(' AND x.%I', args[2]) ELSE '' END
        INTO condition FROM generate_series(3, cardinality(args) - 1, 2) i WHERE args[i] <> '';
        FOR part IN EXECUTE format('SELECT to_jsonb(x) FROM public.%I x WHERE %s ORDER BY x.id LIMIT 1000', args[1], condition) USING image LOOP
            going := going || iasql_internal.going_with(args[1], part, depth + 1);
        END LOOP;
    END LOOP;
    RETURN going;
END
$$;
COMMENT ON FUNCTION iasql_internal.going_with(text, jsonb, integer) IS 'A record and what goes with it.';

-- Arguments: the table of the parts, the column that says whether a record is one or '', and pairs of columns, of the part and
-- of the whole, that are equal. The trigger stays on the table of the whole when the module of the parts is uninstalled.
CREATE OR REPLACE FUNCTION iasql_internal.delete_parts() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    condition text := 'true';
    contents  jsonb;
    n         bigint;
    few       text;
    going     jsonb;
    way       record;
    image     jsonb;
BEGIN
    IF to_regclass(format('public.%I', TG_ARGV[0])) IS NULL THEN
        RETURN OLD;
    END IF;
    PERFORM iasql_internal.refuse_protected(TG_TABLE_NAME, to_jsonb(OLD));
    FOR i IN 2 .. TG_NARGS - 2 BY 2 LOOP
        condition := format('%s AND x.%I = ($1).%I', condition, TG_ARGV[i], TG_ARGV[i + 1]);
    END LOOP;
    IF TG_ARGV[1] <> '' THEN
        condition := format('%s AND x.%I', condition, TG_ARGV[1]);
    END IF;
    SELECT m.contents INTO contents FROM iasql_internal.managed_table m WHERE m.name = TG_ARGV[0] AND m.contents ? TG_ARGV[2];
    IF FOUND AND NOT iasql_internal.takes_contents() THEN
        EXECUTE format('SELECT count(*), string_agg(x.id::text, '', '' ORDER BY x.id) FILTER (WHERE x.place <= 5)
                        FROM (SELECT x.id, row_number() OVER (ORDER BY x.id) AS place FROM public.%I x WHERE %s%s) x', TG_ARGV[0], condition,
                       CASE WHEN contents ->> TG_ARGV[2] <> '' THEN format(' AND NOT coalesce(x.%I, false)', contents ->> TG_ARGV[2]) ELSE '' END)
        INTO n, few USING OLD;
        IF n > 0 THEN
            image := to_jsonb(OLD);
            RAISE EXCEPTION '% cannot be deleted: it is not empty: it holds % of % (id% %)', iasql_internal.called(TG_TABLE_NAME, OLD.id, image),
                    CASE n WHEN 1 THEN '1 record' ELSE n || ' records' END, TG_ARGV[0], CASE n WHEN 1 THEN '' ELSE 's' END, concat(few, CASE WHEN n > 5 THEN ', …' END)
                USING ERRCODE = 'IA056', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME,
                      HINT = format('Delete what it holds first: DELETE FROM %I WHERE %I = %L. If it may all go: BEGIN; SET LOCAL iasql.with_contents = ''on''; DELETE …; COMMIT.',
                                    TG_ARGV[0], TG_ARGV[2], image ->> TG_ARGV[3]);
        END IF;
    END IF;
    BEGIN
        EXECUTE format('DELETE FROM public.%I x WHERE %s', TG_ARGV[0], condition) USING OLD;
    EXCEPTION WHEN foreign_key_violation THEN
        IF iasql_internal.writer_is_engine() THEN -- which reads the constraint, and waits
            RAISE;
        END IF;
        going := iasql_internal.going_with(TG_TABLE_NAME, to_jsonb(OLD));
        PERFORM iasql_internal.refuse_protected(w."table", w.image) FROM jsonb_to_recordset(going) w ("table" text, image jsonb);
        SELECT * INTO way FROM iasql_internal.in_the_way_of(going);
        IF way.said IS NULL THEN -- the caller does not see it
            RAISE;
        END IF;
        RAISE EXCEPTION '% cannot be deleted: % refer to it, or to what goes along with it', iasql_internal.called(TG_TABLE_NAME, OLD.id, to_jsonb(OLD)), way.said
            USING ERRCODE = '23503', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME,
                  HINT = format('Delete those first, in the same transaction or before: %s Or let them refer to another record.', way.hint);
    END;
    RETURN OLD;
END
$$;
COMMENT ON FUNCTION iasql_internal.delete_parts() IS 'Row trigger of tables whose records have parts: deletes the records of the parts first.';
