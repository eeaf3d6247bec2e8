-- As much as the caller may know of accounts (00_visible.sql).
CREATE OR REPLACE VIEW public.iasql_event_sources WITH (security_barrier) AS
SELECT s.account, s.name, s.region, s.kind, coalesce(iasql_internal.source_trouble(s), 'ok') AS state,
       CASE WHEN s.held_until > clock_timestamp() THEN s.holder END AS engine, s.answered AS last_answer, s.heard AS last_event, s.behind,
       ARRAY(SELECT DISTINCT r.region FROM iasql_internal.event_source_region r WHERE r.account = s.account AND r.name = s.name ORDER BY 1) AS regions,
       s.beat AS last_heartbeat, s.beat_error AS heartbeat_error, s.events, s.doubles, s.foreign_ AS foreign_events, s.malformed, s.dropped
FROM iasql_internal.event_source s
WHERE (SELECT iasql_internal.seen_accounts()) IS NULL OR s.account = ANY ((SELECT iasql_internal.seen_accounts())::text[]);
COMMENT ON VIEW public.iasql_event_sources IS 'The sources of events that the tables name, and whether each is to be relied on. While a queue is, tables of its regions are listed every watched_staleness only.';
COMMENT ON COLUMN public.iasql_event_sources.region IS 'Region whose events it has; NULL: those of all.';
COMMENT ON COLUMN public.iasql_event_sources.kind IS 'queue; trail: the files of a trail, which come minutes late; or connection: what the account says itself over the engine''s connection to it. Listings rely on queues alone.';
COMMENT ON COLUMN public.iasql_event_sources.state IS 'ok, or why it is not to be relied on: then listings are as frequent as without it.';
COMMENT ON COLUMN public.iasql_event_sources.engine IS 'Engine that reads it.';
COMMENT ON COLUMN public.iasql_event_sources.last_answer IS 'When it last answered.';
COMMENT ON COLUMN public.iasql_event_sources.last_event IS 'When the last event came through it, be it the engine''s own heartbeat.';
COMMENT ON COLUMN public.iasql_event_sources.behind IS 'How old the oldest message was of those that were read last.';
COMMENT ON COLUMN public.iasql_event_sources.regions IS 'Regions of which events have come. Of others it is not known whether they send any, so that listings do not rely on it there.';
COMMENT ON COLUMN public.iasql_event_sources.last_heartbeat IS 'When the engine last made a call of its own to see whether its event comes (one that changes nothing). It does so where nothing has come for five minutes.';
COMMENT ON COLUMN public.iasql_event_sources.heartbeat_error IS 'Why it may not make that call; NULL if it may. Then only the traffic of others shows that events come.';
COMMENT ON COLUMN public.iasql_event_sources.events IS 'Events that have told something.';
COMMENT ON COLUMN public.iasql_event_sources.doubles IS 'Events that had come before.';
COMMENT ON COLUMN public.iasql_event_sources.foreign_events IS 'Events of other accounts or regions, which were dropped.';
COMMENT ON COLUMN public.iasql_event_sources.malformed IS 'Messages that are no events, which were dropped.';
COMMENT ON COLUMN public.iasql_event_sources.dropped IS 'Events that were dropped since there were too many; listings find what they told. Of a connection: that told no more than which tables to look at.';
