-- No code of a user's ever runs with the system's rights (R20). In a session of the engine's, code that anybody else may
-- change must not run at all, with whatever rights: a trigger could prepare a statement under a name that the engine uses
-- later, set search_path for the rest of the session, or queue a deferred trigger, which PostgreSQL before version 18 runs
-- at COMMIT as whoever the session is then. So the system writes a managed table only when all that is attached to it
-- belongs to roles that have the system's rights anyway: members of iasql_engine, and superusers.

CREATE OR REPLACE FUNCTION iasql_internal.trusted(role oid) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
RETURN pg_has_role(role, 'iasql_engine', 'MEMBER');
COMMENT ON FUNCTION iasql_internal.trusted(oid) IS 'Whether a role has the system''s rights, so that its code may run with them.';

-- The tables that writes of these reach: parts that go with the whole, and tables whose foreign keys act (ON DELETE CASCADE
-- and the like: RI_FKey_cascade_del and its kind are triggers of the referenced table).
CREATE OR REPLACE FUNCTION iasql_internal.reached(tables text[]) RETURNS SETOF oid
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
-- In the catalogs of a large installation only what these tables have is looked at. (Written in plpgsql, it is planned once a session.)
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    RETURN QUERY
    WITH RECURSIVE reach (class) AS (
        SELECT to_regclass(format('public.%I', t))::oid FROM unnest(tables) t WHERE to_regclass(format('public.%I', t)) IS NOT NULL
        UNION
        SELECT CASE WHEN g.tgisinternal THEN g.tgconstrrelid
                    ELSE to_regclass(format('public.%I', split_part(encode(g.tgargs, 'escape'), '\000', 1)))::oid END
        FROM reach r CROSS JOIN LATERAL (SELECT t.* FROM pg_trigger t WHERE t.tgrelid = r.class OFFSET 0) g JOIN pg_proc p ON p.oid = g.tgfoid
        WHERE g.tgisinternal AND p.proname ~ '^RI_FKey_(cascade|setnull|setdefault)_'
           OR NOT g.tgisinternal AND p.proname = 'delete_parts' AND p.pronamespace = 'iasql_internal'::regnamespace
    )
    SELECT r.class FROM reach r WHERE r.class IS NOT NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.reached(text[]) IS 'The tables that a write of managed tables may write, these included.';

