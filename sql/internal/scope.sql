-- Records refer to records of their own account and region only. Foreign keys are plain ones (id to id), so that what reads the
-- catalog understands them; the triggers that internal/modules/scope.go makes for each table compare account and region once a
-- statement, and call what is here if something differs.
--
-- A reference that a user writes is refused at once. A record that moves to another region may leave others behind until the
-- transaction ends: that is when a row of scope_doubt is looked at. What the cloud makes along with its whole, such as a
-- network's default rules, stays behind when the whole moves, and goes with the old object.
CREATE OR REPLACE FUNCTION iasql_internal.refuse_scope("table" text, id bigint, "column" text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    target text;
    made   text;
    bad    record;
BEGIN
    SELECT s.target, s.part_if INTO target, made FROM iasql_internal.scoped_reference s WHERE s.table_name = "table" AND s.column_name = "column";
    IF target IS NULL OR to_regclass(format('public.%I', "table")) IS NULL OR to_regclass(format('public.%I', target)) IS NULL THEN
        RETURN; -- uninstalled meanwhile
    END IF;
    EXECUTE format('SELECT n.account, n.region, p.id, p.account AS other_account, p.region AS other_region
                    FROM public.%I n JOIN public.%I p ON p.id = n.%I WHERE n.id = $1 AND (p.account <> n.account OR p.region <> n.region)%s',
                   "table", target, "column", CASE WHEN made IS NOT NULL THEN format(' AND n.%I IS NOT TRUE', made) END) INTO bad USING refuse_scope.id;
    IF bad.id IS NOT NULL THEN
        RAISE EXCEPTION 'record % of % is in %, and its % refers to record % of %, which is in %', refuse_scope.id, "table",
                CASE WHEN bad.account = bad.other_account THEN bad.region ELSE bad.account || '/' || bad.region END, "column", bad.id, target,
                CASE WHEN bad.account = bad.other_account THEN bad.other_region ELSE bad.other_account || '/' || bad.other_region END
            USING ERRCODE = '23503', SCHEMA = 'public', TABLE = "table", COLUMN = "column", CONSTRAINT = concat("table", '_', "column", '_fkey'),
                  HINT = format('A record refers to records of its own account and region. Choose another %s, or move both to one region in one transaction: UPDATE %I SET region = ….',
                                target, "table");
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_scope(text, bigint, text) IS 'Raises if a reference of a record is to another account or region. What the cloud has made along with its whole does not count: it goes with the old object of the whole, and another comes with the new one.';

CREATE OR REPLACE FUNCTION iasql_internal.other_scope("table" text, ids bigint[], columns text[], there boolean, moved bigint[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    id bigint;
    n  integer := 0;
BEGIN
    IF there AND coalesce(current_setting('iasql.restoring', true), '') <> 'on' THEN
        FOREACH id IN ARRAY ids LOOP
            n := n + 1;
            IF NOT id = ANY (moved) THEN
                PERFORM iasql_internal.refuse_scope("table", id, columns[n]);
            END IF;
        END LOOP;
    END IF;
    -- What has moved, or refers to what is not there yet.
    INSERT INTO iasql_internal.scope_doubt (table_name, record_id, column_name) SELECT "table", d.id, d.name FROM unnest(ids, columns) d (id, name);
END
$$;
COMMENT ON FUNCTION iasql_internal.other_scope(text, bigint[], text[], boolean, bigint[]) IS 'Refuses references to another account or region; of records that have moved, and while a batch is undone, when the transaction ends.';

CREATE OR REPLACE FUNCTION iasql_internal.moved("table" text, ids bigint[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    reference iasql_internal.scoped_reference;
BEGIN
    FOR reference IN SELECT * FROM iasql_internal.scoped_reference s WHERE s.target = "table" ORDER BY s.table_name, s.column_name LOOP
        IF to_regclass(format('public.%I', reference.table_name)) IS NOT NULL THEN
            EXECUTE format('INSERT INTO iasql_internal.scope_doubt (table_name, record_id, column_name)
                            SELECT %L, n.id, %L FROM public.%I n JOIN public.%I p ON p.id = n.%I WHERE p.id = ANY ($1) AND p.region <> n.region',
                           reference.table_name, reference.column_name, reference.table_name, "table", reference.column_name) USING ids;
        END IF;
    END LOOP;
END
$$;
COMMENT ON FUNCTION iasql_internal.moved(text, bigint[]) IS 'Has what refers to records that moved to another region looked at when the transaction ends.';

CREATE OR REPLACE FUNCTION iasql_internal.check_scope_doubt() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM iasql_internal.scope_doubt d WHERE d.table_name = NEW.table_name AND d.record_id = NEW.record_id AND d.column_name = NEW.column_name;
    PERFORM iasql_internal.refuse_scope(NEW.table_name, NEW.record_id, NEW.column_name);
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.check_scope_doubt() IS 'Deferred row trigger of scope_doubt: by the end of the transaction a reference must be to the record''s own account and region.';

DROP TRIGGER IF EXISTS check_scope_doubt ON iasql_internal.scope_doubt;
CREATE CONSTRAINT TRIGGER check_scope_doubt AFTER INSERT ON iasql_internal.scope_doubt
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION iasql_internal.check_scope_doubt();
