-- The states of records (design: desired and detected). A record without a row in record_state and without a pending
-- change is Present. iasql_internal.records is made anew whenever a module is installed.
CREATE OR REPLACE VIEW iasql_internal.status WITH (security_barrier) AS
WITH pending AS (
    SELECT l.table_name, l.record_id, max(l.account) AS account, bool_or(l.change_type = 'INSERT') AS inserted,
           bool_or(l.change_type = 'UPDATE') AS updated, min(l.ts) AS since
    FROM public.iasql_audit_log l
    WHERE NOT l.settled AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE')
    GROUP BY l.table_name, l.record_id
), predecessors AS (
    -- Objects that were replaced and have to go.
    SELECT g.table_name, g.record_id, max(g.account) AS account, bool_or(g.review) AS review, max(g.state) FILTER (WHERE g.review OR g.state LIKE '%Failed') AS failed,
           string_agg(CASE WHEN g.message = '' THEN format('its predecessor %s is to be removed', replace(g.key, E'\x1f', '|')) ELSE format('its predecessor %s: %s', replace(g.key, E'\x1f', '|'), g.message) END, E'\n' ORDER BY g.id) AS message,
           max(g.attempts) AS attempts, min(g.next_attempt_at) AS next_attempt_at, min(g.since) AS since
    FROM iasql_internal.garbage g
    GROUP BY g.table_name, g.record_id
), unread AS (
    SELECT u.table_name, u.record_id, min(u.since) AS since, bool_or(u.needs_person) AS needs_person, min(u.why) AS why
    FROM iasql_internal.unread_records() u GROUP BY u.table_name, u.record_id
), states AS (
SELECT coalesce(r.table_name, s.table_name, p.table_name, o.table_name) AS table_name,
       coalesce(r.record_id, s.record_id, p.record_id, o.record_id) AS record_id,
       coalesce(r.account, s.account, p.account, o.account) AS account,
       CASE WHEN r.record_id IS NULL THEN 'absent' ELSE 'present' END AS desired,
       CASE WHEN s.state IN ('CheckPresentFailed', 'CheckAbsentFailed') OR s.code = 'vanished' OR x.record_id IS NOT NULL THEN 'unknown'
            WHEN s.state IN ('Creating', 'CreatingFailed') AND s.identity IS NULL THEN 'absent'
            WHEN s.replacing THEN 'absent'
            WHEN s.state IS NULL AND p.inserted THEN 'absent'
            WHEN s.state = 'WaitingForDependencies' AND p.inserted AND s.identity IS NULL THEN 'absent'
            WHEN s.state = 'Conflict' AND s.code = 'gone' THEN 'absent'
            WHEN s.state = 'Paused' THEN CASE WHEN p.inserted AND s.identity IS NULL THEN 'absent' ELSE 'present, different' END
            WHEN s.state IN ('Updating', 'UpdatingFailed', 'Replacing', 'Conflict') OR s.state IS NULL AND p.updated THEN 'present, different'
            ELSE 'present' END AS detected,
       CASE WHEN s.state IS NOT NULL THEN s.state
            WHEN r.record_id IS NOT NULL AND p.record_id IS NOT NULL THEN CASE WHEN p.inserted THEN 'Creating' ELSE 'Updating' END
            WHEN o.failed IS NOT NULL THEN o.failed WHEN r.record_id IS NULL THEN 'Removing'
            WHEN x.record_id IS NOT NULL THEN 'CheckPresentFailed' ELSE 'Present' END AS state,
       coalesce(s.review, false) OR coalesce(o.review, false) OR coalesce(x.needs_person, false) AS review,
       concat_ws(E'\n', nullif(s.message, ''), CASE WHEN o.failed IS NOT NULL OR r.record_id IS NULL THEN o.message END, x.why,
                 CASE WHEN b.record_id IS NOT NULL AND p.record_id IS NOT NULL THEN format('staged in %s: it waits for the batch''s commit', iasql_internal.batch_text(b.batch)) END) AS message,
       coalesce(s.attempts, o.attempts, 0) AS attempts,
       CASE WHEN coalesce(s.next_attempt_at, o.next_attempt_at) < 'infinity' THEN coalesce(s.next_attempt_at, o.next_attempt_at) END AS next_attempt_at,
       coalesce(s.since, p.since, o.since, x.since) AS since,
       coalesce(s.code, '') AS code, coalesce(s.region, '') AS region,
       x.record_id IS NOT NULL AND s.record_id IS NULL AND p.record_id IS NULL AND o.record_id IS NULL AS only_unread,
       public.iasql_mode_of(coalesce(r.table_name, s.table_name, p.table_name, o.table_name), coalesce(r.record_id, s.record_id, p.record_id, o.record_id)) AS mode
FROM iasql_internal.records r
FULL JOIN iasql_internal.record_state s ON s.table_name = r.table_name AND s.record_id = r.record_id
FULL JOIN pending p ON p.table_name = coalesce(r.table_name, s.table_name) AND p.record_id = coalesce(r.record_id, s.record_id)
FULL JOIN predecessors o ON o.table_name = coalesce(r.table_name, s.table_name, p.table_name) AND o.record_id = coalesce(r.record_id, s.record_id, p.record_id)
LEFT JOIN unread x ON x.table_name = r.table_name AND x.record_id = r.record_id
LEFT JOIN iasql_internal.staged b ON b.table_name = p.table_name AND b.record_id = p.record_id
)
-- As much as the caller may see of the tables (00_visible.sql).
SELECT t.table_name, t.record_id, t.account, t.desired, t.detected, t.state, t.review,
       CASE WHEN t.message <> '' AND t.table_name = ANY ((SELECT iasql_internal.limited())::text[])
            THEN format('(hidden: it takes the right to SELECT all columns of %s)', t.table_name) ELSE t.message END AS message,
       t.attempts, t.next_attempt_at, t.since, t.mode, t.code, t.region, t.only_unread
