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
