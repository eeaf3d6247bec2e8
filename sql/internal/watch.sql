-- Events of the cloud: which sources are to be relied on, and who has changed what was found in the cloud. An event is a
-- hint and never a fact (R26): the worst that a forged one does is a read, and a name that the audit log shows as told.

-- How long a source may say nothing before it counts as silent: three of the engine's heartbeats. Over a connection the
-- other side says every few seconds that it is there.
CREATE OR REPLACE FUNCTION iasql_internal.source_trouble(s iasql_internal.event_source) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
RETURN CASE
    WHEN s.error IS NOT NULL THEN s.error
    WHEN s.answered IS NULL THEN 'it has not answered yet'
    WHEN s.answered < clock_timestamp() - interval '2 minutes' THEN 'no engine reads it'
    WHEN s.heard IS NULL AND s.kind <> 'connection' THEN 'no event has come yet'
    WHEN s.limited > clock_timestamp() - interval '5 minutes' THEN 'more events come than are read: some were dropped'
    WHEN s.behind > interval '2 minutes' THEN 'it is behind: events come late'
    WHEN s.kind = 'trail' AND s.heard < clock_timestamp() - interval '1 hour' OR s.kind = 'queue' AND s.heard < clock_timestamp() - interval '15 minutes'
        THEN 'it is silent: no event comes'
    END;
COMMENT ON FUNCTION iasql_internal.source_trouble(iasql_internal.event_source) IS 'Why a source of events is not to be relied on now; NULL if it is.';

