-- As much as the caller may know of the tables and accounts (00_visible.sql).
CREATE OR REPLACE VIEW public.iasql_listings WITH (security_barrier) AS
SELECT l.account, l.table_name, nullif(l.region, '') AS region, l.listed AS last_seen, l.changed AS last_changed, l.objects, l.denied,
       l.failed, l.since
FROM (SELECT account, table_name, region, k.listed, k.changed, coalesce(k.objects, 0) AS objects, k.denied,
             CASE WHEN NOT u.denied THEN u.error END AS failed, u.since
      FROM iasql_internal.listing k FULL JOIN iasql_internal.unread u USING (account, table_name, region)) l
WHERE NOT l.table_name = ANY ((SELECT iasql_internal.restricted())::text[])
  AND ((SELECT iasql_internal.seen_accounts()) IS NULL OR l.account = ANY ((SELECT iasql_internal.seen_accounts())::text[]));
COMMENT ON VIEW public.iasql_listings IS 'When each table was last listed in the cloud, by account and region, and where that is denied.';
COMMENT ON COLUMN public.iasql_listings.region IS 'Region; NULL for what an account has once.';
COMMENT ON COLUMN public.iasql_listings.last_seen IS 'When the last complete listing began. NULL: there has been none, and ENFORCE deletes nothing there.';
COMMENT ON COLUMN public.iasql_listings.last_changed IS 'When the last listing began that found something new; NULL: none has. The longer ago, the less often the table is listed, but at least every max_staleness.';
COMMENT ON COLUMN public.iasql_listings.objects IS 'How many objects the last complete listing showed.';
COMMENT ON COLUMN public.iasql_listings.denied IS 'Why the cloud does not permit the listing; NULL if it does. Permit it, or disable the region (is_enabled, in the table of the account''s regions). It is tried again every max_staleness.';
COMMENT ON COLUMN public.iasql_listings.failed IS 'Why the last listing failed otherwise; NULL if it did not.';
COMMENT ON COLUMN public.iasql_listings.since IS 'Since when no listing has succeeded; NULL if the last one did.';
