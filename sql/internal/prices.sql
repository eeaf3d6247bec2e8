-- What records cost: prices by what records are (iasql_prices), else what a bill said of them (iasql_bills).

CREATE OR REPLACE FUNCTION iasql_internal.check_price() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    class   oid := to_regclass(format('public.%I', NEW.table_name));
    unknown text;
BEGIN
    IF jsonb_typeof(NEW.match) IS DISTINCT FROM 'object' THEN
        RETURN NEW; -- the table's constraints say what is wrong
    END IF;
    -- What a price is of may have gone since: the price can still be changed.
    IF TG_OP = 'UPDATE' AND (NEW.table_name, NEW.match, NEW.per) IS NOT DISTINCT FROM (OLD.table_name, OLD.match, OLD.per) THEN
        NEW.columns := OLD.columns;
        RETURN NEW;
    END IF;
    IF class IS NULL OR NOT EXISTS (SELECT FROM iasql_internal.managed_table m WHERE m.name = NEW.table_name) THEN
        RAISE EXCEPTION 'table % is not managed', NEW.table_name
            USING ERRCODE = 'IA006', TABLE = TG_TABLE_NAME, COLUMN = 'table_name', HINT = 'SELECT "table" FROM iasql_tables lists the managed tables.';
    END IF;
    SELECT c INTO unknown FROM (SELECT jsonb_object_keys(NEW.match) UNION ALL SELECT NEW.per) w (c)
    WHERE c IS NOT NULL AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = class AND a.attname = c AND a.attnum > 0 AND NOT a.attisdropped);
    IF FOUND THEN
        RAISE EXCEPTION 'table % has no column %', NEW.table_name, unknown
            USING ERRCODE = 'IA006', TABLE = TG_TABLE_NAME, COLUMN = CASE WHEN unknown = NEW.per THEN 'per' ELSE 'match' END,
                  HINT = format('\d %I shows its columns.', NEW.table_name);
    END IF;
    IF NOT EXISTS (SELECT FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid WHERE a.attrelid = class AND a.attname = NEW.per AND t.typcategory = 'N') AND NEW.per IS NOT NULL THEN
        RAISE EXCEPTION 'column % of % holds no number', NEW.per, NEW.table_name
            USING ERRCODE = 'IA055', TABLE = TG_TABLE_NAME, COLUMN = 'per', HINT = 'A price is per unit of a column with numbers, or NULL for the record itself.';
    END IF;
    -- As the table's own columns would show these values: '20' of a number is 20.
    BEGIN
        EXECUTE format('SELECT coalesce(jsonb_object_agg(k, to_jsonb(r) -> k), ''{}'') FROM jsonb_populate_record(NULL::public.%I, $1) r, jsonb_object_keys($1) k', NEW.table_name)
        INTO NEW.match USING NEW.match;
    EXCEPTION WHEN data_exception THEN
        RAISE EXCEPTION 'what is to match is no value of %: %', NEW.table_name, SQLERRM
            USING ERRCODE = 'IA055', TABLE = TG_TABLE_NAME, COLUMN = 'match', HINT = format('\d %I shows which column holds what.', NEW.table_name);
    END;
    NEW.columns := ARRAY(SELECT k FROM jsonb_object_keys(NEW.match) k ORDER BY k);
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION iasql_internal.check_price() IS 'Checks that a price names what exists, and keeps its values as the table shows them.';

CREATE OR REPLACE FUNCTION iasql_internal.check_currency() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    currencies text[] := ARRAY(SELECT p.currency FROM public.iasql_prices p UNION SELECT b.currency FROM public.iasql_bills b ORDER BY 1);
BEGIN
    IF cardinality(currencies) > 1 THEN
        RAISE EXCEPTION 'prices in % do not add up', array_to_string(currencies, ' and ')
            USING ERRCODE = 'IA055', TABLE = TG_TABLE_NAME, COLUMN = 'currency', HINT = 'Write all prices and bills in one currency, and change them in one statement or delete the others first.';
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.check_currency() IS 'Keeps all prices and bills in one currency.';

CREATE OR REPLACE TRIGGER iasql_check BEFORE INSERT OR UPDATE ON public.iasql_prices
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.check_price();
CREATE OR REPLACE TRIGGER iasql_currency AFTER INSERT OR UPDATE ON public.iasql_prices
    FOR EACH STATEMENT EXECUTE FUNCTION iasql_internal.check_currency();
