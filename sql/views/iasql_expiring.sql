CREATE OR REPLACE VIEW public.iasql_expiring WITH (security_invoker) AS
SELECT x.what, x.table_name, x.record_id, x.rule, x.until, x.by, x.message
FROM (SELECT 'record' AS what, e.table_name, e.record_id, NULL::bigint AS rule, e.until, e.set_by AS by, e.refused AS message FROM iasql_internal.expiry e
      UNION ALL SELECT m.mode, m.table_name, m.record_id, m.id, m.until, NULL, NULL FROM public.iasql_mode m WHERE m.until IS NOT NULL
      UNION ALL SELECT 'ignored', g.table_name, NULL, g.id, g.until, NULL, NULL FROM public.iasql_ignore g WHERE g.until IS NOT NULL
      UNION ALL SELECT CASE WHEN p.protected THEN 'protected' ELSE 'unprotected' END, p.table_name, p.record_id, NULL, p.until, p.by, NULL
      FROM public.iasql_protection p WHERE p.until IS NOT NULL) x
ORDER BY x.until;
COMMENT ON VIEW public.iasql_expiring IS 'What ends by itself, and when: records with an expiry (iasql_expire), and rules with a time in until.';
COMMENT ON COLUMN public.iasql_expiring.what IS 'What ends: the record, the rule of this mode, that it is ignored, that it is protected.';
COMMENT ON COLUMN public.iasql_expiring.rule IS 'id of the rule in iasql_mode or iasql_ignore.';
COMMENT ON COLUMN public.iasql_expiring.by IS 'The role that said so; of a record the one by whose right it is deleted.';
COMMENT ON COLUMN public.iasql_expiring.message IS 'Why the record could not be deleted when its time had come. It is tried again every sync_interval.';

-- A day before, once it was refused, and what has been paused for a week without an end.
CREATE OR REPLACE VIEW iasql_internal.ending_line WITH (security_invoker, security_barrier) AS
SELECT concat_ws(' ', x.table_name, x.record_id) AS record,
       CASE WHEN x.message IS NULL THEN 'Expiring' ELSE 'Expired' END AS state, x.message IS NOT NULL AS needs_person,
       CASE WHEN x.message IS NULL THEN x.until - interval '1 day' ELSE x.until END AS since,
       CASE WHEN x.message IS NULL THEN format('it is deleted at %s, as %s has set it. SELECT iasql_expire(%L, %s, NULL) keeps it', x.until::timestamptz(0), x.by, x.table_name, x.record_id)
            ELSE format('it has expired, and cannot be deleted: %s. SELECT iasql_expire(%L, %s, NULL) keeps it', x.message, x.table_name, x.record_id) END AS message
FROM public.iasql_expiring x
WHERE x.what = 'record' AND x.until < now() + interval '1 day'
UNION ALL
SELECT coalesce(nullif(concat_ws(' ', x.table_name, x.record_id), ''), 'database'), 'Expiring', false, x.until - interval '1 day',
       CASE WHEN x.what IN ('protected', 'unprotected') THEN format('it is %s until %s', x.what, x.until::timestamptz(0))
            WHEN x.what = 'ignored' THEN format('rule %s of iasql_ignore ends at %s', x.rule, x.until::timestamptz(0))
            ELSE format('rule %s of iasql_mode (%s) ends at %s', x.rule, x.what, x.until::timestamptz(0)) END
FROM public.iasql_expiring x
WHERE x.what <> 'record' AND x.until < now() + interval '1 day'
UNION ALL
SELECT coalesce(nullif(concat_ws(' ', m.table_name, m.record_id, m.column_name), ''), 'database'), 'Paused', false, m.since,
       format('rule %1$s of iasql_mode has paused it since %2$s, and has no end. UPDATE iasql_mode SET until = … WHERE id = %1$s', m.id, m.since::date)
FROM public.iasql_mode m
WHERE m.mode = 'PAUSE' AND m.until IS NULL AND m.since < now() - interval '7 days';
COMMENT ON VIEW iasql_internal.ending_line IS 'What iasql_problems says of what ends within a day, of what should have ended, and of what has been paused for long.';
