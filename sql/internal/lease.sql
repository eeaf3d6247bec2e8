DROP FUNCTION IF EXISTS iasql_internal.hold_lease(text, bigint);
DROP FUNCTION IF EXISTS iasql_internal.hold_rules(text, bigint);
CREATE OR REPLACE FUNCTION iasql_internal.hold_rules(rules text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF rules <> iasql_internal.rules_version() THEN
        RAISE EXCEPTION 'the rules have changed since this was decided' USING ERRCODE = 'IA092';
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.hold_rules(text) IS 'Last in every transaction that carries out what an engine has decided: fails if other rules hold than those that it was decided by (R19).';

DROP FUNCTION IF EXISTS iasql_internal.hold_lease(text, bigint, text[]);
CREATE OR REPLACE FUNCTION iasql_internal.hold_lease(account text, fence bigint, writes text[] DEFAULT NULL, batch bigint DEFAULT 0) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- In the order in which a deletion of the account locks them, or the two would wait for each other.
    PERFORM FROM iasql_internal.account a WHERE a.name = hold_lease.account FOR KEY SHARE;
    PERFORM FROM iasql_internal.lease l WHERE l.account = hold_lease.account AND l.fence = hold_lease.fence FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the lease of account % has passed to another engine', account USING ERRCODE = 'IA090';
    END IF;
    PERFORM set_config('synchronous_commit', 'off', true);
    -- What is written is found by its id. A plan is made once for a session, and while a table is small, to read all of it
    -- would look cheapest, and be done until the next ANALYZE, however many rows it has got by then.
    PERFORM set_config('enable_seqscan', 'off', true);
    IF batch <> 0 THEN
        PERFORM set_config('iasql.cycle_of', batch::text, true);
    END IF;
    IF writes IS NOT NULL THEN
        PERFORM iasql_internal.refuse_untrusted(writes);
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.hold_lease(text, bigint, text[], bigint) IS 'First in every transaction an engine writes in: keeps the account''s lease until it ends, and fails once the lease is lost (R15), or if writing these managed tables would run somebody else''s code (R20). Of a batch''s own cycle the audit trigger is told so. The commit does not wait for the disk.';
