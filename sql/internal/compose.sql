-- A composition is a table whose rows, its instances, each stand for records of other tables, their parts. For each part there
-- is a SELECT, which says of an instance which records it has, by a key, and what their columns hold. What a statement does to
-- instances is done to their parts by that: with the SELECT of the rows as they were and of the rows as they are, what is new
-- is inserted, what has changed is updated in those columns alone, and what is gone is deleted. So what somebody has changed in
-- a part by hand stays.
--
-- All of it are statements that the user could make, in the user's transaction and with the user's rights: batches, preview,
-- modes, protection and the log hold by themselves. An instance is audited and staged like any record; which record is a part
-- of it is a fact that no rollback changes (iasql_internal.part).

-- Only of instances that the caller has written in this transaction does the system answer, or take note of a part.
CREATE OR REPLACE FUNCTION iasql_internal.composing(composition text, ids bigint[]) RETURNS SETOF bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM iasql_internal.composition c WHERE c.name = composing.composition) THEN
        RETURN;
    ELSIF pg_has_role(iasql_internal.writer(), 'iasql_engine', 'MEMBER') THEN -- who takes a new version writes no instance
        RETURN QUERY SELECT i FROM unnest(ids) i;
        RETURN;
    END IF;
    RETURN QUERY
    SELECT DISTINCT l.record_id FROM public.iasql_audit_log l
    WHERE l.record_id = ANY (ids) AND l.table_name = composition AND l.xid = pg_current_xact_id_if_assigned()
      AND l.origin = 'user' AND l."user" = iasql_internal.writer();
END
$$;
COMMENT ON FUNCTION iasql_internal.composing(text, bigint[]) IS 'Those of the instances that the caller has written in this transaction; all, if he has the system''s rights.';

CREATE OR REPLACE FUNCTION iasql_internal.parts_of(composition text, ids bigint[]) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
DECLARE
    written bigint[] := ARRAY(SELECT c FROM iasql_internal.composing(composition, ids) c);
    name    text;
    there   jsonb;
    parts   jsonb := '[]';
