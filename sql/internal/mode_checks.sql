CREATE OR REPLACE FUNCTION iasql_internal.check_mode() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    managed iasql_internal.managed_table;
    found_it boolean;
    -- A rule that ends does what lifting it does.
    does text := CASE WHEN NEW.until IS NULL THEN NEW.mode ELSE 'NORMAL' END;
BEGIN
    IF NEW.table_name IS NULL THEN
        PERFORM iasql_internal.refuse_rule(NULL, NULL, NULL, does);
        RETURN NEW;
    END IF;
    -- What a rule is about may have gone since: the rule can still be changed, such as given an end.
    IF TG_OP = 'UPDATE' AND (NEW.table_name, NEW.record_id, NEW.column_name) IS NOT DISTINCT FROM (OLD.table_name, OLD.record_id, OLD.column_name) THEN
        PERFORM iasql_internal.refuse_rule(NEW.table_name, NEW.record_id, NEW.column_name, does);
        RETURN NEW;
    END IF;
    SELECT * INTO managed FROM iasql_internal.managed_table m WHERE m.name = NEW.table_name;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'table % is not managed', NEW.table_name
            USING ERRCODE = 'IA006', TABLE = 'iasql_mode', COLUMN = 'table_name', HINT = 'SELECT "table" FROM iasql_tables lists the managed tables.';
    END IF;
    IF NEW.column_name IS NOT NULL AND NOT NEW.column_name = ANY (managed.columns) THEN
        RAISE EXCEPTION 'table % has no managed column %', NEW.table_name, NEW.column_name
            USING ERRCODE = 'IA006', TABLE = 'iasql_mode', COLUMN = 'column_name',
                  HINT = 'Its managed columns are ' || array_to_string(managed.columns, ', ') || '.';
    END IF;
    IF NEW.record_id IS NOT NULL THEN
        EXECUTE format('SELECT EXISTS (SELECT FROM public.%I WHERE id = $1)', NEW.table_name) INTO found_it USING NEW.record_id;
        IF NOT found_it THEN
            RAISE EXCEPTION 'table % has no record %', NEW.table_name, NEW.record_id
                USING ERRCODE = 'IA006', TABLE = 'iasql_mode', COLUMN = 'record_id', HINT = format('SELECT id FROM %I lists its records.', NEW.table_name);
        END IF;
    END IF;
    PERFORM iasql_internal.refuse_rule(NEW.table_name, NEW.record_id, NEW.column_name, does);
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION iasql_internal.check_mode() IS 'Checks that a rule of iasql_mode names what exists, and that its author may do what it does.';

CREATE OR REPLACE FUNCTION iasql_internal.mode_changed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_TABLE_NAME = 'iasql_settings' THEN
        PERFORM pg_notify('iasql_settings', '');
        -- What was stopped for review may go ahead under the new limits, or is stopped again.
        UPDATE iasql_internal.record_state s SET next_attempt_at = now() WHERE s.code = 'delete_guard';
    END IF;
    PERFORM iasql_internal.release_ruled();
    PERFORM iasql_internal.enqueue_sync();
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.mode_changed() IS 'A changed rule or setting takes effect with a full cycle at once.';

CREATE OR REPLACE FUNCTION iasql_internal.check_setting() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    span interval;
    wants text;
    lacks text[];
