-- Until version 2 the keys of logins were in a table of this module, and scopes named files alone.
DO $$
BEGIN
    IF to_regclass('iasql_internal.host_secret') IS NOT NULL THEN
        INSERT INTO iasql_internal.account_secret (table_name, account, column_name, value)
        SELECT 'host', s.host, 'private_key', s.private_key FROM iasql_internal.host_secret AS s WHERE s.private_key IS NOT NULL
        ON CONFLICT DO NOTHING;
        DROP TRIGGER IF EXISTS host_hide_secret ON public.host;
        DROP TRIGGER IF EXISTS host_keep_secret ON public.host;
        DROP TRIGGER IF EXISTS host_zz_forget_staged ON public.host;
        DROP FUNCTION iasql_internal.host_hide_secret();
        DROP FUNCTION iasql_internal.host_keep_secret();
        DROP FUNCTION iasql_internal.host_forget_staged();
        DROP TABLE iasql_internal.host_secret_staged, iasql_internal.host_secret;
    END IF;
END
$$;
