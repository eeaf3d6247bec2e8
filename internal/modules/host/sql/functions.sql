-- What patterns name. runner.Matches and runner.MatchesName say the same on the engine's side, and a test compares them.

CREATE OR REPLACE FUNCTION iasql_internal.host_pattern(pattern text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
BEGIN
    -- Of what is no path, * stands for any characters.
    IF pattern !~ '^/' THEN
        RETURN '^' || replace(replace(regexp_replace(pattern, '([.+^$(){}|\[\]\\])', '\\\1', 'g'), '*', '.*'), '?', '.') || '$';
    END IF;
    -- The letters that mean something in a regular expression first; then ** and * by way of what no pattern has.
    RETURN '^' || replace(replace(replace(replace(replace(replace(
        regexp_replace(pattern, '([.+^$(){}|\[\]\\])', '\\\1', 'g'),
        '**/', E'\x01'), '**', E'\x02'), '*', '[^/]*'), '?', '[^/]'), E'\x01', '(.+/)?'), E'\x02', '.+') || '$';
END;
$$;

COMMENT ON FUNCTION iasql_internal.host_pattern(text) IS
    'The regular expression of a pattern of host_scope.';

CREATE OR REPLACE FUNCTION iasql_internal.host_scoped(host text, of_kind text, what text) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off SET standard_conforming_strings = on
AS $$
BEGIN
    RETURN EXISTS (SELECT FROM public.host_scope AS s WHERE s.account = host AND s.kind = of_kind AND what ~ iasql_internal.host_pattern(s.pattern));
END;
$$;

COMMENT ON FUNCTION iasql_internal.host_scoped(text, text, text) IS
    'Whether a scope of a host names something.';
REVOKE EXECUTE ON FUNCTION iasql_internal.host_scoped(text, text, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION iasql_internal.host_secret(host text, path text) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off SET standard_conforming_strings = on
AS $$
BEGIN
    RETURN EXISTS (SELECT FROM public.host_scope AS s WHERE s.account = host AND s.kind = 'file' AND s.secret AND path ~ iasql_internal.host_pattern(s.pattern));
END;
$$;

COMMENT ON FUNCTION iasql_internal.host_secret(text, text) IS
    'Whether a scope of a host says that the content of a file is secret.';
REVOKE EXECUTE ON FUNCTION iasql_internal.host_secret(text, text) FROM PUBLIC;

-- What names the rows of each table that scopes have a say in. Each module adds its own, and takes them with it.
CREATE TABLE IF NOT EXISTS iasql_internal.host_kind (
    table_name  text PRIMARY KEY,
    kind        text NOT NULL,
    column_name text
);
COMMENT ON TABLE iasql_internal.host_kind IS
    'The tables of things on hosts: the kind of host_scope that names their rows, and the column that its patterns are matched with; NULL if the rows go with the scope.';
REVOKE ALL ON iasql_internal.host_kind FROM PUBLIC;

CREATE OR REPLACE FUNCTION iasql_internal.host_in_scope() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
DECLARE
    k    iasql_internal.host_kind;
    what text;
BEGIN
    IF iasql_internal.writer_is_engine() THEN
        RETURN NEW;
    END IF;
    SELECT * INTO STRICT k FROM iasql_internal.host_kind AS h WHERE h.table_name = TG_TABLE_NAME;
    what := to_jsonb(NEW) ->> k.column_name;
    IF NOT iasql_internal.host_scoped(NEW.account, k.kind, what) THEN
        RAISE EXCEPTION '% %: no scope of host % names it, so that it is neither looked at nor made', TG_TABLE_NAME, what, NEW.account
            USING ERRCODE = '23514', SCHEMA = 'public', TABLE = TG_TABLE_NAME, COLUMN = k.column_name,
                  HINT = CASE k.kind WHEN 'file' THEN format('INSERT INTO host_scope (account, pattern) VALUES (%L, %L), or a pattern that names more.', NEW.account, what)
                         ELSE format('INSERT INTO host_scope (account, kind, pattern) VALUES (%L, %L, %L), or a pattern that names more.', NEW.account, k.kind, what) END;
    END IF;
    RETURN NEW;
END;
$$;

COMMENT ON FUNCTION iasql_internal.host_in_scope() IS
    'Trigger: what users write is what a scope of its host names.';

-- What there are records of stays looked at: nobody could tell any more whether it is there.
CREATE OR REPLACE FUNCTION iasql_internal.host_scope_keeps_records() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off SET standard_conforming_strings = on
AS $$
DECLARE
    k    iasql_internal.host_kind;
    held bigint;
BEGIN
    FOR k IN SELECT * FROM iasql_internal.host_kind AS h WHERE h.kind = OLD.kind AND h.column_name IS NOT NULL AND to_regclass('public.' || quote_ident(h.table_name)) IS NOT NULL LOOP
        EXECUTE format('SELECT count(*) FROM public.%I AS f WHERE f.account = $1 AND f.%I::text ~ iasql_internal.host_pattern($2)
            AND NOT EXISTS (SELECT FROM public.host_scope AS s WHERE s.account = $1 AND s.kind = $3 AND f.%2$I::text ~ iasql_internal.host_pattern(s.pattern))',
            k.table_name, k.column_name)
        INTO held USING OLD.account, OLD.pattern, OLD.kind;
        IF held > 0 THEN
            RAISE EXCEPTION '% records of % are in no scope of % without %', held, k.table_name, OLD.account, OLD.pattern
                USING ERRCODE = '23503', TABLE = 'host_scope',
                      HINT = format('Insert the scope that is to name them before you delete this one, or let go of them. What they stand for stays on the host: SELECT iasql_forget(%L, id) FROM %I WHERE account = %L.', k.table_name, k.table_name, OLD.account);
        END IF;
    END LOOP;
    RETURN NULL;
END;
$$;

COMMENT ON FUNCTION iasql_internal.host_scope_keeps_records() IS
    'Trigger: a scope does not go while it alone names what there are records of.';

CREATE OR REPLACE TRIGGER host_scope_keeps_records
    AFTER DELETE OR UPDATE OF account, kind, pattern ON public.host_scope
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_scope_keeps_records();

-- What is looked at has changed: it is listed by the next full cycle, however seldom it has changed before.
CREATE OR REPLACE FUNCTION iasql_internal.host_scope_looks() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
BEGIN
    INSERT INTO iasql_internal.listing AS l (account, table_name, region, tried, rules, expected)
    SELECT coalesce(NEW.account, OLD.account), h.table_name, '', clock_timestamp(), '', clock_timestamp()
    FROM iasql_internal.host_kind AS h JOIN public.iasql_tables AS t ON t."table" = h.table_name
    WHERE h.kind = coalesce(NEW.kind, OLD.kind)
    ORDER BY h.table_name
    ON CONFLICT (account, table_name, region) DO UPDATE SET expected = excluded.expected;
    PERFORM iasql_internal.enqueue('sync', coalesce(NEW.account, OLD.account));
    RETURN NULL;
END;
$$;

COMMENT ON FUNCTION iasql_internal.host_scope_looks() IS
    'Trigger: what a scope names, or has named, is looked at soon.';

CREATE OR REPLACE TRIGGER host_scope_looks
    AFTER INSERT OR DELETE OR UPDATE OF account, kind, pattern, secret ON public.host_scope
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_scope_looks();

-- A host that is deleted here stays as it is.
CREATE OR REPLACE FUNCTION iasql_internal.host_let_go() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off SET standard_conforming_strings = on
AS $$
DECLARE
    held  text;
    first text;
BEGIN
    SELECT string_agg(format('%s of %s', r.n, r.table_name), ', ' ORDER BY r.table_name), min(r.table_name) INTO held, first
    FROM (SELECT f.table_name, count(*) AS n FROM iasql_internal.filled_records() f WHERE f.account = OLD.name GROUP BY f.table_name) r;
    IF held IS NOT NULL THEN
        RAISE EXCEPTION 'host % has records: %', OLD.name, held
            USING ERRCODE = '23503', TABLE = 'host',
                  HINT = format('Let go of them first. What they stand for stays on the host: SELECT iasql_forget(%L, id) FROM %I WHERE account = %L.',
                                first, first, OLD.name);
    END IF;
    DELETE FROM public.host_scope AS s WHERE s.account = OLD.name;
    RETURN OLD;
END;
$$;

COMMENT ON FUNCTION iasql_internal.host_let_go() IS
    'Trigger: a host goes with its scopes, once nothing else is known of it.';

CREATE OR REPLACE TRIGGER host_let_go
    BEFORE DELETE ON public.host
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_let_go();

-- A host that is behind itself could never be reached.
CREATE OR REPLACE FUNCTION iasql_internal.host_jumps_end() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off SET standard_conforming_strings = on
AS $$
DECLARE
    way text[] := ARRAY[NEW.name];
    at  text := NEW.jump_host;
BEGIN
    WHILE at IS NOT NULL LOOP
        way := way || at;
        IF at = NEW.name OR cardinality(way) > 9 THEN
            RAISE EXCEPTION 'host %: its jump hosts (%) lead in a circle, or are more than 8', NEW.name, array_to_string(way, ' by way of ')
                USING ERRCODE = '23514', SCHEMA = 'public', TABLE = 'host', COLUMN = 'jump_host',
                      HINT = 'Set jump_host to NULL of the host that the engine reaches directly.';
        END IF;
        SELECT h.jump_host INTO at FROM public.host AS h WHERE h.name = at;
    END LOOP;
    RETURN NULL;
END;
$$;

COMMENT ON FUNCTION iasql_internal.host_jumps_end() IS
    'Trigger: the jump hosts of a host lead to one that is reached directly.';

CREATE OR REPLACE TRIGGER host_jumps_end
    AFTER INSERT OR UPDATE OF name, jump_host ON public.host
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_jumps_end();

-- Once it is hidden nobody could tell any more what is wrong with it. Its name has the trigger fire before that.
CREATE OR REPLACE FUNCTION iasql_internal.host_registry_auth() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
DECLARE
    auths jsonb;
    wrong text;
BEGIN
    IF NEW.registry_auth IS NULL OR NEW.registry_auth IN ('', '********') THEN
        RETURN NEW;
    END IF;
    BEGIN
        auths := NEW.registry_auth::jsonb -> 'auths';
    EXCEPTION WHEN data_exception THEN
        NULL; -- whose message would have some of it
    END;
    IF jsonb_typeof(auths) IS DISTINCT FROM 'object' THEN
        wrong := 'is no JSON object with auths';
    ELSIF auths = '{}' THEN
        wrong := 'has no registry in auths: a credential helper of yours has what it would be';
    ELSIF EXISTS (SELECT FROM jsonb_each(auths) AS a WHERE jsonb_typeof(a.value) <> 'object' OR a.value = '{}') THEN
        wrong := 'has a registry in auths without a login: a credential helper of yours has what it would be';
    ELSE
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'registry_auth of host % %', NEW.name, wrong
        USING ERRCODE = '23514', SCHEMA = 'public', TABLE = 'host', COLUMN = 'registry_auth',
              HINT = 'It is the text of a config.json: {"auths": {"ghcr.io": {"auth": "…"}}}, where auth is base64 of user:password, as docker login writes it without a credential helper.';
END;
$$;

COMMENT ON FUNCTION iasql_internal.host_registry_auth() IS
    'Trigger: what users write to registry_auth is a config.json of Docker.';
REVOKE EXECUTE ON FUNCTION iasql_internal.host_registry_auth() FROM PUBLIC;

CREATE OR REPLACE TRIGGER host_registry_auth
    BEFORE INSERT OR UPDATE OF registry_auth ON public.host
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_registry_auth();
