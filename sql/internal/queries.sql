-- Queries that people save: whoever has saved one may change it, and he alone. A query says nothing of a record, so that what
-- is shared is for everybody who may read the installation; what it finds is what the rights of its reader let it find.
DO $$
DECLARE
    mine CONSTANT text := '(owner = (SELECT iasql_internal.writer()))';
    p record;
BEGIN
    FOR p IN
        SELECT * FROM (VALUES ('SELECT', 'USING (shared OR ' || mine || ')'), ('INSERT', 'WITH CHECK ' || mine), ('UPDATE', 'USING ' || mine), ('DELETE', 'USING ' || mine)) v (command, condition)
    LOOP
        EXECUTE format('DROP POLICY IF EXISTS %I ON public.iasql_queries', 'iasql_' || lower(p.command));
        EXECUTE format('CREATE POLICY %I ON public.iasql_queries FOR %s %s', 'iasql_' || lower(p.command), p.command, p.condition);
    END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION iasql_internal.check_query() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF (SELECT count(*) FROM public.iasql_queries q WHERE q.owner = NEW.owner) >= 1000 THEN
        RAISE EXCEPTION 'role % has 1,000 saved queries', NEW.owner
            USING ERRCODE = 'IA060', TABLE = 'iasql_queries', HINT = 'DELETE FROM iasql_queries those that are not needed any more.';
    END IF;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION iasql_internal.check_query() IS 'Bounds how many queries a role saves.';
CREATE OR REPLACE TRIGGER iasql_check BEFORE INSERT ON public.iasql_queries
FOR EACH ROW EXECUTE FUNCTION iasql_internal.check_query();