CREATE OR REPLACE TRIGGER iasql_currency AFTER INSERT OR UPDATE ON public.iasql_bills
    FOR EACH STATEMENT EXECUTE FUNCTION iasql_internal.check_currency();

CREATE OR REPLACE FUNCTION iasql_internal.currency() RETURNS text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
RETURN (SELECT c.currency FROM (SELECT p.currency FROM public.iasql_prices p UNION ALL SELECT b.currency FROM public.iasql_bills b) c LIMIT 1);
COMMENT ON FUNCTION iasql_internal.currency() IS 'The currency of all prices and bills; NULL if there are none.';

-- From one entry of the index to the next that is another: there are many prices, and few shapes.
CREATE OR REPLACE FUNCTION iasql_internal.price_shapes("table" text) RETURNS TABLE (columns text[], component text, per text)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    WITH RECURSIVE s AS (
        (SELECT p.columns, p.component, coalesce(p.per, '') AS per FROM public.iasql_prices p WHERE p.table_name = "table" ORDER BY p.columns, p.component, coalesce(p.per, '') LIMIT 1)
        UNION ALL
        SELECT n.columns, n.component, n.per
        FROM s CROSS JOIN LATERAL (SELECT p.columns, p.component, coalesce(p.per, '') AS per FROM public.iasql_prices p
                                   WHERE p.table_name = "table" AND (p.columns, p.component, coalesce(p.per, '')) > (s.columns, s.component, s.per)
                                   ORDER BY p.columns, p.component, coalesce(p.per, '') LIMIT 1) n
    )
    SELECT s.columns, s.component, nullif(s.per, '') FROM s;
END;
COMMENT ON FUNCTION iasql_internal.price_shapes(text) IS 'Which columns, components and quantities the prices of a table have.';

CREATE OR REPLACE FUNCTION iasql_internal.priced_columns("table" text) RETURNS text[]
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    WITH s AS MATERIALIZED (SELECT p.columns, p.per FROM iasql_internal.price_shapes("table") p)
    SELECT ARRAY(
        SELECT a.attname FROM pg_attribute a
        WHERE a.attrelid = to_regclass(format('public.%I', "table")) AND a.attnum > 0 AND NOT a.attisdropped
          AND (a.attname IN (SELECT unnest(s.columns) FROM s UNION SELECT s.per FROM s) OR a.attname = 'region' AND EXISTS (SELECT FROM s))
        ORDER BY a.attnum);
END;
COMMENT ON FUNCTION iasql_internal.priced_columns(text) IS 'The columns of a table that its prices depend on.';

-- A record has a price if every component that its table has prices of has one for it: what is not said is not taken for nothing.
-- The query that prices rows of a table: source is a query for n (a number of the row) and image (its columns). One branch for
-- each set of columns that prices match, each a hash join, however many prices and rows there are.
CREATE OR REPLACE FUNCTION iasql_internal.pricing("table" text, source text) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    branches text;
    depends  text[] := iasql_internal.priced_columns("table");
BEGIN
    SELECT string_agg(format(
        $query$SELECT s.n, p.id, p.component, %1$s AS wide, p.region, CASE WHEN p.per IS NULL THEN p.monthly ELSE p.monthly * CASE WHEN s.image ->> p.per IS NOT NULL THEN greatest((s.image ->> p.per)::numeric - p.included, 0) WHEN p.included > 0 THEN 0 END END AS monthly, p.per
               FROM s JOIN public.iasql_prices p ON p.table_name = %2$L AND p.columns = %3$L AND p.match = jsonb_build_object(%4$s)
                AND (p.region IS NULL OR p.region = s.image ->> 'region')$query$,
        cardinality(k.columns), "table", k.columns, (SELECT string_agg(format('%1$L, s.image -> %1$L', c), ', ') FROM unnest(k.columns) c)), ' UNION ALL ')
    INTO branches
    FROM (SELECT DISTINCT p.columns FROM iasql_internal.price_shapes("table") p WHERE p.columns <@ depends) k;
    IF branches IS NULL THEN
        RETURN format('SELECT s.n, NULL::numeric AS monthly, %L AS unknown FROM (%s) s', format('%s has no prices', "table"), source);
    END IF;
    RETURN format($query$
        WITH s AS MATERIALIZED (%1$s), fits AS (%2$s),
        best AS (SELECT DISTINCT ON (f.n, f.component) f.* FROM fits f ORDER BY f.n, f.component, f.wide DESC, f.region NULLS LAST, f.id DESC),
        total AS (SELECT b.n, sum(b.monthly) AS monthly, array_agg(b.component) AS components, min(b.per) FILTER (WHERE b.monthly IS NULL) AS open FROM best b GROUP BY b.n)
        SELECT s.n, CASE WHEN t.components @> %5$L AND t.open IS NULL THEN t.monthly END AS monthly,
               CASE WHEN (t.components @> %5$L) IS NOT TRUE THEN %3$L || coalesce((SELECT nullif(min(c), '') || ' of ' FROM unnest(%5$L::text[]) c WHERE (c = ANY (t.components)) IS NOT TRUE), '') || %6$L || coalesce(' with ' || (SELECT string_agg(concat_ws(' ', c, coalesce(s.image ->> c, 'NULL')), ', ') FROM unnest(%4$L::text[]) c), '')
                    WHEN t.open IS NOT NULL THEN t.open || ' is not known' END AS unknown
        FROM s LEFT JOIN total t ON t.n = s.n$query$, source, branches, 'there is no price of ', depends,
                  ARRAY(SELECT DISTINCT p.component FROM iasql_internal.price_shapes("table") p), "table");
