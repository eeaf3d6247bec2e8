-- Who approves of a plan has to see every line of it (R33). Policies are asked of the caller, grants by the second half.
CREATE OR REPLACE FUNCTION public.iasql_approve(batch bigint, preview_hash text) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    request bigint := iasql_internal.ask_approval(batch);
BEGIN
    PERFORM iasql_internal.permit('see', p.table_name, p.records)
    FROM iasql_internal.planned(request) p WHERE row_security_active(to_regclass(format('public.%I', p.table_name)));
    RETURN iasql_internal.approve(batch, preview_hash, request);
END
$$;
COMMENT ON FUNCTION public.iasql_approve(bigint, text) IS
$$Approves of the plan of an open batch that one has neither opened nor changed, by the hash of its preview (iasql_preview_hash()); returns how many have. It takes the right to see every line of the plan, now and still at the commit. Setting required_approvals says how many a commit needs, and approvers who may.
Sample: SELECT iasql_approve(3, '9f86d081884c7d65')$$;

CREATE OR REPLACE FUNCTION iasql_internal.may_approve(who text) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    approvers text := iasql_internal.setting('approvers');
BEGIN
    RETURN has_function_privilege(who, 'public.iasql_approve(bigint, text)', 'EXECUTE')
       AND (approvers = '' OR EXISTS (SELECT FROM pg_roles r WHERE r.rolname = approvers AND pg_has_role(who, r.oid, 'MEMBER')));
END
$$;
COMMENT ON FUNCTION iasql_internal.may_approve(text) IS 'Whether a role may approve of batches at all (setting approvers).';

