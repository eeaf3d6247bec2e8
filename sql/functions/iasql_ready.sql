CREATE OR REPLACE FUNCTION public.iasql_ready("table" text DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF "table" IS NOT NULL THEN
        PERFORM iasql_internal.check_table("table");
    END IF;
    RETURN NOT EXISTS (SELECT FROM public.iasql_audit_log l
                       WHERE NOT l.settled AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE')
                         AND (iasql_ready."table" IS NULL OR l.table_name = iasql_ready."table"))
       AND NOT EXISTS (SELECT FROM iasql_internal.record_state s
                       WHERE s.state <> 'Present' AND (iasql_ready."table" IS NULL OR s.table_name = iasql_ready."table"))
       AND NOT EXISTS (SELECT FROM iasql_internal.garbage g WHERE iasql_ready."table" IS NULL OR g.table_name = iasql_ready."table")
       -- What nobody can look at is not known to be as it is to be (R32).
       AND NOT EXISTS (SELECT FROM iasql_internal.unread_place u WHERE u.table_name IS NULL)
       AND NOT EXISTS (SELECT FROM iasql_internal.restored)
       AND (NOT EXISTS (SELECT FROM iasql_internal.unread_place u)
            OR NOT EXISTS (SELECT FROM iasql_internal.unread_records() u WHERE iasql_ready."table" IS NULL OR u.table_name = iasql_ready."table"));
END
$$;
COMMENT ON FUNCTION public.iasql_ready(text) IS
$$Whether every record, of one table or of all, is in its final state: present in the cloud as the tables ask, or gone. A record that has failed is not, nor one whose predecessor is still to be removed, nor one that cannot be read.
Sample: SELECT iasql_ready('vpc')$$;
