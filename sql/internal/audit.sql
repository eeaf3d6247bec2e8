-- One trigger function for every managed table, once a statement: transition tables make it set-based (PostgreSQL manual,
-- CREATE TRIGGER, REFERENCING). It refuses what must not be written, logs the rest, and wakes the engine.
--
-- Planning would take longer than what there is to do for a row or two, so that plans are made once for a session. A plan
-- made when the transition tables had one row must do for a million: no nested loops over them. (To the planner a loop
-- that cannot be avoided then looks expensive enough to compile it, which never pays here.)
CREATE OR REPLACE FUNCTION iasql_internal.audit() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET extra_float_digits = 1 SET "IntervalStyle" = 'postgres' SET bytea_output = 'hex' -- what the log keeps is whole, and looks the same from everybody
SET plan_cache_mode = force_generic_plan SET enable_nestloop = off SET jit = off AS $$
DECLARE
    managed   iasql_internal.managed_table;
    by_engine boolean := iasql_internal.writer_is_engine();
    writer    text := iasql_internal.writer();
    joined    bigint; -- the batch of the session
    mine      bigint; -- whose records may be written
    settled   boolean;
    at        timestamptz := clock_timestamp();
    tracking  boolean;
    before    bigint;
    bad       record;
    accounts  text[];
    account   text;
    staged    jsonb := '{}'; -- secrets, see vault.sql
    ids       bigint[];
    reference record;
    hides     boolean := false;
    guarded   boolean := false; -- something of the table is protected, see protection.sql
    fixed     text[] := '{}';
