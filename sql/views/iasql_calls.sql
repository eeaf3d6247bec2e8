-- For people: as wide as a terminal. The caller's rights hold, those on iasql_operations.
CREATE OR REPLACE VIEW public.iasql_calls WITH (security_invoker) AS
SELECT o.started::timestamptz(0) AS started, concat(o.service, '.', o.action) AS call, concat_ws(' ', o.table_name, o.record_id) AS record,
       CASE WHEN o.ended IS NOT NULL THEN round(extract(epoch FROM o.ended - o.started) * 1000) || ' ms' END AS took, coalesce(o.result, 'under way') AS result, o.error
FROM public.iasql_operations o
ORDER BY o.id DESC;
COMMENT ON VIEW public.iasql_calls IS 'Every call that changed the cloud, or tried to, newest first: iasql_operations for people.';
COMMENT ON COLUMN public.iasql_calls.call IS 'Service and action, as the cloud names them.';
COMMENT ON COLUMN public.iasql_calls.record IS 'Table and id of the record.';
COMMENT ON COLUMN public.iasql_calls.took IS 'From when the call was written down to its answer; NULL: it has none yet.';
COMMENT ON COLUMN public.iasql_calls.result IS 'ok, failed, unknown (the answer was lost; being looked for), abandoned, or under way.';
COMMENT ON COLUMN public.iasql_calls.error IS 'What the cloud said.';
