-- Runs one statement that returns one text in a second session: what it does is committed at once, whatever becomes of the
-- caller's transaction.
--
-- The connection has no name, so that none is left when the statement is cancelled: it is closed with the call (manual,
-- dblink: a connection string opens one "for the duration of this command"). Its string begins with the password, because
-- dblink first looks for a connection and for a foreign server of that name, as far as names go: nobody can make those
-- without knowing it.
--
-- The address is that of the caller's own session, as far as it has one: after a failover to a standby, the one on record is
-- that of the server that was. On record is what an engine found at its start, for sessions through a socket.
--
-- Where it arrives is seen before the statement runs. A restored copy has the address of the database it was copied from,
-- which may have the same oid on another server; but the caller's own virtual transaction runs nowhere else.
CREATE OR REPLACE FUNCTION iasql_internal.elsewhere(statement text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    loopback iasql_internal.loopback;
    here     text := (SELECT format('%L AND d.oid = %s', l.virtualtransaction, d.oid) FROM pg_locks l, pg_database d
                      WHERE l.pid = pg_backend_pid() AND l.locktype = 'virtualxid' AND d.datname = current_database());
    target   text;
    arrived  boolean;
    answer   text;
    reason   text;
BEGIN
    SELECT * INTO loopback FROM iasql_internal.loopback;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the database has no loopback role' USING ERRCODE = 'IA014', HINT = 'Run engine migrate on this database.';
    END IF;
    SELECT string_agg(format('%s=''%s''', o.name, replace(replace(o.value, '\', '\\'), '''', '\''')), ' ' ORDER BY o.n) INTO target
    FROM (VALUES (1, 'password', loopback.password), (2, 'user', loopback.role), (3, 'dbname', loopback.dbname), (4, 'host', coalesce(host(inet_server_addr()), loopback.host)),
                 (5, 'port', current_setting('port')), (6, 'options', '-c search_path=pg_catalog,pg_temp')) AS o (n, name, value);
    BEGIN
        SELECT r.arrived, r.answer INTO arrived, answer
        FROM @extschema:dblink@.dblink(target, format(
            'SELECT w.arrived, CASE WHEN w.arrived THEN (%s)::text END FROM (SELECT EXISTS (SELECT FROM pg_locks l, pg_database d '
            || 'WHERE d.datname = current_database() AND l.locktype = ''virtualxid'' AND l.pid = %s AND l.virtualtransaction = %s) AS arrived OFFSET 0) w',
            statement, pg_backend_pid(), here)) AS r (arrived boolean, answer text);
    EXCEPTION WHEN sqlclient_unable_to_establish_sqlconnection OR SQLSTATE '2F003' THEN
        GET STACKED DIAGNOSTICS reason = PG_EXCEPTION_DETAIL;
        RAISE EXCEPTION 'the database cannot open a connection to itself: %', SQLERRM
            USING ERRCODE = 'IA014', DETAIL = reason,
                  HINT = format('Role %s must be allowed to log in with its password from this server; check pg_hba.conf, then run engine migrate.', loopback.role);
    END;
    IF arrived IS NOT TRUE THEN
        RAISE EXCEPTION 'the connection of database % to itself leads to another database: this one is a copy, or was moved', current_database()
            USING ERRCODE = 'IA014', HINT = 'Run engine migrate on this database.';
    END IF;
    RETURN answer;
END
$$;
COMMENT ON FUNCTION iasql_internal.elsewhere(text) IS 'Runs a statement in a second session of the loopback role, which may submit requests.';
