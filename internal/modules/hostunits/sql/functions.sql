INSERT INTO iasql_internal.host_kind (table_name, kind, column_name) VALUES ('host_unit', 'unit', 'name') ON CONFLICT DO NOTHING;

CREATE OR REPLACE TRIGGER host_unit_in_scope
    BEFORE INSERT OR UPDATE OF account, name ON public.host_unit
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_in_scope();

CREATE OR REPLACE FUNCTION iasql_internal.host_unit_trigger(of_table text, of_record bigint, change jsonb) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off SET standard_conforming_strings = on
AS $$
BEGIN
    IF of_table = 'host_file' THEN
        RETURN coalesce(change #>> '{change,path}', change #>> '{original,path}', (SELECT f.path FROM public.host_file f WHERE f.id = of_record));
    END IF;
    RETURN 'package:' || coalesce(change #>> '{change,name}', change #>> '{original,name}', (SELECT p.name FROM public.host_package p WHERE p.id = of_record));
END;
$$;

COMMENT ON FUNCTION iasql_internal.host_unit_trigger(text, bigint, jsonb) IS
    'What restart_on of host_unit calls the file or the package that a change was of.';
REVOKE EXECUTE ON FUNCTION iasql_internal.host_unit_trigger(text, bigint, jsonb) FROM PUBLIC;

-- The host says whether a unit is to be started anew. A full cycle asks it. Once changes of files and packages have been
-- made it is asked at once; of many after the last of them, unless one of those that are left waits for a person.
CREATE OR REPLACE FUNCTION iasql_internal.host_unit_looks() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off SET standard_conforming_strings = on
AS $$
DECLARE
    host text;
BEGIN
    FOR host IN
        WITH changed AS MATERIALIZED (
            SELECT n.account, iasql_internal.host_unit_trigger(n.table_name, n.record_id, n.change) AS what
            FROM settled_now AS n
            WHERE n.settled AND n.table_name IN ('host_file', 'host_package') AND n.change_type IN ('INSERT', 'UPDATE', 'DELETE')
        ), triggers AS MATERIALIZED (
            SELECT u.id, u.account, iasql_internal.host_pattern(t.one) AS pattern
            FROM public.host_unit AS u CROSS JOIN LATERAL unnest(coalesce(u.restart_on, '{}') || coalesce(u.reload_on, '{}')) AS t (one)
            WHERE u.account IN (SELECT c.account FROM changed AS c)
        ), left_over AS MATERIALIZED (
            SELECT l.account, iasql_internal.host_unit_trigger(l.table_name, l.record_id, l.change) AS what
            FROM public.iasql_audit_log AS l
            WHERE NOT l.settled AND l.table_name IN ('host_file', 'host_package') AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE')
              AND l.account IN (SELECT t.account FROM triggers AS t)
              AND NOT EXISTS (SELECT FROM iasql_internal.record_state AS s WHERE s.table_name = l.table_name AND s.record_id = l.record_id AND s.review)
        ), looked_at AS (
            INSERT INTO iasql_internal.record_state AS s (table_name, record_id, account, state)
            SELECT DISTINCT 'host_unit', t.id, t.account, 'Updating'
            FROM triggers AS t
            WHERE EXISTS (SELECT FROM changed AS c WHERE c.account = t.account AND c.what ~ t.pattern)
              AND NOT EXISTS (SELECT FROM left_over AS l JOIN triggers AS o ON o.id = t.id AND o.account = l.account AND l.what ~ o.pattern)
            ON CONFLICT (table_name, record_id) DO UPDATE SET next_attempt_at = now(), attempts = 0
            RETURNING s.account
        )
        SELECT DISTINCT l.account FROM looked_at AS l
    LOOP
        PERFORM iasql_internal.enqueue('push', host);
    END LOOP;
    RETURN NULL;
END;
$$;

COMMENT ON FUNCTION iasql_internal.host_unit_looks() IS
    'Trigger: units that are to be started anew for files and packages are looked at once changes of these have been made.';

CREATE OR REPLACE TRIGGER host_unit_looks
    AFTER UPDATE ON public.iasql_audit_log
    REFERENCING NEW TABLE AS settled_now
    FOR EACH STATEMENT EXECUTE FUNCTION iasql_internal.host_unit_looks();
