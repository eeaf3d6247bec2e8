-- Columns with lists of records (Column.Records in internal/modules). What the engine deletes, and what a batch takes back
-- with it, leaves the lists: its name stays beside. Nobody else deletes what is in one, as with a foreign key.
CREATE OR REPLACE FUNCTION iasql_internal.leave_records() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF iasql_internal.writer_is_engine() THEN
        EXECUTE format('UPDATE public.%I SET %2$I = array_replace(%2$I, $1, NULL) WHERE %2$I @> ARRAY[$1]', TG_ARGV[0], TG_ARGV[1]) USING OLD.id;
    END IF;
    RETURN OLD;
END
$$;
COMMENT ON FUNCTION iasql_internal.leave_records() IS 'Row trigger of tables whose records are in lists of others: what the engine deletes leaves them.';
REVOKE EXECUTE ON FUNCTION iasql_internal.leave_records() FROM PUBLIC;

CREATE OR REPLACE FUNCTION iasql_internal.keep_records() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    holder bigint;
BEGIN
    EXECUTE format('SELECT min(t.id) FROM public.%I t WHERE t.%I @> ARRAY[$1]', TG_ARGV[0], TG_ARGV[1]) INTO holder USING OLD.id;
    IF holder IS NOT NULL THEN
        RAISE EXCEPTION 'record % of % is still in % of record % of %', OLD.id, TG_TABLE_NAME, TG_ARGV[1], holder, TG_ARGV[0]
            USING ERRCODE = '23503', SCHEMA = 'public', TABLE = TG_ARGV[0], COLUMN = TG_ARGV[1], CONSTRAINT = TG_NAME,
                  HINT = 'Take it out of there, or delete that record as well: before, or in the same statement.';
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.keep_records() IS 'Constraint trigger of tables whose records are in lists of others: refuses to delete one that is.';
REVOKE EXECUTE ON FUNCTION iasql_internal.keep_records() FROM PUBLIC;
