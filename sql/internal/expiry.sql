-- What ends by itself: rules with a time in until, and records with an expiry. The engine ends both, at its schedule's ticks.
-- The right to end a rule is asked when its end is set, as the rule is one for that time from then on. The right to delete a
-- record is asked again when it is deleted (R33): of a role that is not there to be asked only grants can be.

CREATE OR REPLACE FUNCTION iasql_internal.check_until() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.until <= clock_timestamp() THEN
        RAISE EXCEPTION 'the rule would end at %, which is past', NEW.until
            USING ERRCODE = 'IA057', TABLE = TG_TABLE_NAME, COLUMN = 'until', HINT = 'Give a time to come, or NULL for a rule without an end.';
    END IF;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION iasql_internal.check_until() IS 'Checks that a rule ends in the future.';
DO $$
DECLARE
    rules regclass;
BEGIN
    FOREACH rules IN ARRAY '{public.iasql_mode,public.iasql_ignore,public.iasql_protection}'::regclass[] LOOP
        EXECUTE format('CREATE OR REPLACE TRIGGER iasql_until_insert BEFORE INSERT ON %s FOR EACH ROW WHEN (NEW.until IS NOT NULL) EXECUTE FUNCTION iasql_internal.check_until()', rules);
        EXECUTE format('CREATE OR REPLACE TRIGGER iasql_until BEFORE UPDATE OF until ON %s FOR EACH ROW WHEN (NEW.until IS DISTINCT FROM OLD.until) EXECUTE FUNCTION iasql_internal.check_until()', rules);
    END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION iasql_internal.set_expiry("table" text, id bigint, at timestamptz) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    managed iasql_internal.managed_table;
    changed boolean;
BEGIN
    SELECT * INTO managed FROM iasql_internal.managed_table m WHERE m.name = set_expiry."table";
    IF NOT managed.can_delete OR managed.settings AND NOT managed.composition THEN
        RAISE EXCEPTION 'records of % do not expire: %', "table",
                CASE WHEN managed.settings THEN 'they stand for nothing in the cloud' ELSE 'they are read from the cloud' END
            USING ERRCODE = 'IA057', TABLE = "table", HINT = 'Let what can be deleted expire.';
    ELSIF NOT iasql_internal.permitted('delete', "table", id) OR iasql_internal.may_not_expire(iasql_internal.writer(), "table") IS NOT NULL THEN
        RAISE EXCEPTION 'permission denied: record % of % is not yours to let expire%', id, "table",
                ': ' || iasql_internal.may_not_expire(iasql_internal.writer(), "table")
            USING ERRCODE = '42501', TABLE = "table", HINT = 'It takes the right to DELETE it, by grants alone: row-level security cannot be asked when the time has come.';
    ELSIF at <= clock_timestamp() THEN
        RAISE EXCEPTION 'record % of % would expire at %, which is past', id, "table", at
            USING ERRCODE = 'IA057', TABLE = "table", HINT = format('Give a time to come, or DELETE FROM %I WHERE id = %s.', "table", id);
    END IF;
    PERFORM iasql_internal.image_of("table", id);
    IF at IS NULL OR at = 'infinity' THEN
        DELETE FROM iasql_internal.expiry e WHERE e.table_name = set_expiry."table" AND e.record_id = set_expiry.id;
    ELSE
        INSERT INTO iasql_internal.expiry AS e (table_name, record_id, until, set_by)
        VALUES (set_expiry."table", set_expiry.id, set_expiry.at, iasql_internal.writer())
        ON CONFLICT (table_name, record_id) DO UPDATE SET until = excluded.until, set_by = excluded.set_by, set_at = excluded.set_at, refused = NULL, due = false
        WHERE (e.until, e.set_by) IS DISTINCT FROM (excluded.until, excluded.set_by);
    END IF;
    GET DIAGNOSTICS changed = ROW_COUNT;
    RETURN changed;
END
$$;
COMMENT ON FUNCTION iasql_internal.set_expiry(text, bigint, timestamptz) IS 'What iasql_expire does once its caller has been found to be allowed to delete the record.';

CREATE OR REPLACE FUNCTION iasql_internal.may_not_expire(who text, "table" text) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
RETURN CASE
    WHEN NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = who) THEN format('there is no role %s any more', who)
    ELSE (
        -- What is part of a record goes with it, and so do the parts of an instance of a composition.
        SELECT CASE WHEN has_table_privilege(who, c.oid, 'DELETE') THEN format('row-level security of %s applies to %s', c.relname, who)
               ELSE format('%s may not DELETE from %s', who, c.relname) END
        FROM pg_class c JOIN iasql_internal.managed_table m ON m.name = c.relname
        WHERE c.relnamespace = 'public'::regnamespace AND c.oid IN (SELECT iasql_internal.reached(ARRAY(
                  SELECT "table" UNION SELECT p.table_name FROM iasql_internal.composition_part p WHERE p.composition = "table"
                  UNION SELECT p.table_name FROM iasql_internal.part p WHERE p.composition = "table")))
          AND (NOT has_table_privilege(who, c.oid, 'DELETE') OR iasql_internal.is_subject(who, c.oid))
        ORDER BY c.relname <> "table", c.relname LIMIT 1)
    END;
