CREATE OR REPLACE FUNCTION iasql_internal.failure(table_name text, record_id bigint) RETURNS text
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT format('%s: %s', s.state, s.message)
    FROM iasql_internal.record_state s
    WHERE s.table_name = failure.table_name AND s.record_id = failure.record_id
      AND s.review AND s.next_attempt_at = 'infinity'
      AND NOT EXISTS (SELECT FROM public.iasql_audit_log l
                      WHERE l.table_name = s.table_name AND l.record_id = s.record_id AND NOT l.settled AND l.id > s.failed_at);
END;
COMMENT ON FUNCTION iasql_internal.failure(text, bigint) IS 'Why a record has failed for good; NULL if it has not.';

CREATE OR REPLACE FUNCTION iasql_internal.conflict_resolved() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF iasql_internal.writer_is_engine() THEN
        RETURN NEW;
    END IF;
    IF to_jsonb(NEW) - 'resolved' <> to_jsonb(OLD) - 'resolved' THEN
        RAISE EXCEPTION 'only column resolved of iasql_conflicts can be changed (conflict %)', OLD.id
            USING ERRCODE = 'IA008', TABLE = 'iasql_conflicts', HINT = 'UPDATE iasql_conflicts SET resolved = ''database'' (or ''cloud'') WHERE id = …';
    END IF;
    IF OLD.resolved IS NOT NULL OR NEW.resolved NOT IN ('database', 'cloud') OR NEW.resolved IS NULL THEN
        RAISE EXCEPTION 'conflict % cannot be resolved as %', OLD.id, coalesce(NEW.resolved, 'NULL')
            USING ERRCODE = 'IA008', TABLE = 'iasql_conflicts', COLUMN = 'resolved',
                  HINT = CASE WHEN OLD.resolved IS NOT NULL THEN format('It has been resolved already: %s.', OLD.resolved)
                              ELSE 'Use database or cloud.' END;
    END IF;
    NEW.resolved_at := clock_timestamp();
    NEW.resolved_by := iasql_internal.writer();
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION iasql_internal.conflict_resolved() IS 'Row trigger: a person decides an open conflict.';

CREATE OR REPLACE FUNCTION iasql_internal.conflicts_resolved() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    accounts text[];
BEGIN
    IF iasql_internal.writer_is_engine() THEN
        RETURN NULL;
    END IF;
    WITH released AS (
        UPDATE iasql_internal.record_state s SET next_attempt_at = now()
        FROM new_rows n WHERE s.table_name = n.table_name AND s.record_id = n.record_id AND n.resolved IS NOT NULL
        RETURNING s.account
    )
    SELECT array_agg(DISTINCT r.account) INTO accounts FROM released r;
    PERFORM iasql_internal.enqueue('push', a.name) FROM unnest(accounts) a (name);
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.conflicts_resolved() IS 'Statement trigger: what a person has decided is carried out at once.';
CREATE OR REPLACE TRIGGER iasql_resolved BEFORE UPDATE ON public.iasql_conflicts
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.conflict_resolved();
CREATE OR REPLACE TRIGGER iasql_decided AFTER UPDATE ON public.iasql_conflicts REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION iasql_internal.conflicts_resolved();
