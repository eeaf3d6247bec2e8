-- What a batch has changed is staged in it until it is closed (R21): nobody else changes it, refers to what only the batch has
-- made, takes away what a rollback would need, or takes an identity that it has or had. All of it is found by index, and
-- nothing is looked for while no batch is open.
CREATE OR REPLACE FUNCTION iasql_internal.references_of(class oid, OUT parent text, OUT theirs text, OUT ours text) RETURNS SETOF record
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT m.name, string_agg(format('p.%I', f.attname), ', ' ORDER BY k.n), string_agg(format('x.%I', c.attname), ', ' ORDER BY k.n)
    FROM pg_constraint o
    JOIN pg_class r ON r.oid = o.confrelid AND r.relnamespace = 'public'::regnamespace
    JOIN iasql_internal.managed_table m ON m.name = r.relname
    CROSS JOIN LATERAL unnest(o.conkey, o.confkey) WITH ORDINALITY k (ours, theirs, n)
    JOIN pg_attribute c ON c.attrelid = o.conrelid AND c.attnum = k.ours
    JOIN pg_attribute f ON f.attrelid = o.confrelid AND f.attnum = k.theirs
    WHERE o.conrelid = class AND o.contype = 'f'
    GROUP BY o.oid, m.name
$$;
COMMENT ON FUNCTION iasql_internal.references_of(oid) IS 'The foreign keys of a table that lead to managed ones: the parent, its columns of p and the table''s of x.';

CREATE OR REPLACE FUNCTION iasql_internal.batch_hint(batch bigint) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN format('SELECT * FROM iasql_batches shows it. Wait until it is committed or rolled back, or work in it: CALL iasql_join(%L).',
                  (SELECT CASE WHEN b.name = iasql_internal.plain(b.name) THEN b.name ELSE b.id::text END FROM iasql_internal.batch b WHERE b.id = batch_hint.batch));
END
$$;
COMMENT ON FUNCTION iasql_internal.batch_hint(bigint) IS 'What to do about a record that somebody else''s batch holds.';

