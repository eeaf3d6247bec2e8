-- The caller is the role that was set, else the one that logged in (00_writer.sql). Whoever redeems the token acts as that
-- role and as no other, while whoever made it may still be that role (R33); the hash that is kept is of no use to a reader of the table.
CREATE OR REPLACE FUNCTION public.iasql_console_token() RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    caller oid := (SELECT r.oid FROM pg_roles r WHERE r.rolname = iasql_internal.writer());
    -- 244 bits of PostgreSQL's strong random numbers (manual, section 9.14).
    token  text := 'iasql-' || replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '');
BEGIN
    PERFORM iasql_internal.refuse_standby('iasql_console_token');
    DELETE FROM iasql_internal.console_token t WHERE t.made < clock_timestamp() - interval '5 minutes';
    IF (SELECT count(*) FROM iasql_internal.console_token t WHERE t.role = caller) >= 10 THEN
        RAISE EXCEPTION 'role % has ten tokens that were not used', iasql_internal.writer()
            USING ERRCODE = 'IA060', HINT = 'Use one of them, or wait five minutes.';
    END IF;
    INSERT INTO iasql_internal.console_token (hash, role, login) VALUES (sha256(convert_to(token, 'UTF8')), caller, quote_ident(session_user)::regrole);
    RETURN token;
END
$$;
COMMENT ON FUNCTION public.iasql_console_token() IS
$$A token by which the calling role signs in to the console, once, within five minutes. It takes an engine with --http-token-url.
Sample: SELECT iasql_console_token()$$;
