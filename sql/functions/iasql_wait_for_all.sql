DROP FUNCTION IF EXISTS public.iasql_wait_for_all(double precision);
CREATE OR REPLACE FUNCTION public.iasql_wait_for_all(seconds double precision DEFAULT 300, whose text DEFAULT 'mine') RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    who      text := iasql_internal.check_whose(whose);
    before   pg_snapshot := pg_current_snapshot();
    until    timestamptz := clock_timestamp() + make_interval(secs => seconds);
    missing  timestamptz;
    pause    double precision := 0.005;
    n        bigint;
    first    bigint;
    failed   bigint;
    waits    text;
    review   text;
    told     text := '';
    tell     timestamptz := clock_timestamp() + interval '3 seconds';
    failures text;
    batch    text;
BEGIN
    PERFORM iasql_internal.refuse_standby('iasql_wait_for_all'), iasql_internal.check_can_wait(), iasql_internal.check_seconds(seconds);
    LOOP
        n := iasql_internal.unsettled(before, who);
        first := coalesce(first, n);
        IF n = 0 AND iasql_internal.deferred_commits(who) = 0 THEN
            failures := iasql_internal.failed_commit();
            IF failures IS NOT NULL THEN
                RAISE EXCEPTION '%', iasql_internal.plain(failures, true)
                    USING ERRCODE = 'IA026', HINT = 'It is your newest commit. SELECT * FROM iasql_batches shows what has become of its batch.';
            END IF;
            SELECT f.failed, f.failures INTO failed, failures FROM iasql_internal.failures_text(before, who, false) f;
            IF failed > 0 THEN
                RAISE WARNING E'% of somebody else:\n%', CASE failed WHEN 1 THEN '1 change has failed' ELSE failed || ' changes have failed' END, iasql_internal.plain(failures, true)
                    USING HINT = 'What you have changed is settled. SELECT iasql_wait_for_all(whose => ''all'') waits for everybody''s changes, and raises for these.';
            END IF;
            review := nullif(iasql_internal.in_review(who), '');
            IF review IS NOT NULL THEN
                RAISE WARNING 'every change is settled, and %', iasql_internal.plain(review, true)
                    USING HINT = 'SELECT * FROM iasql_status WHERE review shows what is wrong, and iasql_conflicts what waits for a decision.';
            END IF;
            RETURN review IS NULL;
        END IF;
        SELECT f.failed, f.failures INTO failed, failures FROM iasql_internal.failures_text(before, who, true) f;
        IF failed > 0 AND iasql_internal.deferred_commits(who) = 0 THEN -- how that ends is not known yet
            RAISE EXCEPTION E'% failed:\n%', CASE failed WHEN 1 THEN '1 record has' ELSE failed || ' records have' END, iasql_internal.plain(failures, true)
                USING ERRCODE = 'IA012',
                      TABLE = (SELECT f.table_name FROM iasql_internal.failures(before, who) f WHERE f.mine LIMIT 1),
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
        IF clock_timestamp() >= least(until, tell) THEN
            SELECT string_agg(format('record %s of %s: %s', u.record_id, u.table_name, u.what), E'\n' ORDER BY u.retried DESC, u.table_name, u.record_id)
            INTO waits FROM (SELECT * FROM iasql_internal.unfinished(before, who) ORDER BY retried DESC, table_name, record_id LIMIT 10) u;
        END IF;
        IF clock_timestamp() >= tell THEN
            tell := clock_timestamp() + interval '5 seconds';
            IF waits IS DISTINCT FROM told AND waits IS NOT NULL THEN
                told := waits;
                RAISE NOTICE E'% of % changes are settled; waiting for\n%', greatest(first - n, 0), CASE first WHEN 1000 THEN '1000 or more' ELSE first::text END, iasql_internal.plain(waits, true);
            END IF;
        END IF;
        IF clock_timestamp() >= until THEN
            batch := iasql_internal.open_batch_text();
            RAISE EXCEPTION E'% not settled within % seconds:\n%',
                    CASE n WHEN 0 THEN 'a batch was' WHEN 1 THEN '1 change was' WHEN 1000 THEN '1000 or more changes were' ELSE n || ' changes were' END, seconds,
                    coalesce(iasql_internal.plain(waits, true), 'SELECT * FROM iasql_progress shows how far it is')
                USING ERRCODE = 'IA011',
                      HINT = concat(batch,
                                    'SELECT * FROM iasql_status WHERE state <> ''Present'' tells how far they are.');
        END IF;
        PERFORM pg_sleep(pause);
        pause := least(pause * 1.5, 0.05);
    END LOOP;
END
$$;
COMMENT ON FUNCTION public.iasql_wait_for_all(double precision, text) IS
$$Waits until every change is settled that the current role committed before; with whose => 'all' everybody's. It returns true then, or false and a warning if records need a person all the same. It raises after that many seconds, or as soon as such a change has failed for good, naming the records and what each waits for, or if the caller's newest commit took effect with a transaction and failed. What others' changes have failed by is a warning. Meanwhile it says in notices what it waits for.
Sample: SELECT iasql_wait_for_all()$$;
