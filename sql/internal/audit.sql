-- One trigger function for every managed table, once a statement: transition tables make it set-based (PostgreSQL manual,
-- CREATE TRIGGER, REFERENCING). It refuses what must not be written, logs the rest, protects, stages, and wakes the
-- engine. Transition tables are seen here alone, and by no function that is called from here: what needs rows is asked
-- here, and what is said or done about them stands below, in vault.sql, protection.sql and stage.sql. What only refuses
-- is called for a row that is to be refused, so that it costs nothing where there is none.
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
    at        timestamptz := clock_timestamp();
    joined    bigint; -- the batch that a user's changes belong to
    settled   boolean;
    tracking  boolean;
    guarded   boolean := false; -- something of the table is protected, see protection.sql
    fixed     text[] := '{}';
    staged    jsonb := '{}'; -- secrets, see vault.sql
    hides     boolean := false;
    bad       record;
    accounts  text[];
    before    jsonb; -- the places of the records, see stage.sql
    after     jsonb;
BEGIN
    SELECT * INTO STRICT managed FROM iasql_internal.managed_table m WHERE m.name = TG_TABLE_NAME;
    settled := by_engine OR managed.settings;
    -- A cast to json, by which to_jsonb prints a column of a type of somebody's own, would run with the system's rights.
    -- (Object ids below 16384 are PostgreSQL's own: manual, section 74.2.2.)
    PERFORM iasql_internal.refuse_type(TG_TABLE_NAME, a.attname, a.atttypid)
    FROM pg_attribute a
    WHERE a.attrelid = TG_RELID AND a.attnum > 0 AND a.atttypid >= 16384 AND NOT a.attisdropped
      AND NOT iasql_internal.trusted((SELECT t.typowner FROM pg_type t WHERE t.oid = a.atttypid)) LIMIT 1;
    IF NOT by_engine THEN
        -- Of an account that moves to another cell nothing is written (moving.sql).
        IF iasql_internal.something_moves() THEN
            IF TG_OP = 'DELETE' THEN
                SELECT array_agg(DISTINCT coalesce(r.j ->> 'account', r.j ->> 'name')) INTO accounts FROM (SELECT to_jsonb(o) AS j FROM old_rows o) r;
            ELSE
                SELECT array_agg(DISTINCT coalesce(r.j ->> 'account', r.j ->> 'name')) INTO accounts FROM (SELECT to_jsonb(n) AS j FROM new_rows n) r;
            END IF;
            PERFORM iasql_internal.refuse_moving(a.name) FROM unnest(accounts) a (name);
        END IF;
        joined := iasql_internal.edited_batch();
        guarded := iasql_internal.guarded(TG_TABLE_NAME);
        IF guarded OR managed.holds_data THEN
            fixed := managed.fixed || ARRAY(SELECT jsonb_object_keys(managed.fixed_within));
        END IF;
        tracking := EXISTS (SELECT FROM public.iasql_mode m WHERE m.mode = 'TRACK' AND coalesce(m.table_name, TG_TABLE_NAME) = TG_TABLE_NAME);
        IF managed.write_only <> '{}' AND NOT managed.settings THEN
            staged := iasql_internal.staged(TG_TABLE_NAME);
            hides := staged <> '{}';
        END IF;
    END IF;

    IF TG_OP = 'INSERT' THEN
        IF NOT by_engine AND NOT managed.can_insert THEN
            PERFORM iasql_internal.refuse_verb(TG_TABLE_NAME, TG_OP) FROM new_rows LIMIT 1;
        END IF;
        IF tracking THEN
            PERFORM iasql_internal.refuse_tracked(TG_TABLE_NAME, TG_OP, n.id)
            FROM new_rows n WHERE public.iasql_mode_of(TG_TABLE_NAME, n.id) = 'TRACK' LIMIT 1;
        END IF;
        WITH logged AS (
            INSERT INTO public.iasql_audit_log (ts, "user", table_name, record_id, account, change_type, change,
                                                transaction_id, origin, settled, settled_at, secret)
            SELECT at, writer, TG_TABLE_NAME, (r.j ->> 'id')::bigint, coalesce(r.j ->> 'account', r.j ->> 'name'), 'INSERT',
                   jsonb_build_object('change', CASE WHEN managed.write_only = '{}' THEN r.j
                                                     ELSE iasql_internal.mask(r.j, managed.write_only) END),
                   joined, CASE WHEN by_engine THEN 'engine' ELSE 'user' END, settled, CASE WHEN settled THEN at END,
                   hides AND staged ? (r.j ->> 'id')
            FROM (SELECT to_jsonb(n) AS j FROM new_rows n) r
            RETURNING iasql_audit_log.account
        )
        SELECT array_agg(l.account) INTO accounts FROM (SELECT DISTINCT logged.account FROM logged) l;
        IF NOT by_engine AND EXISTS (SELECT FROM iasql_internal.forgotten f WHERE f.table_name = TG_TABLE_NAME) THEN
            PERFORM iasql_internal.recall(TG_TABLE_NAME, (SELECT jsonb_agg(to_jsonb(n)) FROM new_rows n));
        END IF;

    ELSIF TG_OP = 'DELETE' THEN
        IF NOT by_engine AND NOT managed.can_delete THEN
            PERFORM iasql_internal.refuse_verb(TG_TABLE_NAME, TG_OP) FROM old_rows LIMIT 1;
        END IF;
        IF tracking THEN
            PERFORM iasql_internal.refuse_tracked(TG_TABLE_NAME, TG_OP, o.id)
            FROM old_rows o WHERE public.iasql_mode_of(TG_TABLE_NAME, o.id) = 'TRACK' LIMIT 1;
        END IF;
        WITH logged AS (
            INSERT INTO public.iasql_audit_log (ts, "user", table_name, record_id, account, change_type, change,
                                                transaction_id, origin, key, settled, settled_at)
            SELECT at, writer, TG_TABLE_NAME, (r.j ->> 'id')::bigint, coalesce(r.j ->> 'account', r.j ->> 'name'), 'DELETE',
                   jsonb_build_object('original', CASE WHEN managed.write_only = '{}' THEN r.j
                                                       ELSE iasql_internal.mask(r.j, managed.write_only) END),
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
            PERFORM iasql_internal.refuse_id(TG_TABLE_NAME)
            FROM new_rows n WHERE NOT EXISTS (SELECT FROM old_rows o WHERE o.id = n.id) LIMIT 1;
        END IF;
        WITH diff AS (
            SELECT r.o, r.n, d.original, d.change
            FROM (SELECT to_jsonb(o) AS o, to_jsonb(n) AS n FROM new_rows n JOIN old_rows o USING (id)) r
            CROSS JOIN LATERAL (
                SELECT jsonb_object_agg(e.key, r.o -> e.key) AS original, jsonb_object_agg(e.key, e.value) AS change
                FROM jsonb_each(r.n) e
                WHERE r.o -> e.key IS DISTINCT FROM e.value
                   -- One secret in place of another: the row shows asterisks as before.
                   OR hides AND staged -> (r.n ->> 'id') ? e.key
            ) d
            WHERE r.n IS DISTINCT FROM r.o OR hides AND staged ? (r.n ->> 'id')
        ), logged AS (
            INSERT INTO public.iasql_audit_log (ts, "user", table_name, record_id, account, change_type, change,
                                                transaction_id, origin, key, settled, settled_at, secret)
            SELECT at, writer, TG_TABLE_NAME, (n ->> 'id')::bigint, coalesce(n ->> 'account', n ->> 'name'), 'UPDATE',
                   jsonb_build_object('original', CASE WHEN managed.write_only = '{}' THEN original
                                                       ELSE iasql_internal.mask(original, managed.write_only) END,
                                      'change', CASE WHEN managed.write_only = '{}' THEN change
                                                     ELSE iasql_internal.mask(change, managed.write_only) END),
                   joined, CASE WHEN by_engine THEN 'engine' ELSE 'user' END,
                   -- A record that moves leaves an object behind, too.
                   CASE WHEN change ?| managed.identity OR managed.regional AND change ? 'region'
                        THEN iasql_internal.key(o, managed.identity) END,
                   done, CASE WHEN done THEN at END, hides AND staged ? (n ->> 'id')
            FROM (SELECT *, settled OR NOT change ?| managed.columns AS done FROM diff) d
            RETURNING iasql_audit_log.record_id, iasql_audit_log.account, iasql_audit_log.change -> 'change' AS change,
                      iasql_audit_log.settled
        ), refused AS (
            SELECT l.record_id, c.name, why.tracked
            FROM logged l CROSS JOIN LATERAL jsonb_object_keys(l.change) AS c (name)
            CROSS JOIN LATERAL (SELECT CASE
                WHEN NOT l.settled AND (c.name = ANY (managed.assigned) OR c.name = 'account') THEN false
                WHEN tracking AND c.name = ANY (managed.columns)
                THEN nullif(public.iasql_mode_of(TG_TABLE_NAME, l.record_id, c.name) = 'TRACK', false)
                END AS tracked) why
            WHERE NOT by_engine AND why.tracked IS NOT NULL
            ORDER BY why.tracked
            LIMIT 1
        )
        SELECT r.record_id, r.name, r.tracked, woken.accounts,
               CASE WHEN fixed <> '{}' THEN (SELECT jsonb_agg(jsonb_build_object('id', l.record_id, 'change', l.change))
                                             FROM logged l WHERE l.change ?| fixed) END AS replaced INTO bad
        FROM (SELECT array_agg(l.account) AS accounts
              FROM (SELECT DISTINCT logged.account FROM logged WHERE NOT logged.settled) l) woken
        LEFT JOIN refused r ON true;
        accounts := bad.accounts;
        IF bad.tracked IS NOT NULL THEN
            PERFORM iasql_internal.refuse_column(TG_TABLE_NAME, bad.record_id, bad.name, bad.tracked);
        ELSIF bad.replaced IS NOT NULL THEN
            PERFORM iasql_internal.refuse_replacement(TG_TABLE_NAME, bad.replaced);
        END IF;
    END IF;
    IF hides THEN
        PERFORM iasql_internal.keep_staged(TG_TABLE_NAME, at);
    END IF;

    -- (Asked now that the rows are locked: who had them before has ended, and shows what he has staged.)
    IF EXISTS (SELECT FROM iasql_internal.batch b WHERE b.closed_at IS NULL) THEN
        PERFORM set_config('enable_nestloop', 'on', true); -- what is staged is looked up by index
        IF TG_OP = 'INSERT' THEN
            SELECT jsonb_agg(iasql_internal.place(to_jsonb(n), managed.identity)) INTO after FROM new_rows n;
        ELSIF TG_OP = 'DELETE' THEN
            SELECT jsonb_agg(iasql_internal.place(to_jsonb(o), managed.identity)) INTO before FROM old_rows o;
        ELSE
            SELECT jsonb_agg(iasql_internal.place(r.o, managed.identity)),
                   jsonb_agg(iasql_internal.place(r.n, managed.identity)) INTO before, after
            FROM (SELECT to_jsonb(o) AS o, to_jsonb(n) AS n FROM new_rows n JOIN old_rows o USING (id)) r
            WHERE r.n IS DISTINCT FROM r.o OR hides AND staged ? (r.n ->> 'id');
        END IF;
        PERFORM iasql_internal.refuse_others(managed, TG_OP, by_engine, joined, before, after);
        IF joined IS NOT NULL AND coalesce(before, after) IS NOT NULL THEN
            PERFORM iasql_internal.stage(TG_TABLE_NAME, joined, writer, before, after);
            IF TG_OP <> 'INSERT' THEN
                EXECUTE iasql_internal.noting_needed(TG_RELID)
                USING joined, TG_TABLE_NAME, iasql_internal.ids_of(before);
            END IF;
        END IF;
    END IF;

    IF joined IS NOT NULL AND (managed.composition OR NOT managed.settings) THEN
        IF TG_OP = 'DELETE' THEN
            PERFORM iasql_internal.mention_written(TG_TABLE_NAME, joined, TG_OP,
                                                   (SELECT array_agg(o.id) FROM old_rows o), pg_trigger_depth());
        ELSE
            PERFORM iasql_internal.mention_written(TG_TABLE_NAME, joined, TG_OP,
                                                   (SELECT array_agg(n.id) FROM new_rows n), pg_trigger_depth());
        END IF;
    END IF;
    IF NOT settled AND joined IS NULL THEN
        PERFORM iasql_internal.enqueue('push', a.name) FROM unnest(accounts) a (name);
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.audit() IS 'Statement trigger of every managed table: refuses, logs, protects, stages, wakes the engine.';

-- The batch in which a user edits, or which the engine undoes after its commit.
CREATE OR REPLACE FUNCTION iasql_internal.edited_batch() RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    joined bigint;
BEGIN
    IF current_setting('iasql.origin', true) = 'batch' AND pg_has_role(session_user, 'iasql_engine', 'MEMBER') THEN
        RETURN current_setting('iasql.reverts')::bigint;
    END IF;
    joined := iasql_internal.session_batch();
    IF joined IS NOT NULL THEN
        -- Held until the transaction ends: a batch is not committed while somebody is still editing in it.
        PERFORM FROM iasql_internal.batch b WHERE b.id = joined AND b.phase = 'open' FOR SHARE;
        IF NOT FOUND THEN
            RETURN NULL;
        END IF;
    END IF;
    RETURN joined;
END
$$;
COMMENT ON FUNCTION iasql_internal.edited_batch() IS 'id of the batch that the present statement''s changes belong to, which is not committed before its transaction ends; NULL if they are pushed at once.';

CREATE OR REPLACE FUNCTION iasql_internal.refuse_type("table" text, "column" text, type oid) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'table % cannot be written: column % has the type %, whose owner is no member of iasql_engine',
            "table", "column", format_type(type, NULL)
        USING ERRCODE = 'IA091', SCHEMA = 'public', TABLE = "table", COLUMN = "column",
              HINT = 'Give the type to a role that is (ALTER TYPE … OWNER TO), or drop the column.';
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_type(text, text, oid) IS 'Raises for a column whose type runs code of somebody without the system''s rights.';

CREATE OR REPLACE FUNCTION iasql_internal.refuse_verb("table" text, verb text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'records of % cannot be %: they are read from the cloud', "table",
            CASE verb WHEN 'INSERT' THEN 'inserted' ELSE 'deleted' END
        USING ERRCODE = 'IA003', SCHEMA = 'public', TABLE = "table",
              HINT = CASE verb WHEN 'INSERT' THEN 'SELECT iasql_sync_now() reads them anew.'
                     ELSE 'A record disappears by itself when the cloud no longer has it.' END;
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_verb(text, text) IS 'Raises for an INSERT or a DELETE that the objects of a table do not allow.';

CREATE OR REPLACE FUNCTION iasql_internal.refuse_tracked("table" text, verb text, id bigint) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION '%', CASE verb WHEN 'INSERT' THEN format('table %s is tracked: the cloud decides what is in it', "table")
                         ELSE format('record %s of %s is tracked: the cloud decides about it', id, "table") END
        USING ERRCODE = 'IA002', SCHEMA = 'public', TABLE = "table",
              HINT = format('SELECT * FROM iasql_mode_explain(%L, %s) shows the rule of iasql_mode that says so.',
                            "table", id);
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_tracked(text, text, bigint) IS 'Raises for an INSERT or a DELETE where TRACK holds.';

CREATE OR REPLACE FUNCTION iasql_internal.refuse_id("table" text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'column id of % cannot be changed: it is stable for the life of a record', "table"
        USING ERRCODE = 'IA005', SCHEMA = 'public', TABLE = "table", COLUMN = 'id',
              HINT = 'Insert a new record and delete the old one.';
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_id(text) IS 'Raises for an UPDATE of an id.';

CREATE OR REPLACE FUNCTION iasql_internal.refuse_column("table" text, id bigint, "column" text, tracked boolean)
RETURNS void LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF tracked THEN
        RAISE EXCEPTION 'column % of % (record %) is tracked: the cloud decides its value', "column", "table", id
            USING ERRCODE = 'IA002', SCHEMA = 'public', TABLE = "table", COLUMN = "column",
                  HINT = format('SELECT * FROM iasql_mode_explain(%L, %s, %L) shows the rule of iasql_mode that says so.',
                                "table", id, "column");
    END IF;
    RAISE EXCEPTION 'column % of % (record %) cannot be changed: %', "column", "table", id,
            CASE "column" WHEN 'account' THEN 'an object cannot move to another account' ELSE 'the cloud assigns it' END
        USING ERRCODE = 'IA001', SCHEMA = 'public', TABLE = "table", COLUMN = "column",
              HINT = CASE "column" WHEN 'account' THEN 'Insert a record with the other account and delete this one.'
                     ELSE format('Leave %I out of the SET list; its value follows the cloud.', "column") END;
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_column(text, bigint, text, boolean) IS 'Raises for an UPDATE of a column that the cloud decides: because TRACK holds, or always.';

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
        IF EXISTS (SELECT FROM iasql_internal.account a WHERE a.name = NEW.name AND a.provider <> TG_ARGV[0]) THEN
            RAISE EXCEPTION '% %: there is one of that name of another kind', TG_TABLE_NAME, NEW.name
                USING ERRCODE = '23505', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, COLUMN = 'name',
                      HINT = 'Choose another name: SELECT account, kind FROM iasql_worlds lists those that are taken.';
        END IF;
        PERFORM iasql_internal.enqueue('sync', NEW.name);
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.account_changed() IS 'Row trigger of tables that define accounts.';
