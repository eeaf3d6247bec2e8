CREATE OR REPLACE FUNCTION iasql_internal.check_table("table" text) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    nearest text;
BEGIN
    IF EXISTS (SELECT FROM public.iasql_tables t WHERE t."table" = check_table."table") THEN
        RETURN;
    END IF;
    SELECT t."table" INTO nearest FROM public.iasql_tables t
    ORDER BY @extschema:fuzzystrmatch@.levenshtein(left(lower(check_table."table"), 255), left(t."table", 255)), t."table" LIMIT 1;
    RAISE EXCEPTION 'table % is not managed', coalesce("table", 'NULL')
        USING ERRCODE = 'IA006', TABLE = coalesce("table", ''),
              HINT = concat('Did you mean ' || quote_literal(nearest) || '? ', 'SELECT "table" FROM iasql_tables lists the managed tables.');
END
$$;
COMMENT ON FUNCTION iasql_internal.check_table(text) IS 'Raises for a table that is not managed, suggesting the nearest.';

CREATE OR REPLACE FUNCTION iasql_internal.condition_hint("table" text, said text) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    managed iasql_internal.managed_table;
    cloud   text;
    wrong   text := (regexp_match(said, '"([^"]*)"'))[1];
    nearest text;
BEGIN
    SELECT * INTO managed FROM iasql_internal.managed_table m WHERE m.name = condition_hint."table";
    SELECT string_agg(i.name, ' and ' ORDER BY i.n) INTO cloud FROM unnest(managed.identity) WITH ORDINALITY i (name, n);
    IF said ~ ': "' THEN -- a value that is none of its column's type
        RETURN concat('A column that refers to a record holds that record''s id, which is a number, and not what the cloud calls its object',
                      format('; what the cloud calls an object of %s itself is in %s', "table", cloud), '.');
    ELSIF wrong = 'cloud_id' AND cloud IS NOT NULL THEN
        RETURN format('What the cloud calls the object of a record of %s is in %s.', "table", cloud);
    END IF;
    SELECT c.name INTO nearest FROM unnest(managed.columns || managed.local || '{id}') c (name)
    ORDER BY @extschema:fuzzystrmatch@.levenshtein(left(lower(split_part(coalesce(wrong, said), '.', -1)), 255), left(c.name, 255)), c.name LIMIT 1;
    RETURN concat('Did you mean ' || quote_literal(nearest) || '? ', format('SELECT * FROM iasql_help() describes the columns of %s. Text is in single quotes.', "table"));
END
$$;
COMMENT ON FUNCTION iasql_internal.condition_hint(text, text) IS 'What to do about a condition that names a column that is not there, or compares a number with a text.';

CREATE OR REPLACE FUNCTION iasql_internal.secrets("table" text) RETURNS text[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
RETURN (SELECT m.write_only FROM iasql_internal.managed_table m WHERE m.name = secrets."table");
COMMENT ON FUNCTION iasql_internal.secrets(text) IS 'The write-only columns of a managed table.';
