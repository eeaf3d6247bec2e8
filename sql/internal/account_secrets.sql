-- Secrets of the tables that define accounts, with which the engine logs in (R16). They take effect at once and belong to
-- no change that is pushed: they are not in the vault of records (vault.sql), but by account. Triggers of each such
-- table, made from its description (VaultDDL in internal/modules), have the columns as their arguments. Names of accounts
-- are one set, so that all secrets of an account are renamed and deleted with it, those that modules keep (kept_secret) too.

-- Between this trigger, which hides secrets in the row, and the one that knows that the row was stored, they are staged:
-- INSERT ... ON CONFLICT DO NOTHING runs the first and not the second, and must change no secret. NULL and '' mean that
-- there is none; asterisks, that it stays what it is.
CREATE OR REPLACE FUNCTION iasql_internal.hide_account_secrets() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    mask CONSTANT text := '********';
    after CONSTANT jsonb := to_jsonb(NEW);
    before jsonb;
    name   text;
    said   text;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        before := to_jsonb(OLD);
    END IF;
    FOREACH name IN ARRAY TG_ARGV LOOP
        said := after ->> name;
        -- The engine logs in with it at once, and the old one is not kept: rolling back could not bring it back.
        IF (nullif(said, mask) <> '' OR said IS NULL AND before ->> name IS NOT NULL) AND iasql_internal.open_batch() IS NOT NULL THEN
            RAISE EXCEPTION '% of % % takes effect at once and cannot be part of batch %', name, TG_TABLE_NAME, NEW.name, iasql_internal.open_batch()
                USING ERRCODE = 'IA020', TABLE = TG_TABLE_NAME, COLUMN = name, HINT = 'CALL iasql_commit() or iasql_rollback() first, then set it.';
        END IF;
        INSERT INTO iasql_internal.account_secret_staged AS s (table_name, account, column_name, value)
        VALUES (TG_TABLE_NAME, NEW.name, name, nullif(nullif(said, mask), ''))
        ON CONFLICT (table_name, account, column_name) DO UPDATE SET value = coalesce(excluded.value, s.value);
        NEW := jsonb_populate_record(NEW, jsonb_build_object(name, CASE WHEN said <> '' THEN mask END));
    END LOOP;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION iasql_internal.hide_account_secrets() IS 'Row trigger: puts asterisks in place of an account''s secrets before its row is stored.';

CREATE OR REPLACE FUNCTION iasql_internal.keep_account_secrets() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM iasql_internal.account_secret s WHERE s.account = OLD.name;
        DELETE FROM iasql_internal.kept_secret s WHERE s.account = OLD.name;
        RETURN NULL;
    END IF;
    IF TG_OP = 'UPDATE' AND OLD.name <> NEW.name THEN
        UPDATE iasql_internal.account_secret s SET account = NEW.name WHERE s.account = OLD.name;
        UPDATE iasql_internal.kept_secret s SET account = NEW.name WHERE s.account = OLD.name;
    END IF;
    INSERT INTO iasql_internal.account_secret (table_name, account, column_name, value)
    SELECT g.table_name, g.account, g.column_name, g.value
    FROM iasql_internal.account_secret_staged g
    WHERE g.table_name = TG_TABLE_NAME AND g.account = NEW.name AND g.value IS NOT NULL
    ON CONFLICT (table_name, account, column_name) DO UPDATE SET value = excluded.value;
    DELETE FROM iasql_internal.account_secret s
    WHERE s.table_name = TG_TABLE_NAME AND s.account = NEW.name AND to_jsonb(NEW) ->> s.column_name IS NULL;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.keep_account_secrets() IS 'Row trigger: keeps the secrets of an account whose row has been stored.';

CREATE OR REPLACE FUNCTION iasql_internal.forget_staged_account_secrets() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM iasql_internal.account_secret_staged s WHERE s.table_name = TG_TABLE_NAME;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.forget_staged_account_secrets() IS 'Statement trigger: removes secrets of accounts whose rows were not stored.';
