-- A column with the record that another column names (Reference.Beside in internal/modules): what has gone in the cloud loses
-- its record, whatever still names it. Users cannot delete the record: the foreign key keeps it.
CREATE OR REPLACE FUNCTION iasql_internal.leave_beside() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    place text := '';
BEGIN
    IF coalesce(current_setting('iasql.origin', true), '') = 'engine' THEN -- with the caller's own rights, whoever says so
        IF TG_NARGS = 2 THEN
            EXECUTE format('UPDATE public.%I SET %2$I = NULL WHERE %2$I = $1', TG_ARGV[0], TG_ARGV[1]) USING OLD.id;
        ELSE -- it holds the key itself, the last argument, which is unique with the columns before it
            FOR i IN 2 .. TG_NARGS - 2 LOOP
                place := format('%s AND t.%I = ($1).%2$I', place, TG_ARGV[i]);
            END LOOP;
            EXECUTE format('UPDATE public.%I t SET %2$I = NULL WHERE t.%2$I = ($1).%I%s', TG_ARGV[0], TG_ARGV[1], TG_ARGV[TG_NARGS - 1], place) USING OLD;
        END IF;
    END IF;
    RETURN OLD;
END
$$;
COMMENT ON FUNCTION iasql_internal.leave_beside() IS 'Row trigger of tables whose records others name: what the engine deletes is referred to no more.';
REVOKE EXECUTE ON FUNCTION iasql_internal.leave_beside() FROM PUBLIC;
