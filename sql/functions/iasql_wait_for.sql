-- Not SECURITY DEFINER: the condition runs with the caller's own rights.
CREATE OR REPLACE FUNCTION public.iasql_wait_for("table" text, id bigint, condition text, seconds double precision DEFAULT 300)
RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    query   text;
    met     boolean := false;
    failure text;
    there   boolean;
    until   timestamptz := clock_timestamp() + make_interval(secs => seconds);
BEGIN
    PERFORM iasql_internal.check_table("table"), iasql_internal.check_seconds(seconds);
    IF condition IS NULL THEN
        RAISE EXCEPTION 'condition cannot be NULL' USING ERRCODE = 'IA007', HINT = 'It is an SQL condition on the record, such as ''tags IS NOT NULL''.';
    END IF;
    query := format('SELECT EXISTS (SELECT FROM public.%I WHERE id = $1 AND (%s))', "table", condition);
    LOOP
        -- What the cloud has just given the object, such as its availability zone, is there with its id.
        IF NOT met THEN
            BEGIN
                EXECUTE query INTO met USING id;
            EXCEPTION WHEN undefined_column OR invalid_text_representation THEN
                RAISE EXCEPTION '%', SQLERRM USING ERRCODE = SQLSTATE, TABLE = "table", HINT = iasql_internal.condition_hint("table", SQLERRM);
            END;
        END IF;
        IF met THEN
            IF clock_timestamp() >= until OR NOT iasql_internal.just_created("table", id) THEN
                RETURN true;
            END IF;
            PERFORM pg_sleep(0.01);
            CONTINUE;
        END IF;
        PERFORM iasql_internal.check_can_wait("table", id);
        EXECUTE format('SELECT EXISTS (SELECT FROM public.%I WHERE id = $1)', "table") INTO there USING id;
        IF NOT there THEN
            RAISE EXCEPTION 'table % has no record %', "table", coalesce(id::text, 'NULL')
                USING ERRCODE = 'IA006', TABLE = "table", HINT = format('SELECT * FROM iasql_history(%L, %s) shows what became of one that there was.', "table", coalesce(id::text, 'NULL'));
        END IF;
        failure := iasql_internal.failure("table", id);
        IF failure IS NOT NULL THEN
            RAISE EXCEPTION 'record % of % has failed: %', id, "table", iasql_internal.plain(failure, true)
                USING ERRCODE = 'IA012', TABLE = "table",
                      HINT = format('Change the record, or SELECT iasql_retry(%L, %s) once the cause is gone.', "table", id);
        END IF;
        IF clock_timestamp() >= until THEN
            RAISE EXCEPTION 'record % of % did not meet the condition within % seconds: %', id, "table", seconds, concat(condition, E'\n' || (
                    SELECT iasql_internal.plain(format('It is %s: %s', s.state, s.message), true) FROM iasql_internal.record_state s WHERE s.table_name = iasql_wait_for."table" AND s.record_id = iasql_wait_for.id AND s.message <> ''))
                USING ERRCODE = 'IA011', TABLE = "table",
                      HINT = CASE WHEN iasql_internal.engine_connected() THEN format('SELECT * FROM iasql_status WHERE table_name = %L AND record_id = %s tells how far it is.', "table", id)
                                  ELSE 'No engine is connected: start one with engine serve.' END;
        END IF;
        PERFORM pg_sleep(0.02);
    END LOOP;
END
$$;
COMMENT ON FUNCTION public.iasql_wait_for(text, bigint, text, double precision) IS
$$Waits until a record meets an SQL condition: true then (if it has just been created, once it has been read again, so that what the cloud gave it is there); an error after that many seconds, or at once if the record has failed for good, or there is none.
Sample: SELECT iasql_wait_for('vpc', 1, 'vpc_id IS NOT NULL')$$;

CREATE OR REPLACE FUNCTION iasql_internal.just_created("table" text, id bigint) RETURNS boolean
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT EXISTS (
               SELECT FROM public.iasql_operations o
               WHERE o.table_name = just_created."table" AND o.record_id = just_created.id AND o.kind = 'create' AND o.result = 'ok'
                 AND o.ended > clock_timestamp() - interval '3 seconds')
       AND EXISTS (
               SELECT FROM public.iasql_audit_log l
               WHERE l.table_name = just_created."table" AND l.record_id = just_created.id AND l.change_type = 'INSERT' AND NOT l.settled)
       AND NOT EXISTS (
               SELECT FROM iasql_internal.record_state s
               WHERE s.table_name = just_created."table" AND s.record_id = just_created.id AND s.state LIKE '%Failed');
END;
COMMENT ON FUNCTION iasql_internal.just_created(text, bigint) IS
    'Whether the cloud created the record''s object in the last three seconds, and the engine has not seen it since as it is to be, as far as the caller may see.';
