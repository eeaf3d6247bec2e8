CREATE OR REPLACE VIEW public.iasql_costs WITH (security_barrier) AS
SELECT c.table_name, c.record_id, c.monthly, CASE WHEN c.monthly IS NOT NULL THEN iasql_internal.currency() END AS currency, c.basis, c.unknown
FROM iasql_internal.costs() c;
COMMENT ON VIEW public.iasql_costs IS 'What each record that you may see costs in a month: by iasql_prices, else by iasql_bills, else unknown and why.';
COMMENT ON COLUMN public.iasql_costs.table_name IS 'The table of the record.';
COMMENT ON COLUMN public.iasql_costs.record_id IS 'The record: its column id.';
COMMENT ON COLUMN public.iasql_costs.monthly IS 'What it costs in a month; NULL: that is not known.';
COMMENT ON COLUMN public.iasql_costs.currency IS 'ISO 4217 code.';
COMMENT ON COLUMN public.iasql_costs.basis IS 'prices: by what the record is. bill: by what it has cost.';
COMMENT ON COLUMN public.iasql_costs.unknown IS 'Why it is not known.';

CREATE OR REPLACE VIEW public.iasql_configuration_costs WITH (security_barrier) AS
SELECT m.configuration, sum(c.monthly) AS monthly, iasql_internal.currency() AS currency, count(*) AS records, count(*) - count(c.monthly) AS unknown
FROM public.iasql_mentions m JOIN public.iasql_costs c USING (table_name, record_id) GROUP BY m.configuration;
COMMENT ON VIEW public.iasql_configuration_costs IS 'What the records of each configuration cost in a month, of those that you may see.';
COMMENT ON COLUMN public.iasql_configuration_costs.configuration IS 'The configuration.';
COMMENT ON COLUMN public.iasql_configuration_costs.monthly IS 'The sum of what is known; NULL if nothing is.';
COMMENT ON COLUMN public.iasql_configuration_costs.currency IS 'ISO 4217 code.';
COMMENT ON COLUMN public.iasql_configuration_costs.records IS 'How many records it has.';
COMMENT ON COLUMN public.iasql_configuration_costs.unknown IS 'Of how many of them it is not known what they cost: iasql_costs says why.';