CREATE OR REPLACE FUNCTION iasql_internal.untrusted_code(classes oid[])
RETURNS TABLE (class regclass, what text, owner name, hint text)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    RETURN QUERY
    -- Tables whose foreign keys act.
    SELECT c.oid::regclass, 'a foreign key of it acts when a record goes', pg_get_userbyid(c.relowner),
           format('Declare that foreign key without ON DELETE or ON UPDATE actions, or give the table to a member of iasql_engine: ALTER TABLE %s OWNER TO …', c.oid::regclass)
    FROM pg_class c WHERE c.oid = ANY (classes) AND NOT iasql_internal.trusted(c.relowner)
    UNION ALL
    SELECT g.tgrelid::regclass, format('trigger %s calls function %s', g.tgname, p.oid::regprocedure), pg_get_userbyid(p.proowner),
           format('Give the function to a role that is (ALTER FUNCTION %s OWNER TO …), or drop the trigger.', p.oid::regprocedure)
    FROM pg_trigger g JOIN pg_proc p ON p.oid = g.tgfoid
    WHERE g.tgrelid = ANY (classes) AND NOT g.tgisinternal AND NOT iasql_internal.trusted(p.proowner)
    UNION ALL
    -- What only the owner of a table attaches. Such a member of iasql_engine answers for it, but may not have noticed whose code it calls.
    SELECT d.class::regclass, format('%s depends on %s', pg_describe_object(d.classid, d.objid, 0), pg_describe_object(d.refclassid, d.refobjid, 0)), pg_get_userbyid(d.owner),
           'Give it to a role that is (ALTER … OWNER TO …), or take it off the table.'
    FROM (SELECT a.class, d.classid, d.objid, d.refclassid, d.refobjid,
                 CASE d.refclassid WHEN 'pg_proc'::regclass THEN (SELECT p.proowner FROM pg_proc p WHERE p.oid = d.refobjid)
                                   WHEN 'pg_operator'::regclass THEN (SELECT o.oprowner FROM pg_operator o WHERE o.oid = d.refobjid)
                                   WHEN 'pg_type'::regclass THEN (SELECT y.typowner FROM pg_type y WHERE y.oid = d.refobjid) END AS owner
          FROM (SELECT k.conrelid AS class, 'pg_constraint'::regclass::oid AS classid, k.oid AS objid FROM pg_constraint k WHERE k.conrelid = ANY (classes)
                UNION ALL SELECT f.adrelid, 'pg_attrdef'::regclass, f.oid FROM pg_attrdef f WHERE f.adrelid = ANY (classes)
                UNION ALL SELECT i.indrelid, 'pg_class'::regclass, i.indexrelid FROM pg_index i WHERE i.indrelid = ANY (classes)
                UNION ALL SELECT w.ev_class, 'pg_rewrite'::regclass, w.oid FROM pg_rewrite w WHERE w.ev_class = ANY (classes)
                UNION ALL SELECT x.stxrelid, 'pg_statistic_ext'::regclass, x.oid FROM pg_statistic_ext x WHERE x.stxrelid = ANY (classes)
                UNION ALL SELECT m.oid, 'pg_class'::regclass, m.oid FROM pg_class m WHERE m.oid = ANY (classes)) a -- columns' types
          JOIN pg_depend d ON d.classid = a.classid AND d.objid = a.objid
          WHERE d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_type'::regclass)) d
    WHERE d.owner IS NOT NULL AND NOT iasql_internal.trusted(d.owner)
    UNION ALL
    SELECT c.oid::regclass, 'FORCE ROW LEVEL SECURITY would hide records from it', pg_get_userbyid(c.relowner), format('ALTER TABLE %s NO FORCE ROW LEVEL SECURITY', c.oid::regclass)
    FROM pg_class c WHERE c.oid = ANY (classes) AND c.relforcerowsecurity;
END
$$;
COMMENT ON FUNCTION iasql_internal.untrusted_code(oid[]) IS 'What is attached to these tables and would run code of somebody without the system''s rights whenever they are written.';

-- Under a lock that keeps what is attached as it is (CREATE TRIGGER and ADD FOREIGN KEY take SHARE ROW EXCLUSIVE, what else
-- there is takes more: manual, section 13.3.1).
DROP FUNCTION IF EXISTS iasql_internal.refuse_untrusted(text[]);
CREATE OR REPLACE FUNCTION iasql_internal.refuse_untrusted(tables text[]) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET jit = off AS $$
DECLARE
    found_it record;
BEGIN
    IF coalesce(cardinality(tables), 0) = 0 THEN
        RETURN;
    END IF;
    EXECUTE 'LOCK TABLE ' || (SELECT string_agg(format('public.%I', t), ', ' ORDER BY t) FROM unnest(tables) t) || ' IN ROW EXCLUSIVE MODE';
    SELECT u.* INTO found_it FROM iasql_internal.untrusted_code(ARRAY(SELECT r FROM iasql_internal.reached(tables) r)) u LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'the engine does not write table %: %, and the owner, %, is no member of iasql_engine', found_it.class, found_it.what, found_it.owner
            USING ERRCODE = 'IA091', HINT = found_it.hint;
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_untrusted(text[]) IS 'Locks managed tables for writing, and raises IA091 if that could run code of somebody without the system''s rights.';

-- Grants are compared with those of a table as it is installed.
CREATE OR REPLACE FUNCTION iasql_internal.secured(tables text[]) RETURNS TABLE (name text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT c.relname::text FROM pg_class c
    WHERE c.relname = ANY (tables) AND c.relnamespace = 'public'::regnamespace
      AND (c.relrowsecurity OR EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = c.oid)
           OR NOT has_table_privilege('iasql_reader', c.oid, 'SELECT')
           OR NOT (has_table_privilege('iasql_user', c.oid, 'INSERT') AND has_table_privilege('iasql_user', c.oid, 'UPDATE') AND has_table_privilege('iasql_user', c.oid, 'DELETE')));
END;
COMMENT ON FUNCTION iasql_internal.secured(text[]) IS 'Those of the tables whose rows or columns administrators have hidden from some.';
