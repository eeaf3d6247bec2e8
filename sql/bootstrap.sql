-- What only the migrating login role may do: roles, schemas, extensions. Everything later is done as iasql_engine.
-- Roles are shared by all databases of a cluster (PostgreSQL manual, chapter 22), so they may be there already.
DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['iasql_engine', 'iasql_user', 'iasql_reader'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', role);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL; -- somebody else was faster
            END;
        END IF;
    END LOOP;
    IF NOT pg_has_role('iasql_user', 'iasql_reader', 'USAGE') THEN
        GRANT iasql_reader TO iasql_user;
    END IF;
    IF NOT pg_has_role(session_user, 'iasql_engine', 'MEMBER') THEN
        EXECUTE format('GRANT iasql_engine TO %I', session_user);
    END IF;
    EXECUTE format('GRANT CREATE, CONNECT, TEMPORARY ON DATABASE %I TO iasql_engine', current_database());
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO iasql_reader', current_database());
END
$$;
GRANT CREATE, USAGE ON SCHEMA public TO iasql_engine;
CREATE SCHEMA IF NOT EXISTS iasql_internal AUTHORIZATION iasql_engine;
CREATE SCHEMA IF NOT EXISTS iasql_river AUTHORIZATION iasql_engine;
COMMENT ON SCHEMA iasql_internal IS 'What the engine keeps for itself. Nothing here is part of the SQL interface.';
COMMENT ON SCHEMA iasql_river IS 'The job queue (River).';
CREATE SCHEMA IF NOT EXISTS iasql_extensions;
GRANT USAGE ON SCHEMA iasql_extensions TO iasql_engine;
COMMENT ON SCHEMA iasql_extensions IS 'The extensions that the functions use, out of the way of the tables.';
CREATE EXTENSION IF NOT EXISTS dblink SCHEMA iasql_extensions;
CREATE EXTENSION IF NOT EXISTS fuzzystrmatch SCHEMA iasql_extensions;
DO $$
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO iasql_engine',
        (SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'dblink'));
    GRANT USAGE ON FOREIGN DATA WRAPPER dblink_fdw TO iasql_engine;
    -- pg_cron can live in one database of a cluster only, and only where it was preloaded.
    IF current_setting('cron.database_name', true) = current_database() THEN
        CREATE EXTENSION IF NOT EXISTS pg_cron;
    END IF;
END
$$;
