-- What is protected is neither deleted nor replaced (R25): users' statements are refused when they are written, by the audit
-- trigger, and the engine stops at it.

-- With the name that its user calls it by: what a tag called name says, however that is spelt, or a column.
CREATE OR REPLACE FUNCTION iasql_internal.label(image jsonb, names text[], identity text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN coalesce((SELECT min(t.value)
                     FROM jsonb_each_text(CASE jsonb_typeof(image -> 'tags') WHEN 'object' THEN image -> 'tags' END) t
                     WHERE lower(t.key) = 'name' AND t.value <> ''),
                    (SELECT min(image ->> n.name) FROM unnest(names) n (name)),
                    (SELECT min(image ->> i.name) FROM unnest(identity) i (name)));
END
$$;
COMMENT ON FUNCTION iasql_internal.label(jsonb, text[], text[]) IS 'What people call a record: its tag called name, a column that names it, or else what the cloud calls its object.';

CREATE OR REPLACE FUNCTION iasql_internal.called("table" text, id bigint, image jsonb) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    managed iasql_internal.managed_table;
BEGIN
    SELECT * INTO managed FROM iasql_internal.managed_table m WHERE m.name = called."table";
    RETURN iasql_internal.plain(concat("table", ' ' || quote_literal(iasql_internal.label(image, managed.names, managed.identity)), format(' (id %s)', id)));
END
$$;
COMMENT ON FUNCTION iasql_internal.called(text, bigint, jsonb) IS 'A record as its user calls it: by its table, name and id.';

CREATE OR REPLACE FUNCTION iasql_internal.is_protected("table" text, id bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN coalesce((SELECT p.protected FROM public.iasql_protection p
                     WHERE p.table_name = is_protected."table" AND (p.record_id = is_protected.id OR p.record_id IS NULL)
                     ORDER BY p.record_id NULLS LAST LIMIT 1), false);
END
$$;
COMMENT ON FUNCTION iasql_internal.is_protected(text, bigint) IS 'Whether a record is protected, by a rule of its own or of its table.';

-- A record has no object while its INSERT is pending and nothing is bound to it, and while its object is being made anew.
CREATE OR REPLACE FUNCTION iasql_internal.with_object("table" text, ids bigint[]) RETURNS SETOF bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT i.id
    FROM unnest(ids) i (id)
    LEFT JOIN iasql_internal.record_state s ON s.table_name = with_object."table" AND s.record_id = i.id
    WHERE NOT coalesce(s.replacing, false)
      AND (s.identity IS NOT NULL OR NOT EXISTS (
          SELECT FROM public.iasql_audit_log l
          WHERE NOT l.settled AND l.record_id = i.id AND l.table_name = with_object."table" AND l.change_type = 'INSERT'));
END;
COMMENT ON FUNCTION iasql_internal.with_object(text, bigint[]) IS 'Those of the records that stand for an object in the cloud.';

CREATE OR REPLACE FUNCTION iasql_internal.refuse_deletion("table" text, ids bigint[]) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    bad bigint;
    label text;
BEGIN
    SELECT i.id INTO bad FROM unnest(ids) i (id)
    WHERE iasql_internal.is_protected(refuse_deletion."table", i.id)
      AND i.id IN (SELECT iasql_internal.with_object(refuse_deletion."table", ids))
    ORDER BY i.id LIMIT 1;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT iasql_internal.called(l.table_name, bad, l.change -> 'original') INTO label
    FROM public.iasql_audit_log l WHERE l.table_name = refuse_deletion."table" AND l.record_id = bad ORDER BY l.id DESC LIMIT 1;
    RAISE EXCEPTION '% cannot be deleted: it is protected', label
        USING ERRCODE = 'IA050', SCHEMA = 'public', TABLE = "table",
              HINT = format('SELECT iasql_unprotect(%1$L, %2$s) lifts the protection; SELECT iasql_forget(%1$L, %2$s) lets go of the record and leaves the object.', "table", bad);
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_deletion(text, bigint[]) IS 'Raises for a deletion of what is protected.';

-- changes: [{"id": …, "change": {column: new value}}] with columns that are fixed when an object is created. A value that goes back to
-- what the object has replaces nothing.
CREATE OR REPLACE FUNCTION iasql_internal.refuse_replacement("table" text, changes jsonb) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    managed iasql_internal.managed_table;
    allowed boolean := coalesce(current_setting('iasql.allow_replace', true), '') IN ('on', 'true', 'yes', '1');
    bad     record;
    image   jsonb;
    label   text;
BEGIN
    SELECT * INTO managed FROM iasql_internal.managed_table m WHERE m.name = refuse_replacement."table";
    SELECT c.id, k.key AS name, p.protected INTO bad
    FROM jsonb_to_recordset(changes) c (id bigint, change jsonb)
    CROSS JOIN LATERAL jsonb_each(c.change) k
    CROSS JOIN LATERAL (SELECT iasql_internal.is_protected(refuse_replacement."table", c.id) AS protected) p
    LEFT JOIN LATERAL (SELECT l.change -> 'original' -> k.key AS value FROM public.iasql_audit_log l
                       WHERE NOT l.settled AND l.record_id = c.id AND l.table_name = refuse_replacement."table"
                         AND l.change_type = 'UPDATE' AND l.change -> 'original' ? k.key
                       ORDER BY l.id LIMIT 1) was ON true
    CROSS JOIN LATERAL (SELECT ARRAY(SELECT p FROM jsonb_array_elements_text(managed.fixed_within -> k.key) p) AS paths) within
    WHERE (k.key = ANY (managed.fixed) OR within.paths <> '{}' AND k.value <> 'null')
      AND NOT (k.key = ANY (managed.fixed_chosen) AND k.value = 'null')
      AND (p.protected OR managed.holds_data AND NOT allowed)
      AND c.id IN (SELECT iasql_internal.with_object(refuse_replacement."table", ARRAY(SELECT (e ->> 'id')::bigint FROM jsonb_array_elements(changes) e)))
      AND CASE WHEN k.key = ANY (managed.fixed) THEN k.value IS DISTINCT FROM was.value
          ELSE was.value <> 'null' AND EXISTS (
              SELECT FROM unnest(within.paths) p WHERE jsonb_path_query_array(k.value, p::jsonpath, '{}', true) <> jsonb_path_query_array(was.value, p::jsonpath, '{}', true)) END
    ORDER BY c.id, k.key LIMIT 1;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    EXECUTE format('SELECT to_jsonb(t) FROM public.%I t WHERE t.id = $1', "table") INTO image USING bad.id;
    label := iasql_internal.called("table", bad.id, image);
    IF bad.protected THEN
        RAISE EXCEPTION '% of % cannot be changed: that replaces the object, and the record is protected', bad.name, label
            USING ERRCODE = 'IA050', SCHEMA = 'public', TABLE = "table", COLUMN = bad.name,
                  HINT = format('SELECT iasql_unprotect(%L, %s) lifts the protection.', "table", bad.id);
    END IF;
    RAISE EXCEPTION '% of % cannot be changed: that replaces the object, and what it holds would be lost', bad.name, label
        USING ERRCODE = 'IA051', SCHEMA = 'public', TABLE = "table", COLUMN = bad.name,
              HINT = 'If that is meant: BEGIN; SET LOCAL iasql.allow_replace = ''on''; UPDATE …; COMMIT. Else insert a second record, move the data, and delete this one.';
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_replacement(text, jsonb) IS 'Raises for an update that would replace what is protected, or what holds data unless this transaction allows it.';

CREATE OR REPLACE FUNCTION iasql_internal.guarded("table" text) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT FROM public.iasql_protection p WHERE p.table_name = guarded."table")
       AND NOT (coalesce(current_setting('iasql.origin', true), '') = 'batch' AND pg_has_role(session_user, 'iasql_engine', 'MEMBER')); -- undoes what it has committed
END
$$;
COMMENT ON FUNCTION iasql_internal.guarded(text) IS 'Whether anything of a table is protected.';

-- Whoever inserts a record for an object that was forgotten wants it back.
CREATE OR REPLACE FUNCTION iasql_internal.recall("table" text, rows jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM iasql_internal.forgotten f
    USING iasql_internal.managed_table m, jsonb_array_elements(rows) r (j)
    WHERE m.name = recall."table" AND f.table_name = m.name AND f.account = r.j ->> 'account'
      AND f.region = CASE WHEN m.regional THEN coalesce(r.j ->> 'region', '') ELSE '' END AND f.key = iasql_internal.key(r.j, m.identity);
END
$$;
COMMENT ON FUNCTION iasql_internal.recall(text, jsonb) IS 'The objects of rows that are inserted are not forgotten any more.';

---------------------------------------------------------------------------------------------------------------------
-- iasql_protect, iasql_unprotect

CREATE OR REPLACE FUNCTION iasql_internal.refuse_null(name text, what text, hint text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION '% of % is NULL', what, name USING ERRCODE = 'IA055', HINT = hint;
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_null(text, text, text) IS 'Raises for an argument that must not be NULL.';

CREATE OR REPLACE FUNCTION iasql_internal.image_of("table" text, id bigint) RETURNS jsonb
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
DECLARE
    image jsonb;
BEGIN
    EXECUTE format('SELECT to_jsonb(t) FROM public.%I t WHERE t.id = $1', "table") INTO image USING id;
    IF image IS NULL THEN
        RAISE EXCEPTION 'table % has no record %', "table", id
            USING ERRCODE = 'IA006', TABLE = "table", HINT = format('SELECT id FROM %I lists its records.', "table");
    END IF;
    RETURN image;
END
$$;
COMMENT ON FUNCTION iasql_internal.image_of(text, bigint) IS 'A record, or an error if there is none of that id.';

DROP FUNCTION IF EXISTS iasql_internal.set_protection(text, bigint, boolean);
CREATE OR REPLACE FUNCTION iasql_internal.set_protection("table" text, id bigint, protected boolean, until timestamptz) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    changed boolean;
BEGIN
    PERFORM iasql_internal.refuse_standby('protection');
    PERFORM iasql_internal.check_table("table");
    IF id IS NULL THEN
        -- (A function with the system's rights sees everything: what hides rows is asked of the role that calls.)
        IF EXISTS (SELECT FROM iasql_internal.secured(ARRAY["table"])) AND NOT pg_has_role(iasql_internal.writer(), 'iasql_engine', 'MEMBER')
           OR iasql_internal.is_subject(iasql_internal.writer(), format('public.%I', "table")::regclass)
           OR NOT has_table_privilege(iasql_internal.writer(), format('public.%I', "table"), 'UPDATE')
           OR NOT has_table_privilege(iasql_internal.writer(), format('public.%I', "table"), 'DELETE') THEN
            RAISE EXCEPTION 'permission denied: some of table % is not yours to change', "table"
                USING ERRCODE = '42501', TABLE = "table", HINT = 'A member of iasql_engine can protect a whole table whose rows are hidden from some, and lift that.';
        END IF;
    ELSIF NOT iasql_internal.permitted(CASE WHEN protected AND until IS NULL THEN 'update' ELSE 'lift' END, "table", id)
          OR NOT has_table_privilege(iasql_internal.writer(), format('public.%I', "table"), 'UPDATE') THEN
        PERFORM iasql_internal.refuse_hidden("table", id);
    END IF;
    -- A deletion may be waiting for the protection to be lifted: then there is no record any more.
    IF id IS NOT NULL AND (set_protection.protected OR NOT EXISTS (
            SELECT FROM public.iasql_audit_log l WHERE l.table_name = set_protection."table" AND l.record_id = set_protection.id)) THEN
        PERFORM iasql_internal.image_of("table", id);
    END IF;
    IF set_protection.protected OR id IS NOT NULL AND EXISTS (
            SELECT FROM public.iasql_protection p WHERE p.table_name = set_protection."table" AND p.record_id IS NULL AND p.protected) THEN
        INSERT INTO public.iasql_protection AS p (table_name, record_id, protected, by, until)
        VALUES (set_protection."table", set_protection.id, set_protection.protected, iasql_internal.writer(), set_protection.until)
        ON CONFLICT ON CONSTRAINT iasql_protection_one_rule_per_target DO UPDATE
        SET protected = excluded.protected, by = excluded.by, at = excluded.at, until = excluded.until
        WHERE (p.protected, p.until) IS DISTINCT FROM (excluded.protected, excluded.until);
    ELSE
        DELETE FROM public.iasql_protection p WHERE p.table_name = set_protection."table" AND p.record_id IS NOT DISTINCT FROM set_protection.id;
    END IF;
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END
$$;
COMMENT ON FUNCTION iasql_internal.set_protection(text, bigint, boolean, timestamptz) IS 'What iasql_protect and iasql_unprotect do once their caller has been found to be allowed to; NULL stands for the whole table.';

DROP FUNCTION IF EXISTS iasql_internal.protect_table(text, boolean);

---------------------------------------------------------------------------------------------------------------------
-- iasql_forget, iasql_adopt

CREATE OR REPLACE FUNCTION iasql_internal.forget("table" text, id bigint) RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
DECLARE
    managed iasql_internal.managed_table;
    image   jsonb;
    bound   jsonb;
    object  text;
    why     text;
    label   text;
BEGIN
    IF NOT iasql_internal.permitted('delete', "table", id) OR NOT has_table_privilege(iasql_internal.writer(), format('public.%I', "table"), 'DELETE') THEN
        PERFORM iasql_internal.refuse_hidden("table", id);
    END IF;
    SELECT * INTO managed FROM iasql_internal.managed_table m WHERE m.name = forget."table";
    image := iasql_internal.image_of("table", id);
    label := iasql_internal.called("table", id, image);
    SELECT s.identity INTO bound FROM iasql_internal.record_state s WHERE s.table_name = forget."table" AND s.record_id = forget.id;
    object := iasql_internal.key(coalesce(bound, image), managed.identity);
    why := CASE
        WHEN managed.settings THEN 'it stands for nothing in the cloud'
        WHEN object IS NULL OR NOT EXISTS (SELECT iasql_internal.with_object("table", ARRAY[id])) THEN 'it has no object yet'
        WHEN EXISTS (SELECT FROM iasql_internal.garbage g WHERE g.table_name = forget."table" AND g.record_id = forget.id) THEN 'its object is being replaced'
        WHEN EXISTS (SELECT FROM public.iasql_audit_log l WHERE NOT l.settled AND l.table_name = forget."table" AND l.record_id = forget.id
                     AND l.key IS NOT NULL) THEN 'it is being renamed or moved'
        WHEN EXISTS (SELECT FROM public.iasql_operations o WHERE o.ended IS NULL AND o.table_name = forget."table" AND o.record_id = forget.id
                     AND o.kind <> 'update') THEN 'a call for it is under way' END;
    IF why IS NOT NULL THEN
        RAISE EXCEPTION '% cannot be forgotten: %', label, why
            USING ERRCODE = 'IA052', TABLE = "table",
                  HINT = CASE why WHEN 'it stands for nothing in the cloud' THEN 'Delete it.'
                         ELSE format('Delete it, or wait until SELECT iasql_ready(%L) is true.', "table") END;
    END IF;
    PERFORM iasql_internal.refuse_untrusted(ARRAY["table"]);
    INSERT INTO iasql_internal.forgotten (table_name, account, region, key, by)
    VALUES ("table", image ->> 'account', CASE WHEN managed.regional THEN coalesce(bound, image) ->> 'region' ELSE '' END, object, iasql_internal.writer())
    ON CONFLICT (table_name, account, region, key) DO UPDATE SET by = excluded.by, at = excluded.at;
    DELETE FROM iasql_internal.adopted a WHERE a.table_name = forget."table" AND a.key = object;
    -- What is pending of it is given up.
    UPDATE public.iasql_audit_log l SET settled = true, settled_at = clock_timestamp()
    WHERE NOT l.settled AND l.table_name = forget."table" AND l.record_id = forget.id;
    INSERT INTO iasql_internal.reverting DEFAULT VALUES ON CONFLICT DO NOTHING;
    BEGIN
        EXECUTE format('DELETE FROM public.%I t WHERE t.id = $1', "table") USING id;
    EXCEPTION WHEN foreign_key_violation THEN
        GET STACKED DIAGNOSTICS why = TABLE_NAME;
        RAISE EXCEPTION '% cannot be forgotten: records of % refer to it', label, why
            USING ERRCODE = 'IA052', TABLE = "table", HINT = format('Forget those first, or let them refer to another: table %I.', why);
    END;
    DELETE FROM iasql_internal.reverting r WHERE r.xid = pg_current_xact_id();
    DELETE FROM iasql_internal.record_state s WHERE s.table_name = forget."table" AND s.record_id = forget.id;
    DELETE FROM public.iasql_protection p WHERE p.table_name = forget."table" AND p.record_id = forget.id;
    DELETE FROM iasql_internal.expiry e WHERE e.table_name = forget."table" AND e.record_id = forget.id;
    RETURN replace(object, E'\x1f', '|');
END
$$;
COMMENT ON FUNCTION iasql_internal.forget(text, bigint) IS 'What iasql_forget does once its caller has been found to be allowed to; returns what the cloud calls the object.';

CREATE OR REPLACE FUNCTION iasql_internal.ask_for("table" text, object text, asked_by text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO iasql_internal.adopted (table_name, key, by) VALUES ("table", object, asked_by) ON CONFLICT DO NOTHING;
    DELETE FROM iasql_internal.forgotten f WHERE f.table_name = ask_for."table" AND f.key = object;
END
$$;
COMMENT ON FUNCTION iasql_internal.ask_for(text, text, text) IS 'The next full cycle imports the object.';

CREATE OR REPLACE FUNCTION iasql_internal.record_of("table" text, object text) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
DECLARE
    found_it bigint;
BEGIN
    EXECUTE format('SELECT t.id FROM public.%I t WHERE iasql_internal.key(to_jsonb(t), (SELECT m.identity FROM iasql_internal.managed_table m WHERE m.name = %L)) = $1 ORDER BY t.id LIMIT 1', "table", "table")
    INTO found_it USING object;
    RETURN found_it;
END
$$;
COMMENT ON FUNCTION iasql_internal.record_of(text, text) IS 'The record of an object; NULL if there is none.';

CREATE OR REPLACE FUNCTION iasql_internal.adopt("table" text, cloud_id text) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    identity text[] := (SELECT m.identity FROM iasql_internal.managed_table m WHERE m.name = adopt."table" AND NOT m.settings);
    object   text := CASE WHEN cardinality(identity) > 1 THEN replace(cloud_id, '|', E'\x1f') ELSE cloud_id END;
    record   bigint;
    hidden   boolean := EXISTS (SELECT FROM iasql_internal.secured(ARRAY["table"])) AND NOT pg_has_role(iasql_internal.writer(), 'iasql_engine', 'MEMBER');
BEGIN
    PERFORM iasql_internal.check_table("table");
    IF NOT has_table_privilege(iasql_internal.writer(), format('public.%I', "table"), 'INSERT') THEN
        RAISE EXCEPTION 'permission denied: records of % are not yours to insert', "table"
            USING ERRCODE = '42501', TABLE = "table", HINT = 'It takes the right to INSERT into the whole table.';
    ELSIF iasql_internal.is_subject(iasql_internal.writer(), format('public.%I', "table")::regclass) THEN
        -- Whether the record would be one that the caller may insert shows only once it is there.
        RAISE EXCEPTION 'permission denied: row-level security of % decides about its records, and what the object will be is not known before it is imported', "table"
            USING ERRCODE = '42501', TABLE = "table", HINT = 'Let a role adopt it that row-level security does not apply to.';
    END IF;
    IF identity IS NULL THEN
        RAISE EXCEPTION 'records of % stand for nothing in the cloud', "table" USING ERRCODE = 'IA054', TABLE = "table", HINT = 'Insert one.';
    END IF;
    record := iasql_internal.record_of("table", object);
    IF record IS NULL THEN
        PERFORM iasql_internal.ask('sync', jsonb_build_object('tables', jsonb_build_array("table"), 'table', "table", 'adopt', object));
        record := iasql_internal.record_of("table", object);
    END IF;
    IF hidden THEN -- whether there is one is not said where rows are hidden from some
        RETURN NULL;
    END IF;
    IF record IS NULL THEN
        RAISE EXCEPTION 'the cloud shows no % with the id %', "table", quote_literal(cloud_id)
            USING ERRCODE = 'IA054', TABLE = "table",
                  HINT = format('It takes what %s has as the object''s %s%s. If the object comes later, it is imported then.', "table", array_to_string(identity, ' and '),
                                CASE WHEN cardinality(identity) > 1 THEN ', with | between' ELSE '' END);
    END IF;
    RETURN record;
END
$$;
COMMENT ON FUNCTION iasql_internal.adopt(text, text) IS 'What iasql_adopt does once its caller has been found to be allowed to.';

---------------------------------------------------------------------------------------------------------------------
-- iasql_ignore

CREATE OR REPLACE FUNCTION iasql_internal.check_ignore() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    wrong   text;
    example CONSTANT text := 'For instance {"tags": {"kubernetes.io/*": "owned"}} or {"name": "managed-*"}; * stands for any characters.';
BEGIN
    wrong := CASE
        WHEN NEW.match IS NULL OR jsonb_typeof(NEW.match) <> 'object' THEN 'it is no JSON object'
        WHEN NOT NEW.match ?| ARRAY['tags', 'name'] THEN 'it has neither tags nor a name'
        WHEN NEW.match - 'tags' - 'name' <> '{}' THEN format('it has the key %L, and only tags and name are known', (SELECT min(k) FROM jsonb_object_keys(NEW.match - 'tags' - 'name') k))
        WHEN NEW.match ? 'name' AND (jsonb_typeof(NEW.match -> 'name') <> 'string' OR NEW.match ->> 'name' = '') THEN 'its name is no text, or an empty one'
        WHEN NEW.match ? 'tags' AND jsonb_typeof(NEW.match -> 'tags') <> 'object' THEN 'its tags are no JSON object'
        WHEN NEW.match ? 'tags' AND NEW.match -> 'tags' = '{}' THEN 'its tags are empty'
        WHEN NEW.match ? 'tags' AND EXISTS (SELECT FROM jsonb_each(NEW.match -> 'tags') t WHERE jsonb_typeof(t.value) <> 'string')
            THEN format('the value of its tag %L is no text', (SELECT min(t.key) FROM jsonb_each(NEW.match -> 'tags') t WHERE jsonb_typeof(t.value) <> 'string'))
        END;
    IF wrong IS NULL AND NEW.table_name IS NOT NULL THEN
        PERFORM iasql_internal.check_table(NEW.table_name);
        SELECT CASE WHEN NEW.match ? 'tags' AND NOT 'tags' = ANY (m.columns) THEN format('table %s has no tags', NEW.table_name)
                    WHEN NEW.match ? 'name' AND m.names = '{}' THEN format('objects of %s have no name', NEW.table_name) END
        INTO wrong FROM iasql_internal.managed_table m WHERE m.name = NEW.table_name;
    END IF;
    IF wrong IS NULL THEN
        PERFORM iasql_internal.refuse_rule(NEW.table_name, NULL, NULL, 'NORMAL');
    END IF;
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION 'iasql_ignore cannot hold %: %', coalesce(NEW.match::text, 'NULL'), wrong
            USING ERRCODE = 'IA053', TABLE = 'iasql_ignore', COLUMN = 'match', HINT = example;
    END IF;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION iasql_internal.check_ignore() IS 'Checks a rule of iasql_ignore.';

CREATE OR REPLACE FUNCTION iasql_internal.rules_changed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM iasql_internal.release_ruled();
    PERFORM iasql_internal.enqueue_sync();
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.rules_changed() IS 'A changed rule takes effect with a full cycle at once.';

CREATE OR REPLACE FUNCTION iasql_internal.release_ruled() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE iasql_internal.record_state s SET next_attempt_at = now() WHERE s.code = 'rule';
    UPDATE iasql_internal.garbage g SET next_attempt_at = now() WHERE g.code = 'rule';
END
$$;
COMMENT ON FUNCTION iasql_internal.release_ruled() IS 'What rules have kept from moving is looked at again.';

CREATE OR REPLACE TRIGGER iasql_changed AFTER INSERT OR UPDATE OR DELETE ON public.iasql_protection
    FOR EACH STATEMENT EXECUTE FUNCTION iasql_internal.rules_changed();
CREATE OR REPLACE TRIGGER iasql_check BEFORE INSERT OR UPDATE ON public.iasql_ignore
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.check_ignore();
CREATE OR REPLACE TRIGGER iasql_changed AFTER INSERT OR UPDATE OR DELETE ON public.iasql_ignore
    FOR EACH STATEMENT EXECUTE FUNCTION iasql_internal.rules_changed();
