CREATE OR REPLACE FUNCTION public.iasql_expire("table" text, id bigint, at timestamptz) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM iasql_internal.check_table("table");
    IF id IS NULL THEN
        PERFORM iasql_internal.refuse_null('iasql_expire', 'id', format('SELECT id FROM %I lists the records.', "table"));
    END IF;
    PERFORM iasql_internal.permit('delete', "table", ARRAY[id]);
    RETURN iasql_internal.set_expiry("table", id, at);
END
$$;
COMMENT ON FUNCTION public.iasql_expire(text, bigint, timestamptz) IS
$$Has the engine delete a record at that time, as if the caller did it then; NULL takes that back. Returns whether that changed anything. iasql_expiring lists what ends.
Sample: SELECT iasql_expire('queue', 1, now() + interval '3 days')$$;
