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
    SELECT format('SELECT %L::text AS rule, n.id, %s AS shown, left(%s, 100) AS called FROM (SELECT id FROM new_rows WHERE (%s) IS FALSE) b JOIN new_rows n USING (id)%s ORDER BY n.id LIMIT 5',
                  r.name, c.shown,
                  coalesce((SELECT 'coalesce(' || string_agg(format('n.%I::text', k.name), ', ' ORDER BY k.ord) || ')'
                            FROM iasql_internal.managed_table m CROSS JOIN LATERAL unnest(m.names) WITH ORDINALITY k (name, ord)
                            WHERE m.name = r.table_name), 'NULL'), r.condition,
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
COMMENT ON FUNCTION iasql_internal.broken_rules(text, text) IS 'Queries of the rows that a statement has written and that break a rule, the first five for each rule that binds the writer.';

-- findings: what the queries of broken_rules have found, [{"rule": …, "id": …, "shown": …, "called": …}], the first of which is
-- what the error is about; the others are in its details.
CREATE OR REPLACE FUNCTION iasql_internal.refuse_values("table" text, findings jsonb) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    first  record;
    doc    text;
    others text;
    which  text;
BEGIN
    SELECT f.*, r.columns, r.hint, r.of_null INTO STRICT first
    FROM jsonb_to_record(findings -> 0) f (rule text, id bigint, shown text, called text)
    JOIN iasql_internal.value_rule r ON r.table_name = refuse_values."table" AND r.name = f.rule;
    which := iasql_internal.plain(concat('Record ', first.id, ' (' || quote_literal(first.called) || ')'));
    SELECT string_agg(l.line, E'\n' ORDER BY l.place) || CASE WHEN count(*) FILTER (WHERE l.place > 20) > 0 THEN E'\n…' ELSE '' END INTO others
    FROM (SELECT f.place, iasql_internal.plain(format('Record %s%s: %s. %s', f.value ->> 'id', ' (' || quote_literal(f.value ->> 'called') || ')',
                     CASE WHEN cardinality(r.columns) <> 1 THEN f.value ->> 'shown'
                          ELSE concat(r.columns[1], ' cannot be ', coalesce(quote_literal(f.value ->> 'shown'), 'NULL')) END, r.hint)) AS line
          FROM jsonb_array_elements(findings) WITH ORDINALITY f (value, place)
          JOIN iasql_internal.value_rule r ON r.table_name = refuse_values."table" AND r.name = f.value ->> 'rule'
          WHERE f.place BETWEEN 2 AND 21) l;
    others := E'\nNor is this allowed:\n' || others;
    IF cardinality(first.columns) <> 1 THEN
        RAISE EXCEPTION 'the values of a row of % do not go together: %', "table", first.shown
            USING ERRCODE = '23514', SCHEMA = 'public', TABLE = "table", CONSTRAINT = first.rule, HINT = first.hint,
                  DETAIL = concat(format('%s breaks the rule %s.', which, first.rule), others);
    END IF;
    SELECT col_description(a.attrelid, a.attnum) INTO doc
    FROM pg_attribute a WHERE a.attrelid = to_regclass(format('public.%I', "table")) AND a.attname = first.columns[1];
    IF first.of_null THEN
        RAISE EXCEPTION 'null value in column "%" of relation "%" is not allowed', first.columns[1], "table"
            USING ERRCODE = '23502', SCHEMA = 'public', TABLE = "table", COLUMN = first.columns[1], HINT = concat_ws(' ', first.hint, doc),
                  DETAIL = concat(format('%s has none.', which), others);
    END IF;
    RAISE EXCEPTION 'column % of % cannot be %', first.columns[1], "table", quote_literal(first.shown)
        USING ERRCODE = '23514', SCHEMA = 'public', TABLE = "table", COLUMN = first.columns[1], CONSTRAINT = first.rule,
              HINT = first.hint, DETAIL = concat(concat_ws(' ', format('%s breaks the rule %s.', which, first.rule), doc), others);
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_values(text, jsonb) IS 'Raises for values that a user may not write, in words, and says all that a statement has of them.';

-- What triggers of an earlier version call, until they are made anew.
CREATE OR REPLACE FUNCTION iasql_internal.refuse_value("table" text, rule text, id bigint, shown text) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM iasql_internal.refuse_values("table", jsonb_build_array(jsonb_build_object('rule', rule, 'id', id, 'shown', shown)));
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_value(text, text, bigint, text) IS 'Raises for a value that a user may not write.';

-- With the system's rights, for the table is the engine's alone. It says no more than the descriptions of the tables do.
CREATE OR REPLACE FUNCTION iasql_internal.value_rules("table" text) RETURNS TABLE (name text, columns text[], condition text, hint text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT r.name, r.columns, r.condition, r.hint FROM iasql_internal.value_rule r
    WHERE r.table_name = value_rules."table" AND r.active AND NOT r.of_null ORDER BY r.name;
END;
COMMENT ON FUNCTION iasql_internal.value_rules(text) IS 'What users'' values in a table must meet, for forms that offer what is allowed.';
