-- As much as the caller may know of the tables and accounts (00_visible.sql).
CREATE OR REPLACE VIEW public.iasql_forgotten WITH (security_barrier) AS
SELECT f.table_name, f.account, nullif(f.region, '') AS region, replace(f.key, E'\x1f', '|') AS cloud_id, f.by, f.at
FROM iasql_internal.forgotten f
WHERE NOT f.table_name = ANY ((SELECT iasql_internal.restricted())::text[])
  AND ((SELECT iasql_internal.seen_accounts()) IS NULL OR f.account = ANY ((SELECT iasql_internal.seen_accounts())::text[]))
   OR f.by = (SELECT iasql_internal.writer());
COMMENT ON VIEW public.iasql_forgotten IS 'Objects whose records were forgotten; iasql_adopt takes one back.';
