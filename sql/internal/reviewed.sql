-- Who else has changed what a preview shows. A pulled change has its author in the audit log. Other changes do not, because
-- the record is staged in a batch or paused, or because the change happened a moment ago.

-- lines are the lines of a preview. Each comes with the names by which an event may name its object (columns, named), and
-- with whether the change is to be pulled. An event belongs to a line if it is newer than what the tables know of the record:
--   * newer than the record's last pull, and not much older than the user's change here, since both may happen side by side;
--   * or, if no user has changed the record and the line is to be pulled, newer than the last listing of its table.
-- All these times are the database's. An event that explains an earlier change explains no second one. If no event names the
-- object, the newest events of its table and region that name no object count: there may be many.
CREATE OR REPLACE FUNCTION iasql_internal.reviewed(lines integer[], pulls boolean[], accounts text[], tables text[], records bigint[], regions text[], columns text[], named text[])
RETURNS TABLE (line integer, who jsonb)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    WITH names AS MATERIALIZED (
        SELECT n.* FROM unnest(reviewed.lines, reviewed.pulls, reviewed.accounts, reviewed.tables, reviewed.records, reviewed.regions, reviewed.columns, reviewed.named)
            n (line, to_pull, account, table_name, record_id, region, col, val)
    ), objects AS MATERIALIZED (
        SELECT DISTINCT n.line, n.to_pull, n.account, n.table_name, n.record_id, n.region FROM names n
    ), places AS MATERIALIZED (
        SELECT p.account, p.table_name, p.region, h.event
        FROM (SELECT DISTINCT o.account, o.table_name, o.region FROM objects o) p
        CROSS JOIN LATERAL (SELECT h.event FROM iasql_internal.hint h
                            WHERE h.table_name = p.table_name AND h.account = p.account AND h.region = p.region AND h.column_name IS NULL
                            ORDER BY h.id DESC LIMIT 20) h
    ), hints AS MATERIALIZED (
        SELECT DISTINCT n.line, h.event, true AS exact
        FROM names n
        JOIN iasql_internal.hint h ON h.table_name = n.table_name AND h.value = n.val AND h.column_name = n.col AND h.account = n.account
        UNION ALL
        SELECT o.line, p.event, false FROM objects o JOIN places p USING (account, table_name, region)
    ), known AS MATERIALIZED (
        SELECT o.*, CASE WHEN a.staged IS NOT NULL THEN greatest(a.staged - interval '1 minute', a.pulled)
                         WHEN o.to_pull THEN greatest(t.tried, a.pulled) ELSE a.pulled END AS since
        FROM objects o
        CROSS JOIN LATERAL (
            SELECT max(l.ts) FILTER (WHERE l.origin = 'engine') AS pulled, min(l.ts) FILTER (WHERE l.origin = 'user' AND NOT l.settled) AS staged
            FROM public.iasql_audit_log l WHERE l.record_id = o.record_id AND l.table_name = o.table_name
        ) a
        LEFT JOIN iasql_internal.listing t ON t.account = o.account AND t.table_name = o.table_name AND t.region = o.region
        WHERE o.line IN (SELECT h.line FROM hints h)
    ), told AS MATERIALIZED (
        SELECT k.line, h.exact, e.id, e.at, e.actor, e.actor_session, e.source_address, e.user_agent
        FROM hints h JOIN known k USING (line)
        JOIN iasql_internal.cloud_event e ON e.account = k.account AND e.id = h.event
        WHERE e.actor IS NOT NULL AND e.received >= coalesce(k.since, '-infinity')
          AND NOT EXISTS (SELECT FROM iasql_internal.own_request r WHERE r.id = e.request_id)
          AND NOT EXISTS (SELECT FROM public.iasql_audit_log l WHERE l.record_id = k.record_id AND l.table_name = k.table_name AND l.event_id = e.id)
    ), newest AS (
        SELECT DISTINCT ON (t.line) t.* FROM told t ORDER BY t.line, t.exact DESC, t.at DESC, t.id
    ), actors AS (
        SELECT t.line, t.exact, array_agg(DISTINCT t.actor ORDER BY t.actor) AS actors FROM told t GROUP BY t.line, t.exact
    )
    SELECT n.line, jsonb_strip_nulls(jsonb_build_object(
        'actor', n.actor, 'session', n.actor_session, 'source_address', n.source_address, 'user_agent', n.user_agent, 'event_id', n.id, 'event_time', n.at,
        'also', to_jsonb(nullif((array_remove(a.actors, n.actor))[:20], '{}'))))
    FROM newest n JOIN actors a USING (line, exact);
END;
COMMENT ON FUNCTION iasql_internal.reviewed(integer[], boolean[], text[], text[], bigint[], text[], text[], text[]) IS 'Who has changed in the cloud what lines of a preview are about, as events say; no row for a line of which none does.';

CREATE OR REPLACE FUNCTION iasql_internal.author_text(who jsonb) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
RETURN 'in the cloud: ' || coalesce((who ->> 'session') || ' (' || (who ->> 'actor') || ')', who ->> 'actor')
    || coalesce(' at ' || (who ->> 'event_time')::timestamptz, '') || coalesce(' from ' || (who ->> 'source_address'), '') || coalesce(' with ' || (who ->> 'user_agent'), '')
    || coalesce(', or ' || (SELECT string_agg(a, ' or ') FROM jsonb_array_elements_text(who -> 'also') a), '');
COMMENT ON FUNCTION iasql_internal.author_text(jsonb) IS 'Who has changed something in the cloud, in words; NULL if nobody is known.';
