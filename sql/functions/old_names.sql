-- Before there was two-way synchronization, changes were applied by hand. Scripts that still do so go on working.
CREATE OR REPLACE FUNCTION iasql_internal.old_name(old text, instead text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE WARNING '%() does nothing any more', old USING HINT = instead;
END
$$;
COMMENT ON FUNCTION iasql_internal.old_name(text, text) IS 'Warns that a function does nothing, and says what to use now.';

CREATE OR REPLACE FUNCTION public.iasql_apply() RETURNS TABLE (action text, table_name text, id bigint, description text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM iasql_internal.old_name('iasql_apply', 'Changes reach the cloud by themselves. SELECT iasql_wait_for_all() waits for them; CALL iasql_begin() and CALL iasql_commit() make a batch of them.');
END
$$;
COMMENT ON FUNCTION public.iasql_apply() IS
$$Does nothing but warn: kept for old scripts. Changes reach the cloud by themselves; use iasql_wait_for_all, or iasql_begin and iasql_commit.
Sample: SELECT iasql_wait_for_all()$$;

CREATE OR REPLACE FUNCTION public.iasql_sync() RETURNS TABLE (action text, table_name text, id bigint, description text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM iasql_internal.old_name('iasql_sync', 'What changes in the cloud is pulled by itself. SELECT iasql_sync_now() does so at once.');
END
$$;
COMMENT ON FUNCTION public.iasql_sync() IS
$$Does nothing but warn: kept for old scripts. What changes in the cloud is pulled by itself; use iasql_sync_now.
Sample: SELECT iasql_sync_now()$$;

CREATE OR REPLACE FUNCTION public.iasql_preview_apply() RETURNS TABLE (action text, table_name text, id bigint, description text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM iasql_internal.old_name('iasql_preview_apply', 'SELECT * FROM iasql_preview() shows what would be pushed, in a batch or without.');
END
$$;
COMMENT ON FUNCTION public.iasql_preview_apply() IS
$$Does nothing but warn: kept for old scripts; use iasql_preview.
Sample: SELECT * FROM iasql_preview()$$;

CREATE OR REPLACE FUNCTION public.iasql_preview_sync() RETURNS TABLE (action text, table_name text, id bigint, description text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM iasql_internal.old_name('iasql_preview_sync', 'SELECT * FROM iasql_preview() WHERE direction <> ''push'' shows what would be pulled.');
END
$$;
COMMENT ON FUNCTION public.iasql_preview_sync() IS
$$Does nothing but warn: kept for old scripts; use iasql_preview.
Sample: SELECT * FROM iasql_preview()$$;
