-- A deed needs the right to that deed, now (R33): what grants and row-level security let the caller do with a record or with
-- a whole table, asked when it is done. With the caller's own rights, so that policies see the caller as current_user.
--
-- Deeds, each with the privileges and the policies (manual, CREATE POLICY, table 290) that a statement for it would meet:
--   see     reading a record
--   change  changing anything of it, or deleting it
--   update  UPDATE of some column, USING. Who goes by it asks for the columns besides
--   keep    UPDATE of some column, WITH CHECK of the record as it is now: as if it had just been written
--   delete  DELETE, USING
--   insert  INSERT of some column, WITH CHECK of the record as it is now
--   lift    UPDATE of all columns and DELETE: what a protection holds back
--   rule    INSERT, UPDATE of all columns and DELETE: what the engine may do once a rule says so
CREATE OR REPLACE FUNCTION iasql_internal.policy(class oid, command "char", checks boolean) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
RETURN (
    SELECT format('((%s) AND (%s))', coalesce(string_agg(q.condition, ' OR ') FILTER (WHERE q.permissive), 'false'),
                  coalesce(string_agg(q.condition, ' AND ') FILTER (WHERE NOT q.permissive), 'true'))
    FROM (SELECT p.polpermissive AS permissive,
                 '(' || pg_get_expr(CASE WHEN checks THEN coalesce(p.polwithcheck, p.polqual) ELSE p.polqual END, p.polrelid) || ')' AS condition
          FROM pg_policy p
          WHERE p.polrelid = class AND p.polcmd IN ('*', command)
            AND (0 = ANY (p.polroles) OR EXISTS (SELECT FROM unnest(p.polroles) r (role) WHERE pg_has_role(r.role, 'USAGE')))) q);
COMMENT ON FUNCTION iasql_internal.policy(oid, "char", boolean) IS 'What row-level security says of a command (r, a, w, d) of the caller''s on a table, as a condition: USING, or WITH CHECK.';

CREATE OR REPLACE FUNCTION iasql_internal.deed(what text, class oid) RETURNS text
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
RETURN CASE
    WHEN NOT has_schema_privilege('public', 'USAGE')
      OR what = 'see' AND NOT has_column_privilege(class, 'id', 'SELECT')
      OR what = 'change' AND NOT has_any_column_privilege(class, 'UPDATE') AND NOT has_table_privilege(class, 'DELETE')
      OR what IN ('update', 'keep') AND NOT has_any_column_privilege(class, 'UPDATE')
      OR what = 'insert' AND NOT has_any_column_privilege(class, 'INSERT')
      OR what IN ('lift', 'rule') AND NOT has_table_privilege(class, 'UPDATE')
      OR what IN ('delete', 'lift', 'rule') AND NOT has_table_privilege(class, 'DELETE')
      OR what = 'rule' AND NOT has_table_privilege(class, 'INSERT') THEN NULL
    WHEN NOT row_security_active(class) THEN 'true'
    ELSE concat_ws(' AND ', 'true',
        CASE WHEN what IN ('update', 'lift', 'rule') THEN iasql_internal.policy(class, 'w', false) END,
        CASE WHEN what IN ('keep', 'rule') THEN iasql_internal.policy(class, 'w', true) END,
        CASE WHEN what IN ('delete', 'lift', 'rule') THEN iasql_internal.policy(class, 'd', false) END,
        CASE WHEN what IN ('insert', 'rule') THEN iasql_internal.policy(class, 'a', true) END) END;
COMMENT ON FUNCTION iasql_internal.deed(text, oid) IS 'The condition that a record of a table has to meet for the caller to do this with it; NULL if grants forbid it.';

-- One statement for all of them. Row-level security lets a row be locked only by who may change it (manual, CREATE
-- POLICY, table 290).
CREATE OR REPLACE FUNCTION iasql_internal.allowed(what text, "table" text, ids bigint[]) RETURNS SETOF bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    class     oid := to_regclass(format('public.%I', "table"));
    condition text;
    held      bigint[];
    gone      bigint[];
    images    jsonb[];
