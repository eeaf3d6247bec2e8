-- Comes first: standard-SQL bodies (BEGIN ATOMIC) are bound when they are made.
--
-- In PL/pgSQL, as these are asked with every write: of a function in SQL every transaction would make the plan anew.

-- Who writes: the role that was set, else the one that logged in. (In a SECURITY DEFINER function current_user is the
-- function's owner.)
CREATE OR REPLACE FUNCTION iasql_internal.writer() RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN CASE current_setting('role') WHEN 'none' THEN session_user::text ELSE current_setting('role') END;
END
$$;
COMMENT ON FUNCTION iasql_internal.writer() IS 'The role that makes the current change.';

-- The setting alone could be made by anybody; the role cannot, nor a row of iasql_internal.reverting.
CREATE OR REPLACE FUNCTION iasql_internal.writer_is_engine() RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN coalesce(current_setting('iasql.origin', true), '') = 'engine' AND pg_has_role(session_user, 'iasql_engine', 'MEMBER')
        OR EXISTS (SELECT FROM iasql_internal.reverting r WHERE r.xid = pg_current_xact_id_if_assigned());
END
$$;
COMMENT ON FUNCTION iasql_internal.writer_is_engine() IS 'Whether the current change is the engine''s own and no user''s intention (R4).';

CREATE OR REPLACE FUNCTION iasql_internal.setting(name text) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT s.value FROM public.iasql_settings s WHERE s.name = setting.name);
END
$$;
COMMENT ON FUNCTION iasql_internal.setting(text) IS 'Value of a setting.';

CREATE OR REPLACE FUNCTION iasql_internal.open_batch() RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT b.id FROM iasql_internal.batch b WHERE b.closed_at IS NULL);
END
$$;
COMMENT ON FUNCTION iasql_internal.open_batch() IS 'id of the open batch, NULL if none is.';

CREATE OR REPLACE FUNCTION iasql_internal.open_batch_text() RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT format('Batch %s is open (by %s, since %s): its changes wait until it is committed. ', b.id, b.opened_by, date_trunc('second', b.opened_at))
            FROM iasql_internal.batch b WHERE b.closed_at IS NULL);
END
$$;
COMMENT ON FUNCTION iasql_internal.open_batch_text() IS 'What a hint says of the open batch, NULL if none is.';
