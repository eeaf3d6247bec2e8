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
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    WITH RECURSIVE reach (class) AS (
        SELECT to_regclass(format('public.%I', t))::oid FROM unnest(tables) t WHERE to_regclass(format('public.%I', t)) IS NOT NULL
        UNION
        SELECT CASE WHEN g.tgisinternal THEN g.tgconstrrelid
                    ELSE to_regclass(format('public.%I', split_part(encode(g.tgargs, 'escape'), '\000', 1)))::oid END
        FROM reach r JOIN pg_trigger g ON g.tgrelid = r.class JOIN pg_proc p ON p.oid = g.tgfoid
        WHERE g.tgisinternal AND p.proname ~ '^RI_FKey_(cascade|setnull|setdefault)_'
           OR NOT g.tgisinternal AND p.proname = 'delete_parts' AND p.pronamespace = 'iasql_internal'::regnamespace
    )
    SELECT r.class FROM reach r WHERE r.class IS NOT NULL;
END;
COMMENT ON FUNCTION iasql_internal.reached(text[]) IS 'The tables that a write of managed tables may write, these included.';

-- Under a lock that keeps triggers and foreign keys as they are (CREATE TRIGGER and ADD FOREIGN KEY take SHARE ROW
-- EXCLUSIVE: manual, section 13.3.1).
CREATE OR REPLACE FUNCTION iasql_internal.refuse_untrusted(tables text[]) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found_it record;
BEGIN
    IF coalesce(cardinality(tables), 0) = 0 THEN
        RETURN;
    END IF;
    EXECUTE 'LOCK TABLE ' || (SELECT string_agg(format('public.%I', t), ', ' ORDER BY t) FROM unnest(tables) t) || ' IN ROW EXCLUSIVE MODE';
    SELECT c.oid::regclass AS class, pg_get_userbyid(c.relowner) AS owner, g.name, g.function INTO found_it
    FROM iasql_internal.reached(tables) r JOIN pg_class c ON c.oid = r
    LEFT JOIN LATERAL (SELECT t.tgname AS name, p.oid::regprocedure AS function
                       FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
                       WHERE t.tgrelid = c.oid AND NOT t.tgisinternal AND NOT iasql_internal.trusted(p.proowner) LIMIT 1) g ON true
    WHERE g.name IS NOT NULL OR NOT iasql_internal.trusted(c.relowner)
    LIMIT 1;
    IF NOT FOUND THEN
        RETURN;
    ELSIF found_it.name IS NOT NULL THEN
        RAISE EXCEPTION 'the engine does not run trigger % of table %: the owner of its function % is no member of iasql_engine', found_it.name, found_it.class, found_it.function
            USING ERRCODE = 'IA091', HINT = format('Give the function to a role that is (ALTER FUNCTION %s OWNER TO …), or drop the trigger.', found_it.function);
    END IF;
    RAISE EXCEPTION 'the engine does not write table % of %, whose foreign key acts when a record of % goes', found_it.class, found_it.owner, array_to_string(tables, ', ')
        USING ERRCODE = 'IA091', HINT = format('Declare that foreign key without ON DELETE or ON UPDATE actions, or give the table to a member of iasql_engine: ALTER TABLE %s OWNER TO …', found_it.class);
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_untrusted(text[]) IS 'Locks managed tables for writing, and raises IA091 if that could run code of somebody without the system''s rights.';

-- What only the owner of a managed table can attach to it. Such a member of iasql_engine answers for the code, but may not
-- have noticed whose it is.
CREATE OR REPLACE FUNCTION iasql_internal.untrusted_code() RETURNS TABLE (table_name text, what text, owner name)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    WITH managed AS (
        SELECT c.oid, t."table" AS name, c.relforcerowsecurity
        FROM public.iasql_tables t JOIN pg_class c ON c.relname = t."table" AND c.relnamespace = 'public'::regnamespace
    ), attached (name, classid, objid) AS (
        SELECT m.name, 'pg_constraint'::regclass::oid, k.oid FROM managed m JOIN pg_constraint k ON k.conrelid = m.oid
        UNION ALL SELECT m.name, 'pg_attrdef'::regclass::oid, d.oid FROM managed m JOIN pg_attrdef d ON d.adrelid = m.oid
        UNION ALL SELECT m.name, 'pg_class'::regclass::oid, i.indexrelid FROM managed m JOIN pg_index i ON i.indrelid = m.oid
        UNION ALL SELECT m.name, 'pg_rewrite'::regclass::oid, w.oid FROM managed m JOIN pg_rewrite w ON w.ev_class = m.oid
        UNION ALL SELECT m.name, 'pg_statistic_ext'::regclass::oid, x.oid FROM managed m JOIN pg_statistic_ext x ON x.stxrelid = m.oid
    ), code AS (
        SELECT a.name, pg_describe_object(a.classid, a.objid, 0) || ' calls ' || pg_describe_object(d.refclassid, d.refobjid, 0) AS what,
               coalesce((SELECT p.proowner FROM pg_proc p WHERE d.refclassid = 'pg_proc'::regclass AND p.oid = d.refobjid),
                        (SELECT o.oprowner FROM pg_operator o WHERE d.refclassid = 'pg_operator'::regclass AND o.oid = d.refobjid),
                        (SELECT y.typowner FROM pg_type y WHERE d.refclassid = 'pg_type'::regclass AND y.oid = d.refobjid)) AS owner
        FROM attached a JOIN pg_depend d ON d.classid = a.classid AND d.objid = a.objid
        UNION ALL
        SELECT m.name, format('column %s has type %s', b.attname, format_type(b.atttypid, NULL)), y.typowner
        FROM managed m JOIN pg_attribute b ON b.attrelid = m.oid AND b.attnum > 0 AND NOT b.attisdropped AND b.atttypid >= 16384 JOIN pg_type y ON y.oid = b.atttypid
    )
    SELECT c.name, c.what, pg_get_userbyid(c.owner) FROM code c WHERE c.owner IS NOT NULL AND NOT iasql_internal.trusted(c.owner)
    UNION ALL
    SELECT m.name, 'FORCE ROW LEVEL SECURITY would hide records from the engine', pg_get_userbyid((SELECT c.relowner FROM pg_class c WHERE c.oid = m.oid))
    FROM managed m WHERE m.relforcerowsecurity
    ORDER BY 1, 2;
END;
COMMENT ON FUNCTION iasql_internal.untrusted_code() IS 'What is attached to managed tables and would run code of somebody without the system''s rights whenever they are written.';

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
