-- The check is made when the transaction ends (by a deferred constraint trigger), so that the column may be set after the row
-- that needs it.
CREATE OR REPLACE FUNCTION iasql_internal.require_value() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    owner bigint := (to_jsonb(NEW) ->> TG_ARGV[0])::bigint;
    owner_name text;
    lacking boolean;
BEGIN
    EXECUTE format('SELECT o.%I::text, coalesce(cardinality(o.%I), 0) = 0 FROM public.%I o WHERE o.id = $1', TG_ARGV[2], TG_ARGV[3], TG_ARGV[1])
        INTO owner_name, lacking USING owner;
    IF lacking AND NOT iasql_internal.writer_is_engine() THEN
        RAISE EXCEPTION '% % (id %) %', TG_ARGV[1], iasql_internal.plain(owner_name), owner, TG_ARGV[4]
            USING ERRCODE = '23514', SCHEMA = TG_TABLE_SCHEMA, TABLE = TG_TABLE_NAME, COLUMN = TG_ARGV[0], CONSTRAINT = TG_NAME,
                  HINT = format('Set its %I, in the same transaction or before: UPDATE %I SET %I = ''{…}'' WHERE id = %s.', TG_ARGV[3], TG_ARGV[1], TG_ARGV[3], owner);
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.require_value() IS 'Row trigger that refuses a row while the record it belongs to has an empty array in a column. Arguments: the column that references the record, the record''s table, the column that names it in messages, the array, and what is wrong without it.';
