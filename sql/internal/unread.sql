-- What could not be read is shown as unknown (R32), a line a place. What the caller may not see of a table or of an account is
-- left out of the reasons, and not that there is one: whoever sees a record has to know that nobody has looked at it.
CREATE OR REPLACE VIEW iasql_internal.unread_place WITH (security_barrier) AS
SELECT w.account, NULL::text AS table_name, NULL::text AS region, w.since, w.code = 'identity' AS needs_person, true AS whole,
       CASE WHEN (SELECT iasql_internal.seen_accounts()) IS NULL OR w.account = ANY ((SELECT iasql_internal.seen_accounts())::text[]) THEN w.trouble
            ELSE 'nothing is done about its account (hidden: why)' END AS why
FROM iasql_internal.world w
WHERE w.trouble IS NOT NULL
UNION ALL
SELECT u.account, u.table_name, nullif(u.region, ''), u.since, u.denied, NOT u.partly,
       CASE WHEN NOT u.table_name = ANY ((SELECT iasql_internal.restricted())::text[])
             AND ((SELECT iasql_internal.seen_accounts()) IS NULL OR u.account = ANY ((SELECT iasql_internal.seen_accounts())::text[])) THEN u.error
            ELSE 'it could not be read (hidden: why)' END
FROM iasql_internal.unread u;
COMMENT ON VIEW iasql_internal.unread_place IS 'The places that cannot be read, or about which nothing is done: an account (no table), or a table in a region. whole: nothing of it can be read.';

CREATE OR REPLACE VIEW iasql_internal.restored WITH (security_barrier) AS
SELECT i.restored_at AS since, i.restored_why || '. Nothing is pushed until an administrator has looked at what is pending: SELECT iasql_confirm(''restored'', dry_run => true)' AS why
FROM iasql_internal.server_seen i WHERE i.restored_at IS NOT NULL;
COMMENT ON VIEW iasql_internal.restored IS 'Since when nothing is pushed because the database may have gone back in time, and why; no row if it has not.';

CREATE OR REPLACE FUNCTION iasql_internal.unread_records() RETURNS TABLE (table_name text, record_id bigint, since timestamptz, needs_person boolean, why text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    place record;
BEGIN
    FOR place IN
        SELECT u.account, u.region, u.since, u.needs_person, u.why, m.name, c.oid AS class, m.regional
        FROM iasql_internal.unread_place u
        JOIN iasql_internal.managed_table m ON m.name = coalesce(u.table_name, m.name) AND NOT m.settings
        CROSS JOIN LATERAL (SELECT to_regclass(format('public.%I', m.name)) AS oid) c
        WHERE u.whole AND c.oid IS NOT NULL
          -- Of an account that is left alone that is said, and not of its places as well.
          AND (u.table_name IS NULL OR NOT EXISTS (SELECT FROM iasql_internal.unread_place w WHERE w.account = u.account AND w.table_name IS NULL))
    LOOP
        IF has_column_privilege(place.class, 'id', 'SELECT') AND has_column_privilege(place.class, 'account', 'SELECT') THEN
            RETURN QUERY EXECUTE format('SELECT %L::text, t.id, $1, $2, $3 FROM public.%I t WHERE t.account = $4', place.name, place.name)
                || CASE WHEN place.regional AND place.region IS NOT NULL AND has_column_privilege(place.class, 'region', 'SELECT') THEN ' AND t.region = $5' ELSE '' END
                USING place.since, place.needs_person, place.why, place.account, place.region;
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION iasql_internal.unread_records() IS 'The records of places that cannot be read, as far as the caller sees them, each once or more, and why.';

CREATE OR REPLACE VIEW iasql_internal.unread_line WITH (security_barrier) AS
WITH place AS (
    SELECT u.*, count(*) OVER (PARTITION BY u.account, u.region) AS here,
           (SELECT count(*) FROM iasql_internal.managed_table m WHERE m.regional AND NOT m.settings) AS regional
    FROM iasql_internal.unread_place u
    WHERE u.table_name IS NOT NULL
), several AS (
    SELECT count(*) > 1 AS accounts,
           -- The tables whose records are regions (modules.Table, DefinesRegions).
           (SELECT string_agg(quote_ident(m.name), ' or ' ORDER BY m.name) FROM iasql_internal.managed_table m
            WHERE 'region' = ANY (m.identity) AND 'is_enabled' = ANY (m.columns || m.local)) AS regions
    FROM iasql_internal.account
)
SELECT concat_ws(' ', 'account', u.account) AS record, u.needs_person, u.since, u.why AS message
FROM iasql_internal.unread_place u
WHERE u.table_name IS NULL
UNION ALL
SELECT 'database', true, r.since, r.why FROM iasql_internal.restored r
UNION ALL
-- Where nothing at all can be read, a line says so of the region.
SELECT concat_ws(' ', 'region', p.region, CASE WHEN s.accounts THEN 'of ' || p.account END), bool_or(p.needs_person), min(p.since),
       concat(format('none of its %s tables can be read: %s. Permit it', count(*), min(p.why)),
              ', or UPDATE ' || s.regions || format(' SET is_enabled = false WHERE region = %L', p.region))
FROM place p CROSS JOIN several s
WHERE p.region IS NOT NULL AND p.here = p.regional AND p.regional > 1
GROUP BY p.account, p.region, s.accounts, s.regions
UNION ALL
SELECT concat_ws(' ', p.table_name, CASE WHEN s.accounts THEN 'of ' || p.account END), bool_or(p.needs_person), min(p.since),
       concat(CASE WHEN bool_and(p.whole) THEN 'cannot be read' ELSE 'cannot be read as a whole' END,
              ' in ' || string_agg(p.region, ', ' ORDER BY p.region), ': ', min(p.why))
FROM place p CROSS JOIN several s
WHERE p.region IS NULL OR p.here < p.regional OR p.regional = 1
GROUP BY p.account, p.table_name, s.accounts;
COMMENT ON VIEW iasql_internal.unread_line IS 'What iasql_problems says of what cannot be read: a line for an account, for a region of which nothing can be read, and for each other table.';
