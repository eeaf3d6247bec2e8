-- The version of the rules (R19): a cycle that was decided by other rules begins anew.
--
-- It is asked for several times in each push cycle, and there may be many thousands of rules, so that they are not read for it. Each
-- statement that changes rules notes by how much it changes the sum of their hashes: a version that was there before is the same
-- again. A counter would be one row that transactions of users wait for each other at; rows of their own they only add.
--
-- Which tables are installed and imported has a version in the same way: there may be more than a thousand.
DROP FUNCTION IF EXISTS iasql_internal.protection_version();

CREATE OR REPLACE FUNCTION iasql_internal.rule_hash("table" text, rule jsonb) RETURNS bigint
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
RETURN hashtextextended(concat("table", ' ', rule - ARRAY['id', 'by', 'at']), 0);
COMMENT ON FUNCTION iasql_internal.rule_hash(text, jsonb) IS 'What a row adds to the version of the rules.';

CREATE OR REPLACE FUNCTION iasql_internal.note_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    change numeric := 0;
    gone   numeric;
BEGIN
    IF TG_OP IN ('INSERT', 'UPDATE') THEN
        change := (SELECT coalesce(sum(iasql_internal.rule_hash(TG_TABLE_NAME, to_jsonb(n))), 0) FROM new_rows n);
    END IF;
    IF TG_OP IN ('DELETE', 'UPDATE') THEN
        change := change - (SELECT coalesce(sum(iasql_internal.rule_hash(TG_TABLE_NAME, to_jsonb(o))), 0) FROM old_rows o);
    ELSIF TG_OP = 'TRUNCATE' THEN
        EXECUTE format('SELECT coalesce(sum(iasql_internal.rule_hash(%L, to_jsonb(o))), 0) FROM %I.%I o', TG_TABLE_NAME, TG_TABLE_SCHEMA, TG_TABLE_NAME) INTO gone;
        change := -gone;
    END IF;
    IF change <> 0 THEN
        IF TG_ARGV[0] = 'rules' THEN
            INSERT INTO iasql_internal.rules_change (delta) VALUES (change);
        ELSE
            INSERT INTO iasql_internal.tables_change (delta) VALUES (change);
        END IF;
    END IF;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.note_change() IS 'Statement trigger of the tables that have rules, and of those that say which tables there are: notes how their version changes.';

-- ALWAYS: in sessions of replication and restoring, too (manual, ALTER TABLE).
DO $triggers$
DECLARE
    noted record;
BEGIN
    FOR noted IN
        SELECT * FROM (VALUES
            ('public.iasql_mode', 'rules'), ('public.iasql_protection', 'rules'), ('public.iasql_ignore', 'rules'), ('iasql_internal.forgotten', 'rules'), ('iasql_internal.adopted', 'rules'),
            ('iasql_internal.managed_table', 'tables'), ('iasql_internal.imported', 'tables')) v (of, version)
    LOOP
        EXECUTE format('CREATE OR REPLACE TRIGGER iasql_%2$s_insert AFTER INSERT ON %1$s REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION iasql_internal.note_change(%2$L)', noted.of, noted.version);
        EXECUTE format('CREATE OR REPLACE TRIGGER iasql_%2$s_update AFTER UPDATE ON %1$s REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION iasql_internal.note_change(%2$L)', noted.of, noted.version);
        EXECUTE format('CREATE OR REPLACE TRIGGER iasql_%2$s_delete AFTER DELETE ON %1$s REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION iasql_internal.note_change(%2$L)', noted.of, noted.version);
        EXECUTE format('CREATE OR REPLACE TRIGGER iasql_%2$s_truncate BEFORE TRUNCATE ON %1$s FOR EACH STATEMENT EXECUTE FUNCTION iasql_internal.note_change(%2$L)', noted.of, noted.version);
        EXECUTE format('ALTER TABLE %1$s ENABLE ALWAYS TRIGGER iasql_%2$s_insert, ENABLE ALWAYS TRIGGER iasql_%2$s_update, ENABLE ALWAYS TRIGGER iasql_%2$s_delete, ENABLE ALWAYS TRIGGER iasql_%2$s_truncate', noted.of, noted.version);
    END LOOP;
END
$triggers$;
DROP FUNCTION IF EXISTS iasql_internal.note_rules();

-- In PL/pgSQL: a function in SQL would be planned anew each time.
CREATE OR REPLACE FUNCTION iasql_internal.rules_version() RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT coalesce(sum(c.delta), 0) || ':' || (SELECT s.value FROM public.iasql_settings s WHERE s.name = 'drift') FROM iasql_internal.rules_change c);
END
$$;
COMMENT ON FUNCTION iasql_internal.rules_version() IS 'Changes whenever the rules do by which the engine decides: modes, what is protected, ignored, forgotten or asked for, and the setting drift.';

CREATE OR REPLACE FUNCTION iasql_internal.tables_version() RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT coalesce(sum(c.delta), 0) FROM iasql_internal.tables_change c);
END
$$;
COMMENT ON FUNCTION iasql_internal.tables_version() IS 'Changes whenever it does which tables are installed, and which of them were imported.';

DROP FUNCTION IF EXISTS iasql_internal.fold_rules_changes();
CREATE OR REPLACE FUNCTION iasql_internal.fold_changes() RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    WITH folded AS (
        DELETE FROM iasql_internal.rules_change c WHERE (SELECT count(*) > 100 FROM iasql_internal.rules_change) RETURNING c.delta
    )
    INSERT INTO iasql_internal.rules_change (delta) SELECT sum(f.delta) FROM folded f HAVING count(*) > 0;
    WITH folded AS (
        DELETE FROM iasql_internal.tables_change c WHERE (SELECT count(*) > 100 FROM iasql_internal.tables_change) RETURNING c.delta
    )
    INSERT INTO iasql_internal.tables_change (delta) SELECT sum(f.delta) FROM folded f HAVING count(*) > 0;
END;
COMMENT ON FUNCTION iasql_internal.fold_changes() IS 'Makes many rows of rules_change and of tables_change one; the versions stay.';
