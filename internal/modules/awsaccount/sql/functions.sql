-- The default account: the first one is, and a new one takes over from the old.

CREATE OR REPLACE FUNCTION iasql_internal.aws_account_first_default() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
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
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
BEGIN
    PERFORM iasql_internal.refuse_untrusted('{aws_account}');
    -- Two transactions that set a default each do not see each other's, and so must not run at once. Of the modes that
    -- exclude each other this is the one that nobody without rights on the table can take, or hold up: to mention a table is
    -- to lock it, whatever one may do with it, but only in modes that do not conflict with this one (manual, section 13.3.1).
    LOCK TABLE iasql_internal.account IN SHARE UPDATE EXCLUSIVE MODE;
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

-- What people have said of a region is theirs, and outlives its row: a region that the cloud does not show for a while comes
-- back as it was left.

CREATE TABLE IF NOT EXISTS iasql_internal.aws_region_choice (
    account    text NOT NULL,
    region     text NOT NULL,
    is_enabled boolean NOT NULL,
    is_default boolean NOT NULL,
    PRIMARY KEY (account, region)
);
COMMENT ON TABLE iasql_internal.aws_region_choice IS
    'What people have said of regions that the cloud does not show now: those that are disabled, and the default one.';
REVOKE ALL ON iasql_internal.aws_region_choice FROM PUBLIC;

CREATE OR REPLACE FUNCTION iasql_internal.aws_regions_keep_choice() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
BEGIN
    -- With the account go its choices.
    IF EXISTS (SELECT FROM public.aws_account AS a WHERE a.name = OLD.account) THEN
        INSERT INTO iasql_internal.aws_region_choice AS c (account, region, is_enabled, is_default)
        VALUES (OLD.account, OLD.region, OLD.is_enabled, OLD.is_default)
        ON CONFLICT (account, region) DO UPDATE SET is_enabled = excluded.is_enabled, is_default = excluded.is_default;
    END IF;
    RETURN NULL;
END;
$$;

COMMENT ON FUNCTION iasql_internal.aws_regions_keep_choice() IS
    'Trigger: keeps what people have said of a region whose row goes.';

CREATE OR REPLACE TRIGGER aws_regions_keep_choice
    AFTER DELETE ON public.aws_regions
    FOR EACH ROW WHEN (OLD.is_default OR NOT OLD.is_enabled)
    EXECUTE FUNCTION iasql_internal.aws_regions_keep_choice();

CREATE OR REPLACE FUNCTION iasql_internal.aws_account_move_choices() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM iasql_internal.aws_region_choice AS c WHERE c.account = OLD.name;
    ELSE
        UPDATE iasql_internal.aws_region_choice AS c SET account = NEW.name WHERE c.account = OLD.name;
    END IF;
    RETURN NULL;
END;
$$;

COMMENT ON FUNCTION iasql_internal.aws_account_move_choices() IS
    'Trigger: what people have said of an account''s regions has the account''s name, and goes with it.';

CREATE OR REPLACE TRIGGER aws_account_move_choices
    AFTER DELETE OR UPDATE OF name ON public.aws_account
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.aws_account_move_choices();

-- The default region of an account: a new one takes over from the old, and a
-- region that appears later does not, whatever the cloud takes for the default.
-- One that comes back is what it was.

CREATE OR REPLACE FUNCTION iasql_internal.aws_regions_keep_default() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
DECLARE
    choice iasql_internal.aws_region_choice;
BEGIN
    DELETE FROM iasql_internal.aws_region_choice AS c
    WHERE c.account = NEW.account AND c.region = NEW.region
    RETURNING * INTO choice;
    IF FOUND THEN
        NEW.is_enabled := choice.is_enabled;
        NEW.is_default := choice.is_default;
    END IF;
    NEW.is_default := NEW.is_default
        AND NOT EXISTS (SELECT FROM public.aws_regions AS r WHERE r.account = NEW.account AND r.is_default)
        AND NOT EXISTS (SELECT FROM iasql_internal.aws_region_choice AS c WHERE c.account = NEW.account AND c.is_default);
    RETURN NEW;