-- A trail brings events after minutes. So only queues let listings wait.
CREATE OR REPLACE FUNCTION iasql_internal.watched(account text) RETURNS TABLE (region text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$ -- (asked by each cycle: in plpgsql it is planned once a session)
BEGIN
    RETURN QUERY
    SELECT w.region
    FROM iasql_internal.event_source_region r JOIN iasql_internal.event_source s USING (account, name)
    CROSS JOIN LATERAL (VALUES (r.region), (CASE WHEN s.region IS NULL THEN '' END)) w (region)
    WHERE r.of_account = watched.account AND s.kind = 'queue' AND (s.region IS NULL OR s.region = r.region) AND w.region IS NOT NULL
      AND iasql_internal.source_trouble(s) IS NULL
    GROUP BY w.region;
END
$$;
COMMENT ON FUNCTION iasql_internal.watched(text) IS 'The regions of an account of whose changes events tell now; empty for what an account has once.';

-- LISTEN iasql_events: of drift, which rows and columns, and who it was. Of a table whose rows are hidden from some, no
-- more is said than that something has happened (see events.sql).
CREATE OR REPLACE FUNCTION iasql_internal.notify_drift(event text, rows bigint[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM iasql_internal.notify(event, CASE
        WHEN EXISTS (SELECT FROM iasql_internal.secured(ARRAY[l.table_name])) THEN jsonb_build_object('table', l.table_name)
        ELSE jsonb_strip_nulls(jsonb_build_object('table', l.table_name, 'id', l.record_id, 'action', lower(l.change_type),
            'columns', CASE l.change_type WHEN 'UPDATE' THEN (SELECT jsonb_agg(k ORDER BY k) FROM (SELECT k FROM jsonb_object_keys(l.change -> 'change') k ORDER BY k LIMIT 50) k) END,
            'actor', left(l.actor, 500), 'session', left(l.actor_session, 200), 'audit', l.id)) END)
    FROM public.iasql_audit_log l WHERE l.id = ANY (rows);
END
$$;
COMMENT ON FUNCTION iasql_internal.notify_drift(text, bigint[]) IS 'Sends an event about rows of the audit log that were found in the cloud.';

-- Whether a row of the audit log is a change that somebody made: not one of what the cloud assigns alone, which follows
-- from another.
CREATE OR REPLACE FUNCTION iasql_internal.is_drift(l public.iasql_audit_log, assigned text[]) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
RETURN l.change_type <> 'UPDATE' OR NOT coalesce((
    SELECT bool_and(k.name = ANY (assigned) OR k.name = ANY (m.local)
                    OR k.name = ANY (m.chosen) AND l.change #> ARRAY['original', k.name] = 'null'
                       AND EXISTS (SELECT FROM public.iasql_operations o
                                   WHERE o.table_name = l.table_name AND o.record_id = l.record_id AND o.kind = 'create' AND o.ended > l.ts - interval '1 minute'))
    FROM jsonb_object_keys(l.change -> 'change') k (name) LEFT JOIN iasql_internal.managed_table m ON m.name = l.table_name), false);
COMMENT ON FUNCTION iasql_internal.is_drift(public.iasql_audit_log, text[]) IS 'Whether a row of the audit log is about more than columns that the cloud assigns, which are given, those that it has chosen for what was made a moment ago, and those that belong to the database alone.';

-- Who may have changed an object between two times: what events say that name it by one of these values or, where the
-- column is '', that name no object of the table in the region that is the value. (Their times may be whole seconds, and
-- are by another clock.) Events of the engine's own calls do not count.
CREATE OR REPLACE FUNCTION iasql_internal.suspects(account text, "table" text, record bigint, columns text[], named text[], since timestamptz, until timestamptz, assigned text[])
RETURNS TABLE (event_id text, event_time timestamptz, received timestamptz, actor text, actor_session text, source_address text, user_agent text,
               exact boolean, fresh boolean, followed boolean, used boolean, merged boolean)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    WITH hints AS (
        SELECT h.account, h.event, true AS exact, h.tries, h.due
        FROM unnest(columns, named) n (col, val)
        JOIN iasql_internal.hint h ON h.table_name = suspects."table" AND h.value = n.val AND h.column_name = n.col AND h.account = suspects.account
        UNION ALL
        SELECT h.account, h.event, false, h.tries, h.due
        FROM unnest(columns, named) n (col, val) CROSS JOIN LATERAL (
            SELECT * FROM iasql_internal.hint h
            WHERE h.table_name = suspects."table" AND h.account = suspects.account AND h.region = n.val AND h.column_name IS NULL
            ORDER BY h.id DESC LIMIT 100
        ) h
        WHERE n.col = ''
    ), told AS (
        SELECT h.account, h.event, bool_or(h.exact) AS exact, bool_or(h.tries = 0 AND h.due IS NOT NULL) AS fresh,
               bool_or(h.exact AND h.tries > 0 AND h.due IS NOT NULL) AS followed
        FROM hints h GROUP BY h.account, h.event
    ), explained AS MATERIALIZED (
        SELECT l.event_id, l.since, l.ts FROM public.iasql_audit_log l
        WHERE l.record_id = suspects.record AND l.table_name = suspects."table" AND l.event_id IS NOT NULL AND l.ts >= suspects.since - interval '1 hour'
          AND iasql_internal.is_drift(l, assigned)
    )
    SELECT e.id, e.at, e.received, e.actor, e.actor_session, e.source_address, e.user_agent, t.exact, t.fresh, t.followed,
           EXISTS (SELECT FROM explained x WHERE x.event_id = e.id),
           NOT t.fresh AND NOT t.followed AND EXISTS (SELECT FROM explained x WHERE e.received <= x.ts AND e.at >= x.since - interval '5 seconds')
    FROM told t JOIN iasql_internal.cloud_event e ON e.account = t.account AND e.id = t.event
    WHERE e.actor IS NOT NULL AND e.at <= suspects.until + interval '5 seconds' AND (e.at >= suspects.since - interval '5 seconds' OR t.followed)
      AND NOT EXISTS (SELECT FROM iasql_internal.own_request r WHERE r.id = e.request_id);
END;
COMMENT ON FUNCTION iasql_internal.suspects(text, text, bigint, text[], text[], timestamptz, timestamptz, text[]) IS
    'Who may have changed an object between two times, as events say. exact: the event names the object. fresh: it has not been looked into. followed: it is looked into until its effect is over. used: it has explained a change of the record already. merged: it is part of what another event has explained.';

-- Who of them it was, and who else it may have been. An event that has explained a change of the record explains no second
-- one, and neither does one that was looked into together with such a one: but for what it takes long for, which it is
-- followed for, such as the end of a deletion. What has just come goes before what has shown no effect so far, and the
-- oldest first, as the others are to explain what is found next. Of those that name no object, there may be many: the
-- newest. What the cloud has assigned follows from calls before, by its clock.
CREATE OR REPLACE FUNCTION iasql_internal.suspect(account text, "table" text, record bigint, columns text[], named text[], since timestamptz, until timestamptz,
                                                  change_type text, drift boolean, assigned text[])
RETURNS TABLE (actor text, actor_session text, source_address text, user_agent text, event_id text, event_time timestamptz, also text[])
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    WITH told AS MATERIALIZED (
        SELECT * FROM iasql_internal.suspects(suspect.account, suspect."table", suspect.record, suspect.columns, suspect.named, suspect.since, suspect.until, suspect.assigned) s
        WHERE NOT s.used AND NOT s.merged AND (suspect.drift OR s.event_time <= suspect.until)
           OR s.used AND s.followed AND (NOT suspect.drift OR suspect.change_type = 'DELETE')
    ), first AS (
        SELECT * FROM told t
        ORDER BY t.exact DESC, t.used, t.fresh DESC, CASE WHEN t.exact THEN t.event_time END, CASE WHEN t.exact THEN t.received END, t.event_time DESC, t.event_id LIMIT 1
    )
    SELECT f.actor, f.actor_session, f.source_address, f.user_agent, f.event_id, f.event_time,
           (SELECT array_agg(o.actor ORDER BY o.actor)
            FROM (SELECT DISTINCT t.actor FROM told t WHERE t.actor <> f.actor AND t.exact = f.exact AND t.used = f.used LIMIT 20) o)
    FROM first f;
END;
COMMENT ON FUNCTION iasql_internal.suspect(text, text, bigint, text[], text[], timestamptz, timestamptz, text, boolean, text[]) IS 'Who has changed an object between two times, as events say; no row if none does. drift is what is_drift says of the change.';

-- Within the transaction of a pull: what was written about objects of one table. An object is told by refs: the letter i
-- and the id of the record or, for one that is new, k and its key.
CREATE OR REPLACE FUNCTION iasql_internal.attribute(account text, "table" text, after bigint, refs text[], regions text[], columns text[], named text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    managed iasql_internal.managed_table;
    written bigint[];
BEGIN
    SELECT * INTO STRICT managed FROM iasql_internal.managed_table m WHERE m.name = attribute."table";
    WITH objects AS MATERIALIZED (
        SELECT n.ref, min(n.region) AS region, array_agg(n.col) AS columns, array_agg(n.val) AS named
        FROM unnest(refs, regions, attribute.columns, attribute.named) n (ref, region, col, val) GROUP BY n.ref
    ), logged AS MATERIALIZED (
        SELECT l.id, l.record_id, l.ts, l.change_type,
               CASE l.change_type WHEN 'INSERT' THEN 'k' || iasql_internal.key(l.change -> 'change', managed.identity) ELSE 'i' || l.record_id END AS ref,
               iasql_internal.is_drift(l, managed.assigned) AS drift
        FROM public.iasql_audit_log l
        WHERE l.id > after AND l.xid = pg_current_xact_id() AND l.table_name = attribute."table" AND l.origin = 'engine'
    ), known AS MATERIALIZED (
        SELECT g.*, o.columns, o.named, o.region,
               greatest(t.tried, (SELECT max(p.ts) FROM public.iasql_audit_log p
                                  WHERE p.record_id = g.record_id AND p.table_name = attribute."table" AND p.id < g.id AND p.origin = 'engine')) AS since
        FROM logged g JOIN objects o USING (ref)
        JOIN iasql_internal.listing t ON t.account = attribute.account AND t.table_name = attribute."table" AND t.region = o.region
    ), done AS (
        UPDATE public.iasql_audit_log l
        SET since = k.since, actor = w.actor, actor_session = w.actor_session, source_address = w.source_address, user_agent = w.user_agent,
            event_id = w.event_id, event_time = w.event_time, also = w.also
        FROM known k LEFT JOIN LATERAL iasql_internal.suspect(attribute.account, attribute."table", k.record_id,
            CASE WHEN k.drift THEN array_append(k.columns, '') ELSE k.columns END, CASE WHEN k.drift THEN array_append(k.named, k.region) ELSE k.named END, k.since, k.ts,
            k.change_type, k.drift, managed.assigned) w ON true
        WHERE l.id = k.id
        RETURNING l.id, k.drift OR l.actor IS NOT NULL AS drift
    )
    SELECT array_agg(d.id ORDER BY d.id) FILTER (WHERE d.drift) INTO written FROM done d;
    IF written IS NOT NULL THEN
        PERFORM iasql_internal.notify_drift('drift', written[:101]);
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.attribute(text, text, bigint, text[], text[], text[], text[]) IS 'Adds to what the transaction has pulled who has changed it in the cloud, as far as events have told.';

-- A row of the audit log has the id of a parent's record where the name has what the cloud calls the parent: that is not
-- compared.
CREATE OR REPLACE FUNCTION iasql_internal.has_name("row" jsonb, column_name text, value text, identity text[]) RETURNS boolean
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
RETURN CASE WHEN column_name <> '*' THEN "row" ->> column_name = value
       ELSE NOT EXISTS (SELECT FROM jsonb_array_elements_text(value::jsonb) WITH ORDINALITY v (value, place)
                        WHERE jsonb_typeof("row" -> identity[v.place::integer]) = 'string' AND "row" ->> identity[v.place::integer] <> v.value) END;
COMMENT ON FUNCTION iasql_internal.has_name(jsonb, text, text, text[]) IS 'Whether an object whose row this is was named by a value of a column, or (*) by those of its identity, a JSON array.';

-- Whether both sides had agreed on what an event tells before a conflict came up: it has explained what was pulled before.
-- What the cloud had assigned takes no event from that: in whole seconds a call may seem to be earlier than it was.
CREATE OR REPLACE FUNCTION iasql_internal.agreed(c public.iasql_conflicts, event_id text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
RETURN EXISTS (SELECT FROM public.iasql_audit_log l JOIN iasql_internal.managed_table m ON m.name = l.table_name
               WHERE l.record_id = c.record_id AND l.table_name = c.table_name AND l.event_id = agreed.event_id AND (l.id < c.audit_id OR c.audit_id = 0 AND l.ts < c.at)
                 AND iasql_internal.is_drift(l, m.assigned));
COMMENT ON FUNCTION iasql_internal.agreed(public.iasql_conflicts, text) IS 'Whether an event has explained what was pulled before both sides of a conflict changed.';

-- Events that come after the pull. What they name is in the record now, or was in what was inserted or deleted. One
-- change after the other, as each takes the event that explains it. A call that was made after the pull, as its time says,
-- has led to what is still to be seen; only when nothing has been (done) do the clocks differ.
DROP FUNCTION IF EXISTS iasql_internal.attribute_late(text, bigint[], bigint[]);
CREATE OR REPLACE FUNCTION iasql_internal.attribute_late(account text, hints bigint[], records bigint[], done boolean[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    change record;
    explained bigint;
    found_rows bigint[];
BEGIN
    FOR change IN
        WITH told AS MATERIALIZED (
            SELECT DISTINCT h.table_name, h.column_name, h.value, n.record, e.at, CASE WHEN n.done THEN interval '5 seconds' ELSE '0' END AS skew
            FROM unnest(hints, records, attribute_late.done) n (hint, record, done)
            JOIN iasql_internal.hint h ON h.id = n.hint AND h.column_name IS NOT NULL
            JOIN iasql_internal.cloud_event e ON e.account = h.account AND e.id = h.event AND e.actor IS NOT NULL
        )
        SELECT l.id, l.table_name, l.record_id, l.ts, l.since, l.change_type, m.assigned, d.drift, array_agg(t.column_name) AS columns, array_agg(t.value) AS named
        FROM public.iasql_audit_log l JOIN told t ON t.table_name = l.table_name AND t.at BETWEEN l.since - interval '5 seconds' AND l.ts + t.skew
        JOIN iasql_internal.managed_table m ON m.name = l.table_name
        CROSS JOIN LATERAL (SELECT iasql_internal.is_drift(l, m.assigned) AS drift) d
        WHERE l.account = attribute_late.account AND l.actor IS NULL AND l.since IS NOT NULL AND l.ts >= (SELECT min(t.at) FROM told t) - interval '5 seconds'
          AND (l.record_id = t.record
               OR l.change_type IN ('INSERT', 'DELETE') AND iasql_internal.has_name(coalesce(l.change -> 'change', l.change -> 'original'), t.column_name, t.value, m.identity))
        GROUP BY l.id, m.assigned, d.drift
        ORDER BY d.drift DESC, l.ts, l.id
    LOOP
        UPDATE public.iasql_audit_log l
        SET actor = w.actor, actor_session = w.actor_session, source_address = w.source_address, user_agent = w.user_agent,
            event_id = w.event_id, event_time = w.event_time, also = w.also
        FROM iasql_internal.suspect(attribute_late.account, change.table_name, change.record_id, change.columns, change.named, change.since, change.ts,
                                    change.change_type, change.drift, change.assigned) w
        WHERE l.id = change.id
        RETURNING l.id INTO explained;
        IF FOUND THEN
            found_rows := array_append(found_rows, explained);
        END IF;
    END LOOP;
    IF found_rows IS NOT NULL THEN
        PERFORM iasql_internal.notify_drift('drift attributed', found_rows[:101]);
    END IF;
    -- An event that is later than the one that told so far is about what the conflict was about in the end.
    UPDATE public.iasql_conflicts c SET actor = w.actor, event_id = w.id, event_time = w.at
    FROM (SELECT DISTINCT ON (c.id) c.id AS conflict, e.*
          FROM unnest(hints, records, attribute_late.done) n (hint, record, done)
          JOIN iasql_internal.hint h ON h.id = n.hint AND h.column_name IS NOT NULL
          JOIN iasql_internal.cloud_event e ON e.account = h.account AND e.id = h.event AND e.actor IS NOT NULL
          JOIN public.iasql_conflicts c ON c.table_name = h.table_name AND c.record_id = n.record AND e.at >= c.since - interval '5 seconds'
               AND CASE WHEN c.actor IS NULL THEN e.at <= c.at + CASE WHEN n.done THEN interval '5 seconds' ELSE '0' END ELSE e.at > c.event_time AND e.at <= c.at END
          WHERE NOT EXISTS (SELECT FROM iasql_internal.own_request r WHERE r.id = e.request_id) AND NOT iasql_internal.agreed(c, e.id)
          ORDER BY c.id, e.at DESC, e.received DESC, e.id) w
    WHERE c.id = w.conflict;
END
$$;
COMMENT ON FUNCTION iasql_internal.attribute_late(text, bigint[], bigint[], boolean[]) IS 'Adds to what was pulled before events about it came who has changed it. records are those that have what the hint of the same place names, 0 for none; done says that the hint is not looked into again.';

-- A conflict is about who changed the object in the cloud last, since both sides agreed: before the edit that it is about
-- or, where nobody has made one, before it came up.
CREATE OR REPLACE FUNCTION iasql_internal.attribute_conflict(account text, "table" text, record bigint, columns text[], named text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE public.iasql_conflicts c
    SET since = greatest(c.at - interval '6 hours', (
        SELECT max(t.agreed) FROM public.iasql_audit_log l CROSS JOIN LATERAL (SELECT CASE WHEN l.origin = 'engine' THEN l.ts ELSE l.settled_at END AS agreed) t
        WHERE l.record_id = c.record_id AND l.table_name = c.table_name AND t.agreed < c.at AND (l.id < c.audit_id OR c.audit_id = 0)))
    WHERE c.table_name = attribute_conflict."table" AND c.record_id = attribute_conflict.record AND c.at = now();
    UPDATE public.iasql_conflicts c SET actor = w.actor, event_id = w.event_id, event_time = w.event_time
    FROM public.iasql_conflicts k CROSS JOIN LATERAL (
        SELECT * FROM iasql_internal.suspects(attribute_conflict.account, attribute_conflict."table", 0, columns, named, k.since, clock_timestamp(), '{}') s
        WHERE NOT iasql_internal.agreed(k, s.event_id)
        ORDER BY s.event_time DESC, s.received DESC, s.event_id LIMIT 1) w
    WHERE k.table_name = attribute_conflict."table" AND k.record_id = attribute_conflict.record AND k.at = now() AND c.id = k.id;
END
$$;
COMMENT ON FUNCTION iasql_internal.attribute_conflict(text, text, bigint, text[], text[]) IS 'Adds to the conflicts of a record that have come up in this transaction who was on the other side, if an event has told.';
