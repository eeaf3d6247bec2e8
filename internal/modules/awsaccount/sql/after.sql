-- Where secrets are kept, out of everyone's sight but the engine's.

CREATE TABLE IF NOT EXISTS iasql_internal.aws_secret (
    account           text PRIMARY KEY,
    secret_access_key text,
    session_token     text
);
COMMENT ON TABLE iasql_internal.aws_secret IS
    'The secrets of aws_account, by account. Read by the engine alone.';
REVOKE ALL ON iasql_internal.aws_secret FROM PUBLIC;

-- Secrets on their way there: between the trigger that hides them in the row and
-- the one that knows that the row was stored. INSERT ... ON CONFLICT DO NOTHING
-- runs the first and not the second, and must change no secret.
CREATE TABLE IF NOT EXISTS iasql_internal.aws_secret_staged (
    account           text PRIMARY KEY,
    secret_access_key text,
    session_token     text
);
COMMENT ON TABLE iasql_internal.aws_secret_staged IS
    'Secrets of aws_account within the statement that writes them. Empty at all other times.';
REVOKE ALL ON iasql_internal.aws_secret_staged FROM PUBLIC;

-- Replaces the secrets in a row that is about to be stored by asterisks. NULL and
-- '' mean that there is none; asterisks, that it stays what it is.
CREATE OR REPLACE FUNCTION iasql_internal.aws_account_hide_secrets() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    mask CONSTANT text := '********';
BEGIN
    INSERT INTO iasql_internal.aws_secret_staged AS s (account, secret_access_key, session_token)
    VALUES (
        NEW.name,
        nullif(nullif(NEW.secret_access_key, mask), ''),
        nullif(nullif(NEW.session_token, mask), '')
    )
    ON CONFLICT (account) DO UPDATE SET
        secret_access_key = coalesce(excluded.secret_access_key, s.secret_access_key),
        session_token = coalesce(excluded.session_token, s.session_token);
    NEW.secret_access_key := CASE WHEN NEW.secret_access_key <> '' THEN mask END;
    NEW.session_token := CASE WHEN NEW.session_token <> '' THEN mask END;
    RETURN NEW;
END;
$$;

COMMENT ON FUNCTION iasql_internal.aws_account_hide_secrets() IS
    'Trigger: puts asterisks in place of secrets before a row of aws_account is stored.';

-- Keeps the secrets of a row that has been stored.
CREATE OR REPLACE FUNCTION iasql_internal.aws_account_keep_secrets() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM iasql_internal.aws_secret WHERE account = OLD.name;
        RETURN NULL;
    END IF;
    IF TG_OP = 'UPDATE' AND OLD.name <> NEW.name THEN
        UPDATE iasql_internal.aws_secret SET account = NEW.name WHERE account = OLD.name;
    END IF;
    INSERT INTO iasql_internal.aws_secret AS s (account, secret_access_key, session_token)
    SELECT g.account, g.secret_access_key, g.session_token
    FROM iasql_internal.aws_secret_staged AS g
    WHERE g.account = NEW.name
    ON CONFLICT (account) DO UPDATE SET
        secret_access_key = CASE WHEN NEW.secret_access_key IS NOT NULL THEN coalesce(excluded.secret_access_key, s.secret_access_key) END,
        session_token = CASE WHEN NEW.session_token IS NOT NULL THEN coalesce(excluded.session_token, s.session_token) END;
    RETURN NULL;
END;
$$;

COMMENT ON FUNCTION iasql_internal.aws_account_keep_secrets() IS
    'Trigger: moves the secrets of a stored row of aws_account to iasql_internal.aws_secret.';

CREATE OR REPLACE FUNCTION iasql_internal.aws_account_forget_staged() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    DELETE FROM iasql_internal.aws_secret_staged;
    RETURN NULL;
END;
$$;

COMMENT ON FUNCTION iasql_internal.aws_account_forget_staged() IS
    'Trigger: removes secrets whose rows were not stored.';

