CREATE OR REPLACE FUNCTION public.iasql_monthly("table" text, record jsonb) RETURNS numeric
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    price numeric;
BEGIN
    PERFORM iasql_internal.check_table("table");
    EXECUTE format('SELECT p.monthly FROM (%s) p', iasql_internal.pricing("table", 'SELECT 1::bigint AS n, $1 AS image')) INTO price USING record;
    RETURN price;
END
$$;
COMMENT ON FUNCTION public.iasql_monthly(text, jsonb) IS
$$What a record with these columns would cost in a month by iasql_prices; NULL if that is not known. For CHECK constraints and what-if questions.
Sample: SELECT iasql_monthly('elastic_ip', '{"region": "us-east-1"}')$$;
