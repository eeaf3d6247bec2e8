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

CREATE OR REPLACE FUNCTION iasql_internal.secrets("table" text) RETURNS text[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
RETURN (SELECT m.write_only FROM iasql_internal.managed_table m WHERE m.name = secrets."table");
COMMENT ON FUNCTION iasql_internal.secrets(text) IS 'The write-only columns of a managed table.';