CREATE OR REPLACE FUNCTION iasql_internal.refuse_staged("table" text, ids bigint[], mine bigint, deletes boolean, undoes bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    bad record;
BEGIN
    SELECT s.record_id, s.batch INTO bad FROM iasql_internal.staged s
    WHERE s.table_name = refuse_staged."table" AND s.record_id = ANY (ids) AND s.batch IS DISTINCT FROM mine LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'record % of % cannot be changed: it is staged in %', bad.record_id, "table", iasql_internal.batch_text(bad.batch)
            USING ERRCODE = 'IA020', SCHEMA = 'public', TABLE = "table", HINT = iasql_internal.batch_hint(bad.batch);
    END IF;
    IF deletes THEN
        SELECT n.* INTO bad FROM iasql_internal.needed n
        WHERE n.table_name = refuse_staged."table" AND n.record_id = ANY (ids) AND n.batch IS DISTINCT FROM undoes LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'record % of % cannot be deleted: record % of %, which is staged in %, referred to it before',
                    bad.record_id, "table", bad.by_record, bad.by_table, iasql_internal.batch_text(bad.batch)
                USING ERRCODE = 'IA020', SCHEMA = 'public', TABLE = "table", HINT = iasql_internal.batch_hint(bad.batch);
        END IF;
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_staged(text, bigint[], bigint, boolean, bigint) IS 'Raises if a record is staged in another batch than one''s own, or, for one that is deleted, if the rollback of a batch would need it that does not delete it itself.';

-- Where a record is, and under which name the cloud knows its object: {"id", "account", "region", "key"}. The audit
-- trigger hands on lists of these, of what a statement has written, as they were before it and as they are after it.
CREATE OR REPLACE FUNCTION iasql_internal.place(image jsonb, identity text[]) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN jsonb_build_object('id', image -> 'id', 'account', coalesce(image ->> 'account', image ->> 'name'),
                              'region', image ->> 'region', 'key', iasql_internal.key(image, identity));
END
$$;
COMMENT ON FUNCTION iasql_internal.place(jsonb, text[]) IS 'The id, account, region and identity of a row.';

CREATE OR REPLACE FUNCTION iasql_internal.ids_of(places jsonb) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN ARRAY(SELECT (p ->> 'id')::bigint FROM jsonb_array_elements(places) p);
END
$$;
COMMENT ON FUNCTION iasql_internal.ids_of(jsonb) IS 'The ids of a list of places.';

-- For the audit trigger, while any batch is open: raises if what is written is another batch's.
CREATE OR REPLACE FUNCTION iasql_internal.refuse_others(managed iasql_internal.managed_table, verb text,
                                                        by_engine boolean, joined bigint, before jsonb, after jsonb)
RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    ids  bigint[] := iasql_internal.ids_of(coalesce(before, after));
    mine bigint := joined; -- whose records may be written
BEGIN
    IF by_engine THEN
        mine := coalesce((SELECT r.batch FROM iasql_internal.reverting r
                          WHERE r.xid = pg_current_xact_id_if_assigned()),
                         nullif(current_setting('iasql.cycle_of', true), '')::bigint);
    END IF;
    IF NOT by_engine OR verb = 'DELETE' THEN
        PERFORM iasql_internal.refuse_staged(managed.name, ids, mine, verb = 'DELETE',
            -- (A cycle deletes what is gone, which nobody has asked for.)
            CASE WHEN current_setting('iasql.cycle_of', true) = mine::text THEN NULL ELSE mine END);
    END IF;
    IF NOT by_engine AND verb <> 'DELETE' THEN
        PERFORM iasql_internal.refuse_identity(managed, joined, after);
    END IF;
    IF verb <> 'DELETE' AND EXISTS (SELECT FROM iasql_internal.staged s
                                    WHERE s.inserted AND s.batch IS DISTINCT FROM mine) THEN
        PERFORM iasql_internal.refuse_references(managed.name, ids, mine);
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_others(iasql_internal.managed_table, text, boolean, bigint, jsonb, jsonb) IS 'Raises for a statement that changes what another batch has staged, takes an identity that it needs, or refers to what only it has.';

CREATE OR REPLACE FUNCTION iasql_internal.refuse_identity(managed iasql_internal.managed_table, joined bigint,
                                                          places jsonb)
RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    bad  record;
    keys text[];
BEGIN
    IF EXISTS (SELECT FROM iasql_internal.staged_key k
               WHERE k.table_name = managed.name AND k.batch IS DISTINCT FROM joined) THEN
        SELECT k.batch, k.record_id, r.id INTO bad
        FROM jsonb_to_recordset(places) r (id bigint, account text, region text, key text)
        JOIN iasql_internal.staged_key k ON k.key = r.key AND k.table_name = managed.name
            AND k.account = coalesce(r.account, '') AND k.region = coalesce(r.region, '')
        WHERE k.batch IS DISTINCT FROM joined LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'record % of % cannot have this identity: record %, which is staged in %, has it or had it',
                    bad.id, managed.name, bad.record_id, iasql_internal.batch_text(bad.batch)
                USING ERRCODE = 'IA020', SCHEMA = 'public', TABLE = managed.name,
                      HINT = iasql_internal.batch_hint(bad.batch);
        END IF;
    END IF;
    IF joined IS NULL THEN
        RETURN;
    END IF;
    -- Were the object given to the batch's record, a rollback would undo the deletion too. So it is with what a
    -- replacement has left to be deleted. (One look for all keys, whatever index the planner takes to be the smallest.)
    keys := ARRAY(SELECT r.key FROM jsonb_to_recordset(places) r (key text) WHERE r.key IS NOT NULL);
    WITH held AS MATERIALIZED (
        SELECT l.record_id, l.key, l.account, l.change #>> '{original,region}' AS region, false AS replaced
        FROM public.iasql_audit_log l
        WHERE l.key = ANY (keys) AND l.table_name = managed.name
          AND NOT l.settled AND l.transaction_id IS DISTINCT FROM joined
        UNION ALL
        SELECT g.record_id, g.key, g.account, g.identity ->> 'region', true
        FROM iasql_internal.garbage g
        WHERE g.key = ANY (keys) AND g.table_name = managed.name
          AND NOT EXISTS (SELECT FROM iasql_internal.staged s
                          WHERE s.record_id = g.record_id AND s.table_name = g.table_name AND s.batch = joined)
    )
    SELECT h.record_id, r.id INTO bad
    FROM held h
    JOIN jsonb_to_recordset(places) r (id bigint, account text, region text, key text)
        ON r.key = h.key AND r.account = h.account AND r.id <> h.record_id
    WHERE CASE WHEN h.replaced THEN NOT managed.regional OR h.region IS NOT DISTINCT FROM r.region
               ELSE coalesce(h.region, r.region, '') = coalesce(r.region, '') END
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'record % of % cannot have this identity yet: record %, which had it, was changed or deleted outside of this batch, and that is not done',
                bad.id, managed.name, bad.record_id
            USING ERRCODE = 'IA020', SCHEMA = 'public', TABLE = managed.name,
                  HINT = 'SELECT iasql_wait_for_all() first.';
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_identity(iasql_internal.managed_table, bigint, jsonb) IS 'Raises if a record takes an identity that a record of another batch has or had, or, in a batch, one that is not free yet.';

CREATE OR REPLACE FUNCTION iasql_internal.refuse_references("table" text, ids bigint[], mine bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    reference record;
    bad       record;
BEGIN
    FOR reference IN SELECT r.* FROM iasql_internal.references_of(format('public.%I', "table")::regclass) r LOOP
        EXECUTE format('SELECT s.record_id, s.batch
                        FROM iasql_internal.staged s JOIN public.%1$I p ON p.id = s.record_id
                        WHERE s.table_name = %1$L AND s.inserted AND s.batch IS DISTINCT FROM $1
                          AND (%2$s) IN (SELECT %3$s FROM public.%4$I x WHERE x.id = ANY ($2)) LIMIT 1',
                       reference.parent, reference.theirs, reference.ours, "table") INTO bad USING mine, ids;
        IF bad.batch IS NOT NULL THEN
            RAISE EXCEPTION '% cannot refer to record % of %: it is only staged in %', "table", bad.record_id, reference.parent,
                    iasql_internal.batch_text(bad.batch)
                USING ERRCODE = 'IA020', SCHEMA = 'public', TABLE = "table",
                      HINT = iasql_internal.batch_hint(bad.batch);
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_references(text, bigint[], bigint) IS 'Raises if one of the records refers to one that another batch has inserted.';

CREATE OR REPLACE FUNCTION iasql_internal.stage("table" text, joined bigint, writer text, before jsonb, after jsonb)
RETURNS void LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    places jsonb := coalesce(after, '[]') || coalesce(before, '[]');
BEGIN
    -- Behind a pooler a session may be in a batch that another client has begun.
    IF coalesce(current_setting('iasql.told', true), '') <> pg_current_xact_id()::text THEN
        PERFORM set_config('iasql.told', pg_current_xact_id()::text, true);
        RAISE NOTICE 'this is staged in %, and waits for its commit', iasql_internal.batch_text(joined);
    END IF;
    INSERT INTO iasql_internal.batch_member (batch, login, role) VALUES (joined, session_user, writer)
    ON CONFLICT DO NOTHING;
    INSERT INTO iasql_internal.staged (table_name, record_id, batch, account, inserted)
    SELECT "table", r.id, joined, r.account, before IS NULL FROM jsonb_to_recordset(places) r (id bigint, account text)
    ON CONFLICT DO NOTHING;
    INSERT INTO iasql_internal.staged_key (table_name, key, account, region, batch, record_id)
    SELECT "table", r.key, coalesce(r.account, ''), coalesce(r.region, ''), joined, r.id
    FROM jsonb_to_recordset(places) r (id bigint, account text, region text, key text) WHERE r.key IS NOT NULL
    ON CONFLICT DO NOTHING;
END
$$;
COMMENT ON FUNCTION iasql_internal.stage(text, bigint, text, jsonb, jsonb) IS 'Puts records into a batch, with the identities that they have and had, and tells the writer once a transaction.';

-- For the audit trigger, which alone sees old_rows. $1 is the batch, $2 the table, $3 the ids of the records.
CREATE OR REPLACE FUNCTION iasql_internal.noting_needed(class oid) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT 'INSERT INTO iasql_internal.needed (table_name, record_id, batch, by_table, by_record) '
                || coalesce(string_agg(format('SELECT %1$L, p.id, $1, $2, min(x.id)
                                               FROM old_rows x JOIN public.%1$I p ON (%2$s) = (%3$s)
                                               WHERE x.id = ANY ($3) GROUP BY p.id',
                                              r.parent, r.theirs, r.ours), ' UNION ALL '),
                            'SELECT $2, 0, $1, $2, 0 FROM unnest($3) WHERE false')
                || ' ON CONFLICT DO NOTHING'
            FROM iasql_internal.references_of(class) r);
END
$$;
COMMENT ON FUNCTION iasql_internal.noting_needed(oid) IS 'The statement that notes which records those that a batch changes or deletes referred to before.';

-- Whoever refers to a record that the batch has inserted would stand in the way of its rollback, and two batches that refer to
-- each other could neither be committed nor rolled back. So nobody can (audit.sql), nor what the engine finds in the cloud:
-- that waits. This is asked before a batch is undone, of what was there before there was such a check.
CREATE OR REPLACE FUNCTION iasql_internal.referred_from(batch bigint) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    child  record;
    found_ record;
BEGIN
    FOR child IN
        SELECT m.name AS table_name, r.* FROM iasql_internal.managed_table m
        CROSS JOIN LATERAL iasql_internal.references_of(to_regclass(format('public.%I', m.name))) r
        WHERE EXISTS (SELECT FROM iasql_internal.staged s WHERE s.table_name = r.parent AND s.inserted AND s.batch = referred_from.batch)
    LOOP
        EXECUTE format(
            'SELECT x.id, p.id AS other, o.batch FROM iasql_internal.staged s JOIN public.%I p ON p.id = s.record_id JOIN public.%I x ON (%s) = (%s)
             LEFT JOIN iasql_internal.staged o ON o.table_name = %L AND o.record_id = x.id
             WHERE s.table_name = %L AND s.inserted AND s.batch = $1 AND o.batch IS DISTINCT FROM $1 ORDER BY x.id LIMIT 1',
            child.parent, child.table_name, child.ours, child.theirs, child.table_name, child.parent)
        INTO found_ USING batch;
        IF found_.id IS NOT NULL THEN
            RETURN format('record %s of %s%s refers to record %s of %s', found_.id, child.table_name,
                          ', which is staged in ' || iasql_internal.batch_text(found_.batch) || ',', found_.other, child.parent);
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.referred_from(bigint) IS 'Which record that is not the batch''s refers to one that it has inserted; NULL if none does.';
