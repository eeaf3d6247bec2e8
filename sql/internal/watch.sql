-- Events of the cloud: which sources are to be relied on, and who has changed what was found in the cloud. An event is a
-- hint and never a fact (R26): the worst that a forged one does is a read, and a name that the audit log shows as told.

-- How long a source may say nothing before it counts as silent: three of the engine's heartbeats.
CREATE OR REPLACE FUNCTION iasql_internal.source_trouble(s iasql_internal.event_source) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
RETURN CASE
    WHEN s.error IS NOT NULL THEN s.error
    WHEN s.answered IS NULL THEN 'it has not answered yet'
    WHEN s.answered < clock_timestamp() - interval '2 minutes' THEN 'no engine reads it'
    WHEN s.heard IS NULL THEN 'no event has come yet'
    WHEN s.limited > clock_timestamp() - interval '5 minutes' THEN 'more events come than are read: some were dropped'
    WHEN s.behind > interval '2 minutes' THEN 'it is behind: events come late'
    WHEN s.kind = 'trail' AND s.heard < clock_timestamp() - interval '1 hour' OR s.kind = 'queue' AND s.heard < clock_timestamp() - interval '15 minutes'
        THEN 'it is silent: no event comes'
    END;
COMMENT ON FUNCTION iasql_internal.source_trouble(iasql_internal.event_source) IS 'Why a source of events is not to be relied on now; NULL if it is.';

-- A trail brings events after minutes. So only queues let listings wait.
CREATE OR REPLACE FUNCTION iasql_internal.watched(account text) RETURNS TABLE (region text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT w.region
    FROM iasql_internal.event_source_region r JOIN iasql_internal.event_source s USING (account, name)
    CROSS JOIN LATERAL (VALUES (r.region), (CASE WHEN s.region IS NULL THEN '' END)) w (region)
    WHERE r.of_account = watched.account AND s.kind = 'queue' AND (s.region IS NULL OR s.region = r.region) AND w.region IS NOT NULL
      AND iasql_internal.source_trouble(s) IS NULL
    GROUP BY w.region;
END;
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

-- What the newest event says that names an object by one of these values and that is from between two times: who it was,
-- and who else. (CloudTrail's times are whole seconds, and by another clock.) An event that has explained a change of the
-- record explains no second one. Where none names it, those count that name no object of the table, of the region that
-- is the value of the column ''; the newest, as there may be many.
CREATE OR REPLACE FUNCTION iasql_internal.suspect(account text, "table" text, record bigint, columns text[], named text[], since timestamptz, until timestamptz)
RETURNS TABLE (actor text, actor_session text, source_address text, user_agent text, event_id text, event_time timestamptz, also text[])
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    WITH hints AS (
        SELECT h.account, h.event, true AS exact
        FROM unnest(columns, named) n (col, val)
        JOIN iasql_internal.hint h ON h.table_name = suspect."table" AND h.value = n.val AND h.column_name = n.col AND h.account = suspect.account
        UNION ALL
        SELECT h.account, h.event, false
        FROM unnest(columns, named) n (col, val) CROSS JOIN LATERAL (
            SELECT * FROM iasql_internal.hint h
            WHERE h.table_name = suspect."table" AND h.account = suspect.account AND h.region = n.val AND h.column_name IS NULL
            ORDER BY h.id DESC LIMIT 100
        ) h
        WHERE n.col = ''
    ), told AS (
        SELECT DISTINCT h.exact, e.id, e.at, e.actor, e.actor_session, e.source_address, e.user_agent
        FROM hints h
        JOIN iasql_internal.cloud_event e ON e.account = h.account AND e.id = h.event
        WHERE e.at BETWEEN suspect.since - interval '5 seconds' AND suspect.until + interval '5 seconds' AND e.actor IS NOT NULL
          AND NOT EXISTS (SELECT FROM iasql_internal.own_request r WHERE r.id = e.request_id)
          AND NOT EXISTS (SELECT FROM public.iasql_audit_log l
                          WHERE l.record_id = suspect.record AND l.table_name = suspect."table" AND l.event_id = e.id)
    ), newest AS (
        SELECT * FROM told t ORDER BY t.exact DESC, t.at DESC, t.id LIMIT 1
    )
    SELECT n.actor, n.actor_session, n.source_address, n.user_agent, n.id, n.at,
           (SELECT array_agg(o.actor ORDER BY o.actor) FROM (SELECT DISTINCT t.actor FROM told t WHERE t.actor <> n.actor AND t.exact = n.exact LIMIT 20) o)
    FROM newest n;
END;
COMMENT ON FUNCTION iasql_internal.suspect(text, text, bigint, text[], text[], timestamptz, timestamptz) IS 'Who has changed an object between two times, as events say; no row if none does.';

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
               l.change_type <> 'UPDATE' OR NOT (SELECT bool_and(k = ANY (managed.assigned)) FROM jsonb_object_keys(l.change -> 'change') k) AS wanted
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
            CASE WHEN k.wanted THEN array_append(k.columns, '') ELSE k.columns END, CASE WHEN k.wanted THEN array_append(k.named, k.region) ELSE k.named END, k.since, k.ts) w ON true
        WHERE l.id = k.id
        RETURNING l.id, k.wanted OR l.actor IS NOT NULL AS drift
    )
    SELECT array_agg(d.id ORDER BY d.id) FILTER (WHERE d.drift) INTO written FROM done d;
    IF written IS NOT NULL THEN
        PERFORM iasql_internal.notify_drift('drift', written[:101]);
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.attribute(text, text, bigint, text[], text[], text[], text[]) IS 'Adds to what the transaction has pulled who has changed it in the cloud, as far as events have told.';

