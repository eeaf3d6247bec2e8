-- Until version 8 the secrets of accounts were in a table of this module.
DO $$
BEGIN
    IF to_regclass('iasql_internal.aws_secret') IS NULL THEN
        RETURN; -- a new database
    END IF;
    INSERT INTO iasql_internal.account_secret (table_name, account, column_name, value)
    SELECT 'aws_account', s.account, v.column_name, v.value
    FROM iasql_internal.aws_secret AS s, LATERAL (VALUES ('secret_access_key', s.secret_access_key), ('session_token', s.session_token)) AS v (column_name, value)
    WHERE v.value IS NOT NULL
    ON CONFLICT DO NOTHING;
    DROP TRIGGER aws_account_hide_secrets ON public.aws_account;
    DROP TRIGGER aws_account_keep_secrets ON public.aws_account;
    DROP TRIGGER aws_account_zz_forget_staged ON public.aws_account;
    DROP FUNCTION iasql_internal.aws_account_hide_secrets();
    DROP FUNCTION iasql_internal.aws_account_keep_secrets();
    DROP FUNCTION iasql_internal.aws_account_forget_staged();
    DROP TABLE iasql_internal.aws_secret_staged;
    DROP TABLE iasql_internal.aws_secret;
END
$$;

-- Engines of earlier versions read it, for as long as they run beside this one.
CREATE VIEW iasql_internal.aws_secret AS
SELECT s.account, max(s.value) FILTER (WHERE s.column_name = 'secret_access_key') AS secret_access_key,
    max(s.value) FILTER (WHERE s.column_name = 'session_token') AS session_token
FROM iasql_internal.account_secret AS s
WHERE s.table_name = 'aws_account'
GROUP BY s.account;
COMMENT ON VIEW iasql_internal.aws_secret IS
    'The secrets of aws_account, by account, where engines of an earlier version look for them.';
REVOKE ALL ON iasql_internal.aws_secret FROM PUBLIC;
