-- What only an administrator may do: roles, schemas, and the grants on what is not the engine's own. Runs in the
-- transaction of the bootstrap (internal/platform/bootstrap.go), with search_path pinned, and may be run again at any time.
--
-- Roles are shared by all databases of a cluster (PostgreSQL manual, chapter 22), so they may be there already.
DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['iasql_engine', 'iasql_user', 'iasql_reader'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', role);
        END IF;
    END LOOP;
    IF NOT pg_has_role('iasql_user', 'iasql_reader', 'USAGE') THEN
        GRANT iasql_reader TO iasql_user;
    END IF;
    -- Who makes a schema for another role, or acts as it, must be able to become that role (manual, CREATE SCHEMA). From
    -- version 16 on, to be its administrator is not enough (manual, section 22.5). Taken back below, in the same transaction.
    IF NOT pg_has_role('iasql_engine', CASE WHEN current_setting('server_version_num')::integer < 160000 THEN 'MEMBER' ELSE 'SET' END) THEN
        EXECUTE format('GRANT iasql_engine TO %I', current_user);
        PERFORM set_config('iasql.temporary_member', current_user, true);
    END IF;
    EXECUTE format('GRANT CREATE, CONNECT, TEMPORARY ON DATABASE %I TO iasql_engine', current_database());
END
$$;
GRANT CREATE, USAGE ON SCHEMA public TO iasql_engine;

-- Whoever owns a schema can replace what stands in it.
DO $$
DECLARE
    squatted record;
BEGIN
    FOR squatted IN
        SELECT n.nspname, pg_get_userbyid(n.nspowner) AS owner
        FROM pg_namespace n
        WHERE n.nspname IN ('iasql_internal', 'iasql_river') AND n.nspowner <> 'iasql_engine'::regrole
           OR n.nspname = 'iasql_extensions' AND n.nspowner NOT IN ('iasql_engine'::regrole, current_user::regrole)
              AND NOT (SELECT r.rolsuper FROM pg_roles r WHERE r.oid = n.nspowner)
              AND n.nspowner <> (SELECT d.datdba FROM pg_database d WHERE d.datname = current_database())
    LOOP
        RAISE EXCEPTION 'schema % belongs to %, who could change what the engine keeps in it', squatted.nspname, squatted.owner
            USING ERRCODE = 'insufficient_privilege', HINT = format('Look what is in it, then drop it: DROP SCHEMA %I CASCADE', squatted.nspname);
    END LOOP;
END
$$;
CREATE SCHEMA IF NOT EXISTS iasql_internal AUTHORIZATION iasql_engine;
CREATE SCHEMA IF NOT EXISTS iasql_river AUTHORIZATION iasql_engine;
CREATE SCHEMA IF NOT EXISTS iasql_extensions;
DO $$
BEGIN
    IF pg_has_role(current_user, (SELECT nspowner FROM pg_namespace WHERE nspname = 'iasql_extensions'), 'USAGE') THEN
        GRANT USAGE ON SCHEMA iasql_extensions TO iasql_engine;
        COMMENT ON SCHEMA iasql_extensions IS 'The extensions that the functions use, out of the way of the tables.';
    END IF;
END
$$;

-- From here on as the engine's role: what it makes it owns.
SET LOCAL ROLE iasql_engine;
COMMENT ON SCHEMA iasql_internal IS 'What the engine keeps for itself. Nothing here is part of the SQL interface.';
COMMENT ON SCHEMA iasql_river IS 'The job queue (River).';
CREATE TABLE IF NOT EXISTS iasql_internal.loopback (
    one      boolean PRIMARY KEY DEFAULT true CHECK (one),
    host     text NOT NULL,
    port     text NOT NULL,
    dbname   text NOT NULL,
    database oid NOT NULL, -- the database that the role was made for: a copy has to get a role of its own
    role     text NOT NULL,
    password text NOT NULL
);
-- Rows are written to it in a session of an administrator: nothing else may happen then.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = 'iasql_internal.loopback'::regclass AND c.relkind = 'r' AND NOT c.relhasrules AND NOT c.relhastriggers AND NOT c.relrowsecurity)
       OR EXISTS (SELECT FROM pg_index i WHERE i.indrelid = 'iasql_internal.loopback'::regclass AND NOT i.indisprimary)
       OR EXISTS (SELECT FROM pg_constraint k WHERE k.conrelid = 'iasql_internal.loopback'::regclass AND k.contype NOT IN ('p', 'n') AND pg_get_constraintdef(k.oid) <> 'CHECK (one)')
       OR EXISTS (SELECT FROM pg_attrdef d WHERE d.adrelid = 'iasql_internal.loopback'::regclass AND pg_get_expr(d.adbin, d.adrelid) <> 'true') THEN
        RAISE EXCEPTION 'table iasql_internal.loopback is not as the engine made it'
            USING HINT = 'Find out who changed it, then: DROP TABLE iasql_internal.loopback';
    END IF;
END
$$;
COMMENT ON TABLE iasql_internal.loopback IS 'How the database opens a connection to itself (see iasql_internal.elsewhere). Read by its owner alone.';
RESET ROLE;