BEGIN
    IF class IS NULL OR NOT EXISTS (SELECT FROM public.iasql_tables t WHERE t."table" = allowed."table") THEN
        RETURN;
    END IF;
    condition := iasql_internal.deed(what, class);
    IF condition IS NULL THEN
        RETURN;
    ELSIF NOT row_security_active(class) THEN
        RETURN QUERY SELECT i.id FROM unnest(ids) i (id);
        RETURN;
    END IF;
    EXECUTE format('SELECT array_agg(r.id)
                    FROM (SELECT %1$I.id FROM public.%1$I WHERE %1$I.id = ANY ($1) AND %2$s %3$s) r',
                   "table", condition, CASE what WHEN 'change' THEN 'FOR KEY SHARE' ELSE '' END)
    INTO held USING ids;
    RETURN QUERY SELECT i.id FROM unnest(held) i (id);
    IF cardinality(held) = cardinality(ids) THEN
        RETURN;
    END IF;
    -- What one has deleted oneself, and might delete still.
    SELECT array_agg(d.record_id), array_agg(d.image) INTO gone, images
    FROM (SELECT DISTINCT ON (l.record_id) l.record_id, l.change -> 'original' AS image
          FROM public.iasql_audit_log l
          WHERE l.table_name = allowed."table" AND NOT l.settled
            AND l.change_type = 'DELETE' AND l."user" = iasql_internal.writer()
            AND l.record_id IN (SELECT i.id FROM unnest(ids) i (id) EXCEPT SELECT i.id FROM unnest(held) i (id))
          ORDER BY l.record_id, l.id DESC) d
    WHERE d.image IS NOT NULL;
    IF gone IS NULL THEN
        RETURN;
    ELSIF what = 'see' THEN
        RETURN QUERY SELECT i.id FROM unnest(gone) i (id);
        RETURN;
    ELSIF what = 'change' THEN
        condition := iasql_internal.deed('delete', class);
    END IF;
    RETURN QUERY EXECUTE format(
        'SELECT d.id FROM unnest($1, $2) d (id, image)
         WHERE (SELECT %2$s FROM jsonb_populate_record(NULL::public.%1$I, d.image) %1$I)',
        "table", coalesce(condition, 'false'))
    USING gone, images;
END
$$;
COMMENT ON FUNCTION iasql_internal.allowed(text, text, bigint[]) IS 'Those of the records that the caller may do this with now (the deeds are in 00_rights.sql).';

CREATE OR REPLACE FUNCTION iasql_internal.may(what text, "table" text, id bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT FROM iasql_internal.allowed(what, "table", ARRAY[id]));
END
$$;
COMMENT ON FUNCTION iasql_internal.may(text, text, bigint) IS 'Whether the caller may do this with a record now.';

-- A policy sees one row at a time. So that very many permits do not ask as many times, the setting iasql.asks has what
-- they are about, and the policy of permit (policies.sql) reads claimed() once a statement. Anybody may set that: it is
-- the question, and the answer is what the caller may do.
CREATE OR REPLACE FUNCTION iasql_internal.claimed() RETURNS TABLE (table_name text, record_id bigint, may text)
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    asks jsonb := nullif(current_setting('iasql.asks', true), '')::jsonb;
BEGIN
    RETURN QUERY
    SELECT asks ->> 'table', a.id, asks ->> 'may'
    FROM iasql_internal.allowed(asks ->> 'may', asks ->> 'table', ARRAY(
        SELECT i.id::bigint FROM jsonb_array_elements_text(asks -> 'ids') i (id) WHERE i.id IS NOT NULL)) a (id);
END
$$;
COMMENT ON FUNCTION iasql_internal.claimed() IS 'What the caller asks for with the setting iasql.asks, {"may", "table", "ids"}, as far as it is allowed.';

CREATE OR REPLACE FUNCTION iasql_internal.permit(what text, "table" text, ids bigint[]) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM iasql_internal.refuse_standby('what changes a record');
    PERFORM set_config('iasql.asks', jsonb_build_object('may', what, 'table', "table", 'ids', ids)::text, true);
    INSERT INTO iasql_internal.permit (table_name, record_id, may)
    SELECT c.table_name, c.record_id, c.may FROM iasql_internal.claimed() c;
    PERFORM set_config('iasql.asks', '', true);
