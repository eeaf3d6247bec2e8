CREATE OR REPLACE FUNCTION public.iasql_forget("table" text, id bigint) RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM iasql_internal.check_table("table");
    IF id IS NULL THEN
        PERFORM iasql_internal.refuse_null('iasql_forget', 'id', format('SELECT id FROM %I lists the records.', "table"));
    END IF;
    PERFORM iasql_internal.permit('delete', "table", ARRAY[id]);
    RETURN iasql_internal.forget("table", id);
END
$$;
COMMENT ON FUNCTION public.iasql_forget(text, bigint) IS
$$Lets go of a record: the row goes, its object stays in the cloud and is not imported again until iasql_adopt; returns what the cloud calls it.
Sample: SELECT iasql_forget('queue', 1)$$;

CREATE OR REPLACE FUNCTION public.iasql_adopt("table" text, cloud_id text) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM iasql_internal.check_table("table");
    IF cloud_id IS NULL OR cloud_id = '' THEN
        PERFORM iasql_internal.refuse_null('iasql_adopt', 'cloud_id', 'Give what the cloud calls the object: its id there, or its name.');
    END IF;
    RETURN iasql_internal.adopt("table", cloud_id);
END
$$;
COMMENT ON FUNCTION public.iasql_adopt(text, text) IS
$$Imports an object that was forgotten, is ignored, or waits for a decision (drift = ask), and returns the id of its record (NULL where rows of the table are hidden from some).
Sample: SELECT iasql_adopt('vpc', 'vpc-0a1b2c3d')$$;