CREATE OR REPLACE FUNCTION iasql_internal.ask_approval(batch bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    who text := iasql_internal.writer();
BEGIN
    PERFORM iasql_internal.refuse_standby('iasql_approve');
    IF NOT EXISTS (SELECT FROM iasql_internal.batch b WHERE b.id = batch AND b.phase = 'open') THEN
        RAISE EXCEPTION 'no batch % is open', coalesce(batch::text, 'NULL')
            USING ERRCODE = 'IA022', HINT = 'SELECT id, name, owner FROM iasql_batches WHERE phase = ''open'' lists those that are.';
    END IF;
    IF NOT iasql_internal.may_approve(who) THEN
        RAISE EXCEPTION 'you may not approve of batches' USING ERRCODE = '42501', HINT = format('The members of role %I may (setting approvers).', iasql_internal.setting('approvers'));
    END IF;
    IF EXISTS (SELECT FROM iasql_internal.batch_member m WHERE m.batch = ask_approval.batch AND (session_user IN (m.login, m.role) OR who IN (m.login, m.role))) THEN
        RAISE EXCEPTION 'you have opened or changed %: somebody else has to approve of it', iasql_internal.batch_text(batch)
            USING ERRCODE = 'IA027', HINT = 'The owner of a batch, and whoever has changed something in it, cannot approve of it. To have joined it and looked is no hindrance.';
    END IF;
    RETURN iasql_internal.asked('preview', jsonb_build_object('own', NULL, 'batch', batch));
END
$$;
COMMENT ON FUNCTION iasql_internal.ask_approval(bigint) IS 'The first half of iasql_approve: may the caller approve of the batch at all, and what is its plan now; returns the request that has it.';

CREATE OR REPLACE FUNCTION iasql_internal.planned(request bigint) RETURNS TABLE (table_name text, records bigint[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
    SELECT r.table_name, coalesce(array_agg(DISTINCT r.id) FILTER (WHERE r.id IS NOT NULL), '{}')
    FROM iasql_internal.request q CROSS JOIN LATERAL jsonb_to_recordset(q.result -> 'rows') AS r (table_name text, id bigint)
    WHERE q.id = planned.request AND q.kind = 'preview' AND q.asked_by = iasql_internal.writer()
    GROUP BY r.table_name;
END
$$;
COMMENT ON FUNCTION iasql_internal.planned(bigint) IS 'The numbers of the records that a preview which the caller has asked for is about.';

CREATE OR REPLACE FUNCTION iasql_internal.approve(batch bigint, preview_hash text, request bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_variable
DECLARE
    who    text := iasql_internal.writer();
    plan   jsonb;
    line   record;
    tables text[];
BEGIN
    SELECT q.result INTO plan FROM iasql_internal.request q
    WHERE q.id = request AND q.kind = 'preview' AND q.asked_by = who AND q.args ->> 'batch' = batch::text;
    IF NOT iasql_internal.may_approve(who) OR plan IS NULL
       OR NOT EXISTS (SELECT FROM iasql_internal.batch b WHERE b.id = batch AND b.phase = 'open')
       OR EXISTS (SELECT FROM iasql_internal.batch_member m WHERE m.batch = approve.batch AND (session_user IN (m.login, m.role) OR who IN (m.login, m.role))) THEN
        RAISE EXCEPTION 'you may not approve of batch %', batch USING ERRCODE = '42501', HINT = 'SELECT iasql_approve(…) says why.';
    ELSIF plan ->> 'hash' IS DISTINCT FROM preview_hash THEN
        RAISE EXCEPTION 'batch % is not what was previewed: the database or the cloud has changed since', batch
            USING ERRCODE = 'IA023', HINT = 'Nothing was approved. Look at its preview again.';
    END IF;
    SELECT l.table_name INTO line
    FROM jsonb_to_recordset(plan -> 'rows') AS l (table_name text, id bigint)
    LEFT JOIN pg_class c ON c.relname = l.table_name AND c.relnamespace = 'public'::regnamespace
    WHERE c.oid IS NULL OR NOT has_table_privilege(who, c.oid, 'SELECT')
       OR iasql_internal.is_subject(who, c.oid) AND NOT EXISTS (
              SELECT FROM iasql_internal.permit p
              WHERE p.xid = pg_current_xact_id_if_assigned() AND p.table_name = l.table_name AND p.record_id = l.id AND p.may = 'see')
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'you may not approve of batch %: its plan has lines about % that you do not see', batch, line.table_name
            USING ERRCODE = '42501', TABLE = line.table_name, HINT = 'Who approves of a plan has to see all of it. Grants and row-level security of the table decide.';
    END IF;
    SELECT coalesce(array_agg(DISTINCT l.table_name ORDER BY l.table_name), '{}') INTO tables FROM jsonb_to_recordset(plan -> 'rows') AS l (table_name text);
    INSERT INTO iasql_internal.approval (batch, preview_hash, approved_by, login, role, tables, policies)
    VALUES (batch, preview_hash, session_user, quote_ident(session_user)::regrole, (SELECT r.oid FROM pg_roles r WHERE r.rolname = who), tables, iasql_internal.sight(who, tables))
    ON CONFLICT ON CONSTRAINT approval_pkey DO UPDATE
    SET login = excluded.login, role = excluded.role, tables = excluded.tables, policies = excluded.policies, approved_at = excluded.approved_at;
    RETURN iasql_internal.approvals(batch, preview_hash);
END
$$;
COMMENT ON FUNCTION iasql_internal.approve(bigint, text, bigint) IS 'The second half of iasql_approve: raises unless the caller sees every line of the plan, and puts the approval on record.';

-- Nobody but the role itself can be asked what its policies show. So what they say is remembered, and with it whose member the
-- role is.
CREATE OR REPLACE FUNCTION iasql_internal.sight(who text, tables text[]) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT md5(string_agg(concat_ws(' ', t.name, c.oid, s.subject, CASE WHEN s.subject THEN concat_ws(' ',
                       (SELECT string_agg(concat_ws(' ', p.polname, p.polcmd, p.polpermissive, p.polroles, pg_get_expr(p.polqual, p.polrelid)), ';' ORDER BY p.polname)
                        FROM pg_policy p WHERE p.polrelid = c.oid AND p.polcmd IN ('*', 'r')),
                       (SELECT string_agg(r.oid::text, ',' ORDER BY r.oid) FROM pg_roles r WHERE pg_has_role(who, r.oid, 'USAGE'))) END), E'\n' ORDER BY t.name))
            FROM unnest(tables) t (name)
            LEFT JOIN pg_class c ON c.relname = t.name AND c.relnamespace = 'public'::regnamespace
            CROSS JOIN LATERAL (SELECT coalesce(iasql_internal.is_subject(who, c.oid), false) AS subject) s);
END
$$;
COMMENT ON FUNCTION iasql_internal.sight(text, text[]) IS 'A sum over what row-level security says to a role of what it may read in these tables.';

CREATE OR REPLACE FUNCTION iasql_internal.approvers(batch bigint) RETURNS TABLE (preview_hash text, approved_by text, approved_at timestamptz, stands boolean)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    -- Asked of the approvers alone: another role of the server may be dropped while one asks about it.
    RETURN QUERY
    WITH approver AS MATERIALIZED (
        SELECT a.batch, a.preview_hash, a.approved_by, a.approved_at, a.tables, a.policies, l.oid AS login, l.rolname AS login_name, r.oid AS role, r.rolname AS role_name
        FROM iasql_internal.approval a
        LEFT JOIN pg_roles l ON l.oid = a.login
        LEFT JOIN pg_roles r ON r.oid = a.role
        WHERE a.batch = approvers.batch
    )
    SELECT a.preview_hash, a.approved_by, a.approved_at,
           CASE WHEN a.login IS NULL OR a.role IS NULL THEN false
                ELSE pg_has_role(a.login, a.role, 'MEMBER') AND iasql_internal.may_approve(a.role_name)
                     AND NOT EXISTS (SELECT FROM iasql_internal.batch_member m
                                     WHERE m.batch = a.batch AND (a.login_name IN (m.login, m.role) OR a.role_name IN (m.login, m.role)))
                     AND NOT EXISTS (SELECT FROM unnest(a.tables) t (name) LEFT JOIN pg_class c ON c.relname = t.name AND c.relnamespace = 'public'::regnamespace
                                     WHERE c.oid IS NULL OR NOT has_table_privilege(a.role, c.oid, 'SELECT'))
                     AND a.policies IS NOT DISTINCT FROM iasql_internal.sight(a.role_name, a.tables) END
    FROM approver a;
END
$$;
COMMENT ON FUNCTION iasql_internal.approvers(bigint) IS 'Who has approved of which plan of a batch, and whether he might still do so.';

CREATE OR REPLACE FUNCTION iasql_internal.approvals(batch bigint, preview_hash text) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT count(*) FROM iasql_internal.approvers(approvals.batch) a WHERE a.preview_hash = approvals.preview_hash AND a.stands);
END
$$;
COMMENT ON FUNCTION iasql_internal.approvals(bigint, text) IS 'How many have approved of this plan of a batch who might still do so.';
