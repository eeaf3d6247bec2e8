CREATE OR REPLACE FUNCTION public.iasql_wait_for_all(seconds double precision DEFAULT 300) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    before   pg_snapshot := pg_current_snapshot();
    until    timestamptz := clock_timestamp() + make_interval(secs => seconds);
    missing  timestamptz;
    pause    double precision := 0.005;
    n        bigint;
    failed   bigint;
    failures text;
    batch    text;
BEGIN
    PERFORM iasql_internal.check_can_wait();
    LOOP
        n := iasql_internal.unsettled(before);
        IF n = 0 THEN
            RETURN true;
        END IF;
        SELECT count(*), string_agg(format('record %s of %s: %s: %s', f.record_id, f.table_name, f.state, f.message), E'\n' ORDER BY f.table_name, f.record_id)
        INTO failed, failures
        FROM iasql_internal.failures(before) f;
        IF failed > 0 THEN
            RAISE EXCEPTION E'% failed:\n%', CASE failed WHEN 1 THEN '1 record has' ELSE failed || ' records have' END, failures
                USING ERRCODE = 'IA012',
                      TABLE = (SELECT f.table_name FROM iasql_internal.failures(before) f LIMIT 1),
                      HINT = 'Change the records, or SELECT iasql_retry(table, id) once the cause is gone. SELECT * FROM iasql_get_errors() shows every error.';
        END IF;
        IF iasql_internal.engine_connected() THEN
            missing := NULL;
        ELSE
            missing := coalesce(missing, clock_timestamp());
        END IF;
        IF clock_timestamp() > missing + interval '3 seconds' THEN
            RAISE EXCEPTION 'no engine is connected to database %', current_database()
                USING ERRCODE = 'IA010', HINT = 'Start one: engine serve, with DATABASE_URL naming this database. The changes wait for it.';
        END IF;
        IF clock_timestamp() >= until THEN
            batch := iasql_internal.open_batch_text();
            RAISE EXCEPTION '% were not settled within % seconds',
                    CASE n WHEN 1 THEN '1 change' WHEN 1000 THEN '1000 or more changes' ELSE n || ' changes' END, seconds
                USING ERRCODE = 'IA011',
                      HINT = concat(batch,
                                    'SELECT * FROM iasql_status WHERE state <> ''Present'' tells how far they are.');
        END IF;
        PERFORM pg_sleep(pause);
        pause := least(pause * 1.5, 0.05);
    END LOOP;
END
$$;
COMMENT ON FUNCTION public.iasql_wait_for_all(double precision) IS
$$Waits until every change committed before is settled: true then; an error after that many seconds, or as soon as records have failed for good, naming all of them.
Sample: SELECT iasql_wait_for_all()$$;
