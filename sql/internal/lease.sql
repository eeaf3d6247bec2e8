DROP FUNCTION IF EXISTS iasql_internal.hold_lease(text, bigint);
CREATE OR REPLACE FUNCTION iasql_internal.hold_lease(account text, fence bigint, writes text[] DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM FROM iasql_internal.lease l WHERE l.account = hold_lease.account AND l.fence = hold_lease.fence FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the lease of account % has passed to another engine', account USING ERRCODE = 'IA090';
    END IF;
    PERFORM set_config('synchronous_commit', 'off', true);
    IF writes IS NOT NULL THEN
        PERFORM iasql_internal.refuse_untrusted(writes);
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.hold_lease(text, bigint, text[]) IS 'First in every transaction an engine writes in: keeps the account''s lease until it ends, and fails once the lease is lost (R15), or if writing these managed tables would run somebody else''s code (R20). The commit does not wait for the disk.';
