CREATE OR REPLACE FUNCTION public.iasql_types(pattern text)
RETURNS TABLE (type_name text, table_name text, installed boolean, managed_by text, publisher text, description text)
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT r.type_name, r.table_name, r.installed, r.managed_by, r.publisher, r.description
    FROM jsonb_to_recordset(iasql_internal.ask('types', jsonb_build_object('pattern', pattern)))
        AS r (type_name text, table_name text, installed boolean, managed_by text, publisher text, description text)
    ORDER BY r.type_name
$$;
COMMENT ON FUNCTION public.iasql_types(text) IS
$$The resource types that the account has, public, private and of third parties, each with the table that it is or would be. managed_by: the table of a module that has its objects already.
Sample: SELECT * FROM iasql_types('AWS::SES::*')$$;