END
$$;
COMMENT ON FUNCTION iasql_internal.permit(text, text, bigint[]) IS 'Puts on record which of the records the caller may do this with, for a function with the system''s rights.';

CREATE OR REPLACE FUNCTION iasql_internal.unpermitted(what text, "table" text, ids bigint[]) RETURNS bigint
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    lacks bigint;
BEGIN
    WITH taken AS (
        DELETE FROM iasql_internal.permit p
        WHERE p.xid = pg_current_xact_id_if_assigned() AND p.table_name = unpermitted."table" AND p.may = what
          AND p.record_id IN (SELECT i.id FROM unnest(ids) i (id))
        RETURNING p.record_id
    )
    SELECT coalesce(i.id, 0) INTO lacks FROM unnest(ids) WITH ORDINALITY i (id, n) -- nobody is permitted what has no id
    WHERE (i.id IN (SELECT t.record_id FROM taken t)) IS NOT TRUE ORDER BY i.n LIMIT 1; -- (IN is hashed)
    RETURN lacks;
END
$$;
COMMENT ON FUNCTION iasql_internal.unpermitted(text, text, bigint[]) IS 'The first of the records that the caller has not just been found to be allowed to do this with, NULL if there is none; takes the permits.';

CREATE OR REPLACE FUNCTION iasql_internal.permitted(what text, "table" text, id bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN iasql_internal.unpermitted(what, "table", ARRAY[id]) IS NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.permitted(text, text, bigint) IS 'Whether the caller has just been found to be allowed to do this; takes the permit.';

CREATE OR REPLACE FUNCTION iasql_internal.refuse_hidden("table" text, id bigint) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'permission denied: record % of % is not yours to change', id, "table"
        USING ERRCODE = '42501', TABLE = "table", HINT = 'Grants or row-level security of the table say so; an administrator can change them.';
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_hidden(text, bigint) IS 'Raises for a record that the caller may not change.';

CREATE OR REPLACE FUNCTION iasql_internal.is_subject(who text, class oid) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
RETURN (SELECT c.relrowsecurity AND NOT pg_has_role(who, c.relowner, 'USAGE') AND NOT r.rolbypassrls
        FROM pg_class c, pg_roles r WHERE c.oid = class AND r.rolname = who);
COMMENT ON FUNCTION iasql_internal.is_subject(text, oid) IS 'Whether row-level security of a table applies to a role.';

---------------------------------------------------------------------------------------------------------------------
-- Rules: iasql_mode, iasql_ignore, conflicts, settings. A rule is carried out by the engine, which may do everything. So who
-- makes one needs the right to all that the engine may do because of it, and who changes or lifts one, the right to all that
-- it has held back.

CREATE OR REPLACE FUNCTION iasql_internal.not_ruled(verbs text[]) RETURNS text[]
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT coalesce(array_agg(t."table"), '{}')
    FROM public.iasql_tables t
    LEFT JOIN pg_class c ON c.relname = t."table" AND c.relnamespace = 'public'::regnamespace
    WHERE c.oid IS NULL OR NOT has_schema_privilege('public', 'USAGE') OR row_security_active(c.oid) OR NOT has_table_privilege(c.oid, 'SELECT')
       OR EXISTS (SELECT FROM unnest(verbs) v (verb) WHERE NOT has_table_privilege(c.oid, v.verb));
END;
COMMENT ON FUNCTION iasql_internal.not_ruled(text[]) IS 'The tables in which the caller may not do these things with every record, and to which a rule of the caller''s cannot apply as a whole.';

CREATE OR REPLACE FUNCTION iasql_internal.may_rule("table" text, record bigint, "column" text, mode text) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    class oid;
    fixed boolean; -- another value of the column takes another object
BEGIN
    IF "table" IS NULL THEN
        RETURN false;
    END IF;
    class := to_regclass(format('public.%I', "table"));
    IF class IS NULL OR record IS NULL AND "column" IS NULL THEN
        RETURN false;
    ELSIF "column" IS NOT NULL THEN
        SELECT "column" = ANY (m.fixed) OR m.fixed_within ? "column" INTO fixed FROM iasql_internal.managed_table m WHERE m.name = "table";
        IF NOT coalesce((SELECT has_column_privilege(class, a.attnum, 'SELECT') AND has_column_privilege(class, a.attnum, 'UPDATE')
                         FROM pg_attribute a WHERE a.attrelid = class AND a.attname = "column" AND NOT a.attisdropped), false) THEN
            RETURN false;
        ELSIF fixed AND mode <> 'PAUSE' AND NOT (has_table_privilege(class, 'INSERT') AND has_table_privilege(class, 'DELETE')) THEN
            RETURN false;
        ELSIF record IS NULL THEN
            RETURN has_schema_privilege('public', 'USAGE') AND NOT row_security_active(class);
        END IF;
        RETURN iasql_internal.may('update', "table", record) AND iasql_internal.may('keep', "table", record)
           AND (NOT fixed OR mode = 'PAUSE' OR iasql_internal.may('delete', "table", record) AND iasql_internal.may('insert', "table", record));
    ELSIF mode = 'PAUSE' THEN
        RETURN has_table_privilege(class, 'UPDATE') AND iasql_internal.may('update', "table", record) AND iasql_internal.may('keep', "table", record);
    END IF;
    RETURN iasql_internal.may('rule', "table", record);
END
$$;
COMMENT ON FUNCTION iasql_internal.may_rule(text, bigint, text, text) IS 'Whether the caller may make a rule of this mode for a record, a column, or a column of a record.';

-- The policies of iasql_mode and iasql_ignore say the same once a query; this says it in words.
CREATE OR REPLACE FUNCTION iasql_internal.refuse_rule("table" text, record bigint, "column" text, mode text) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    verbs text[] := CASE mode WHEN 'PAUSE' THEN '{UPDATE}' ELSE '{INSERT,UPDATE,DELETE}' END::text[];
    lacks text[] := iasql_internal.not_ruled(verbs);
BEGIN
    IF lacks = '{}' OR NOT "table" = ANY (lacks) OR iasql_internal.may_rule("table", record, "column", mode) THEN
        RETURN;
    END IF;
    RAISE EXCEPTION 'permission denied: a rule % takes the right to % of it, and you do not have it%',
            CASE WHEN "table" IS NULL THEN 'for everything' ELSE concat('for ', "column" || ' of ', 'record ' || record || ' of ', "table") END,
            array_to_string(verbs, ', '), CASE WHEN "table" IS NULL THEN format(' in %s', lacks[1]) END
        USING ERRCODE = '42501', TABLE = coalesce("table", lacks[1]), COLUMN = coalesce("column", ''),
              HINT = 'The engine may do all of that once a rule says so. Where row-level security decides about rows, a rule for one record can be made by who may do all of that with it.';
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_rule(text, bigint, text, text) IS 'Raises unless the caller may make a rule of this mode for everything, a table, a record or a column.';

---------------------------------------------------------------------------------------------------------------------
-- Batches. What grants say of somebody's changes the functions of batches ask themselves; what row-level security says of a
-- record only its caller can be asked, before and after.

CREATE OR REPLACE FUNCTION iasql_internal.touched(batch bigint) RETURNS TABLE (table_name text, records bigint[])
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY
    SELECT l.table_name, array_agg(DISTINCT l.record_id) FROM public.iasql_audit_log l
    JOIN pg_class c ON c.relname = l.table_name AND c.relnamespace = 'public'::regnamespace AND c.relrowsecurity
    WHERE l.transaction_id = touched.batch AND l.origin = 'user' AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE')
    GROUP BY l.table_name;
END
$$;
COMMENT ON FUNCTION iasql_internal.touched(bigint) IS 'The numbers of the records that a batch has changed, of tables with row-level security.';

CREATE OR REPLACE FUNCTION iasql_internal.permit_batch(batch bigint, deeds text[]) RETURNS void
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM iasql_internal.permit(d.what, t.table_name, t.records)
    FROM iasql_internal.touched(batch) t CROSS JOIN unnest(deeds) d (what)
    WHERE row_security_active(format('public.%I', t.table_name)::regclass);
END
$$;
COMMENT ON FUNCTION iasql_internal.permit_batch(bigint, text[]) IS 'Puts on record what the caller may do with the records that a batch has changed.';
