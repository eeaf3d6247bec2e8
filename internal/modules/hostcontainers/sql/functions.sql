INSERT INTO iasql_internal.host_kind (table_name, kind, column_name) VALUES
    ('host_image', 'image', 'name'),
    ('host_container_network', 'container_network', 'name'),
    ('host_volume', 'volume', 'name'),
    ('host_container', 'container', 'name')
ON CONFLICT DO NOTHING;

CREATE OR REPLACE TRIGGER host_image_in_scope
    BEFORE INSERT OR UPDATE OF account, name ON public.host_image
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_in_scope();

CREATE OR REPLACE TRIGGER host_container_network_in_scope
    BEFORE INSERT OR UPDATE OF account, name ON public.host_container_network
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_in_scope();

CREATE OR REPLACE TRIGGER host_volume_in_scope
    BEFORE INSERT OR UPDATE OF account, name ON public.host_volume
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_in_scope();

CREATE OR REPLACE TRIGGER host_container_in_scope
    BEFORE INSERT OR UPDATE OF account, name ON public.host_container
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_in_scope();

-- The volumes that a container mounts are named once, in mounts. Their names alone say which records come first.
CREATE OR REPLACE FUNCTION iasql_internal.host_container_volumes() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
DECLARE
    wrong text;
BEGIN
    IF iasql_internal.writer_is_engine() THEN
        RETURN NEW;
    END IF;
    IF jsonb_typeof(NEW.mounts) = 'object' THEN
        SELECT m.key INTO wrong FROM jsonb_each(NEW.mounts) AS m
        WHERE m.key !~ '^/' OR jsonb_typeof(m.value) <> 'object'
            OR (SELECT count(*) FROM jsonb_object_keys(m.value) AS k WHERE k IN ('volume', 'bind', 'tmpfs')) <> 1
            OR EXISTS (SELECT FROM jsonb_object_keys(m.value) AS k WHERE NOT k IN ('volume', 'bind', 'tmpfs', 'read_only', 'options'))
        LIMIT 1;
        IF wrong IS NOT NULL THEN
            RAISE EXCEPTION 'what is mounted at % is neither a volume nor a directory of the host nor a tmpfs', wrong
                USING ERRCODE = '23514', SCHEMA = 'public', TABLE = TG_TABLE_NAME, COLUMN = 'mounts',
                      HINT = 'Such as {"/data": {"volume": "pgdata"}, "/etc/app": {"bind": "/srv/app", "read_only": true}, "/tmp": {"tmpfs": ""}}.';
        END IF;
        NEW.volumes := (SELECT array_agg(DISTINCT m.value ->> 'volume') FROM jsonb_each(NEW.mounts) AS m WHERE m.value ->> 'volume' IS NOT NULL);
    ELSE
        NEW.volumes := NULL;
    END IF;
    RETURN NEW;
END;
$$;

COMMENT ON FUNCTION iasql_internal.host_container_volumes() IS
    'Trigger: the volumes of a container are those that it mounts.';
REVOKE EXECUTE ON FUNCTION iasql_internal.host_container_volumes() FROM PUBLIC;

CREATE OR REPLACE TRIGGER host_container_volumes
    BEFORE INSERT OR UPDATE OF mounts, volumes ON public.host_container
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_container_volumes();

-- Secrets are on the host alone, and go with the container that is replaced.
CREATE OR REPLACE FUNCTION iasql_internal.host_container_secrets() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
DECLARE
    changed text;
BEGIN
    IF iasql_internal.writer_is_engine() OR OLD.secret_names IS NULL OR cardinality(OLD.secret_names) = 0 OR NEW.secret_environment IS NOT NULL THEN
        RETURN NEW;
    END IF;
    SELECT n.key INTO changed FROM jsonb_each(to_jsonb(NEW)) AS n JOIN jsonb_each(to_jsonb(OLD)) AS o USING (key)
    WHERE n.value <> o.value AND n.key IN ('account', 'name', 'image', 'image_record', 'command', 'entrypoint', 'environment', 'ports', 'mounts', 'volumes',
                                           'user_name', 'working_dir', 'labels', 'privileged', 'healthcheck', 'options', 'job')
    ORDER BY n.key LIMIT 1;
    IF changed IS NOT NULL THEN
        RAISE EXCEPTION 'changing % replaces container %, and nobody can read its secret variables from the old one: %', changed, OLD.name, array_to_string(OLD.secret_names, ', ')
            USING ERRCODE = '23514', SCHEMA = 'public', TABLE = TG_TABLE_NAME, COLUMN = 'secret_environment',
                  HINT = 'Set secret_environment as well, a line each: NAME=value.';
    END IF;
    RETURN NEW;
END;
$$;

COMMENT ON FUNCTION iasql_internal.host_container_secrets() IS
    'Trigger: who replaces a container says its secret variables again.';
REVOKE EXECUTE ON FUNCTION iasql_internal.host_container_secrets() FROM PUBLIC;

-- Its name has it fire before the secret is hidden.
CREATE OR REPLACE TRIGGER host_container_secrets
    BEFORE UPDATE ON public.host_container
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_container_secrets();
