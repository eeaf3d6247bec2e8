-- A job of River's, inserted as its own client inserts one. Its migration 006 says what unique_states means, one bit a
-- state: here available, pending and scheduled, so that a job that is running already never swallows a new one.
--
-- A push job is unique within its transaction only. A key shared by transactions would make every writer wait for the
-- commit of the first (a unique index waits for the other transaction's fate); the engine instead takes all waiting push
-- jobs of an account at once.
CREATE OR REPLACE FUNCTION iasql_internal.enqueue(kind text, account text, delay interval DEFAULT '0') RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO iasql_river.river_job AS river_job (args, kind, max_attempts, queue, state, unique_key, unique_states, scheduled_at)
    VALUES (
        jsonb_build_object('account', account), kind, 3, 'iasql',
        CASE WHEN delay > '0' THEN 'scheduled' ELSE 'available' END::iasql_river.river_job_state,
        sha256(convert_to(concat_ws(':', 'iasql', kind, account,
            CASE WHEN kind = 'push' AND delay = '0' THEN pg_current_xact_id()::text
                 WHEN delay > '0' THEN 'later' END), 'UTF8')),
        B'10010001'::bit(8),
        now() + delay
    )
    ON CONFLICT (unique_key) WHERE unique_key IS NOT NULL AND unique_states IS NOT NULL
        AND iasql_river.river_job_state_in_bitmask(unique_states, state)
        -- (An available job of the future is one from before the clock was put back.)
        DO UPDATE SET scheduled_at = excluded.scheduled_at WHERE river_job.state IN ('scheduled', 'available') AND river_job.scheduled_at > excluded.scheduled_at;
    IF delay = '0' AND kind <> 'push' THEN -- of that waking.sql tells
        PERFORM pg_notify('iasql_river.river_insert', '{"queue": "iasql"}');
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.enqueue(text, text, interval) IS 'Queues a push or sync job for an account, unless the same is queued and has not started.';

CREATE OR REPLACE FUNCTION iasql_internal.hasten(account text, ahead interval) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE iasql_river.river_job j SET state = 'available', scheduled_at = now()
    WHERE j.queue = 'iasql' AND j.state = 'scheduled' AND j.kind IN ('push', 'sync') AND j.args ->> 'account' = hasten.account
      AND j.scheduled_at <= now() + hasten.ahead;
    IF FOUND THEN
        PERFORM pg_notify('iasql_river.river_insert', '{"queue": "iasql"}');
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.hasten(text, interval) IS 'Has the jobs of an account that are queued for later, though not much later, run at once.';

CREATE OR REPLACE FUNCTION iasql_internal.wake_for_waiting() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM iasql_river.river_job j WHERE j.queue = 'iasql' AND j.state = 'available' AND j.scheduled_at <= now()) THEN
        PERFORM pg_notify('iasql_river.river_insert', '{"queue": "iasql"}');
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.wake_for_waiting() IS 'Has engines look for cycles that wait to be run, if there are any.';

CREATE OR REPLACE FUNCTION iasql_internal.enqueue_sync() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    n bigint := 0;
    account text;
BEGIN
    -- One that found another cycle of its account running comes back by itself.
    FOR account IN SELECT a.name FROM iasql_internal.account a
                   WHERE NOT EXISTS (SELECT FROM iasql_river.river_job j WHERE j.queue = 'iasql' AND j.state = 'scheduled' AND j.kind = 'sync' AND j.args ->> 'account' = a.name)
                   ORDER BY a.name LOOP
        PERFORM iasql_internal.enqueue('sync', account);
        n := n + 1;
    END LOOP;
    RETURN n;
END
$$;
COMMENT ON FUNCTION iasql_internal.enqueue_sync() IS 'Queues a full cycle for every account that has none queued for later.';

CREATE OR REPLACE FUNCTION iasql_internal.end_calls() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE public.iasql_operations o
    SET ended = clock_timestamp(), result = 'unknown', error = 'the engine went away while it waited for the answer'
    WHERE o.kind = 'call' AND o.ended IS NULL AND NOT EXISTS (
        SELECT FROM iasql_internal.request r JOIN public.iasql_engines() e ON e.engine = r.engine
        WHERE r.id = o.token::bigint AND r.ended IS NULL);
    -- Who waits for an answer looks for it ten times a second.
    UPDATE iasql_internal.request r SET result = NULL
    WHERE r.kind = 'call' AND r.result IS NOT NULL AND r.ended < clock_timestamp() - interval '1 minute';