-- Only where a secret or the name is assigned: a new default account, which is
-- an UPDATE within the statement, must not clear what is staged.
CREATE OR REPLACE TRIGGER aws_account_hide_secrets
    BEFORE INSERT OR UPDATE OF name, secret_access_key, session_token ON public.aws_account
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.aws_account_hide_secrets();

CREATE OR REPLACE TRIGGER aws_account_keep_secrets
    AFTER INSERT OR DELETE OR UPDATE OF name, secret_access_key, session_token ON public.aws_account
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.aws_account_keep_secrets();

CREATE OR REPLACE TRIGGER aws_account_zz_forget_staged
    AFTER INSERT OR UPDATE OF name, secret_access_key, session_token ON public.aws_account
    FOR EACH STATEMENT EXECUTE FUNCTION iasql_internal.aws_account_forget_staged();

-- The default account: the first one is, and a new one takes over from the old.

CREATE OR REPLACE FUNCTION iasql_internal.aws_account_first_default() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    NEW.is_default := NEW.is_default OR NOT EXISTS (SELECT FROM public.aws_account AS a WHERE a.is_default);
    RETURN NEW;
END;
$$;

COMMENT ON FUNCTION iasql_internal.aws_account_first_default() IS
    'Trigger: the first account is the default.';

CREATE OR REPLACE FUNCTION iasql_internal.aws_account_one_default() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- Two transactions that set a default each do not see each other's.
    PERFORM pg_advisory_xact_lock(hashtextextended('aws_account.is_default', 0));
    UPDATE public.aws_account AS a
    SET is_default = false
    WHERE a.is_default
        AND a.id <> NEW.id
        -- An earlier row of the same statement may have won already.
        AND EXISTS (SELECT FROM public.aws_account AS n WHERE n.id = NEW.id AND n.is_default);
    RETURN NULL;
END;
$$;

COMMENT ON FUNCTION iasql_internal.aws_account_one_default() IS
    'Trigger: a new default account takes over from the old one.';

CREATE OR REPLACE TRIGGER aws_account_first_default
    BEFORE INSERT ON public.aws_account
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.aws_account_first_default();

CREATE OR REPLACE TRIGGER aws_account_one_default
    AFTER INSERT OR UPDATE OF is_default ON public.aws_account
    FOR EACH ROW WHEN (NEW.is_default)
    EXECUTE FUNCTION iasql_internal.aws_account_one_default();

-- The default region of an account: a new one takes over from the old, and a
-- region that appears later does not, whatever the cloud takes for the default.

CREATE OR REPLACE FUNCTION iasql_internal.aws_regions_keep_default() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    NEW.is_default := NEW.is_default
        AND NOT EXISTS (SELECT FROM public.aws_regions AS r WHERE r.account = NEW.account AND r.is_default);
    RETURN NEW;
END;
$$;

COMMENT ON FUNCTION iasql_internal.aws_regions_keep_default() IS
    'Trigger: a region that appears does not become the default where there is one.';

CREATE OR REPLACE FUNCTION iasql_internal.aws_regions_one_default() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('aws_regions.is_default ' || NEW.account, 0));
    UPDATE public.aws_regions AS r
    SET is_default = false
    WHERE r.account = NEW.account
        AND r.is_default
        AND r.id <> NEW.id
        AND EXISTS (SELECT FROM public.aws_regions AS n WHERE n.id = NEW.id AND n.is_default);
    RETURN NULL;
END;
$$;

COMMENT ON FUNCTION iasql_internal.aws_regions_one_default() IS
    'Trigger: a new default region takes over from the account''s old one.';

CREATE OR REPLACE TRIGGER aws_regions_keep_default
    BEFORE INSERT ON public.aws_regions
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.aws_regions_keep_default();

CREATE OR REPLACE TRIGGER aws_regions_one_default
    AFTER UPDATE OF is_default ON public.aws_regions
    FOR EACH ROW WHEN (NEW.is_default)
    EXECUTE FUNCTION iasql_internal.aws_regions_one_default();

-- With no credentials of its own it uses those of the engine's environment.
INSERT INTO public.aws_account (name, is_default)
VALUES ('default', true)
ON CONFLICT DO NOTHING;