COMMENT ON FUNCTION iasql_internal.may_not_expire(text, text) IS 'Why no record of a table, nor what goes with it, may be deleted for a role that is not there to be asked; NULL if it may.';

-- As the role that has set the expiry: writer() says so. What is refused (a protection, a record that refers to this one,
-- somebody's batch) is put on record and tried again with the next tick.
CREATE OR REPLACE FUNCTION iasql_internal.delete_expired(due iasql_internal.expiry) RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    why text := iasql_internal.may_not_expire(due.set_by, due.table_name);
BEGIN
    IF why IS NOT NULL THEN
        RETURN why;
    END IF;
    PERFORM set_config('iasql.origin', 'expiry', true), set_config('iasql.expires_for', due.set_by, true);
    PERFORM iasql_internal.refuse_untrusted(ARRAY[due.table_name]);
    EXECUTE format('DELETE FROM public.%I t WHERE t.id = $1', due.table_name) USING due.record_id;
    UPDATE public.iasql_audit_log l SET message = format('it has expired: %s set that on %s', due.set_by, due.set_at::timestamptz(0))
    WHERE l.record_id = due.record_id AND l.table_name = due.table_name AND l.change_type = 'DELETE' AND l.xid = pg_current_xact_id();
    DELETE FROM iasql_internal.expiry e WHERE e.table_name = due.table_name AND e.record_id = due.record_id;
    RETURN NULL;
EXCEPTION WHEN OTHERS THEN -- rolls back what this block has set, too
    RETURN SQLERRM;
END
$$;
COMMENT ON FUNCTION iasql_internal.delete_expired(iasql_internal.expiry) IS 'Deletes a record whose time has come, as who has set that; says why not, or NULL.';

CREATE OR REPLACE FUNCTION iasql_internal.end_due() RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    origin  text := coalesce(current_setting('iasql.origin', true), '');
    patient text := current_setting('lock_timeout');
    due     iasql_internal.expiry;
    n       bigint;
    rounds  bigint := 0;
    began   timestamptz := clock_timestamp();
    total   bigint := 0;
BEGIN
    -- After a restore nothing that was pending is carried out before somebody has looked (R30).
    IF EXISTS (SELECT FROM iasql_internal.restored) THEN
        RETURN 0;
    END IF;
    PERFORM set_config('lock_timeout', '1s', true); -- the schedule does not wait for somebody's transaction
    DELETE FROM public.iasql_mode m WHERE m.id = ANY (ARRAY(SELECT d.id FROM public.iasql_mode d WHERE d.until <= now() FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS n = ROW_COUNT;
    total := total + n;
    DELETE FROM public.iasql_ignore g WHERE g.id = ANY (ARRAY(SELECT d.id FROM public.iasql_ignore d WHERE d.until <= now() FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS n = ROW_COUNT;
    total := total + n;
    DELETE FROM public.iasql_protection p WHERE p.ctid = ANY (ARRAY(SELECT d.ctid FROM public.iasql_protection d WHERE d.until <= now() FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS n = ROW_COUNT;
    total := total + n;
    -- Again as long as one goes: what refers to another may come after it. What was refused before comes last.
    LOOP
        n := 0;
        FOR due IN SELECT e.* FROM iasql_internal.expiry e WHERE e.due AND e.until <= now()
                   ORDER BY e.refused IS NOT NULL, e.until, e.record_id DESC LIMIT 1000 FOR UPDATE SKIP LOCKED LOOP
            EXIT WHEN clock_timestamp() > began + interval '5 seconds'; -- the next tick goes on
            due.refused := iasql_internal.delete_expired(due);
            IF due.refused IS NULL THEN
                n := n + 1;
            ELSE
                UPDATE iasql_internal.expiry e SET refused = due.refused
                WHERE e.table_name = due.table_name AND e.record_id = due.record_id AND e.refused IS DISTINCT FROM due.refused;
            END IF;
        END LOOP;
        total := total + n;
        rounds := rounds + 1;
        EXIT WHEN n = 0 OR rounds = 10 OR clock_timestamp() > began + interval '5 seconds';
    END LOOP;
    -- A clock that is ahead for a moment deletes nothing (R17): it takes two ticks that find the time past.
    UPDATE iasql_internal.expiry e SET due = NOT e.due WHERE e.ctid = ANY (ARRAY(
        SELECT d.ctid FROM iasql_internal.expiry d WHERE d.due <> (d.until <= now()) FOR UPDATE SKIP LOCKED));
    PERFORM set_config('iasql.origin', origin, true), set_config('lock_timeout', patient, true);
    RETURN total;
END
$$;
COMMENT ON FUNCTION iasql_internal.end_due() IS 'Ends the rules and deletes the records whose time has come; returns how many.';
