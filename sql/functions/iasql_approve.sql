CREATE OR REPLACE FUNCTION public.iasql_approve(batch bigint, preview_hash text) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    who       text := iasql_internal.writer();
    approvers text := iasql_internal.setting('approvers');
    present   text;
BEGIN
    IF NOT EXISTS (SELECT FROM iasql_internal.batch b WHERE b.id = batch AND b.phase = 'open') THEN
        RAISE EXCEPTION 'no batch % is open', coalesce(batch::text, 'NULL')
            USING ERRCODE = 'IA022', HINT = 'SELECT id, name, owner FROM iasql_batches WHERE phase = ''open'' lists those that are.';
    END IF;
    IF approvers <> '' AND NOT (EXISTS (SELECT FROM pg_roles r WHERE r.rolname = approvers) AND pg_has_role(who, (SELECT r.oid FROM pg_roles r WHERE r.rolname = approvers), 'MEMBER')) THEN
        RAISE EXCEPTION 'you may not approve of batches' USING ERRCODE = '42501', HINT = format('The members of role %I may (setting approvers).', approvers);
    END IF;
    IF EXISTS (SELECT FROM iasql_internal.batch_member m WHERE m.batch = iasql_approve.batch AND (session_user IN (m.login, m.role) OR who IN (m.login, m.role))) THEN
        RAISE EXCEPTION 'you have opened or changed %: somebody else has to approve of it', iasql_internal.batch_text(batch)
            USING ERRCODE = 'IA027', HINT = 'The owner of a batch, and whoever has changed something in it, cannot approve of it. To have joined it and looked is no hindrance.';
    END IF;
    present := iasql_internal.ask('preview', jsonb_build_object('own', NULL, 'batch', batch)) ->> 'hash';
    IF present IS DISTINCT FROM preview_hash THEN
        RAISE EXCEPTION 'batch % is not what was previewed: the database or the cloud has changed since', batch
            USING ERRCODE = 'IA023', HINT = 'Nothing was approved. Look at its preview again.';
    END IF;
    INSERT INTO iasql_internal.approval (batch, preview_hash, approved_by) VALUES (batch, preview_hash, session_user) ON CONFLICT DO NOTHING;
    RETURN (SELECT count(*) FROM iasql_internal.approval a WHERE a.batch = iasql_approve.batch AND a.preview_hash = iasql_approve.preview_hash);
END
$$;
COMMENT ON FUNCTION public.iasql_approve(bigint, text) IS
$$Approves of the plan of an open batch that one has neither opened nor changed, by the hash of its preview (iasql_preview_hash()); returns how many have. Setting required_approvals says how many a commit needs, and approvers who may.
Sample: SELECT iasql_approve(3, '9f86d081884c7d65')$$;