BEGIN
    SELECT * INTO STRICT managed FROM iasql_internal.managed_table m WHERE m.name = TG_TABLE_NAME;
    settled := by_engine OR managed.settings;
    -- A cast to json, by which to_jsonb prints a column of a type of somebody's own, would run with the system's rights.
    -- (Object ids below 16384 are PostgreSQL's own: manual, section 74.2.2.)
    SELECT a.attname AS name, format_type(a.atttypid, NULL) AS type INTO bad
    FROM pg_attribute a
    WHERE a.attrelid = TG_RELID AND a.attnum > 0 AND a.atttypid >= 16384 AND NOT a.attisdropped
      AND NOT iasql_internal.trusted((SELECT t.typowner FROM pg_type t WHERE t.oid = a.atttypid)) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'table % cannot be written: column % has the type %, whose owner is no member of iasql_engine', TG_TABLE_NAME, bad.name, bad.type
            USING ERRCODE = 'IA091', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, COLUMN = bad.name,
                  HINT = 'Give the type to a role that is (ALTER TYPE … OWNER TO), or drop the column.';
    END IF;
    IF NOT by_engine THEN
        IF current_setting('iasql.origin', true) = 'batch' AND pg_has_role(session_user, 'iasql_engine', 'MEMBER') THEN
            joined := current_setting('iasql.reverts')::bigint; -- the engine undoes what it has committed of it
        ELSE
            joined := iasql_internal.session_batch();
            IF joined IS NOT NULL THEN
                -- Held until the transaction ends: a batch is not committed while somebody is still editing in it.
                PERFORM FROM iasql_internal.batch b WHERE b.id = joined AND b.phase = 'open' FOR SHARE;
                IF NOT FOUND THEN
                    joined := NULL;
                END IF;
            END IF;
        END IF;
        guarded := iasql_internal.guarded(TG_TABLE_NAME);
        IF guarded OR managed.holds_data THEN
            fixed := managed.fixed || ARRAY(SELECT jsonb_object_keys(managed.fixed_within));
        END IF;
        tracking := EXISTS (SELECT FROM public.iasql_mode m WHERE m.mode = 'TRACK');
        IF managed.write_only <> '{}' AND NOT managed.settings THEN
            staged := iasql_internal.staged(TG_TABLE_NAME);
            hides := staged <> '{}';
        END IF;
    END IF;

    IF TG_OP = 'INSERT' THEN
        IF NOT by_engine AND NOT managed.can_insert AND EXISTS (SELECT FROM new_rows) THEN
            RAISE EXCEPTION 'records of % cannot be inserted: they are read from the cloud', TG_TABLE_NAME
                USING ERRCODE = 'IA003', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME,
                      HINT = 'SELECT iasql_sync_now() reads them anew.';
        END IF;
        IF tracking THEN
            SELECT n.id INTO bad FROM new_rows n WHERE public.iasql_mode_of(TG_TABLE_NAME, n.id) = 'TRACK' LIMIT 1;
            IF FOUND THEN
                RAISE EXCEPTION 'table % is tracked: the cloud decides what is in it', TG_TABLE_NAME
                    USING ERRCODE = 'IA002', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME,
                          HINT = format('SELECT * FROM iasql_mode_explain(%L, %s) shows the rule of iasql_mode that says so.', TG_TABLE_NAME, bad.id);
            END IF;
        END IF;
        WITH logged AS (
            INSERT INTO public.iasql_audit_log (ts, "user", table_name, record_id, account, change_type, change, transaction_id, origin, settled, settled_at, secret)
            SELECT at, writer, TG_TABLE_NAME, (r.j ->> 'id')::bigint, coalesce(r.j ->> 'account', r.j ->> 'name'), 'INSERT',
                   jsonb_build_object('change', CASE WHEN managed.write_only = '{}' THEN r.j ELSE iasql_internal.mask(r.j, managed.write_only) END),
                   joined, CASE WHEN by_engine THEN 'engine' ELSE 'user' END, settled, CASE WHEN settled THEN at END, hides AND staged ? (r.j ->> 'id')
            FROM (SELECT to_jsonb(n) AS j FROM new_rows n) r
            RETURNING iasql_audit_log.account
        )
        SELECT array_agg(l.account) INTO accounts FROM (SELECT DISTINCT logged.account FROM logged) l;
        IF NOT by_engine AND EXISTS (SELECT FROM iasql_internal.forgotten f WHERE f.table_name = TG_TABLE_NAME) THEN
            PERFORM iasql_internal.recall(TG_TABLE_NAME, (SELECT jsonb_agg(to_jsonb(n)) FROM new_rows n));
        END IF;

    ELSIF TG_OP = 'DELETE' THEN
        IF NOT by_engine AND NOT managed.can_delete AND EXISTS (SELECT FROM old_rows) THEN
            RAISE EXCEPTION 'records of % cannot be deleted: they are read from the cloud', TG_TABLE_NAME
                USING ERRCODE = 'IA003', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME,
                      HINT = 'A record disappears by itself when the cloud no longer has it.';
        END IF;
        IF tracking THEN
            SELECT o.id INTO bad FROM old_rows o WHERE public.iasql_mode_of(TG_TABLE_NAME, o.id) = 'TRACK' LIMIT 1;
            IF FOUND THEN
                RAISE EXCEPTION 'record % of % is tracked: the cloud decides about it', bad.id, TG_TABLE_NAME
                    USING ERRCODE = 'IA002', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME,
                          HINT = format('SELECT * FROM iasql_mode_explain(%L, %s) shows the rule of iasql_mode that says so.', TG_TABLE_NAME, bad.id);
            END IF;
        END IF;
        WITH logged AS (
            INSERT INTO public.iasql_audit_log (ts, "user", table_name, record_id, account, change_type, change, transaction_id, origin, key, settled, settled_at)
            SELECT at, writer, TG_TABLE_NAME, (r.j ->> 'id')::bigint, coalesce(r.j ->> 'account', r.j ->> 'name'), 'DELETE',
                   jsonb_build_object('original', CASE WHEN managed.write_only = '{}' THEN r.j ELSE iasql_internal.mask(r.j, managed.write_only) END),
                   joined, CASE WHEN by_engine THEN 'engine' ELSE 'user' END, iasql_internal.key(r.j, managed.identity),
                   settled, CASE WHEN settled THEN at END
            FROM (SELECT to_jsonb(o) AS j FROM old_rows o) r
            RETURNING iasql_audit_log.account
        )
        SELECT array_agg(l.account) INTO accounts FROM (SELECT DISTINCT logged.account FROM logged) l;
        IF guarded THEN
            PERFORM iasql_internal.refuse_deletion(TG_TABLE_NAME, (SELECT array_agg(o.id) FROM old_rows o));
        END IF;

    ELSE
        IF NOT by_engine THEN
            -- Both sides are joined by id, so an id that changes would fall through.
            SELECT n.id INTO bad FROM new_rows n WHERE NOT EXISTS (SELECT FROM old_rows o WHERE o.id = n.id) LIMIT 1;
            IF FOUND THEN
                RAISE EXCEPTION 'column id of % cannot be changed: it is stable for the life of a record', TG_TABLE_NAME
                    USING ERRCODE = 'IA005', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, COLUMN = 'id',
                          HINT = 'Insert a new record and delete the old one.';
            END IF;
        END IF;
        WITH diff AS (
            SELECT r.o, r.n, d.original, d.change
            FROM (SELECT to_jsonb(o) AS o, to_jsonb(n) AS n FROM new_rows n JOIN old_rows o USING (id)) r
            CROSS JOIN LATERAL (
                SELECT jsonb_object_agg(e.key, r.o -> e.key) AS original, jsonb_object_agg(e.key, e.value) AS change
                FROM jsonb_each(r.n) e
                WHERE r.o -> e.key IS DISTINCT FROM e.value
                   OR hides AND staged -> (r.n ->> 'id') ? e.key -- one secret in place of another: the row shows asterisks as before
            ) d
            WHERE r.n IS DISTINCT FROM r.o OR hides AND staged ? (r.n ->> 'id')
        ), logged AS (
            INSERT INTO public.iasql_audit_log (ts, "user", table_name, record_id, account, change_type, change, transaction_id, origin, key, settled, settled_at, secret)
            SELECT at, writer, TG_TABLE_NAME, (n ->> 'id')::bigint, coalesce(n ->> 'account', n ->> 'name'), 'UPDATE',
                   jsonb_build_object(
                       'original', CASE WHEN managed.write_only = '{}' THEN original ELSE iasql_internal.mask(original, managed.write_only) END,
                       'change', CASE WHEN managed.write_only = '{}' THEN change ELSE iasql_internal.mask(change, managed.write_only) END),
                   joined, CASE WHEN by_engine THEN 'engine' ELSE 'user' END,
                   -- A record that moves leaves an object behind, too.
                   CASE WHEN change ?| managed.identity OR managed.regional AND change ? 'region' THEN iasql_internal.key(o, managed.identity) END,
                   done, CASE WHEN done THEN at END, hides AND staged ? (n ->> 'id')
            FROM (SELECT *, settled OR NOT change ?| managed.columns AS done FROM diff) d
            RETURNING iasql_audit_log.record_id, iasql_audit_log.account, iasql_audit_log.change -> 'change' AS change, iasql_audit_log.settled
        ), refused AS (
            SELECT l.record_id, c.name, why.tracked
            FROM logged l CROSS JOIN LATERAL jsonb_object_keys(l.change) AS c (name)
            CROSS JOIN LATERAL (SELECT CASE
                WHEN NOT l.settled AND (c.name = ANY (managed.assigned) OR c.name = 'account') THEN false
                WHEN tracking AND c.name = ANY (managed.columns) THEN nullif(public.iasql_mode_of(TG_TABLE_NAME, l.record_id, c.name) = 'TRACK', false)
                END AS tracked) why
            WHERE NOT by_engine AND why.tracked IS NOT NULL
            ORDER BY why.tracked
            LIMIT 1
        )
        SELECT r.record_id, r.name, r.tracked, woken.accounts,
               CASE WHEN fixed <> '{}' THEN (SELECT jsonb_agg(jsonb_build_object('id', l.record_id, 'change', l.change)) FROM logged l WHERE l.change ?| fixed) END AS replaced INTO bad
        FROM (SELECT array_agg(l.account) AS accounts FROM (SELECT DISTINCT logged.account FROM logged WHERE NOT logged.settled) l) woken LEFT JOIN refused r ON true;
        accounts := bad.accounts;
        IF bad.tracked THEN
            RAISE EXCEPTION 'column % of % (record %) is tracked: the cloud decides its value', bad.name, TG_TABLE_NAME, bad.record_id
                USING ERRCODE = 'IA002', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, COLUMN = bad.name,
                      HINT = format('SELECT * FROM iasql_mode_explain(%L, %s, %L) shows the rule of iasql_mode that says so.', TG_TABLE_NAME, bad.record_id, bad.name);
        ELSIF NOT bad.tracked THEN
            RAISE EXCEPTION 'column % of % (record %) cannot be changed: %', bad.name, TG_TABLE_NAME, bad.record_id,
                    CASE bad.name WHEN 'account' THEN 'an object cannot move to another account' ELSE 'the cloud assigns it' END
                USING ERRCODE = 'IA001', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, COLUMN = bad.name,
                      HINT = CASE bad.name WHEN 'account' THEN 'Insert a record with the other account and delete this one.'
                             ELSE format('Leave %I out of the SET list; its value follows the cloud.', bad.name) END;
        END IF;
        IF bad.replaced IS NOT NULL THEN
            PERFORM iasql_internal.refuse_replacement(TG_TABLE_NAME, bad.replaced);
        END IF;
    END IF;

    IF hides THEN
        PERFORM iasql_internal.keep_staged(TG_TABLE_NAME, at);
    END IF;
    -- (Asked now that the rows are locked: who had them before has ended, and shows what he has staged.)
    IF EXISTS (SELECT FROM iasql_internal.batch b WHERE b.closed_at IS NULL) THEN
        PERFORM set_config('enable_nestloop', 'on', true); -- what is staged is looked up by index
        mine := CASE WHEN by_engine THEN coalesce((SELECT r.batch FROM iasql_internal.reverting r WHERE r.xid = pg_current_xact_id_if_assigned()),
                                                  nullif(current_setting('iasql.cycle_of', true), '')::bigint)
                     ELSE joined END;
        IF TG_OP = 'DELETE' THEN
            SELECT array_agg(o.id) INTO ids FROM old_rows o;
        ELSIF TG_OP = 'INSERT' THEN
            SELECT array_agg(n.id) INTO ids FROM new_rows n;
        ELSIF NOT by_engine THEN
            SELECT array_agg(n.id) INTO ids FROM new_rows n JOIN old_rows o USING (id)
            WHERE to_jsonb(n) IS DISTINCT FROM to_jsonb(o) OR hides AND staged ? n.id::text;
        END IF;
        IF ids IS NOT NULL AND (NOT by_engine OR TG_OP = 'DELETE') THEN
            PERFORM iasql_internal.refuse_staged(TG_TABLE_NAME, ids, mine, TG_OP = 'DELETE',
                CASE WHEN current_setting('iasql.cycle_of', true) = mine::text THEN NULL ELSE mine END); -- a cycle deletes what is gone, which nobody has asked for
        END IF;
        IF ids IS NOT NULL AND NOT by_engine AND TG_OP <> 'DELETE' THEN
            IF EXISTS (SELECT FROM iasql_internal.staged_key k WHERE k.table_name = TG_TABLE_NAME AND k.batch IS DISTINCT FROM joined) THEN
                SELECT k.batch, k.record_id, r.id INTO bad
                FROM (SELECT n.id, to_jsonb(n) AS j FROM new_rows n WHERE n.id = ANY (ids)) r
                JOIN iasql_internal.staged_key k ON k.key = iasql_internal.key(r.j, managed.identity) AND k.table_name = TG_TABLE_NAME
                    AND k.account = coalesce(r.j ->> 'account', r.j ->> 'name', '') AND k.region = coalesce(r.j ->> 'region', '')
                WHERE k.batch IS DISTINCT FROM joined LIMIT 1;
                IF FOUND THEN
                    RAISE EXCEPTION 'record % of % cannot have this identity: record %, which is staged in %, has it or had it',
                            bad.id, TG_TABLE_NAME, bad.record_id, iasql_internal.batch_text(bad.batch)
                        USING ERRCODE = 'IA020', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, HINT = iasql_internal.batch_hint(bad.batch);
                END IF;
            END IF;
            IF joined IS NOT NULL THEN
                -- Were the object given to the batch's record, a rollback would undo the deletion too. So it is with what a
                -- replacement has left to be deleted.
                SELECT w.record_id, r.id INTO bad
                FROM (SELECT n.id, iasql_internal.key(to_jsonb(n), managed.identity) AS key, to_jsonb(n) AS j FROM new_rows n WHERE n.id = ANY (ids)) r
                CROSS JOIN LATERAL (
                    SELECT l.record_id FROM public.iasql_audit_log l
                    WHERE l.key = r.key AND l.table_name = TG_TABLE_NAME AND NOT l.settled AND l.transaction_id IS DISTINCT FROM joined
                      AND l.account = coalesce(r.j ->> 'account', r.j ->> 'name') AND coalesce(l.change #>> '{original,region}', r.j ->> 'region', '') = coalesce(r.j ->> 'region', '')
                    UNION ALL
                    SELECT g.record_id FROM iasql_internal.garbage g
                    WHERE g.key = r.key AND g.table_name = TG_TABLE_NAME AND g.account = coalesce(r.j ->> 'account', r.j ->> 'name')
                      AND (NOT managed.regional OR g.identity ->> 'region' IS NOT DISTINCT FROM r.j ->> 'region')
                      AND NOT EXISTS (SELECT FROM iasql_internal.staged s WHERE s.record_id = g.record_id AND s.table_name = g.table_name AND s.batch = joined)) w
                WHERE w.record_id <> r.id LIMIT 1;
                IF FOUND THEN
                    RAISE EXCEPTION 'record % of % cannot have this identity yet: record %, which had it, was changed or deleted outside of this batch, and that is not done', bad.id, TG_TABLE_NAME, bad.record_id
                        USING ERRCODE = 'IA020', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, HINT = 'SELECT iasql_wait_for_all() first.';
                END IF;
            END IF;
        END IF;
        IF TG_OP <> 'DELETE' AND EXISTS (SELECT FROM iasql_internal.staged s WHERE s.inserted AND s.batch IS DISTINCT FROM mine) THEN
            FOR reference IN SELECT r.* FROM iasql_internal.references_of(TG_RELID) r LOOP
                EXECUTE format('SELECT s.record_id, s.batch FROM iasql_internal.staged s JOIN public.%I p ON p.id = s.record_id
                                WHERE s.table_name = %L AND s.inserted AND s.batch IS DISTINCT FROM $1 AND (%s) IN (SELECT %s FROM new_rows x) LIMIT 1',
                               reference.parent, reference.parent, reference.theirs, reference.ours) INTO bad USING mine;
                IF bad.batch IS NOT NULL THEN
                    RAISE EXCEPTION '% cannot refer to record % of %: it is only staged in %', TG_TABLE_NAME, bad.record_id, reference.parent, iasql_internal.batch_text(bad.batch)
                        USING ERRCODE = 'IA020', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, HINT = iasql_internal.batch_hint(bad.batch);
                END IF;
            END LOOP;
        END IF;
        IF joined IS NOT NULL AND ids IS NOT NULL THEN
            -- Behind a pooler a session may be in a batch that another client has begun.
            IF coalesce(current_setting('iasql.told', true), '') <> pg_current_xact_id()::text AND NOT by_engine THEN
                PERFORM set_config('iasql.told', pg_current_xact_id()::text, true);
                RAISE NOTICE 'this is staged in %, and waits for its commit', iasql_internal.batch_text(joined);
            END IF;
            INSERT INTO iasql_internal.batch_member (batch, login, role) VALUES (joined, session_user, writer) ON CONFLICT DO NOTHING;
            IF TG_OP <> 'DELETE' THEN
                INSERT INTO iasql_internal.staged (table_name, record_id, batch, account, inserted)
                SELECT TG_TABLE_NAME, n.id, joined, coalesce(r.j ->> 'account', r.j ->> 'name'), TG_OP = 'INSERT'
                FROM new_rows n CROSS JOIN LATERAL (SELECT to_jsonb(n) AS j) r WHERE n.id = ANY (ids)
                ON CONFLICT DO NOTHING;
                INSERT INTO iasql_internal.staged_key (table_name, key, account, region, batch, record_id)
                SELECT TG_TABLE_NAME, k.key, coalesce(r.j ->> 'account', r.j ->> 'name', ''), coalesce(r.j ->> 'region', ''), joined, n.id
                FROM new_rows n CROSS JOIN LATERAL (SELECT to_jsonb(n) AS j) r CROSS JOIN LATERAL (SELECT iasql_internal.key(r.j, managed.identity) AS key) k
                WHERE n.id = ANY (ids) AND k.key IS NOT NULL
                ON CONFLICT DO NOTHING;
            END IF;
            IF TG_OP <> 'INSERT' THEN
                INSERT INTO iasql_internal.staged (table_name, record_id, batch, account, inserted)
                SELECT TG_TABLE_NAME, o.id, joined, coalesce(r.j ->> 'account', r.j ->> 'name'), false
                FROM old_rows o CROSS JOIN LATERAL (SELECT to_jsonb(o) AS j) r WHERE o.id = ANY (ids)
                ON CONFLICT DO NOTHING;
                INSERT INTO iasql_internal.staged_key (table_name, key, account, region, batch, record_id)
                SELECT TG_TABLE_NAME, k.key, coalesce(r.j ->> 'account', r.j ->> 'name', ''), coalesce(r.j ->> 'region', ''), joined, o.id
                FROM old_rows o CROSS JOIN LATERAL (SELECT to_jsonb(o) AS j) r CROSS JOIN LATERAL (SELECT iasql_internal.key(r.j, managed.identity) AS key) k
                WHERE o.id = ANY (ids) AND k.key IS NOT NULL
                ON CONFLICT DO NOTHING;
                FOR reference IN SELECT r.* FROM iasql_internal.references_of(TG_RELID) r LOOP
                    EXECUTE format('INSERT INTO iasql_internal.needed (table_name, record_id, batch, by_table, by_record)
                                    SELECT %L, p.id, $1, $2, min(x.id) FROM old_rows x JOIN public.%I p ON (%s) = (%s) WHERE x.id = ANY ($3) GROUP BY p.id
                                    ON CONFLICT DO NOTHING', reference.parent, reference.parent, reference.theirs, reference.ours)
                    USING joined, TG_TABLE_NAME, ids;
                END LOOP;
            END IF;
        END IF;
    END IF;
    IF NOT settled AND joined IS NULL AND accounts IS NOT NULL THEN
        FOREACH account IN ARRAY accounts LOOP
            PERFORM iasql_internal.enqueue('push', account);
        END LOOP;
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.audit() IS 'Statement trigger of every managed table: refuses, logs, wakes the engine.';

CREATE OR REPLACE FUNCTION iasql_internal.mask(j jsonb, secrets text[]) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN j || coalesce((SELECT jsonb_object_agg(s, CASE WHEN j ->> s IS NULL THEN 'null'::jsonb ELSE '"********"'::jsonb END)
                          FROM unnest(secrets) s WHERE j ? s), '{}');
END
$$;
COMMENT ON FUNCTION iasql_internal.mask(jsonb, text[]) IS 'The row with its secrets masked (R16).';

CREATE OR REPLACE FUNCTION iasql_internal.key(j jsonb, identity text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT CASE WHEN count(*) = count(j ->> c.name) THEN string_agg(j ->> c.name, E'\x1f' ORDER BY c.ord) END
            FROM unnest(identity) WITH ORDINALITY c (name, ord));
END
$$;
COMMENT ON FUNCTION iasql_internal.key(jsonb, text[]) IS 'The identity of a row as one text; NULL while it names no object.';

CREATE OR REPLACE FUNCTION iasql_internal.refuse_truncate() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'table % cannot be truncated: it would leave no trace of what was deleted', TG_TABLE_NAME
        USING ERRCODE = 'IA004', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME,
              HINT = format('Use DELETE FROM %I to delete its objects from the cloud, or iasql_uninstall to let go of them.', TG_TABLE_NAME);
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_truncate() IS 'TRUNCATE fires no row or transition-table triggers, so it is refused.';

CREATE OR REPLACE FUNCTION iasql_internal.account_changed() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' OR TG_OP = 'UPDATE' AND OLD.name <> NEW.name THEN
        DELETE FROM iasql_internal.account a WHERE a.name = OLD.name;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO iasql_internal.account (name, provider) VALUES (NEW.name, TG_ARGV[0]) ON CONFLICT (name) DO NOTHING;
        PERFORM iasql_internal.enqueue('sync', NEW.name);
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.account_changed() IS 'Row trigger of tables that define accounts.';