-- Events that come after the pull. What they name is in the record now, or was in what was inserted or deleted.
CREATE OR REPLACE FUNCTION iasql_internal.attribute_late(account text, hints bigint[], records bigint[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found_rows bigint[];
BEGIN
    WITH told AS MATERIALIZED (
        SELECT DISTINCT h.table_name, h.column_name, h.value, n.record, e.at
        FROM unnest(hints, records) n (hint, record)
        JOIN iasql_internal.hint h ON h.id = n.hint AND h.column_name IS NOT NULL
        JOIN iasql_internal.cloud_event e ON e.account = h.account AND e.id = h.event AND e.actor IS NOT NULL
    ), open AS MATERIALIZED (
        SELECT l.id, l.table_name, l.record_id, l.ts, l.since, array_agg(t.column_name) AS columns, array_agg(t.value) AS named
        FROM public.iasql_audit_log l JOIN told t ON t.table_name = l.table_name AND t.at BETWEEN l.since - interval '5 seconds' AND l.ts + interval '5 seconds'
        WHERE l.account = attribute_late.account AND l.actor IS NULL AND l.since IS NOT NULL AND l.ts >= (SELECT min(t.at) FROM told t) - interval '5 seconds'
          AND (l.record_id = t.record
               OR l.change_type IN ('INSERT', 'DELETE') AND coalesce(l.change -> 'change', l.change -> 'original') ->> t.column_name = t.value)
        GROUP BY l.id
    ), done AS (
        UPDATE public.iasql_audit_log l
        SET actor = w.actor, actor_session = w.actor_session, source_address = w.source_address, user_agent = w.user_agent,
            event_id = w.event_id, event_time = w.event_time, also = w.also
        FROM open o, iasql_internal.suspect(attribute_late.account, o.table_name, o.record_id, o.columns, o.named, o.since, o.ts) w
        WHERE l.id = o.id
        RETURNING l.id
    )
    SELECT array_agg(d.id ORDER BY d.id) INTO found_rows FROM done d;
    IF found_rows IS NOT NULL THEN
        PERFORM iasql_internal.notify_drift('drift attributed', found_rows[:101]);
    END IF;
    UPDATE public.iasql_conflicts c SET actor = e.actor, event_id = e.id, event_time = e.at
    FROM unnest(hints, records) n (hint, record)
    JOIN iasql_internal.hint h ON h.id = n.hint AND h.column_name IS NOT NULL
    JOIN iasql_internal.cloud_event e ON e.account = h.account AND e.id = h.event AND e.actor IS NOT NULL
    WHERE c.table_name = h.table_name AND c.record_id = n.record AND c.actor IS NULL AND c.at BETWEEN e.at - interval '5 seconds' AND e.at + interval '1 hour'
      AND NOT EXISTS (SELECT FROM iasql_internal.own_request r WHERE r.id = e.request_id);
END
$$;
COMMENT ON FUNCTION iasql_internal.attribute_late(text, bigint[], bigint[]) IS 'Adds to what was pulled before events about it came who has changed it. records are those that have what the hint of the same place names, 0 for none.';

-- A conflict is about who changed the object in the cloud last.
CREATE OR REPLACE FUNCTION iasql_internal.attribute_conflict(account text, "table" text, record bigint, columns text[], named text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE public.iasql_conflicts c SET actor = w.actor, event_id = w.event_id, event_time = w.event_time
    FROM iasql_internal.suspect(attribute_conflict.account, attribute_conflict."table", 0, columns, named, now() - interval '6 hours', clock_timestamp()) w
    WHERE c.table_name = attribute_conflict."table" AND c.record_id = attribute_conflict.record AND c.actor IS NULL AND c.at >= now() - interval '1 minute';
END
$$;
COMMENT ON FUNCTION iasql_internal.attribute_conflict(text, text, bigint, text[], text[]) IS 'Adds to the conflicts of a record that have just come up who was on the other side, if an event has told.';