END
$$;
COMMENT ON FUNCTION iasql_internal.end_calls() IS 'Closes the journal''s lines of calls whose engine has gone, of which nobody knows what became, and forgets answers that have been given: they may be large, and nobody else''s business.';

CREATE OR REPLACE FUNCTION iasql_internal.tick() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE iasql_internal.schedule SET last_tick = now();
    PERFORM iasql_internal.end_calls();
    PERFORM iasql_internal.prune_hourly();
    BEGIN
        PERFORM iasql_internal.end_due();
    EXCEPTION WHEN OTHERS THEN -- the next tick tries again; cycles go on
        RAISE WARNING 'what has a time to end could not be ended: %', SQLERRM;
    END;
    RETURN iasql_internal.enqueue_sync();
END
$$;
COMMENT ON FUNCTION iasql_internal.tick() IS 'What the schedule runs every sync_interval: queues full cycles, prunes, and ends what has a time to end.';

DROP FUNCTION IF EXISTS iasql_internal.tick_if_overdue();
-- However many ask, one ticks: whoever gets the row. A last tick in the future is from before the clock was put back.
CREATE OR REPLACE FUNCTION iasql_internal.tick_if_due(slack double precision, OUT ticked boolean, OUT next interval)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    every interval := (1 + slack) * iasql_internal.setting('sync_interval')::interval;
BEGIN
    SELECT s.last_tick + every - clock_timestamp() INTO next FROM iasql_internal.schedule s;
    ticked := false;
    IF next > '0' AND next <= every THEN
        RETURN;
    END IF;
    next := every;
    PERFORM FROM iasql_internal.schedule s WHERE clock_timestamp() NOT BETWEEN s.last_tick AND s.last_tick + every FOR UPDATE SKIP LOCKED;
    ticked := FOUND;
    IF ticked THEN
        PERFORM iasql_internal.tick();
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.tick_if_due(double precision) IS 'Ticks if the last tick is an interval and that share of it ago; returns whether it did, and in how long one is due.';

-- pg_cron does the scheduling where it is there and can count in the interval: whole minutes and hours, and from version
-- 1.5 on seconds. Elsewhere the engines do. Not SECURITY DEFINER: pg_cron runs a job as the role that made it,
-- which must be one that may log in.
--
-- pg_cron's scheduler may miss that cron.job has changed (it marks its copy as valid after reading with a snapshot from
-- before the change: citusdata/pg_cron issue 362), and then never runs a new job. With renew the job is written again,
-- which makes the scheduler read it again.
DROP FUNCTION IF EXISTS iasql_internal.schedule_sync();
CREATE OR REPLACE FUNCTION iasql_internal.schedule_sync(renew boolean DEFAULT false) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    seconds  integer := extract(epoch FROM iasql_internal.setting('sync_interval')::interval)::integer;
    wanted   text;
    -- Only the digits: versions read 1.4-1, too.
    cron     integer[] := (SELECT string_to_array(substring(extversion FROM '^[0-9.]*[0-9]'), '.') FROM pg_extension WHERE extname = 'pg_cron');
BEGIN
    IF cron IS NULL OR NOT has_schema_privilege('cron', 'USAGE') THEN
        RETURN 'engines';
    END IF;
    wanted := CASE
        WHEN seconds < 60 AND cron >= ARRAY[1, 5] THEN format('%s seconds', seconds)
        WHEN seconds % 60 = 0 AND seconds <= 3600 AND 60 % (seconds / 60) = 0 THEN CASE seconds WHEN 3600 THEN '0 * * * *' ELSE format('*/%s * * * *', seconds / 60) END
        WHEN seconds % 3600 = 0 AND seconds <= 86400 AND 24 % (seconds / 3600) = 0 THEN CASE seconds WHEN 86400 THEN '0 0 * * *' ELSE format('0 */%s * * *', seconds / 3600) END
    END;
    IF wanted IS NULL THEN
        PERFORM cron.unschedule(j.jobid) FROM cron.job j WHERE j.jobname = 'iasql-sync' AND j.username = current_user;
        RETURN 'engines';
    END IF;
    IF renew OR NOT EXISTS (SELECT FROM cron.job j WHERE j.jobname = 'iasql-sync' AND j.schedule = wanted
            AND j.command = 'SELECT iasql_internal.tick()' AND j.username = current_user) THEN
        PERFORM cron.schedule('iasql-sync', wanted, 'SELECT iasql_internal.tick()');
    END IF;
    RETURN 'pg_cron';
END
$$;
COMMENT ON FUNCTION iasql_internal.schedule_sync(boolean) IS 'Puts the sync_interval in force; returns who keeps it, pg_cron or the engines.';
