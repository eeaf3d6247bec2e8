-- Requests to the engine. A request must be seen by the engine while the asking transaction is still open, so it is made
-- from a second session (elsewhere.sql).
CREATE OR REPLACE FUNCTION iasql_internal.engine_connected() RETURNS boolean
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT EXISTS (SELECT FROM iasql_internal.engine e WHERE iasql_internal.engine_alive(e));
END;
COMMENT ON FUNCTION iasql_internal.engine_connected() IS 'Whether an engine is connected now.';

CREATE OR REPLACE FUNCTION iasql_internal.refuse_standby(what text) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF pg_is_in_recovery() THEN
        RAISE EXCEPTION 'this is a standby: % works on the primary only', what
            USING ERRCODE = 'read_only_sql_transaction',
                  -- The address is the one that an engine has found last, which has come here with everything else.
                  HINT = concat('Connect to the primary', (SELECT format(', which was last at %s, port %s', l.host, l.port) FROM iasql_internal.loopback l),
                                '. A URL with all hosts and target_session_attrs=read-write finds it. Tables and views can be read here.');
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_standby(text) IS 'Raises on a standby, which no engine works with.';

-- A request is carried out by another session, which the caller's READ ONLY does not bind. RESET can take that from a
-- transaction before PostgreSQL 16; a lock that belongs to the transaction nobody can give back before its end. The console
-- holds this one where it lets people type what may change nothing (internal/console/sql_run.go).
CREATE OR REPLACE FUNCTION iasql_internal.refuse_read_only(what text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF current_setting('transaction_read_only')::boolean
       OR EXISTS (SELECT FROM pg_locks l WHERE l.pid = pg_backend_pid() AND l.locktype = 'advisory' AND l.classid = 25006 AND l.objid = 1 AND l.objsubid = 2) THEN
        RAISE EXCEPTION 'this transaction is READ ONLY, and % changes something', what
            USING ERRCODE = 'read_only_sql_transaction', HINT = 'Call it in a transaction that is READ WRITE. On the page of SQL of the console, tick "may write".';
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_read_only(text) IS 'Raises in a transaction that may change nothing.';

CREATE OR REPLACE FUNCTION iasql_internal.submit(kind text, args jsonb, asked_by text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    request bigint;
    queue   text := CASE submit.kind WHEN 'call' THEN 'iasql_calls' ELSE 'iasql_requests' END; -- calls may take long
BEGIN
    IF args ? 'adopt' THEN -- before the cycle that is asked for, which does not see the caller's transaction
        PERFORM iasql_internal.ask_for(args ->> 'table', args ->> 'adopt', asked_by);
    END IF;
    INSERT INTO iasql_internal.request (kind, args, asked_by) VALUES (submit.kind, submit.args, submit.asked_by) RETURNING id INTO request;
    INSERT INTO iasql_river.river_job (args, kind, max_attempts, queue, priority)
    VALUES (jsonb_build_object('request', request), 'request', 1, queue, 1);
    PERFORM pg_notify('iasql_river.river_insert', jsonb_build_object('queue', queue)::text);
    RETURN request;
END
$$;
COMMENT ON FUNCTION iasql_internal.submit(text, jsonb, text) IS 'Queues a request; called through the loopback connection.';

CREATE OR REPLACE FUNCTION iasql_internal.asked(kind text, args jsonb, seconds double precision DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    request  bigint;
    answer   record;
    begun    timestamptz := clock_timestamp();
    missing  timestamptz;
    pause    double precision := 0.005;
    batch    bigint := CASE WHEN kind IN ('commit', 'revert') THEN (args ->> 'batch')::bigint END;
    tell     timestamptz := clock_timestamp() + interval '2 seconds';
    news     text;
    told     text;
BEGIN
    PERFORM iasql_internal.refuse_standby(kind);
    IF kind IN ('install', 'uninstall', 'sync', 'commit', 'revert') THEN
        PERFORM iasql_internal.refuse_read_only('iasql_' || CASE kind WHEN 'sync' THEN 'sync_now' WHEN 'revert' THEN 'rollback' ELSE kind END);
    END IF;
    IF NOT iasql_internal.engine_connected() THEN
        RAISE EXCEPTION 'no engine is connected to database %', current_database()
            USING ERRCODE = 'IA010', HINT = 'Start one: engine serve, with DATABASE_URL naming this database. SELECT * FROM iasql_engines() lists them.';
    END IF;
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE EXCEPTION '% cannot be waited for in a % transaction', kind, current_setting('transaction_isolation')
            USING ERRCODE = 'IA021', HINT = 'Use READ COMMITTED, the default: later statements must see the engine''s answer.';
    END IF;
    -- Who goes away while the engine works is noticed, so that nobody is served who has gone.
    BEGIN
        PERFORM set_config('client_connection_check_interval', '2s', true);
    EXCEPTION WHEN invalid_parameter_value THEN
        NULL; -- not on every platform (manual, section 20.3.1)
    END;
    request := iasql_internal.elsewhere(format('SELECT iasql_internal.submit(%L, %L, %L)', kind,
        args || jsonb_build_object('asker', pg_backend_pid()),
        iasql_internal.writer()))::bigint;
    BEGIN
        LOOP
            SELECT r.ended, r.result, r.error, r.engine, r.progress INTO answer FROM iasql_internal.request r WHERE r.id = request;
            IF batch IS NULL AND answer.progress IS DISTINCT FROM told THEN
                told := answer.progress;
                RAISE NOTICE '%', iasql_internal.plain(told, true);
            END IF;
            EXIT WHEN answer.ended IS NOT NULL;
            IF answer.engine IS NULL AND iasql_internal.engine_connected()
               OR EXISTS (SELECT FROM iasql_internal.engine e WHERE e.id = answer.engine AND iasql_internal.engine_alive(e)) THEN
                missing := NULL;
            ELSIF missing IS NULL OR batch IS NOT NULL AND iasql_internal.engine_connected() THEN
                missing := clock_timestamp(); -- another engine goes on with a batch
            ELSIF clock_timestamp() > missing + interval '3 seconds' THEN
                RAISE EXCEPTION 'the engine went away while it worked on %', kind
                    USING ERRCODE = 'IA010',
                          HINT = CASE kind WHEN 'call' THEN 'It may have been done, and is not done again by itself: look before you call it again. SELECT * FROM iasql_operations shows what was begun.'
                                 WHEN 'commit' THEN 'Start it again: engine serve. It goes on with the commit; SELECT * FROM iasql_batches shows how that ended.'
                                 ELSE 'Start it again: engine serve. What was begun is finished or undone by the next cycle.' END;
            END IF;
            IF clock_timestamp() > begun + make_interval(secs => seconds) THEN
                RAISE EXCEPTION '% did not end within % seconds', kind, seconds
                    USING ERRCODE = 'IA011', HINT = 'It goes on in the engine; SELECT * FROM iasql_engines() shows what it is doing.';
            END IF;
            IF batch IS NOT NULL AND clock_timestamp() > tell THEN
                tell := clock_timestamp() + CASE WHEN clock_timestamp() < begun + interval '1 minute' THEN interval '1 second' ELSE interval '5 seconds' END;
                news := iasql_internal.progress_text(batch);
                IF news IS DISTINCT FROM told THEN
                    told := news;
                    RAISE NOTICE 'batch %: %', batch, news;
                END IF;
            END IF;
            PERFORM pg_sleep(pause);
            pause := least(pause * 1.5, 0.1);
        END LOOP;
    EXCEPTION WHEN query_canceled THEN
        IF kind = 'commit' AND args ->> 'on_cancel' = 'rollback' THEN
            PERFORM iasql_internal.elsewhere(format('SELECT iasql_internal.submit(''revert'', %L, %L)', jsonb_build_object('batch', batch), iasql_internal.writer()));
            RAISE EXCEPTION 'waiting for batch % was cancelled, and the engine rolls the batch back', batch
                USING ERRCODE = 'query_canceled', HINT = 'SELECT * FROM iasql_progress shows how far it is, and iasql_batches how it ended.';
        END IF;
        RAISE EXCEPTION 'waiting for the % was cancelled, and the engine goes on with it', concat(kind, ' of batch ' || batch)
            USING ERRCODE = 'query_canceled',
                  HINT = CASE WHEN batch IS NOT NULL THEN format('SELECT * FROM iasql_progress shows how far it is, and iasql_batches how it ended. To stop it: CALL iasql_join(%L), then CALL iasql_rollback(true).', batch::text)
                         ELSE 'SELECT * FROM iasql_engines() shows what it is doing.' END;
    END;
    IF coalesce(answer.error ->> 'detail', '') <> '' THEN
        RAISE EXCEPTION '%', iasql_internal.plain(answer.error ->> 'message', true)
            USING ERRCODE = coalesce(answer.error ->> 'code', 'IA013'), DETAIL = iasql_internal.plain(answer.error ->> 'detail', true),
                  HINT = coalesce(iasql_internal.plain(answer.error ->> 'hint', true), 'SELECT * FROM iasql_get_errors() shows what failed.');
    ELSIF answer.error IS NOT NULL THEN
        RAISE EXCEPTION '%', iasql_internal.plain(answer.error ->> 'message', true)
            USING ERRCODE = coalesce(answer.error ->> 'code', 'IA013'),
                  HINT = coalesce(iasql_internal.plain(answer.error ->> 'hint', true), 'SELECT * FROM iasql_get_errors() shows what failed.');
    END IF;
    RETURN request;
END
$$;
COMMENT ON FUNCTION iasql_internal.asked(text, jsonb, double precision) IS 'Asks the engine for something and waits for its answer, or raises its error; returns the request that has it.';

CREATE OR REPLACE FUNCTION iasql_internal.ask(kind text, args jsonb, seconds double precision DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    request bigint := iasql_internal.asked(kind, args, seconds);
BEGIN
    RETURN (SELECT r.result FROM iasql_internal.request r WHERE r.id = request);
END
$$;
COMMENT ON FUNCTION iasql_internal.ask(text, jsonb, double precision) IS 'Asks the engine for something and waits for its answer, or raises its error.';

CREATE OR REPLACE FUNCTION iasql_internal.warn(warnings jsonb) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    most CONSTANT bigint := 20;
    said record;
BEGIN
    IF jsonb_typeof(warnings) IS DISTINCT FROM 'array' THEN
        RETURN;
    END IF;
    FOR said IN SELECT w ->> 'message' AS message, w ->> 'hint' AS hint, n FROM jsonb_array_elements(warnings) WITH ORDINALITY a (w, n) LOOP
        IF said.n > most THEN
            RAISE WARNING 'and % more like these', jsonb_array_length(warnings) - most USING HINT = 'SELECT * FROM iasql_problems shows every one.';
            EXIT;
        END IF;
        RAISE WARNING '%', said.message USING HINT = coalesce(said.hint, 'SELECT * FROM iasql_problems shows every one.');
    END LOOP;
END
$$;
COMMENT ON FUNCTION iasql_internal.warn(jsonb) IS 'Raises a warning for each thing that the engine could not read, while everything else has been.';
