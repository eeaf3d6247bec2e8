CREATE OR REPLACE FUNCTION public.iasql_protect("table" text, id bigint, until timestamptz) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM iasql_internal.check_table("table");
    IF id IS NULL THEN
        PERFORM iasql_internal.refuse_null('iasql_protect', 'id', format('SELECT iasql_protect(%L), without an id, protects the whole table.', "table"));
    END IF;
    PERFORM iasql_internal.permit(CASE WHEN until IS NULL THEN 'update' ELSE 'lift' END, "table", ARRAY[id]);
    RETURN iasql_internal.set_protection("table", id, true, until);
END
$$;
COMMENT ON FUNCTION public.iasql_protect(text, bigint, timestamptz) IS
$$Protects a record until then: it cannot be deleted, nor changed in a way that replaces its object, and ENFORCE leaves the object alone; false if it was so protected. NULL: without an end.
Sample: SELECT iasql_protect('vpc', 1, now() + interval '1 day')$$;

CREATE OR REPLACE FUNCTION public.iasql_protect("table" text, id bigint) RETURNS boolean
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp
RETURN public.iasql_protect("table", id, NULL);
COMMENT ON FUNCTION public.iasql_protect(text, bigint) IS
$$Protects a record: it cannot be deleted, nor changed in a way that replaces its object, and ENFORCE leaves the object alone; false if it was protected.
Sample: SELECT iasql_protect('vpc', 1)$$;

CREATE OR REPLACE FUNCTION public.iasql_protect("table" text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM iasql_internal.check_table("table");
    RETURN iasql_internal.set_protection("table", NULL, true, NULL);
END
$$;
COMMENT ON FUNCTION public.iasql_protect(text) IS
$$Protects every record of a table that has no rule of its own.
Sample: SELECT iasql_protect('hosted_zone')$$;

CREATE OR REPLACE FUNCTION public.iasql_unprotect("table" text, id bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM iasql_internal.check_table("table");
    IF id IS NULL THEN
        PERFORM iasql_internal.refuse_null('iasql_unprotect', 'id', format('SELECT iasql_unprotect(%L), without an id, lifts the rule of the whole table.', "table"));
    END IF;
    PERFORM iasql_internal.permit('lift', "table", ARRAY[id]);
    RETURN iasql_internal.set_protection("table", id, false, NULL);
END
$$;
COMMENT ON FUNCTION public.iasql_unprotect(text, bigint) IS
$$Lifts the protection of a record, also where its table is protected; false if it was not protected.
Sample: SELECT iasql_unprotect('vpc', 1)$$;

CREATE OR REPLACE FUNCTION public.iasql_unprotect("table" text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM iasql_internal.check_table("table");
    RETURN iasql_internal.set_protection("table", NULL, false, NULL);
END
$$;
COMMENT ON FUNCTION public.iasql_unprotect(text) IS
$$Lifts the protection of a whole table; records that are protected by themselves stay so.
Sample: SELECT iasql_unprotect('hosted_zone')$$;
