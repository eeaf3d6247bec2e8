-- What every function of a module does (see Function in internal/modules): may the caller, does the cloud not decide here,
-- does the session work in no batch; then the engine does it. Anybody may call this with anything, so that all it goes by is what the module
-- says of the function.
DROP FUNCTION IF EXISTS iasql_internal.call(text, text, text, jsonb, jsonb);
CREATE OR REPLACE FUNCTION iasql_internal.named_by(names jsonb, args jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
RETURN (SELECT coalesce(jsonb_object_agg(n.key, args -> n.value) FILTER (WHERE args ->> n.value IS NOT NULL), '{}') FROM jsonb_each_text(names) n);
COMMENT ON FUNCTION iasql_internal.named_by(jsonb, jsonb) IS 'The columns by which the arguments of a function of a module name the record it is about.';

CREATE OR REPLACE FUNCTION iasql_internal.call(name text, args jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    "table" text;
    needs  text;
    names  jsonb;
    class  oid;
    batch  bigint;
    record bigint;
    ids    bigint[];
BEGIN
    SELECT f.table_name, f.needs, iasql_internal.named_by(f.names, args) INTO "table", needs, names
    FROM iasql_internal.module_function f WHERE f.name = call.name;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no module has a function %', coalesce(name, 'NULL') USING ERRCODE = '42883', HINT = 'SELECT name FROM iasql_help() lists the functions.';
    END IF;
    class := format('public.%I', "table")::regclass;
    IF NOT has_table_privilege(iasql_internal.writer(), format('public.%I', "table"), needs) THEN
        RAISE EXCEPTION 'permission denied: % needs the right to % %', name, needs, "table"
            USING ERRCODE = '42501', TABLE = "table",
                  HINT = format('GRANT %s ON %I TO %I, or membership in iasql_user.', needs, "table", iasql_internal.writer());
    END IF;
    IF iasql_internal.is_subject(iasql_internal.writer(), class) THEN
        EXECUTE format('SELECT array_agg(t.id) FROM public.%I t WHERE to_jsonb(t) @> $1', "table") INTO ids USING names;
        IF ids IS NULL OR needs = 'INSERT' THEN
            RAISE EXCEPTION 'permission denied: row-level security of % decides what you see and change, and % does not say which record it is about', "table", name
                USING ERRCODE = '42501', TABLE = "table", HINT = 'A role that row-level security does not apply to can call it.';
        END IF;
        record := iasql_internal.unpermitted(CASE needs WHEN 'SELECT' THEN 'see' ELSE lower(needs) END, "table", ids);
        IF record IS NOT NULL THEN
            PERFORM iasql_internal.refuse_hidden("table", record);
        END IF;
    END IF;
    IF needs <> 'SELECT' THEN
        PERFORM iasql_internal.refuse_read_only(name);
        batch := iasql_internal.session_batch();
        IF batch IS NOT NULL THEN
            RAISE EXCEPTION '% acts at once and cannot be part of batch %, in which this session works', name, batch
                USING ERRCODE = 'IA020', HINT = 'CALL iasql_commit() or iasql_rollback() first, then call it again.';
        END IF;
        IF EXISTS (SELECT FROM public.iasql_mode m WHERE m.mode IN ('TRACK', 'PAUSE')) THEN
            EXECUTE format('SELECT t.id FROM public.%I t WHERE to_jsonb(t) @> $1 LIMIT 1', "table") INTO record USING names;
            IF public.iasql_mode_of("table", record) IN ('TRACK', 'PAUSE') THEN
                RAISE EXCEPTION '% is refused: % is %', name, "table",
                        CASE public.iasql_mode_of("table", record) WHEN 'TRACK' THEN 'tracked, the cloud decides about it' ELSE 'paused' END
                    USING ERRCODE = 'IA002', TABLE = "table",
                          HINT = format('SELECT * FROM iasql_mode_explain(%L, %s) shows the rule of iasql_mode that says so.', "table", coalesce(record::text, 'NULL'));
            END IF;
        END IF;
    END IF;
    RETURN coalesce(iasql_internal.ask('call', jsonb_build_object('function', name, 'arguments', args)), '[]');
END
$$;
COMMENT ON FUNCTION iasql_internal.call(text, jsonb) IS 'Checks whether a function of a module may be called, and has the engine do it; returns its rows.';

-- With the caller's own rights.
CREATE OR REPLACE FUNCTION iasql_internal.allow_call(name text, args jsonb) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    f   iasql_internal.module_function;
    ids bigint[];
BEGIN
    SELECT * INTO f FROM iasql_internal.module_function m WHERE m.name = allow_call.name;
    IF FOUND AND row_security_active(format('public.%I', f.table_name)::regclass) THEN
        EXECUTE format('SELECT array_agg(t.id) FROM public.%I t WHERE to_jsonb(t) @> $1', f.table_name) INTO ids USING iasql_internal.named_by(f.names, args);
        PERFORM iasql_internal.permit(CASE f.needs WHEN 'SELECT' THEN 'see' ELSE lower(f.needs) END, f.table_name, coalesce(ids, '{}'));
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.allow_call(text, jsonb) IS 'Puts on record that the caller may see or change the record a function of a module is about.';
