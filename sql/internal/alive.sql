-- Who is there, and who is in the way. Nothing here believes an advisory lock, which anybody may take, nor an
-- application_name alone, which anybody may set: the login role of a backend is what nobody can choose. All three
-- columns of pg_stat_activity are shown to every role (manual, section 28.2.3), and a backend that has ended is not there.
CREATE OR REPLACE FUNCTION iasql_internal.alive(pid integer, role oid, engine text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pg_stat_clear_snapshot(); -- or a transaction sees for ever what it saw first (manual, section 28.2)
    RETURN pid IS NOT NULL AND EXISTS (
        SELECT FROM pg_stat_get_activity(alive.pid) a
        WHERE a.usesysid = alive.role AND strpos(a.application_name, alive.engine) > 0);
END
$$;
COMMENT ON FUNCTION iasql_internal.alive(integer, oid, text) IS 'Whether a backend is there, and is that engine''s.';

CREATE OR REPLACE FUNCTION iasql_internal.engine_alive(engine iasql_internal.engine) RETURNS boolean
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    -- A process that was stopped, or whose machine was, keeps its connections.
    SELECT CASE WHEN engine.beat < clock_timestamp() - interval '45 seconds' THEN false
           WHEN engine.role IS NOT NULL THEN iasql_internal.alive(engine.pid, engine.role, engine.id)
           -- An engine of an earlier version, which holds a shared advisory lock.
           ELSE EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
                        WHERE l.locktype = 'advisory' AND l.pid = engine.pid AND l.classid = 1229017937 AND l.objid = 1 AND l.objsubid = 2 AND l.granted
                          AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
                          AND pg_has_role(a.usesysid, 'iasql_engine', 'MEMBER'))
           END
$$;
COMMENT ON FUNCTION iasql_internal.engine_alive(iasql_internal.engine) IS 'Whether an engine is connected now, and has shown within 45 seconds that it runs (R31).';

CREATE OR REPLACE FUNCTION iasql_internal.engine_there(engine iasql_internal.engine) RETURNS boolean
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT iasql_internal.engine_alive(engine) OR iasql_internal.alive(engine.pid, engine.role, engine.id)
$$;
COMMENT ON FUNCTION iasql_internal.engine_there(iasql_internal.engine) IS 'Whether an engine is connected now, be it that it has shown no sign of life for long.';

-- SHARE is the weakest mode that keeps the engine from writing to a table (manual, table 13.2). One that is awaited
-- counts: who comes later waits behind it. The locks of engines and of migrations are soon given back. Every cycle asks,
-- hence in PL/pgSQL, which keeps its plans, and as cheaply as can be where there is no such lock.
CREATE OR REPLACE FUNCTION iasql_internal.table_locks() RETURNS TABLE ("table" text, pid integer, login text, mode text)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_locks l
                   WHERE l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock') AND l.locktype = 'relation') THEN
        RETURN;
    END IF;
    RETURN QUERY
        SELECT c.relname::text, l.pid, coalesce(r.rolname, 'a prepared transaction')::text, l.mode
        FROM pg_locks l
        JOIN pg_class c ON c.oid = l.relation AND c.relnamespace = 'public'::regnamespace AND c.relowner = 'iasql_engine'::regrole
        LEFT JOIN LATERAL pg_stat_get_activity(l.pid) a ON a.pid = l.pid
        LEFT JOIN pg_roles r ON r.oid = a.usesysid
        WHERE l.locktype = 'relation' AND l.pid IS DISTINCT FROM pg_backend_pid()
          AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
          AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
          AND NOT coalesce(a.application_name LIKE '%engine%' AND pg_has_role(a.usesysid, 'iasql_engine', 'MEMBER'), false)
          -- No cycle reads the interface of a composition, which a later version of it changes.
          AND NOT EXISTS (SELECT FROM iasql_internal.managed_table m WHERE m.name = c.relname AND m.composition);
END
$$;
COMMENT ON FUNCTION iasql_internal.table_locks() IS 'Who holds or awaits a lock that keeps engines from a table.';

CREATE OR REPLACE FUNCTION iasql_internal.in_the_way() RETURNS SETOF text
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT format('advisory lock of account %s is held by %s (process %s)', a.name, coalesce(r.rolname, 'a prepared transaction'), l.pid)
    FROM pg_locks l
    JOIN iasql_internal.account a ON l.objid = hashtext(a.name)::oid
    LEFT JOIN LATERAL pg_stat_get_activity(l.pid) s ON s.pid = l.pid
    LEFT JOIN pg_roles r ON r.oid = s.usesysid
    WHERE l.locktype = 'advisory' AND l.classid = 1229017938 AND l.objsubid = 2 AND l.granted
      AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
      AND NOT coalesce(pg_has_role(s.usesysid, 'iasql_engine', 'MEMBER'), false)
    UNION ALL
    SELECT format('table %s is locked by %s (process %s)', t."table", t.login, t.pid) FROM iasql_internal.table_locks() t
    ORDER BY 1
$$;
COMMENT ON FUNCTION iasql_internal.in_the_way() IS 'What people hold that engines have to work around, one sentence each.';
