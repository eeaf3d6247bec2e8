-- Everything is done by statements of the caller's, with the caller's own rights (R33): grants, row-level security and triggers
-- decide as if they had been typed.
CREATE OR REPLACE PROCEDURE public.iasql_restore("table" text, id bigint, ts timestamptz)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
SET extra_float_digits = 1 SET "IntervalStyle" = 'postgres' SET bytea_output = 'hex' AS $$ -- as the audit log has it
DECLARE
    what    text := format('record %s of %s', id, "table");
    image   jsonb; -- as it was
    present jsonb; -- as it is, NULL if it is gone
    wanted  jsonb;
    secret  text;
BEGIN
    PERFORM iasql_internal.refuse_standby('iasql_restore');
    PERFORM iasql_internal.check_table("table");
    IF id IS NULL THEN
        PERFORM iasql_internal.refuse_null('iasql_restore', 'id', format('SELECT * FROM iasql_changes_since(…) lists what was changed in %I.', "table"));
    END IF;
    image := iasql_internal.image_at("table", id, ts);
    EXECUTE format('SELECT to_jsonb(t) FROM public.%I t WHERE t.id = $1', "table") INTO present USING id;
    wanted := iasql_internal.without_lost_references("table", id, ts, image, iasql_internal.to_restore("table", image, present));
    secret := iasql_internal.lost_secrets("table", id, CASE WHEN present IS NULL THEN '-infinity' ELSE ts END);
    IF present IS NOT NULL AND wanted = '{}' THEN
        RAISE NOTICE '% is as it was at %: there is nothing to restore', what, ts;
    ELSE
        IF iasql_internal.session_batch() IS NULL THEN
            CALL public.iasql_begin();
        END IF;
        PERFORM iasql_internal.write_restored("table", id, ts, wanted, present IS NULL, secret);
        RAISE NOTICE '% is staged as it was at %: % Look at SELECT * FROM iasql_preview(), then CALL iasql_commit()', what, ts,
            CASE WHEN present IS NULL THEN 'it is inserted again.' ELSE (SELECT string_agg(k, ', ' ORDER BY k) FROM jsonb_object_keys(wanted) k) || '.' END;
    END IF;
    IF secret IS NOT NULL THEN
        RAISE WARNING '% of % is not restored: it is a secret, which the audit log does not have', secret, what
            USING HINT = format('If it is to be another one: UPDATE %I SET … WHERE id = %s.', "table", id);
    END IF;
END
$$;
COMMENT ON PROCEDURE public.iasql_restore(text, bigint, timestamptz) IS
$$Stages a record as it was at that time, in the session's batch or else in a new one; look at the preview, then commit it or roll it back. What has been deleted since, here or in the cloud, is inserted again under its old number, without what the cloud assigns. Secrets stay as they are. It takes the rights that an UPDATE or INSERT by hand takes.
Sample: CALL iasql_restore('queue', 1, now() - interval '1 hour')$$;

CREATE OR REPLACE FUNCTION iasql_internal.image_at("table" text, id bigint, at timestamptz) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    since timestamptz := iasql_internal.log_since();
    what  text := format('record %s of %s', id, "table");
    next  record; -- the first change after that
    image jsonb;
    gone  timestamptz;
BEGIN
    IF at IS NULL OR at < since OR at > clock_timestamp() THEN
        RAISE EXCEPTION '% cannot be restored as of %', what, coalesce(at::text, 'NULL')
            USING ERRCODE = 'IA019', TABLE = "table",
                  HINT = CASE WHEN at IS NULL THEN 'Name a time, such as now() - interval ''1 hour''.'
                              WHEN at < since THEN format('The audit log reaches back to %s; the setting audit_retention says how long it is kept.', since)
                              ELSE 'That time is yet to come.' END;
    END IF;
    SELECT l.id, l.ts, l.change_type INTO next FROM public.iasql_audit_log l
    WHERE l.record_id = image_at.id AND l.table_name = image_at."table" AND l.ts > at AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE')
    ORDER BY l.id LIMIT 1;
    IF next.id IS NULL THEN
        EXECUTE format('SELECT to_jsonb(t) FROM public.%I t WHERE t.id = $1', "table") INTO image USING id;
    ELSIF iasql_internal.hidden_changes("table", id, at, ARRAY(
              SELECT l.id FROM public.iasql_audit_log l WHERE l.record_id = image_at.id AND l.table_name = image_at."table" AND l.ts > at)) THEN
        RAISE EXCEPTION '% cannot be restored: it was changed in ways that you may not see', what
            USING ERRCODE = '42501', TABLE = "table", HINT = 'Row-level security of the table says so. Let somebody restore it who sees the record.';
    ELSE
        image := iasql_internal.image("table", id, next.id);
    END IF;
    IF image IS NOT NULL THEN
        RETURN image;
    END IF;
    SELECT max(l.ts) INTO gone FROM public.iasql_audit_log l
    WHERE l.record_id = image_at.id AND l.table_name = image_at."table" AND l.ts <= at AND l.change_type = 'DELETE';
    IF next.id IS NULL AND gone IS NULL THEN
        RAISE EXCEPTION 'table % has no record %, and the audit log none that you may see', "table", id
            USING ERRCODE = 'IA006', TABLE = "table", HINT = format('SELECT * FROM iasql_changes_since(…) lists what was changed in %I.', "table");
    END IF;
    RAISE EXCEPTION '% was not there at %', what, at
        USING ERRCODE = 'IA019', TABLE = "table",
              HINT = CASE WHEN next.change_type = 'INSERT' THEN format('It was inserted at %s. Name a later time; to be rid of it, delete it.', next.ts)
                          WHEN gone IS NOT NULL THEN format('It was deleted at %s. Name an earlier time.', gone)
                          ELSE 'Its table was dropped with its module since, and with it what the record was.' END;