END;
$$;

COMMENT ON FUNCTION iasql_internal.aws_regions_keep_default() IS
    'Trigger: a region that appears does not become the default where there is one, and one that comes back is as enabled, and as much the default, as it was.';

CREATE OR REPLACE FUNCTION iasql_internal.aws_regions_one_default() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
BEGIN
    PERFORM iasql_internal.refuse_untrusted('{aws_regions}');
    LOCK TABLE iasql_internal.account IN SHARE UPDATE EXCLUSIVE MODE;
    UPDATE iasql_internal.aws_region_choice AS c
    SET is_default = false
    WHERE c.account = NEW.account AND c.is_default;
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

-- Which identities of the engine's host an account may use is the administrators' to say: a profile or a role can be
-- anything that the engine can be.

CREATE TABLE IF NOT EXISTS public.aws_identity_allowed (
    id          bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    usable_by   text NOT NULL DEFAULT 'iasql_user',
    role_arn    text CONSTRAINT aws_identity_allowed_role_arn_check CHECK (role_arn LIKE 'arn:aws%:iam::%:role/%'),
    profile     text CONSTRAINT aws_identity_allowed_profile_check CHECK (profile <> ''),
    environment boolean NOT NULL DEFAULT false,
    CONSTRAINT aws_identity_allowed_one_check CHECK (num_nonnulls(role_arn, profile) + environment::integer = 1)
);
COMMENT ON TABLE public.aws_identity_allowed IS
    'The identities that accounts may have beside access keys of their own, one a row: who may set them, and which. Members of iasql_engine write it, and may set any.';
COMMENT ON COLUMN public.aws_identity_allowed.usable_by IS 'The role whose members may set it in aws_account.';
COMMENT ON COLUMN public.aws_identity_allowed.role_arn IS 'The ARN of a role to assume; * stands for any letters, such as arn:aws:iam::123456789012:role/team-a-*.';
COMMENT ON COLUMN public.aws_identity_allowed.profile IS 'A profile of the shared configuration files on the engine''s machine.';
COMMENT ON COLUMN public.aws_identity_allowed.environment IS 'The credentials of the engine''s own environment, which an account has that names nothing else.';
GRANT SELECT ON public.aws_identity_allowed TO iasql_reader;
GRANT SELECT ON SEQUENCE public.aws_identity_allowed_id_seq TO iasql_reader;

CREATE OR REPLACE FUNCTION iasql_internal.aws_account_check_identity() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
DECLARE
    who text := iasql_internal.writer();
    refused text;