FROM states t
WHERE NOT t.table_name = ANY ((SELECT iasql_internal.restricted())::text[])
   OR (t.table_name, t.record_id) IN (SELECT v.table_name, v.record_id FROM iasql_internal.seen() v)
   OR t.desired = 'absent' AND NOT t.table_name = ANY ((SELECT iasql_internal.limited())::text[])
      AND EXISTS (SELECT FROM public.iasql_audit_log l
                  WHERE l.table_name = t.table_name AND l.record_id = t.record_id AND NOT l.settled AND l.change_type = 'DELETE' AND l."user" = iasql_internal.writer());
COMMENT ON VIEW iasql_internal.status IS 'What iasql_status shows, and by what iasql_problems gathers it.';

CREATE OR REPLACE VIEW public.iasql_status WITH (security_barrier) AS
SELECT t.table_name, t.record_id, t.account, t.desired, t.detected, t.state, t.review, t.message, t.attempts, t.next_attempt_at, t.since, t.mode
FROM iasql_internal.status t;
COMMENT ON VIEW public.iasql_status IS 'The state of every record: what the tables ask for, what was last seen, and whether a person must look (review).';
COMMENT ON COLUMN public.iasql_status.desired IS 'What the tables ask for: present or absent.';
COMMENT ON COLUMN public.iasql_status.detected IS 'What was last seen in the cloud: present, present and different, absent, or unknown.';
COMMENT ON COLUMN public.iasql_status.review IS 'A person is needed; otherwise the state is expected to resolve itself.';
COMMENT ON COLUMN public.iasql_status.next_attempt_at IS 'When the record is tried again; NULL: after a change of it or iasql_retry.';

-- For people: as wide as a terminal, but for the message. What may be seen is what iasql_status shows.
CREATE OR REPLACE VIEW public.iasql_problems WITH (security_invoker) AS
SELECT p.record, p.state, p.needs_you, p.since::timestamptz(0) AS since, p.message
FROM (SELECT concat_ws(' ', s.table_name, s.record_id) AS record, s.state, s.review AS needs_you, s.since, s.message
      FROM iasql_internal.status s
      WHERE s.state <> 'Present' AND NOT s.only_unread AND s.code <> 'vanished'
      UNION ALL
      SELECT l.record, 'CheckPresentFailed', l.needs_person, l.since, l.message FROM iasql_internal.unread_line l
      UNION ALL
      -- Objects that could not be given a record.
      SELECT e.table_name, 'CheckPresentFailed', true, e.ts, e.message FROM iasql_internal.listing_errors e
      WHERE e.table_name <> '' AND NOT EXISTS (SELECT FROM iasql_internal.unread_place u WHERE u.table_name = e.table_name)
      UNION ALL
      SELECT concat_ws(' ', s.table_name, nullif(s.region, '')), 'Conflict', true, min(s.since), format('%s records: %s', count(*), min(s.message))
      FROM iasql_internal.status s
      WHERE s.code = 'vanished'
      GROUP BY s.account, s.table_name, s.region
      UNION ALL
      SELECT e.record, e.state, e.needs_person, e.since, e.message FROM iasql_internal.ending_line e) p
ORDER BY p.needs_you DESC, p.since;
COMMENT ON VIEW public.iasql_problems IS 'What is not as the tables say, first what needs a person: iasql_status for people. What cannot be read, could not be given a record, or is gone at once is a line a place.';
COMMENT ON COLUMN public.iasql_problems.record IS 'Table and id of the record; of a place the table, the region or the account.';
COMMENT ON COLUMN public.iasql_problems.needs_you IS 'It will not mend itself. Otherwise the engine is at it.';
COMMENT ON COLUMN public.iasql_problems.message IS 'Why, and what to do.';

-- The worst of the parts' states counts: first what needs a person, then what is not done.
CREATE OR REPLACE VIEW public.iasql_instances WITH (security_barrier) AS
SELECT c.composition, c.instance, count(*) AS parts, count(*) FILTER (WHERE s.state <> 'Present') AS unfinished,
       coalesce((array_agg(s.state ORDER BY s.review DESC, s.state) FILTER (WHERE s.state <> 'Present'))[1], 'Present') AS state,
       coalesce(bool_or(s.review), false) AS review,
       string_agg(DISTINCT concat_ws(' ', s.table_name, s.record_id || ':', s.message), E'\n') FILTER (WHERE s.review) AS message
FROM iasql_internal.composed c JOIN iasql_internal.status s ON s.table_name = c.table_name AND s.record_id = c.record_id
GROUP BY c.composition, c.instance;
COMMENT ON VIEW public.iasql_instances IS 'The instances of compositions, each as one: how its parts are, of those that you may see.';
COMMENT ON COLUMN public.iasql_instances.composition IS 'The composition, which is the table of its instances.';
COMMENT ON COLUMN public.iasql_instances.instance IS 'The instance: its column id.';
COMMENT ON COLUMN public.iasql_instances.parts IS 'How many records it has, those included that are being removed.';
COMMENT ON COLUMN public.iasql_instances.unfinished IS 'How many of them are not as the tables say.';
COMMENT ON COLUMN public.iasql_instances.state IS 'The state of what needs a person, else of what is not done, else Present.';
COMMENT ON COLUMN public.iasql_instances.review IS 'A person is needed for one of its parts.';
COMMENT ON COLUMN public.iasql_instances.message IS 'What is said of the parts that need a person.';
