-- LISTEN iasql_events. A notification says what happened and names rows by their ids, never what is in them. One names at
-- most 300, well under the 8000 bytes a payload may have, and says how many there are; one transaction sends at most 100.
CREATE OR REPLACE FUNCTION iasql_internal.notify(event text, about jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    sent integer := coalesce(nullif(current_setting('iasql.events', true), ''), '0')::integer;
BEGIN
    IF sent < 100 THEN
        PERFORM pg_notify('iasql_events', (jsonb_build_object('event', event) || about)::text);
    ELSIF sent = 100 THEN
        PERFORM pg_notify('iasql_events', '{"event": "more"}');
    END IF;
    PERFORM set_config('iasql.events', (sent + 1)::text, true);
EXCEPTION WHEN data_exception THEN -- somebody has made a setting of that name
    PERFORM set_config('iasql.events', '0', true);
END
$$;
COMMENT ON FUNCTION iasql_internal.notify(text, jsonb) IS 'Sends an event to those who listen.';

-- Anybody may LISTEN. Of a table whose rows are hidden from some, no more is said than that something has happened.
CREATE OR REPLACE FUNCTION iasql_internal.notify_records(event text, "table" text, what text, ids bigint[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM iasql_internal.notify(event, CASE
        WHEN EXISTS (SELECT FROM iasql_internal.secured(ARRAY["table"])) THEN jsonb_build_object('table', "table")
        ELSE jsonb_build_object('table', "table", 'count', cardinality(ids), what, to_jsonb(ids[:300])) END);
END
$$;
COMMENT ON FUNCTION iasql_internal.notify_records(text, text, text, bigint[]) IS 'Sends an event about records of a table.';

CREATE OR REPLACE FUNCTION iasql_internal.cycle_events() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM iasql_internal.notify('cycle finished', jsonb_build_object('cycle', n.id)),
            CASE WHEN n.pulls > 0 AND n.kind = 'full' THEN iasql_internal.notify('drift pulled', jsonb_build_object('cycle', n.id, 'count', n.pulls)) END
    FROM new_rows n JOIN old_rows o USING (id)
    WHERE n.ended IS NOT NULL AND o.ended IS NULL;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.cycle_events() IS 'Tells of cycles that end.';
CREATE OR REPLACE TRIGGER iasql_events AFTER UPDATE ON public.iasql_cycles
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION iasql_internal.cycle_events();

-- (Its settings are those of the audit trigger, for the same reason.)
CREATE OR REPLACE FUNCTION iasql_internal.failure_events() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_nestloop = off SET jit = off AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM iasql_internal.notify_records('record failed', f.table_name, 'records', array_agg(f.record_id ORDER BY f.record_id))
        FROM new_rows f WHERE f.review GROUP BY f.table_name;
    ELSE
        PERFORM iasql_internal.notify_records('record failed', f.table_name, 'records', array_agg(f.record_id ORDER BY f.record_id))
        FROM new_rows f JOIN old_rows o USING (table_name, record_id)
        WHERE f.review AND NOT (o.review AND o.state = f.state) GROUP BY f.table_name;
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.failure_events() IS 'Tells of records that have come to need a person.';
CREATE OR REPLACE TRIGGER iasql_events_insert AFTER INSERT ON iasql_internal.record_state
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION iasql_internal.failure_events();
CREATE OR REPLACE TRIGGER iasql_events_update AFTER UPDATE ON iasql_internal.record_state
    REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION iasql_internal.failure_events();

CREATE OR REPLACE FUNCTION iasql_internal.conflict_events() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM iasql_internal.notify_records('conflict', c.table_name, 'conflicts', array_agg(c.id ORDER BY c.id))
    FROM new_rows c GROUP BY c.table_name;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.conflict_events() IS 'Tells of conflicts.';
CREATE OR REPLACE TRIGGER iasql_events AFTER INSERT ON public.iasql_conflicts
    REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION iasql_internal.conflict_events();

CREATE OR REPLACE FUNCTION iasql_internal.batch_events() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM iasql_internal.notify('batch opened', jsonb_build_object('batch', NEW.id));
    ELSIF NEW.closed_at IS NOT NULL AND OLD.closed_at IS NULL THEN
        PERFORM iasql_internal.notify('batch closed', jsonb_build_object('batch', NEW.id));
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.batch_events() IS 'Tells of batches that are opened and closed.';
CREATE OR REPLACE TRIGGER iasql_events AFTER INSERT OR UPDATE OF closed_at ON iasql_internal.batch
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.batch_events();
