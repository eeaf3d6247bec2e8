CREATE OR REPLACE FUNCTION iasql_internal.host_file_in_scope() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
BEGIN
    IF NOT iasql_internal.writer_is_engine() AND NOT iasql_internal.host_scoped(NEW.account, 'file', NEW.path) THEN
        RAISE EXCEPTION 'host_file %: no scope of host % names it, so that it is neither looked at nor made', NEW.path, NEW.account
            USING ERRCODE = '23514', SCHEMA = 'public', TABLE = 'host_file', COLUMN = 'path',
                  HINT = format('INSERT INTO host_scope (account, pattern) VALUES (%L, %L), or a pattern that names more.', NEW.account, NEW.path);
    END IF;
    RETURN NEW;
END;
$$;

COMMENT ON FUNCTION iasql_internal.host_file_in_scope() IS
    'Trigger: a file that users write is one that a scope of its host names.';

CREATE OR REPLACE TRIGGER host_file_in_scope
    BEFORE INSERT OR UPDATE OF account, path ON public.host_file
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_file_in_scope();
