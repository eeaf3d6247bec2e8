-- What patterns name. runner.Matches says the same on the engine's side, and a test compares the two.

CREATE OR REPLACE FUNCTION iasql_internal.host_pattern(pattern text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
BEGIN
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

-- What there are records of stays looked at: nobody could tell any more whether it is there.
CREATE OR REPLACE FUNCTION iasql_internal.host_scope_keeps_records() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off SET standard_conforming_strings = on
AS $$
DECLARE
    held bigint;
BEGIN
    IF OLD.kind <> 'file' OR to_regclass('public.host_file') IS NULL THEN
        RETURN NULL;
    END IF;
    EXECUTE 'SELECT count(*) FROM public.host_file AS f WHERE f.account = $1 AND f.path ~ iasql_internal.host_pattern($2)
        AND NOT EXISTS (SELECT FROM public.host_scope AS s WHERE s.account = $1 AND s.kind = ''file'' AND f.path ~ iasql_internal.host_pattern(s.pattern))'
    INTO held USING OLD.account, OLD.pattern;
    IF held > 0 THEN
        RAISE EXCEPTION '% records of host_file are in no scope of % without %', held, OLD.account, OLD.pattern
            USING ERRCODE = '23503', TABLE = 'host_scope',
                  HINT = format('Let go of them first. Their files stay on the host: SELECT iasql_forget(''host_file'', id) FROM host_file WHERE account = %L.', OLD.account);
    END IF;
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
    UPDATE iasql_internal.listing AS l SET expected = clock_timestamp() WHERE l.account = NEW.account AND l.table_name = 'host_' || NEW.kind;
    PERFORM iasql_internal.enqueue('sync', NEW.account);
    RETURN NULL;
END;
$$;

COMMENT ON FUNCTION iasql_internal.host_scope_looks() IS
    'Trigger: what a new scope names is looked at soon.';

CREATE OR REPLACE TRIGGER host_scope_looks
    AFTER INSERT OR UPDATE OF account, kind, pattern ON public.host_scope
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