BEGIN
    FOR name IN
        SELECT DISTINCT p.table_name FROM iasql_internal.part p
        WHERE p.composition = parts_of.composition AND p.instance = ANY (written)
    LOOP
        EXECUTE format('SELECT jsonb_agg(jsonb_build_object(''instance'', p.instance, ''part'', p.part, ''key'', p.key, ''id'', p.record_id, ''table'', p.table_name))
                        FROM iasql_internal.part p JOIN public.%1$I t ON t.id = p.record_id
                        WHERE p.table_name = %1$L AND p.composition = $1 AND p.instance = ANY ($2)', name)
        INTO there USING composition, written;
        parts := parts || coalesce(there, '[]');
    END LOOP;
    RETURN parts;
END
$$;
COMMENT ON FUNCTION iasql_internal.parts_of(text, bigint[]) IS 'The parts that are there of instances that the caller is writing: [{"instance", "part", "key", "id", "table"}].';

CREATE OR REPLACE FUNCTION iasql_internal.is_part("table" text, record bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT FROM iasql_internal.part p WHERE p.table_name = is_part."table" AND p.record_id = is_part.record);
END
$$;
COMMENT ON FUNCTION iasql_internal.is_part(text, bigint) IS 'Whether a record was made as a part of an instance of a composition.';

CREATE OR REPLACE FUNCTION iasql_internal.number_parts("table" text, n bigint) RETURNS bigint[]
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    class regclass := format('public.%I', "table")::regclass;
BEGIN
    IF NOT has_any_column_privilege(iasql_internal.writer(), class, 'INSERT') THEN
        RAISE EXCEPTION 'permission denied for table %', "table" USING ERRCODE = '42501', TABLE = "table",
            HINT = 'An instance of a composition is written with your rights, and so are its parts. Ask an administrator for the right to INSERT.';
    END IF;
    RETURN ARRAY(SELECT nextval(pg_get_serial_sequence(class::text, 'id')::regclass) FROM generate_series(1, n));
END
$$;
COMMENT ON FUNCTION iasql_internal.number_parts(text, bigint) IS 'Ids for so many new records of a table into which the caller may insert.';

-- parts: [{"table", "id", "instance", "part", "key"}]
CREATE OR REPLACE FUNCTION iasql_internal.note_parts(composition text, parts jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    wrong record;
BEGIN
    WITH noted AS MATERIALIZED (
        SELECT * FROM jsonb_to_recordset(parts) n ("table" text, id bigint, instance bigint, part text, key text)
    ), written AS MATERIALIZED (
        SELECT c AS id FROM iasql_internal.composing(composition, ARRAY(SELECT n.instance FROM noted n)) c
    )
    SELECT n.* INTO wrong FROM noted n
    WHERE NOT n.instance IN (SELECT w.id FROM written w) OR NOT EXISTS (
        SELECT FROM public.iasql_audit_log l
        WHERE l.record_id = n.id AND l.table_name = n."table" AND l.change_type = 'INSERT' AND l.origin = 'user'
          AND l.xid = pg_current_xact_id_if_assigned() AND l."user" = iasql_internal.writer())
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'record % of % was not inserted with instance % of %', wrong.id, wrong."table", wrong.instance, composition
            USING ERRCODE = 'IA032', TABLE = wrong."table",
                  HINT = 'A part is inserted by whoever writes its instance, in the same transaction. A trigger of your own on the table may have left it out.';
    END IF;
    INSERT INTO iasql_internal.part (table_name, record_id, composition, instance, part, key)
    SELECT n."table", n.id, note_parts.composition, n.instance, n.part, n.key
    FROM jsonb_to_recordset(parts) n ("table" text, id bigint, instance bigint, part text, key text);
    -- A configuration that has the instance has its parts.
    INSERT INTO iasql_internal.mention (declaration, table_name, record_id, with_table, with_record)
    SELECT m.declaration, n."table", n.id, m.table_name, m.record_id
    FROM jsonb_to_recordset(parts) n ("table" text, id bigint, instance bigint)
    JOIN iasql_internal.mention m ON m.table_name = note_parts.composition AND m.record_id = n.instance
    ON CONFLICT (declaration, table_name, record_id) DO UPDATE SET with_table = excluded.with_table, with_record = excluded.with_record;
END
$$;
COMMENT ON FUNCTION iasql_internal.note_parts(text, jsonb) IS 'Keeps of which instances records are parts that the caller has inserted in this transaction, as he has written the instances.';

-- For functions of modules by which the engine makes a record for another one (see mention_with). No SELECT has such a
-- part; its key begins with what it was made for.
CREATE OR REPLACE FUNCTION iasql_internal.part_with("table" text, id bigint, with_table text, with_record bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO iasql_internal.part (table_name, record_id, composition, instance, part, key)
    SELECT part_with."table", part_with.id, p.composition, p.instance, concat_ws(' ', p.part, part_with."table"), concat_ws(' ', with_table, with_record, part_with.id)
    FROM iasql_internal.part p WHERE p.table_name = with_table AND p.record_id = with_record
    ON CONFLICT DO NOTHING;
END
$$;
COMMENT ON FUNCTION iasql_internal.part_with(text, bigint, text, bigint) IS 'Has the instance of which one record is a part have another one too, which was made for it.';

CREATE OR REPLACE FUNCTION iasql_internal.parts_with("table" text, with_table text, with_record bigint) RETURNS bigint[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
RETURN ARRAY(SELECT p.record_id FROM iasql_internal.part w
             JOIN iasql_internal.part p ON p.composition = w.composition AND p.instance = w.instance
             WHERE w.table_name = with_table AND w.record_id = with_record AND p.table_name = parts_with."table"
               AND starts_with(p.key, concat_ws(' ', with_table, with_record, '')));
COMMENT ON FUNCTION iasql_internal.parts_with(text, text, bigint) IS 'The records of a table that were made for a part of an instance.';
REVOKE EXECUTE ON FUNCTION iasql_internal.part_with(text, bigint, text, bigint), iasql_internal.parts_with(text, text, bigint) FROM PUBLIC;

---------------------------------------------------------------------------------------------------------------------
-- With the caller's rights

-- For the SELECTs of parts.
CREATE OR REPLACE FUNCTION iasql_internal.needed(value text, what text, hint text) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF value IS NULL THEN
        RAISE EXCEPTION '% is NULL, and is needed', what USING ERRCODE = 'IA032', HINT = hint;
    END IF;
    RETURN value;
END
$$;
COMMENT ON FUNCTION iasql_internal.needed(text, text, text) IS 'A value that a part of a composition cannot be without: raises if it is NULL.';

CREATE OR REPLACE FUNCTION iasql_internal.wanted(composition text, part text, instances jsonb, parts jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    wanted jsonb;
    wrong  record;
BEGIN
    EXECUTE format(
        'SELECT coalesce(jsonb_agg(jsonb_build_object(''instance'', r.id, ''key'', w.key, ''row'', to_jsonb(w) - ''key'')), ''[]'')
         FROM jsonb_populate_recordset(NULL::public.%1$I, $1) r
         CROSS JOIN LATERAL iasql_composition.%2$I(r, ARRAY(
             SELECT (x.part, x.key, x.id)::iasql_composition.part
             FROM jsonb_to_recordset($2) x (instance bigint, part text, key text, id bigint) WHERE x.instance = r.id)) w',
        composition, composition || '.' || part)
    INTO wanted USING coalesce(instances, '[]'), parts;
    SELECT w.instance, w.key INTO wrong FROM jsonb_to_recordset(wanted) w (instance bigint, key text)
    GROUP BY w.instance, w.key HAVING count(*) > 1 OR w.key IS NULL LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'composition %: part % of instance % %', composition, part, wrong.instance,
                coalesce('has two records with the key ' || quote_literal(wrong.key), 'has a record without a key')
            USING ERRCODE = 'IA032', TABLE = composition,
                  HINT = 'The key tells the records of a part apart within an instance: correct the SELECT of the part.';
    END IF;
    RETURN wanted;
END
$$;
COMMENT ON FUNCTION iasql_internal.wanted(text, text, jsonb, jsonb) IS 'Which records instances are to have of a part: [{"instance", "key", "row"}]. The instances are rows, and parts are those they have of the parts before.';

CREATE OR REPLACE FUNCTION iasql_internal.wanted_parts(composition text, instances jsonb, parts jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT coalesce(jsonb_object_agg(p.part, iasql_internal.wanted(p.composition, p.part, instances, parts)), '{}')
            FROM iasql_internal.composition_part p WHERE p.composition = wanted_parts.composition AND instances IS NOT NULL);
END
$$;
COMMENT ON FUNCTION iasql_internal.wanted_parts(text, jsonb, jsonb) IS 'Which records instances that have these parts are to have of each part.';

CREATE OR REPLACE FUNCTION iasql_internal.refuse_part(composition text, "table" text, verb text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'permission denied: a part of this instance of %, in table %, is not yours to %', composition, "table", verb
        USING ERRCODE = '42501', TABLE = "table",
              HINT = 'An instance is written with your rights, and so are its parts. Grants or row-level security of the table say so; an administrator can change them.';
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_part(text, text, text) IS 'Raises for a part that the caller may not write.';

CREATE OR REPLACE FUNCTION iasql_internal.insert_part(of iasql_internal.composition_part, new jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    ids bigint[];
BEGIN
    IF new IS NULL THEN
        RETURN '[]';
    END IF;
    ids := iasql_internal.number_parts(of.table_name, jsonb_array_length(new));
    SELECT jsonb_agg(n.j || jsonb_build_object('id', ids[n.place], 'part', of.part, 'table', of.table_name) ORDER BY n.place) INTO new
    FROM jsonb_array_elements(new) WITH ORDINALITY n (j, place);
    EXECUTE format('INSERT INTO public.%1$I (id, %2$s) SELECT n.id, %3$s
                    FROM jsonb_to_recordset($1) n (id bigint, row jsonb)
                    CROSS JOIN LATERAL jsonb_populate_record(NULL::public.%1$I, n.row) p ORDER BY n.id', of.table_name,
                   (SELECT string_agg(quote_ident(c), ', ') FROM unnest(of.columns) c),
                   (SELECT string_agg('p.' || quote_ident(c), ', ') FROM unnest(of.columns) c)) USING new;
    new := (SELECT jsonb_agg(n - 'row') FROM jsonb_array_elements(new) n);
    PERFORM iasql_internal.note_parts(of.composition, new);
    RETURN new;
END
$$;
COMMENT ON FUNCTION iasql_internal.insert_part(iasql_internal.composition_part, jsonb) IS 'Inserts the records [{"instance", "key", "row"}] of a part, and returns them with their ids.';

-- changed: [{"id", "changes": {column: value}}]
CREATE OR REPLACE FUNCTION iasql_internal.update_part(of iasql_internal.composition_part, changed jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    n bigint;
BEGIN
    IF changed IS NULL THEN
        RETURN;
    END IF;
    EXECUTE format('UPDATE public.%I t SET %s FROM jsonb_to_recordset($1) c (id bigint, changes jsonb) WHERE t.id = c.id', of.table_name,
                   (SELECT string_agg(format('%1$I = CASE WHEN c.changes ? %1$L THEN (jsonb_populate_record(NULL::public.%2$I, c.changes)).%1$I ELSE t.%1$I END',
                                             k.name, of.table_name), ', ')
                    FROM (SELECT DISTINCT jsonb_object_keys(c.changes) AS name FROM jsonb_to_recordset(changed) c (changes jsonb)) k)) USING changed;
    GET DIAGNOSTICS n = ROW_COUNT;
    IF n < jsonb_array_length(changed) THEN
        PERFORM iasql_internal.refuse_part(of.composition, of.table_name, 'change');
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.update_part(iasql_internal.composition_part, jsonb) IS 'Changes records of a part, in the columns that are given alone.';

-- What records of a part refer to is deleted after them.
CREATE OR REPLACE FUNCTION iasql_internal.delete_composed(composition text, gone jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    of record;
    n  bigint;
BEGIN
    FOR of IN
        SELECT g.part, g."table" AS table_name, array_agg(g.id) AS ids, array_agg(DISTINCT g.instance) AS instances
        FROM jsonb_to_recordset(gone) g (instance bigint, part text, id bigint, "table" text)
        LEFT JOIN iasql_internal.composition_part p ON p.composition = delete_composed.composition AND p.part = g.part
        GROUP BY g.part, p.place, g."table" ORDER BY p.place DESC NULLS FIRST
    LOOP
        EXECUTE format('DELETE FROM public.%I t WHERE t.id = ANY ($1)', of.table_name) USING of.ids;
        GET DIAGNOSTICS n = ROW_COUNT;
        -- Some may have gone with what was deleted before.
        IF n < cardinality(of.ids) AND EXISTS (
            SELECT FROM jsonb_to_recordset(iasql_internal.parts_of(composition, of.instances)) x (part text, id bigint)
            WHERE x.part = of.part AND x.id = ANY (of.ids)) THEN
            PERFORM iasql_internal.refuse_part(composition, of.table_name, 'delete');
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION iasql_internal.delete_composed(text, jsonb) IS 'Deletes parts of instances, the last ones first.';

-- was: by part, what wanted says of the instances as they were, which had these parts. after: the instances as they are.
CREATE OR REPLACE FUNCTION iasql_internal.compose_rows(composition text, was jsonb, had jsonb, after jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    has  jsonb := '[]';
    gone jsonb;
    step record;
    of   iasql_internal.composition_part;
BEGIN
    -- Of parts that a new version does not have.
    SELECT coalesce(jsonb_agg(h), '[]') INTO gone FROM jsonb_array_elements(had) h
    WHERE was ? (h ->> 'part') AND NOT EXISTS (SELECT FROM iasql_internal.composition_part p
                                               WHERE p.composition = compose_rows.composition AND p.part = h ->> 'part');
    FOR of IN SELECT p.* FROM iasql_internal.composition_part p WHERE p.composition = compose_rows.composition ORDER BY p.place LOOP
        WITH h AS MATERIALIZED (
            SELECT (x ->> 'instance')::bigint AS instance, x ->> 'key' AS key, (x -> 'id')::bigint AS id, x AS j
            FROM jsonb_array_elements(had) x WHERE x ->> 'part' = of.part
        ), pairs AS MATERIALIZED (
            SELECT instance, key, h.id, h.j, o.row AS was, w.row AS will
            FROM jsonb_to_recordset(iasql_internal.wanted(composition, of.part, after, has)) w (instance bigint, key text, row jsonb)
            FULL JOIN jsonb_to_recordset(was -> of.part) o (instance bigint, key text, row jsonb) USING (instance, key)
            LEFT JOIN h USING (instance, key)
        )
        SELECT jsonb_agg(jsonb_build_object('instance', p.instance, 'key', p.key, 'row', p.will)) FILTER (WHERE p.was IS NULL AND p.id IS NULL) AS new,
               jsonb_agg(jsonb_build_object('id', p.id, 'changes', c.changes)) FILTER (WHERE p.id IS NOT NULL AND c.changes IS NOT NULL) AS changed,
               jsonb_agg(p.j) FILTER (WHERE p.id IS NOT NULL AND p.will IS NOT NULL) AS stays,
               jsonb_agg(p.j) FILTER (WHERE p.id IS NOT NULL AND p.will IS NULL) AS goes
        INTO step
        FROM pairs p CROSS JOIN LATERAL (
            SELECT jsonb_object_agg(e.key, e.value) AS changes FROM jsonb_each(p.will) e
            WHERE p.was IS NOT NULL AND p.was -> e.key IS DISTINCT FROM e.value) c;
        PERFORM iasql_internal.update_part(of, step.changed);
        has := has || coalesce(step.stays, '[]') || iasql_internal.insert_part(of, step.new);
        gone := gone || coalesce(step.goes, '[]');
    END LOOP;
    -- What was made for a part goes with it.
    SELECT gone || coalesce(jsonb_agg(h), '[]') INTO gone FROM jsonb_array_elements(had) h
    WHERE NOT gone @> jsonb_build_array(h) AND EXISTS (
        SELECT FROM jsonb_array_elements(gone) g WHERE starts_with(h ->> 'key', concat_ws(' ', g ->> 'table', g ->> 'id', '')) AND g ->> 'instance' = h ->> 'instance');
    PERFORM iasql_internal.delete_composed(composition, gone);
END
$$;
COMMENT ON FUNCTION iasql_internal.compose_rows(text, jsonb, jsonb, jsonb) IS 'Has the parts of instances be as these want them now, in what they wanted otherwise before.';

-- After the audit trigger, by its name. A rollback and an undo restore instances and parts, each from the log.
CREATE OR REPLACE FUNCTION iasql_internal.compose() RETURNS trigger
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    before jsonb;
    after  jsonb;
    had    jsonb;
    moved  record;
BEGIN
    IF iasql_internal.writer_is_engine() OR coalesce(current_setting('iasql.restoring', true), '') = 'on' THEN
        RETURN NULL;
    ELSIF TG_OP <> 'INSERT' THEN
        SELECT jsonb_agg(to_jsonb(o)) INTO before FROM old_rows o;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        SELECT jsonb_agg(to_jsonb(n)) INTO after FROM new_rows n;
    END IF;
    IF coalesce(before, after) IS NULL THEN
        RETURN NULL;
    END IF;
    SELECT o.id INTO moved
    FROM jsonb_to_recordset(before) o (id bigint, account text, region text)
    JOIN jsonb_to_recordset(after) n (id bigint, account text, region text) USING (id)
    WHERE (o.account, o.region) IS DISTINCT FROM (n.account, n.region) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'instance % of % cannot move to another account or region', moved.id, TG_TABLE_NAME
            USING ERRCODE = 'IA032', TABLE = TG_TABLE_NAME, HINT = 'Insert one there, and delete this one.';
    END IF;
    had := iasql_internal.parts_of(TG_TABLE_NAME, iasql_internal.ids_of(coalesce(before, after)));
    IF after IS NULL THEN
        PERFORM iasql_internal.delete_composed(TG_TABLE_NAME, had);
    ELSE
        PERFORM iasql_internal.compose_rows(TG_TABLE_NAME, iasql_internal.wanted_parts(TG_TABLE_NAME, before, had), had, after);
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.compose() IS 'Statement trigger of the interfaces of compositions: writes the parts of the instances, with the rights of whoever writes these.';