BEGIN
    NEW.access_key_id := nullif(NEW.access_key_id, '');
    NEW.profile := nullif(NEW.profile, '');
    IF pg_has_role(who, 'iasql_engine', 'MEMBER') THEN
        RETURN NEW;
    END IF;
    IF NEW.role_arn IS NOT NULL AND (TG_OP = 'INSERT' OR NEW.role_arn IS DISTINCT FROM OLD.role_arn OR NEW.name <> OLD.name)
       AND NOT EXISTS (SELECT FROM public.aws_identity_allowed i
                       WHERE pg_has_role(who, (SELECT r.oid FROM pg_roles r WHERE r.rolname = i.usable_by), 'MEMBER')
                         AND NEW.role_arn LIKE replace(replace(replace(replace(i.role_arn, '\', '\\'), '%', '\%'), '_', '\_'), '*', '%')) THEN
        refused := 'role_arn ' || NEW.role_arn;
    ELSIF NEW.profile IS NOT NULL AND (TG_OP = 'INSERT' OR NEW.profile IS DISTINCT FROM OLD.profile)
       AND NOT EXISTS (SELECT FROM public.aws_identity_allowed i
                       WHERE pg_has_role(who, (SELECT r.oid FROM pg_roles r WHERE r.rolname = i.usable_by), 'MEMBER') AND NEW.profile = i.profile) THEN
        refused := 'profile ' || NEW.profile;
    ELSIF NEW.access_key_id IS NULL AND NEW.profile IS NULL
       AND (TG_OP = 'INSERT' OR OLD.access_key_id IS NOT NULL OR OLD.profile IS NOT NULL)
       -- A role that is allowed is assumed with these.
       AND NEW.role_arn IS NULL
       AND NOT EXISTS (SELECT FROM public.aws_identity_allowed i
                       WHERE pg_has_role(who, (SELECT r.oid FROM pg_roles r WHERE r.rolname = i.usable_by), 'MEMBER') AND i.environment) THEN
        refused := 'the credentials of the engine''s environment, which an account uses that has no access key';
    ELSIF TG_OP = 'UPDATE' AND OLD.role_arn IS NOT NULL AND NEW.role_arn IS NULL AND NEW.access_key_id IS NULL AND NEW.profile IS NULL
       AND NOT EXISTS (SELECT FROM public.aws_identity_allowed i
                       WHERE pg_has_role(who, (SELECT r.oid FROM pg_roles r WHERE r.rolname = i.usable_by), 'MEMBER') AND i.environment) THEN
        refused := 'the credentials of the engine''s environment, which an account uses that assumes no role';
    END IF;
    IF refused IS NOT NULL THEN
        RAISE EXCEPTION 'account % may not use %', NEW.name, refused
            USING ERRCODE = '42501', TABLE = 'aws_account',
                  HINT = 'Give it an access key of its own, or ask an administrator for a row of aws_identity_allowed.';
    END IF;
    RETURN NEW;
END;
$$;

COMMENT ON FUNCTION iasql_internal.aws_account_check_identity() IS
    'Trigger: an account uses only identities that an administrator has allowed its writer.';

CREATE OR REPLACE TRIGGER aws_account_check_identity
    BEFORE INSERT OR UPDATE ON public.aws_account
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.aws_account_check_identity();

-- An account that is deleted here stays in AWS. Its regions, which nobody can delete there, go along; everything else is
-- let go of first, knowingly.
CREATE OR REPLACE FUNCTION iasql_internal.aws_account_let_go() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off SET standard_conforming_strings = on
AS $$
DECLARE
    held  text;
    first text;
BEGIN
    SELECT string_agg(format('%s of %s', r.n, r.table_name), ', ' ORDER BY r.table_name), min(r.table_name) INTO held, first
    FROM (SELECT f.table_name, count(*) AS n FROM iasql_internal.filled_records() f
          WHERE f.account = OLD.name AND f.table_name <> 'aws_regions' GROUP BY f.table_name) r;
    IF held IS NOT NULL THEN
        RAISE EXCEPTION 'account % has records: %', OLD.name, held
            USING ERRCODE = '23503', TABLE = 'aws_account',
                  HINT = format('Let go of them first. Their objects stay in AWS: SELECT iasql_forget(%L, id) FROM %I WHERE account = %L, or iasql_uninstall() for modules that no other account needs.',
                                first, first, OLD.name);
    END IF;
    INSERT INTO iasql_internal.reverting DEFAULT VALUES ON CONFLICT DO NOTHING;
    DELETE FROM public.aws_regions r WHERE r.account = OLD.name;
    DELETE FROM iasql_internal.reverting r WHERE r.xid = pg_current_xact_id();
    RETURN OLD;
END;
$$;

COMMENT ON FUNCTION iasql_internal.aws_account_let_go() IS
    'Trigger: an account goes with its regions, once nothing else is known of it.';

CREATE OR REPLACE TRIGGER aws_account_let_go
    BEFORE DELETE ON public.aws_account
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.aws_account_let_go();