BEGIN
    IF TG_OP = 'DELETE' OR NEW.name <> OLD.name THEN
        RAISE EXCEPTION 'settings can be neither deleted nor renamed'
            USING ERRCODE = 'IA007', TABLE = 'iasql_settings', COLUMN = 'name', HINT = 'UPDATE iasql_settings SET value = … WHERE name = …';
    END IF;
    -- Others rely on these. The rest has the engine push, pull or look at everything in another way: that is a rule for everything.
    IF NOT pg_has_role(iasql_internal.writer(), 'iasql_engine', 'USAGE') THEN
        IF NEW.name IN ('required_approvals', 'approvers', 'audit_retention', 'max_deletes', 'max_delete_ratio', 'delete_ratio_floor', 'batch_timeout', 'progress_timeout') THEN
            RAISE EXCEPTION 'setting % is for administrators', NEW.name
                USING ERRCODE = '42501', TABLE = 'iasql_settings', COLUMN = 'value', HINT = 'Let a member of iasql_engine change it.';
        END IF;
        lacks := iasql_internal.not_ruled('{INSERT,UPDATE,DELETE}');
        IF lacks <> '{}' THEN
            RAISE EXCEPTION 'permission denied: setting % is about everything, and not all of % is yours to change', NEW.name, lacks[1]
                USING ERRCODE = '42501', TABLE = 'iasql_settings', COLUMN = 'value', HINT = 'Let somebody change it who may change everything, or a member of iasql_engine.';
        END IF;
    END IF;
    BEGIN
        CASE NEW.name
            WHEN 'sync_interval' THEN
                wants := 'an interval between 1 second and 1 day';
                span := NEW.value::interval;
                IF span < '1 second' OR span > '1 day' THEN RAISE numeric_value_out_of_range; END IF;
            WHEN 'consistency_window' THEN
                wants := 'an interval between 0 seconds and 1 hour';
                span := NEW.value::interval;
                IF span < '0' OR span > '1 hour' THEN RAISE numeric_value_out_of_range; END IF;
            WHEN 'max_staleness', 'watched_staleness' THEN
                wants := 'an interval between 0 seconds and 1 day';
                span := NEW.value::interval;
                IF span < '0' OR span > '1 day' THEN RAISE numeric_value_out_of_range; END IF;
            WHEN 'audit_retention' THEN
                wants := 'an interval of at least 1 day';
                span := NEW.value::interval;
                IF span < '1 day' THEN RAISE numeric_value_out_of_range; END IF;
            WHEN 'batch_timeout' THEN
                wants := 'an interval of at least 1 minute';
                span := NEW.value::interval;
                IF span < '1 minute' THEN RAISE numeric_value_out_of_range; END IF;
            WHEN 'required_approvals' THEN
                wants := 'a whole number between 0 and 100';
                IF NEW.value::integer NOT BETWEEN 0 AND 100 THEN RAISE numeric_value_out_of_range; END IF;
            WHEN 'approvers' THEN
                wants := 'the name of a role, or empty';
                IF NEW.value <> '' AND NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = NEW.value) THEN RAISE numeric_value_out_of_range; END IF;
            WHEN 'progress_timeout' THEN
                wants := 'an interval of at least 1 second';
                span := NEW.value::interval;
                IF span < '1 second' THEN RAISE numeric_value_out_of_range; END IF;
            WHEN 'max_deletes', 'delete_ratio_floor' THEN
                wants := 'a whole number of at least 0';
                IF NEW.value::integer < 0 THEN RAISE numeric_value_out_of_range; END IF;
            WHEN 'read_share', 'read_share_waited' THEN
                wants := 'a number between 0.05 and 1';
                IF NEW.value::double precision NOT BETWEEN 0.05 AND 1 THEN RAISE numeric_value_out_of_range; END IF;
            WHEN 'max_delete_ratio' THEN
                wants := 'a number between 0 and 1';
                IF NEW.value::double precision NOT BETWEEN 0 AND 1 THEN RAISE numeric_value_out_of_range; END IF;
            WHEN 'drift' THEN
                wants := 'pull or ask';
                IF NEW.value NOT IN ('pull', 'ask') THEN RAISE numeric_value_out_of_range; END IF;
            WHEN 'conflict_policy' THEN
                wants := 'push or hold';
                IF NEW.value NOT IN ('push', 'hold') THEN RAISE numeric_value_out_of_range; END IF;
        END CASE;
    EXCEPTION WHEN data_exception THEN
        RAISE EXCEPTION 'setting % cannot be %', NEW.name, quote_literal(NEW.value)
            USING ERRCODE = 'IA007', TABLE = 'iasql_settings', COLUMN = 'value', HINT = 'It must be ' || wants || '.';
    END;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION iasql_internal.check_setting() IS 'Checks the value of a setting.';

CREATE OR REPLACE TRIGGER iasql_check BEFORE INSERT OR UPDATE ON public.iasql_mode
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.check_mode();
CREATE OR REPLACE TRIGGER iasql_changed AFTER INSERT OR UPDATE OR DELETE ON public.iasql_mode
    FOR EACH STATEMENT EXECUTE FUNCTION iasql_internal.mode_changed();
CREATE OR REPLACE TRIGGER iasql_check BEFORE UPDATE OR DELETE ON public.iasql_settings
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.check_setting();
CREATE OR REPLACE TRIGGER iasql_changed AFTER UPDATE ON public.iasql_settings
    FOR EACH STATEMENT EXECUTE FUNCTION iasql_internal.mode_changed();
