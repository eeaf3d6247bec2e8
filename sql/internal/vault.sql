-- Secrets leave their row in the statement that writes them (R16). A trigger of each table with write-only columns, made
-- from its description (VaultDDL in internal/modules), hands every such value to iasql_internal.hide, which stages it; the
-- audit trigger, which knows what was stored, moves it to the vault, where it belongs to the audit row that wants it. It
-- goes when that is settled: pushed, rolled back or replaced.

-- Returns what the row is to show. NULL takes an earlier value back; asterisks leave it as it is.
CREATE OR REPLACE FUNCTION iasql_internal.hide("table" text, "column" text, id bigint, key text, is_new boolean, was text, value text, condition text)
RETURNS text
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    mask CONSTANT text := '********';
    level integer := pg_trigger_depth();
    valid boolean;
BEGIN
    IF value = mask THEN
        IF is_new THEN
            RETURN NULL; -- what it stands for is not known here
        END IF;
        -- INSERT … ON CONFLICT DO UPDATE SET c = EXCLUDED.c: the row that was to be inserted has been staged.
        UPDATE iasql_internal.vault_staged s SET record_id = hide.id
        WHERE s.table_name = hide."table" AND s.column_name = hide."column" AND s.depth = level
          AND (s.record_id = hide.id OR s.key = hide.key);
        RETURN CASE WHEN FOUND THEN mask ELSE was END;
    ELSIF value IS NULL AND (is_new OR was IS NULL) THEN
        RETURN NULL;
    END IF;
    IF value IS NOT NULL AND condition <> '' THEN
        EXECUTE format('SELECT %s FROM (SELECT $1 AS %I) v', condition, "column") INTO valid USING value;
        IF NOT valid THEN
            RAISE EXCEPTION 'new row for relation "%" violates check constraint "%"', "table", "table" || '_' || "column" || '_check'
                USING ERRCODE = '23514', SCHEMA = 'public', TABLE = "table", COLUMN = "column", CONSTRAINT = "table" || '_' || "column" || '_check',
                      DETAIL = format('The value of column %s must meet: %s', "column", condition); -- never the value itself
        END IF;
    END IF;
    INSERT INTO iasql_internal.vault_staged AS s (depth, table_name, record_id, key, column_name, value)
    VALUES (level, hide."table", hide.id, hide.key, hide."column", hide.value)
    ON CONFLICT (table_name, record_id, column_name, depth) DO UPDATE SET value = excluded.value, key = excluded.key;
    RETURN CASE WHEN value IS NOT NULL THEN mask END;
END
$$;
COMMENT ON FUNCTION iasql_internal.hide(text, text, bigint, text, boolean, text, text, text) IS 'Stages a secret that is being written, and returns what its row shows instead.';

CREATE OR REPLACE FUNCTION iasql_internal.clear_staged() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM iasql_internal.vault_staged s WHERE s.table_name = TG_TABLE_NAME AND s.depth >= pg_trigger_depth();
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.clear_staged() IS 'Statement trigger: what an earlier statement has staged and not stored is nobody''s.';

-- What the statement has staged, by record: {"5": {"value": "********"}}. For the audit trigger.
CREATE OR REPLACE FUNCTION iasql_internal.staged("table" text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN coalesce((SELECT jsonb_object_agg(r.record_id, r.columns)
                     FROM (SELECT s.record_id, jsonb_object_agg(s.column_name, CASE WHEN s.value IS NOT NULL THEN '********' END) AS columns
                           FROM iasql_internal.vault_staged s WHERE s.table_name = staged."table" AND s.depth = pg_trigger_depth()
                           GROUP BY s.record_id) r), '{}');
END
$$;
COMMENT ON FUNCTION iasql_internal.staged(text) IS 'The secrets that the present statement has staged, masked.';

CREATE OR REPLACE FUNCTION iasql_internal.keep_staged("table" text, at timestamptz) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    WITH kept AS (
        DELETE FROM iasql_internal.vault_staged s USING public.iasql_audit_log l
        WHERE s.table_name = keep_staged."table" AND s.depth = pg_trigger_depth()
          AND l.table_name = s.table_name AND l.record_id = s.record_id AND NOT l.settled AND l.secret
          AND l.xid = pg_current_xact_id() AND l.ts = at
        RETURNING l.id, s.record_id, s.column_name, s.value
    )
    INSERT INTO iasql_internal.vault (audit_id, table_name, record_id, column_name, value)
    SELECT k.id, keep_staged."table", k.record_id, k.column_name, k.value FROM kept k;
END
$$;
COMMENT ON FUNCTION iasql_internal.keep_staged(text, timestamptz) IS 'Moves what was staged for the audit rows of the present statement to the vault.';

CREATE OR REPLACE FUNCTION iasql_internal.forget_secret() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM iasql_internal.vault v WHERE v.audit_id = OLD.id;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.forget_secret() IS 'Row trigger of the audit log: a settled change needs its secret no more.';
CREATE OR REPLACE TRIGGER iasql_vault_settled AFTER UPDATE OF settled ON public.iasql_audit_log
    FOR EACH ROW WHEN (NEW.settled AND NEW.secret AND NOT OLD.settled) EXECUTE FUNCTION iasql_internal.forget_secret();
CREATE OR REPLACE TRIGGER iasql_vault_deleted AFTER DELETE ON public.iasql_audit_log
    FOR EACH ROW WHEN (OLD.secret) EXECUTE FUNCTION iasql_internal.forget_secret();

-- For databases of a version that left secrets in their rows until they were pushed.
CREATE OR REPLACE FUNCTION iasql_internal.empty_rows("table" text, columns text[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    name  text;
    moved bigint := 0;
    n     bigint;
BEGIN
    EXECUTE format('ALTER TABLE public.%I DISABLE TRIGGER iasql_audit_update', "table"); -- to the log they were masked already
    FOREACH name IN ARRAY columns LOOP
        EXECUTE format($sql$
            WITH clear AS (
                SELECT t.id, t.%1$I AS value,
                       (SELECT max(l.id) FROM public.iasql_audit_log l
                        WHERE l.table_name = %2$L AND l.record_id = t.id AND NOT l.settled AND l.change -> 'change' ? %3$L) AS wanted
                FROM public.%2$I t WHERE t.%1$I <> '********'
            ), marked AS (
                UPDATE public.iasql_audit_log l SET secret = true FROM clear c WHERE l.id = c.wanted
            ), kept AS (
                INSERT INTO iasql_internal.vault (audit_id, table_name, record_id, column_name, value)
                SELECT c.wanted, %2$L, c.id, %3$L, c.value FROM clear c WHERE c.wanted IS NOT NULL
                ON CONFLICT DO NOTHING
            )
            UPDATE public.%2$I t SET %1$I = CASE WHEN c.wanted IS NOT NULL THEN '********' END FROM clear c WHERE t.id = c.id
            $sql$, name, "table", name);
        GET DIAGNOSTICS n = ROW_COUNT;
        moved := moved + n;
    END LOOP;
    EXECUTE format('ALTER TABLE public.%I ENABLE TRIGGER iasql_audit_update', "table");
    RETURN moved;
END
$$;
COMMENT ON FUNCTION iasql_internal.empty_rows(text, text[]) IS 'Moves secrets that stand in rows to the vault; returns how many.';
