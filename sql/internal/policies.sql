-- What hides a row of a managed table hides what these say of it. The first half of each condition is all that is asked
-- where nothing is restricted; it is asked once a query.
DO $$
DECLARE
    open CONSTANT text := $e$(NOT table_name = ANY ((SELECT iasql_internal.restricted())::text[]))$e$;
    seen CONSTANT text := $e$((table_name, record_id) IN (SELECT s.table_name, s.record_id FROM iasql_internal.seen() s))$e$;
    whole CONSTANT text := $e$(NOT table_name = ANY ((SELECT iasql_internal.limited())::text[]))$e$;
    -- The tables that the caller may rule are looked up once a query; of the others there are rules for a record or a column.
    rule CONSTANT text := $e$CASE
        WHEN table_name IS NULL THEN CASE %1$s WHEN 'PAUSE' THEN (SELECT iasql_internal.not_ruled('{UPDATE}')) ELSE (SELECT iasql_internal.not_ruled('{INSERT,UPDATE,DELETE}')) END = '{}'
        ELSE NOT table_name = ANY (CASE %1$s WHEN 'PAUSE' THEN (SELECT iasql_internal.not_ruled('{UPDATE}')) ELSE (SELECT iasql_internal.not_ruled('{INSERT,UPDATE,DELETE}')) END)
            OR iasql_internal.may_rule(table_name, record_id, column_name, %1$s) END$e$;
    whole_rule CONSTANT text := $e$CASE WHEN table_name IS NULL THEN (SELECT iasql_internal.not_ruled('{INSERT,UPDATE,DELETE}')) = '{}'
        ELSE NOT table_name = ANY ((SELECT iasql_internal.not_ruled('{INSERT,UPDATE,DELETE}'))::text[]) END$e$;
    p record;
BEGIN
    FOR p IN
        SELECT * FROM (VALUES
            -- Batches' own entries are everybody's, but for what failed in them.
            ('public.iasql_audit_log', 'SELECT', format($e$CASE
                WHEN table_name IS NULL THEN change_type <> 'ERROR' OR (SELECT iasql_internal.restricted()) = '{}' OR "user" = (SELECT iasql_internal.writer())
                ELSE %1$s
                    OR %3$s AND (origin = 'user' AND "user" = (SELECT iasql_internal.writer()) OR %2$s)
                    OR %2$s AND iasql_internal.readable(table_name, coalesce(change -> 'original', '{}') || coalesce(change -> 'change', '{}'))
                END$e$, open, seen, whole)),
            ('public.iasql_operations', 'SELECT', format($e$%1$s OR %2$s AND (%3$s OR error IS NULL AND iasql_internal.readable(table_name, columns))$e$, open, seen, whole)),
            ('public.iasql_conflicts', 'SELECT', format($e$%1$s OR %2$s AND (%3$s OR column_name IS NOT NULL AND iasql_internal.readable(table_name, jsonb_build_object(column_name, NULL)))$e$, open, seen, whole)),
            -- Of columns it is an update that is decided about; else whether the record or the object goes or comes.
            ('public.iasql_conflicts', 'UPDATE', $e$iasql_internal.may_rule(table_name, record_id, NULL, CASE WHEN column_name IS NULL THEN 'NORMAL' ELSE 'PAUSE' END)$e$),
            ('public.iasql_cycles', 'SELECT', $e$(SELECT iasql_internal.seen_accounts()) IS NULL OR account = ANY ((SELECT iasql_internal.seen_accounts())::text[])$e$),
            ('iasql_internal.record_state', 'SELECT', format($e$%1$s OR %2$s AND %3$s$e$, open, seen, whole)),
            ('iasql_internal.garbage', 'SELECT', format($e$%1$s OR %2$s AND %3$s$e$, open, seen, whole)),
            -- Rules for a table or for all concern records that the caller may not see.
            ('public.iasql_mode', 'SELECT', format($e$record_id IS NULL OR %1$s OR %2$s$e$, open, seen)),
            -- PAUSE takes only time. What another rule does, and what a rule has held back, is INSERT, UPDATE and DELETE.
            ('public.iasql_mode', 'INSERT', format(rule, $e$(CASE WHEN until IS NULL THEN mode ELSE 'NORMAL' END)$e$)),
            ('public.iasql_mode', 'UPDATE', format(rule, $e$'NORMAL'$e$)),
            ('public.iasql_mode', 'DELETE', format(rule, $e$'NORMAL'$e$)),
            ('public.iasql_protection', 'SELECT', format($e$record_id IS NULL OR %1$s OR %2$s$e$, open, seen)),
            ('iasql_internal.expiry', 'SELECT', format($e$%1$s OR %2$s$e$, open, seen)),
            -- What something has cost is for who sees it; who may write bills, grants say.
            ('public.iasql_bills', 'SELECT', format($e$%1$s OR %2$s$e$, open, seen)),
            ('public.iasql_bills', 'INSERT', 'true'),
            ('public.iasql_bills', 'UPDATE', 'true'),
            ('public.iasql_bills', 'DELETE', 'true'),
            ('public.iasql_ignore', 'SELECT', 'true'),
            -- What is ignored is not imported; what is not any more, ENFORCE deletes.
            ('public.iasql_ignore', 'INSERT', whole_rule),
            ('public.iasql_ignore', 'UPDATE', whole_rule),
            ('public.iasql_ignore', 'DELETE', whole_rule),
            ('iasql_internal.permit', 'INSERT', $e$xid = pg_current_xact_id()
                AND (table_name, record_id, may) IN (
                    SELECT c.table_name, c.record_id, c.may FROM iasql_internal.claimed() c)$e$)
        ) v (about, command, condition)
    LOOP
        EXECUTE format('DROP POLICY IF EXISTS %I ON %s', 'iasql_' || lower(p.command), p.about);
        EXECUTE format('CREATE POLICY %I ON %s FOR %s %s (%s)', 'iasql_' || lower(p.command), p.about, p.command,
                       CASE p.command WHEN 'INSERT' THEN 'WITH CHECK' ELSE 'USING' END, p.condition);
    END LOOP;
    DROP POLICY IF EXISTS iasql_all ON public.iasql_mode;
    DROP POLICY IF EXISTS iasql_all ON public.iasql_ignore;