END
$$;
COMMENT ON FUNCTION iasql_internal.image_at(text, bigint, timestamptz) IS 'A record as it was at a time; raises if it was not there, or nobody knows.';

-- Who does not see a record sees of its changes only his own. Of a record that he has not deleted himself nothing is said.
CREATE OR REPLACE FUNCTION iasql_internal.hidden_changes("table" text, id bigint, at timestamptz, seen bigint[]) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    class oid := to_regclass(format('public.%I', "table"));
BEGIN
    RETURN class IS NOT NULL AND iasql_internal.is_subject(iasql_internal.writer(), class)
       AND EXISTS (SELECT FROM public.iasql_audit_log l WHERE l.record_id = hidden_changes.id AND l.table_name = hidden_changes."table" AND l.ts > at
                     AND l.change_type = 'DELETE' AND l.origin = 'user' AND l."user" = iasql_internal.writer())
       AND EXISTS (SELECT FROM public.iasql_audit_log l WHERE l.record_id = hidden_changes.id AND l.table_name = hidden_changes."table" AND l.ts > at
                     AND NOT l.id = ANY (seen));
END
$$;
COMMENT ON FUNCTION iasql_internal.hidden_changes(text, bigint, timestamptz, bigint[]) IS 'Whether a record that the caller has deleted was changed by others, which row-level security hides from him.';

