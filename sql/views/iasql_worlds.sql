-- As much as the caller may know of accounts (00_visible.sql).
CREATE OR REPLACE VIEW public.iasql_worlds WITH (security_barrier) AS
SELECT a.name AS account, a.provider AS kind, w.said AS says_it_is, w.identity AS pinned_as, w.pinned_at, w.pinned_by,
       CASE WHEN w.trouble IS NULL THEN w.answered END AS reachable_at,
       (SELECT CASE WHEN bool_and(l.listed IS NOT NULL) THEN min(l.listed) END FROM iasql_internal.listing l WHERE l.account = a.name) AS last_seen,
       -- (internal/cells knows the accounts that do not count here by how these begin.)
       coalesce(CASE m.side WHEN 'arriving' THEN 'it is moving here from cell ' WHEN 'left' THEN 'it has moved to cell ' ELSE 'it is moving to cell ' END || m.cell,
                w.trouble, (SELECT i.restored_why FROM iasql_internal.server_seen i WHERE i.restored_at IS NOT NULL)) AS held,
       coalesce(m.since, CASE WHEN w.trouble IS NULL THEN (SELECT i.restored_at FROM iasql_internal.server_seen i) ELSE w.since END) AS since
FROM iasql_internal.account a LEFT JOIN iasql_internal.world w ON w.account = a.name LEFT JOIN iasql_internal.moving m ON m.account = a.name
WHERE (SELECT iasql_internal.seen_accounts()) IS NULL OR a.name = ANY ((SELECT iasql_internal.seen_accounts())::text[]);
COMMENT ON VIEW public.iasql_worlds IS 'Each account: who it says it is, who it was when it was pinned, and why nothing is done about it, if so.';
COMMENT ON COLUMN public.iasql_worlds.kind IS 'The provider whose account it is.';
COMMENT ON COLUMN public.iasql_worlds.says_it_is IS 'What it said when it was asked last, as its provider spells it.';
COMMENT ON COLUMN public.iasql_worlds.pinned_as IS 'Who it was when it was first asked, or when somebody last confirmed it. If it says something else, nothing is pushed or pulled.';
COMMENT ON COLUMN public.iasql_worlds.reachable_at IS 'About when it last said who it is; NULL while it does not.';
COMMENT ON COLUMN public.iasql_worlds.last_seen IS 'Everything that there is of it was looked at then or later. NULL: something never was.';
COMMENT ON COLUMN public.iasql_worlds.held IS 'Why nothing is pushed to it; NULL if it is.';
COMMENT ON COLUMN public.iasql_worlds.since IS 'Since when that is so.';