END
$$;

-- A cycle may list some tables only: of the others what their last listing met is still so.
CREATE OR REPLACE VIEW iasql_internal.listing_errors WITH (security_barrier) AS
WITH newest AS (
    SELECT c.*
    FROM iasql_internal.account a
    CROSS JOIN LATERAL (SELECT c.* FROM public.iasql_cycles c
                        WHERE c.account = a.name AND c.kind = 'full' AND c.ended IS NOT NULL
                        ORDER BY c.ended DESC LIMIT 1) c
), place AS (
    SELECT l.account, l.table_name, l.region, concat_ws('/', l.account, nullif(l.region, '')) AS scope, l.cycle
    FROM iasql_internal.listing l
), told AS (
    SELECT e.cycle_id, d ->> 'table_name' AS table_name, d ->> 'scope' AS scope, d ->> 'message' AS message
    FROM (SELECT l.cycle FROM iasql_internal.listing l UNION SELECT n.id FROM newest n) of
    JOIN iasql_internal.cycle_details e ON e.cycle_id = of.cycle CROSS JOIN LATERAL jsonb_array_elements(e.details) d
    WHERE coalesce(d ->> 'record_id', '0') = '0'
), error AS (
    SELECT c.ended AS ts, c.account, t.table_name, concat_ws(': ', t.scope, t.message) AS message
    FROM place p JOIN told t ON t.cycle_id = p.cycle AND t.table_name = p.table_name AND t.scope = p.scope
    JOIN public.iasql_cycles c ON c.id = p.cycle
    UNION
    SELECT n.ended, n.account, t.table_name, concat_ws(': ', t.scope, t.message)
    FROM newest n JOIN told t ON t.cycle_id = n.id
    UNION
    SELECT u.since, u.account, u.table_name, concat_ws(': ', concat_ws('/', u.account, nullif(u.region, '')), u.error)
    FROM iasql_internal.unread u
    WHERE NOT u.denied AND NOT EXISTS (SELECT FROM newest n JOIN told t ON t.cycle_id = n.id
                                       WHERE n.account = u.account AND t.table_name = u.table_name AND t.scope = concat_ws('/', u.account, nullif(u.region, '')))
    UNION
    SELECT n.ended, n.account, NULL, format('cycle %s of account %s: %s', n.id, n.account, n.message)
    FROM newest n
    WHERE n.message IS NOT NULL
)
SELECT e.ts, e.table_name, e.message
FROM error e
WHERE NOT coalesce(e.table_name, '') = ANY ((SELECT iasql_internal.restricted())::text[])
  AND ((SELECT iasql_internal.seen_accounts()) IS NULL OR e.account = ANY ((SELECT iasql_internal.seen_accounts())::text[]));
COMMENT ON VIEW iasql_internal.listing_errors IS 'What the last listing of each table met that no record tells of, and why the newest full cycle of each account failed, as far as the caller may know of it.';
