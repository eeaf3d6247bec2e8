-- What users may write (R34). A trigger of each table, made from its description (ValuesDDL in internal/modules), asks
-- whether the writer is bound by it, finds that a row breaks some rule, and asks here which one.

-- The engine shows what the cloud has. A batch that it undoes brings back what was there before.
CREATE OR REPLACE FUNCTION iasql_internal.writer_is_free() RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN iasql_internal.writer_is_engine()
        OR coalesce(current_setting('iasql.origin', true), '') = 'batch' AND pg_has_role(session_user, 'iasql_engine', 'MEMBER');
END
$$;
COMMENT ON FUNCTION iasql_internal.writer_is_free() IS 'Whether the current change may have values that users may not write: the engine has found them in the cloud.';

CREATE OR REPLACE FUNCTION iasql_internal.broken_rules("table" text, op text) RETURNS SETOF text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
    SELECT format('SELECT %L::text AS rule, n.id, %s AS shown FROM (SELECT id FROM new_rows WHERE (%s) IS FALSE) b JOIN new_rows n USING (id)%s LIMIT 1',
                  r.name, c.shown, r.condition,
                  CASE op WHEN 'UPDATE' THEN format(' JOIN old_rows o USING (id) WHERE ROW(%s) IS DISTINCT FROM ROW(%s)', c.new, c.old) END)
    FROM iasql_internal.value_rule r
    CROSS JOIN LATERAL (
        SELECT CASE count(*) WHEN 1 THEN max(format('left(n.%I::text, 200)', k.name))
               ELSE 'concat_ws('', '', ' || string_agg(format('%L || coalesce(left(n.%I::text, 100), ''NULL'')', k.name || ' = ', k.name), ', ' ORDER BY k.ord) || ')' END AS shown,
               string_agg(format('n.%I', k.name), ', ' ORDER BY k.ord) AS new, string_agg(format('o.%I', k.name), ', ' ORDER BY k.ord) AS old
        FROM unnest(r.columns) WITH ORDINALITY k (name, ord)) c
    WHERE r.table_name = broken_rules."table" AND r.active
    ORDER BY r.of_null DESC, r.name;
END
$$;
COMMENT ON FUNCTION iasql_internal.broken_rules(text, text) IS 'Queries of the rows that a statement has written and that break a rule, one for each rule that binds the writer.';

CREATE OR REPLACE FUNCTION iasql_internal.refuse_value("table" text, rule text, id bigint, shown text) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    broken iasql_internal.value_rule;
    doc    text;
BEGIN
    SELECT * INTO STRICT broken FROM iasql_internal.value_rule r WHERE r.table_name = refuse_value."table" AND r.name = refuse_value.rule;
    IF cardinality(broken.columns) <> 1 THEN
        RAISE EXCEPTION 'the values of a row of % do not go together: %', "table", shown
            USING ERRCODE = '23514', SCHEMA = 'public', TABLE = "table", CONSTRAINT = rule, HINT = broken.hint, DETAIL = format('Record %s breaks the rule %s.', id, rule);
    END IF;
    SELECT col_description(a.attrelid, a.attnum) INTO doc
    FROM pg_attribute a WHERE a.attrelid = to_regclass(format('public.%I', "table")) AND a.attname = broken.columns[1];
    IF broken.of_null THEN
        RAISE EXCEPTION 'null value in column "%" of relation "%" is not allowed', broken.columns[1], "table"
            USING ERRCODE = '23502', SCHEMA = 'public', TABLE = "table", COLUMN = broken.columns[1], HINT = concat_ws(' ', broken.hint, doc);
    END IF;
    RAISE EXCEPTION 'column % of % cannot be %', broken.columns[1], "table", quote_literal(shown)
        USING ERRCODE = '23514', SCHEMA = 'public', TABLE = "table", COLUMN = broken.columns[1], CONSTRAINT = rule,
              HINT = broken.hint, DETAIL = concat_ws(' ', format('It breaks the rule %s.', rule), doc);
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_value(text, text, bigint, text) IS 'Raises for a value that a user may not write, in words.';
