-- What every function of a module does (see Function in internal/modules): may the caller, does the cloud not decide here,
-- is no batch open; then the engine does it. names tells the record it is about by its columns.
CREATE OR REPLACE FUNCTION iasql_internal.call(name text, "table" text, needs text, names jsonb, args jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    batch  bigint;
    record bigint;
BEGIN
    IF NOT has_table_privilege(iasql_internal.writer(), format('public.%I', "table"), needs) THEN
        RAISE EXCEPTION 'permission denied: % needs the right to % %', name, needs, "table"
            USING ERRCODE = '42501', TABLE = "table",
                  HINT = format('GRANT %s ON %I TO %I, or membership in iasql_user.', needs, "table", iasql_internal.writer());
    END IF;
    IF needs <> 'SELECT' THEN
        batch := iasql_internal.open_batch();
        IF batch IS NOT NULL THEN
            RAISE EXCEPTION '% acts at once and cannot be part of batch %, which is open', name, batch
                USING ERRCODE = 'IA020', HINT = 'CALL iasql_commit() or iasql_rollback() first, then call it again.';
        END IF;
        IF EXISTS (SELECT FROM public.iasql_mode m WHERE m.mode = 'TRACK') THEN
            EXECUTE format('SELECT t.id FROM public.%I t WHERE to_jsonb(t) @> $1 LIMIT 1', "table") INTO record USING jsonb_strip_nulls(names);
            IF public.iasql_mode_of("table", record) = 'TRACK' THEN
                RAISE EXCEPTION '% is refused: % is tracked, the cloud decides about it', name, "table"
                    USING ERRCODE = 'IA002', TABLE = "table",
                          HINT = format('SELECT * FROM iasql_mode_explain(%L, %s) shows the rule of iasql_mode that says so.', "table", coalesce(record::text, 'NULL'));
            END IF;
        END IF;
    END IF;
    RETURN coalesce(iasql_internal.ask('call', jsonb_build_object('function', name, 'arguments', args)), '[]');
END
$$;
COMMENT ON FUNCTION iasql_internal.call(text, text, text, jsonb, jsonb) IS 'Checks whether a function of a module may be called, and has the engine do it; returns its rows.';
