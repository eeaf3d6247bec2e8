-- What a batch has changed is staged in it until it is closed (R21): nobody else changes it, refers to what only the batch has
-- made, takes away what a rollback would need, or takes an identity that it has or had. All of it is found by index, and
-- nothing is looked for while no batch is open.
CREATE OR REPLACE FUNCTION iasql_internal.references_of(class oid, OUT parent text, OUT theirs text, OUT ours text) RETURNS SETOF record
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT m.name, string_agg(format('p.%I', f.attname), ', ' ORDER BY k.n), string_agg(format('x.%I', c.attname), ', ' ORDER BY k.n)
    FROM pg_constraint o
    JOIN pg_class r ON r.oid = o.confrelid AND r.relnamespace = 'public'::regnamespace
    JOIN iasql_internal.managed_table m ON m.name = r.relname
    CROSS JOIN LATERAL unnest(o.conkey, o.confkey) WITH ORDINALITY k (ours, theirs, n)
    JOIN pg_attribute c ON c.attrelid = o.conrelid AND c.attnum = k.ours
    JOIN pg_attribute f ON f.attrelid = o.confrelid AND f.attnum = k.theirs
    WHERE o.conrelid = class AND o.contype = 'f'
    GROUP BY o.oid, m.name
$$;
COMMENT ON FUNCTION iasql_internal.references_of(oid) IS 'The foreign keys of a table that lead to managed ones: the parent, its columns of p and the table''s of x.';

CREATE OR REPLACE FUNCTION iasql_internal.batch_hint(batch bigint) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN format('SELECT * FROM iasql_batches shows it. Wait until it is committed or rolled back, or work in it: CALL iasql_join(%L).',
                  (SELECT CASE WHEN b.name = iasql_internal.plain(b.name) THEN b.name ELSE b.id::text END FROM iasql_internal.batch b WHERE b.id = batch_hint.batch));
END
$$;
COMMENT ON FUNCTION iasql_internal.batch_hint(bigint) IS 'What to do about a record that somebody else''s batch holds.';

CREATE OR REPLACE FUNCTION iasql_internal.refuse_staged("table" text, ids bigint[], mine bigint, deletes boolean, undoes bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    bad record;
BEGIN
    SELECT s.record_id, s.batch INTO bad FROM iasql_internal.staged s
    WHERE s.table_name = refuse_staged."table" AND s.record_id = ANY (ids) AND s.batch IS DISTINCT FROM mine LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'record % of % cannot be changed: it is staged in %', bad.record_id, "table", iasql_internal.batch_text(bad.batch)
            USING ERRCODE = 'IA020', SCHEMA = 'public', TABLE = "table", HINT = iasql_internal.batch_hint(bad.batch);
    END IF;
    IF deletes THEN
        SELECT n.* INTO bad FROM iasql_internal.needed n
        WHERE n.table_name = refuse_staged."table" AND n.record_id = ANY (ids) AND n.batch IS DISTINCT FROM undoes LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'record % of % cannot be deleted: record % of %, which is staged in %, referred to it before',
                    bad.record_id, "table", bad.by_record, bad.by_table, iasql_internal.batch_text(bad.batch)
                USING ERRCODE = 'IA020', SCHEMA = 'public', TABLE = "table", HINT = iasql_internal.batch_hint(bad.batch);
        END IF;
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_staged(text, bigint[], bigint, boolean, bigint) IS 'Raises if a record is staged in another batch than one''s own, or, for one that is deleted, if the rollback of a batch would need it that does not delete it itself.';

-- Whoever refers to a record that the batch has inserted would stand in the way of its rollback, and two batches that refer to
-- each other could neither be committed nor rolled back. So nobody can (audit.sql), nor what the engine finds in the cloud:
-- that waits. This is asked before a batch is undone, of what was there before there was such a check.
CREATE OR REPLACE FUNCTION iasql_internal.referred_from(batch bigint) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    child  record;
    found_ record;
BEGIN
    FOR child IN
        SELECT m.name AS table_name, r.* FROM iasql_internal.managed_table m
        CROSS JOIN LATERAL iasql_internal.references_of(to_regclass(format('public.%I', m.name))) r
        WHERE EXISTS (SELECT FROM iasql_internal.staged s WHERE s.table_name = r.parent AND s.inserted AND s.batch = referred_from.batch)
    LOOP
        EXECUTE format(
            'SELECT x.id, p.id AS other, o.batch FROM iasql_internal.staged s JOIN public.%I p ON p.id = s.record_id JOIN public.%I x ON (%s) = (%s)
             LEFT JOIN iasql_internal.staged o ON o.table_name = %L AND o.record_id = x.id
             WHERE s.table_name = %L AND s.inserted AND s.batch = $1 AND o.batch IS DISTINCT FROM $1 ORDER BY x.id LIMIT 1',
            child.parent, child.table_name, child.ours, child.theirs, child.table_name, child.parent)
        INTO found_ USING batch;
        IF found_.id IS NOT NULL THEN
            RETURN format('record %s of %s%s refers to record %s of %s', found_.id, child.table_name,
                          ', which is staged in ' || iasql_internal.batch_text(found_.batch) || ',', found_.other, child.parent);
        END IF;
    END LOOP;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION iasql_internal.referred_from(bigint) IS 'Which record that is not the batch''s refers to one that it has inserted; NULL if none does.';