-- What is gone gets its object back, by what the cloud had assigned, where that is certain to be there still: the deletion has not
-- begun, or the record was forgotten.
CREATE OR REPLACE FUNCTION iasql_internal.to_restore("table" text, image jsonb, present jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    managed iasql_internal.managed_table;
    class   oid := format('public.%I', "table")::regclass;
    record  bigint := (image ->> 'id')::bigint;
    last_   public.iasql_audit_log;
    without text[];
BEGIN
    SELECT * INTO managed FROM iasql_internal.managed_table m WHERE m.name = to_restore."table";
    without := managed.write_only || managed.assigned || '{id}';
    IF present IS NOT NULL THEN
        without := without || '{account}';
    ELSE
        SELECT l.* INTO last_ FROM public.iasql_audit_log l
        WHERE l.record_id = record AND l.table_name = to_restore."table" AND l.change_type = 'DELETE' ORDER BY l.id DESC LIMIT 1;
        IF last_.origin = 'user' AND NOT last_.settled AND NOT EXISTS (
               SELECT FROM public.iasql_operations o
               WHERE o.table_name = to_restore."table" AND o.record_id = record AND o.kind = 'delete' AND o.started >= last_.ts AND o.result IS DISTINCT FROM 'failed')
           OR (last_.account, replace(last_.key, E'\x1f', '|')) IN (SELECT f.account, f.cloud_id FROM public.iasql_forgotten f WHERE f.table_name = to_restore."table") THEN
            without := managed.write_only || '{id}';
        END IF;
    END IF;
    RETURN (SELECT coalesce(jsonb_object_agg(a.attname, image -> a.attname::text), '{}')
            FROM pg_attribute a
            WHERE a.attrelid = class AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND a.attidentity <> 'a' AND NOT a.attname = ANY (without)
              AND image ? a.attname::text AND (present IS NULL OR image -> a.attname::text IS DISTINCT FROM present -> a.attname::text));
END
$$;
COMMENT ON FUNCTION iasql_internal.to_restore(text, jsonb, jsonb) IS 'The columns that make a record what it was: those that differ and that a user may write or, of what is gone, all of these.';

CREATE OR REPLACE FUNCTION iasql_internal.lost_secrets("table" text, id bigint, earliest timestamptz) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT string_agg(s.name, ', ' ORDER BY s.name)
    FROM unnest(iasql_internal.secrets("table")) s (name)
    WHERE EXISTS (SELECT FROM public.iasql_audit_log l
                  WHERE l.record_id = lost_secrets.id AND l.table_name = lost_secrets."table" AND l.ts > earliest AND l.origin = 'user'
                    AND l.change -> 'change' ->> s.name IS NOT NULL);
END;
COMMENT ON FUNCTION iasql_internal.lost_secrets(text, bigint, timestamptz) IS 'The secrets of a record that somebody has set since then; NULL if there are none.';

-- Of tables in which the caller may not see every record the foreign key speaks. What the cloud may choose, such as one that it
-- makes along with another object, is left to it where that is gone.
CREATE OR REPLACE FUNCTION iasql_internal.without_lost_references("table" text, id bigint, at timestamptz, image jsonb, wanted jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    class     oid := format('public.%I', "table")::regclass;
    chosen    text[] := (SELECT m.chosen FROM iasql_internal.managed_table m WHERE m.name = without_lost_references."table");
    reference record;
    names     text[];
    lost      text;
BEGIN
    FOR reference IN
        SELECT r.parent, r.theirs, r.ours, format('SELECT concat_ws('', '', %1$s) FROM jsonb_populate_record(NULL::public.%2$I, $1) x
                   WHERE ROW(%1$s) IS NOT NULL AND NOT EXISTS (SELECT FROM public.%3$I p WHERE (%4$s) = (%1$s))', r.ours, "table", r.parent, r.theirs) AS query
        FROM iasql_internal.references_of(class) r
        UNION ALL
        SELECT l.target, 'p.id', 'x.' || l."column", format('SELECT min(e.id)::text FROM jsonb_populate_record(NULL::public.%1$I, $1) x CROSS JOIN LATERAL unnest(x.%2$I) e (id)
                   WHERE e.id IS NOT NULL AND NOT EXISTS (SELECT FROM public.%3$I p WHERE p.id = e.id)', "table", l."column", l.target)
        FROM iasql_internal.lists_in("table") l
    LOOP
        names := string_to_array(replace(replace(reference.ours, 'x.', ''), '"', ''), ', ');
        CONTINUE WHEN NOT wanted ?| names OR NOT has_table_privilege(format('public.%I', reference.parent), 'SELECT') OR row_security_active(format('public.%I', reference.parent));
        EXECUTE reference.query INTO lost USING image;
        CONTINUE WHEN lost IS NULL;
        lost := format('%s of %s, which is gone', CASE reference.theirs WHEN 'p.id' THEN 'record ' || lost ELSE quote_literal(lost) END, reference.parent);
        IF names <@ chosen THEN
            RAISE NOTICE '% of record % of % is left to the cloud: it referred to %', array_to_string(names, ', '), id, "table", lost;
            wanted := wanted - names;
        ELSE
            RAISE EXCEPTION 'record % of % cannot be restored as it was at %: its % refers to %', id, "table", at, array_to_string(names, ', '), lost
                USING ERRCODE = '23503', TABLE = "table", COLUMN = names[1],
                      HINT = format('SELECT * FROM iasql_changes_since(…) tells of it. Restore it first, by iasql_restore(%L, …) in the same batch, or change the record by hand.', reference.parent);
        END IF;
    END LOOP;
    RETURN wanted;
END
$$;
COMMENT ON FUNCTION iasql_internal.without_lost_references(text, bigint, timestamptz, jsonb, jsonb) IS 'The columns to restore; raises if the record, as it was, refers to one that is not there any more, unless the cloud may choose another.';

CREATE OR REPLACE FUNCTION iasql_internal.write_restored("table" text, id bigint, at timestamptz, wanted jsonb, is_new boolean, secret text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    columns text;
    values_ text;
    n       bigint;
    code    text;
    detail  text;
    tip     text;
    name    text;
BEGIN
    SELECT string_agg(quote_ident(k), ', '), string_agg('p.' || quote_ident(k), ', ') INTO columns, values_ FROM jsonb_object_keys(wanted) k;
    IF is_new THEN
        EXECUTE format('INSERT INTO public.%1$I (id, %2$s) SELECT $2, %3$s FROM jsonb_populate_record(NULL::public.%1$I, $1) p', "table", columns, values_) USING wanted, id;
    ELSE
        EXECUTE format('UPDATE public.%1$I t SET (%2$s) = (SELECT %3$s FROM jsonb_populate_record(NULL::public.%1$I, $1) p) WHERE t.id = $2', "table", columns, values_)
        USING wanted, id;
    END IF;
    GET DIAGNOSTICS n = ROW_COUNT;
    IF n = 0 THEN
        PERFORM iasql_internal.refuse_hidden("table", id);
    END IF;
EXCEPTION WHEN unique_violation OR foreign_key_violation OR check_violation OR not_null_violation THEN
    GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, detail = PG_EXCEPTION_DETAIL, tip = PG_EXCEPTION_HINT, name = COLUMN_NAME;
    RAISE EXCEPTION 'record % of % cannot be restored as it was at %: %', id, "table", at, SQLERRM
        USING ERRCODE = code, TABLE = "table", COLUMN = name, DETAIL = detail,
              HINT = concat_ws(' ', nullif(tip, ''), 'Nothing was changed.',
                               format('The audit log has no secrets: insert the record yourself, with %s.', CASE WHEN is_new THEN secret END));
END
$$;
COMMENT ON FUNCTION iasql_internal.write_restored(text, bigint, timestamptz, jsonb, boolean, text) IS 'Writes a record as it was, as the caller.';