END
$$;
COMMENT ON FUNCTION iasql_internal.pricing(text, text) IS 'A query for n, monthly and unknown: what rows of a table cost by the prices, or why that is not known.';

-- With the caller's own rights. Who may not see a column that prices depend on is not told what the record costs.
CREATE OR REPLACE FUNCTION iasql_internal.costs() RETURNS TABLE (table_name text, record_id bigint, monthly numeric, basis text, unknown text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    "table" record;
BEGIN
    FOR "table" IN
        SELECT m."table" AS name, c.oid, x.columns,
               (SELECT bool_and(has_column_privilege(c.oid, p, 'SELECT')) FROM unnest(x.columns) p) IS NOT FALSE AS readable
        FROM public.iasql_tables m
        JOIN pg_class c ON c.relname = m."table" AND c.relnamespace = 'public'::regnamespace
        JOIN pg_attribute i ON i.attrelid = c.oid AND i.attname = 'id'
        CROSS JOIN LATERAL iasql_internal.priced_columns(m."table") x (columns)
        WHERE has_column_privilege(i.attrelid, i.attnum, 'SELECT') ORDER BY 1
    LOOP
        RETURN QUERY EXECUTE format(
            $query$SELECT %1$L::text, p.n, coalesce(p.monthly, b.monthly), CASE WHEN p.monthly IS NOT NULL THEN 'prices' WHEN b.monthly IS NOT NULL THEN 'bill' END,
                          CASE WHEN b.monthly IS NULL THEN p.unknown END
                   FROM (%2$s) p LEFT JOIN public.iasql_bills b ON b.table_name = %1$L AND b.record_id = p.n$query$, "table".name,
            CASE WHEN "table".readable THEN iasql_internal.pricing("table".name, format('SELECT t.id AS n, %s AS image FROM public.%I t',
                     (SELECT format('jsonb_build_object(%s)', string_agg(format('%1$L, t.%1$I', c), ', ')) FROM unnest("table".columns) c), "table".name))
                 ELSE format('SELECT t.id AS n, NULL::numeric AS monthly, ''you may not see all columns that its price depends on''::text AS unknown FROM public.%I t', "table".name) END);
    END LOOP;
END
$$;
COMMENT ON FUNCTION iasql_internal.costs() IS 'Rows of the view iasql_costs.';

-- As rows were and as they are to be: both of one table at once. A bill says nothing of what a record is to be.
CREATE OR REPLACE FUNCTION iasql_internal.differences(records jsonb)
RETURNS TABLE (n bigint, before numeric, after numeric, difference numeric, unknown text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    "table" text;
BEGIN
    FOR "table" IN SELECT DISTINCT r ->> 'table' FROM jsonb_array_elements(records) r ORDER BY 1 LOOP
        RETURN QUERY EXECUTE format($query$
            WITH r AS MATERIALIZED (
                SELECT (e ->> 'n')::bigint AS n, (e ->> 'id')::bigint AS id, nullif(e -> 'before', 'null') AS before, nullif(e -> 'after', 'null') AS after, e ->> 'unknown' AS unknown
                FROM jsonb_array_elements($1) e WHERE e ->> 'table' = %1$L
            ), priced AS MATERIALIZED (%2$s), told AS (
                SELECT r.n, CASE WHEN r.before IS NULL THEN 0 ELSE coalesce(b.monthly, l.monthly) END AS before, CASE WHEN r.after IS NULL THEN 0 ELSE a.monthly END AS after,
                       coalesce(r.unknown, CASE WHEN r.before IS NOT NULL AND l.monthly IS NULL THEN b.unknown END, CASE WHEN r.after IS NOT NULL THEN a.unknown END) AS unknown,
                       r.unknown IS NOT NULL AS hidden
                FROM r LEFT JOIN priced b ON b.n = 2 * r.n LEFT JOIN priced a ON a.n = 2 * r.n + 1
                LEFT JOIN public.iasql_bills l ON l.table_name = %1$L AND l.record_id = r.id
            )
            SELECT t.n, CASE WHEN NOT t.hidden THEN t.before END, CASE WHEN NOT t.hidden THEN t.after END, CASE WHEN NOT t.hidden THEN t.after - t.before END, t.unknown FROM told t$query$,
            "table", iasql_internal.pricing("table", 'SELECT 2 * r.n AS n, r.before AS image FROM r WHERE r.before IS NOT NULL UNION ALL SELECT 2 * r.n + 1, r.after FROM r WHERE r.after IS NOT NULL'))
        USING records;
    END LOOP;
END
$$;
COMMENT ON FUNCTION iasql_internal.differences(jsonb) IS 'What records cost before and after: of each its number n, table, id, before and after (its columns, or null), and why these are not known.';

-- What a preview says of the records that it changes in the cloud, with what the caller sees of them besides.
CREATE OR REPLACE FUNCTION iasql_internal.preview_costs(request bigint)
RETURNS TABLE (ord bigint, before numeric, after numeric, difference numeric, unknown text)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    rows    jsonb := '[]';
    part    jsonb;
    "table" text;
BEGIN
    FOR "table" IN SELECT DISTINCT p.table_name FROM iasql_internal.previewed p WHERE p.request = preview_costs.request AND p.direction = 'push' ORDER BY 1 LOOP
        IF NOT has_table_privilege(format('public.%I', "table"), 'SELECT') THEN
            SELECT jsonb_agg(jsonb_build_object('n', p.ord, 'table', "table", 'id', p.id, 'unknown', 'you may not see all columns of the record')) INTO part
            FROM iasql_internal.previewed p WHERE p.request = preview_costs.request AND p.direction = 'push' AND p.table_name = "table";
        ELSE
            EXECUTE format($query$
                SELECT jsonb_agg(jsonb_build_object('n', p.ord, 'table', p.table_name, 'id', p.id,
                           'before', CASE p.action WHEN 'create' THEN NULL WHEN 'delete' THEN gone.image ELSE to_jsonb(t) || s.before END,
                           'after', CASE p.action WHEN 'create' THEN s.after WHEN 'delete' THEN NULL ELSE to_jsonb(t) END,
                           'unknown', CASE WHEN p.action = 'delete' AND gone.image IS NULL OR p.action <> 'create' AND p.action <> 'delete' AND t.id IS NULL THEN 'what the record was is not known' END))
                FROM iasql_internal.previewed p
                CROSS JOIN LATERAL (SELECT coalesce(jsonb_object_agg(c.key, c.value -> 'from'), '{}') AS before, coalesce(jsonb_object_agg(c.key, c.value -> 'to'), '{}') AS after
                                    FROM jsonb_each(p.changes) c) s
                LEFT JOIN public.%1$I t ON t.id = p.id AND p.action <> 'create' AND p.action <> 'delete'
                LEFT JOIN LATERAL (SELECT l.change -> 'original' AS image FROM public.iasql_audit_log l
                                   WHERE p.action = 'delete' AND l.record_id = p.id AND l.table_name = p.table_name AND l.change_type = 'DELETE' ORDER BY l.id DESC LIMIT 1) gone ON true
                WHERE p.request = $1 AND p.direction = 'push' AND p.table_name = %1$L$query$, "table") INTO part USING request;
        END IF;
        rows := rows || coalesce(part, '[]');
    END LOOP;
    RETURN QUERY SELECT d.n, d.before, d.after, d.difference, d.unknown FROM iasql_internal.differences(rows) d;
END
$$;
COMMENT ON FUNCTION iasql_internal.preview_costs(bigint) IS 'What the pushes of a preview of the caller''s change in what its records cost, by their places in it.';
