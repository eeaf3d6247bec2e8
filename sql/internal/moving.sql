-- An account that moves to another cell (engine cells move, internal/cells/move.go). A row of iasql_internal.moving holds it: in both
-- databases no engine takes its lease, and what users write of it is refused.
--
-- Whoever asks has the table's ACCESS SHARE lock until his transaction ends. A move takes ACCESS EXCLUSIVE before it writes its row, so
-- that all who have been told that nothing moves have committed by then. A transaction whose snapshot is older than the row would not
-- see it (REPEATABLE READ, SERIALIZABLE): a move updates the row of iasql_internal.installation, too, and such a transaction cannot lock
-- that (manual, section 13.2.2).
CREATE OR REPLACE FUNCTION iasql_internal.something_moves() RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        PERFORM FROM iasql_internal.installation i FOR SHARE;
    END IF;
    RETURN EXISTS (SELECT FROM iasql_internal.moving);
END
$$;
COMMENT ON FUNCTION iasql_internal.something_moves() IS 'Whether an account moves to another cell or from one. The answer stays true until the transaction ends. A transaction whose snapshot is from before a move began fails.';

CREATE OR REPLACE FUNCTION iasql_internal.refuse_moving(account text) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    held iasql_internal.moving;
BEGIN
    SELECT * INTO held FROM iasql_internal.moving m WHERE m.account = refuse_moving.account;
    IF FOUND THEN
        RAISE EXCEPTION 'account % %', account,
                CASE held.side WHEN 'arriving' THEN format('is moving here from cell %s: nothing of it can be written yet', held.cell)
                               ELSE format('is moving to cell %s: nothing of it can be written here', held.cell) END
            USING ERRCODE = 'IA070',
                  HINT = CASE held.side WHEN 'arriving' THEN 'Write it once engine cells move has ended.'
                                        ELSE format('Write it in cell %s once engine cells move has ended.', held.cell) END;
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_moving(text) IS 'Raises IA070 for an account that moves to another cell or from one.';

-- Of what users say about records and accounts besides writing them.
CREATE OR REPLACE FUNCTION iasql_internal.check_moving() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    written jsonb := to_jsonb(CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END);
    owner   text := written ->> 'account';
BEGIN
    IF NOT iasql_internal.writer_is_engine() AND iasql_internal.something_moves() THEN
        IF owner IS NULL AND to_regclass(format('public.%I', written ->> 'table_name')) IS NOT NULL THEN
            EXECUTE format('SELECT coalesce(r.j ->> ''account'', r.j ->> ''name'') FROM (SELECT to_jsonb(t) AS j FROM public.%I t WHERE t.id = $1) r',
                           written ->> 'table_name') INTO owner USING (written ->> 'record_id')::bigint;
        END IF;
        PERFORM iasql_internal.refuse_moving(owner);
    END IF;
    RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END
$$;
COMMENT ON FUNCTION iasql_internal.check_moving() IS 'Row trigger: refuses what somebody says of a record or an account that moves.';
DO $$
DECLARE
    said regclass;
BEGIN
    FOREACH said IN ARRAY '{public.iasql_mode,public.iasql_protection,public.iasql_conflicts,public.iasql_bills,iasql_internal.expiry,iasql_internal.forgotten,iasql_internal.world}'::regclass[] LOOP
        EXECUTE format('CREATE OR REPLACE TRIGGER iasql_moving BEFORE INSERT OR UPDATE OR DELETE ON %s FOR EACH ROW EXECUTE FUNCTION iasql_internal.check_moving()', said);
    END LOOP;
END
$$;

-- Here, and not in the engine, as one of an earlier version may be connected.
CREATE OR REPLACE FUNCTION iasql_internal.refuse_lease() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM iasql_internal.moving m WHERE m.account = NEW.account) THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_lease() IS 'Row trigger: nobody gets the lease of an account that moves to another cell or from one.';
CREATE OR REPLACE TRIGGER iasql_moving_insert BEFORE INSERT ON iasql_internal.lease
    FOR EACH ROW WHEN (NEW.pid IS NOT NULL) EXECUTE FUNCTION iasql_internal.refuse_lease();
CREATE OR REPLACE TRIGGER iasql_moving_update BEFORE UPDATE ON iasql_internal.lease
    FOR EACH ROW WHEN (NEW.pid IS NOT NULL AND NEW.fence <> OLD.fence) EXECUTE FUNCTION iasql_internal.refuse_lease();

-- Two databases number alike, so that an account's records get other numbers where it arrives: every number is raised by the same
-- amount. What follows raises those that stand in documents and keys.
CREATE OR REPLACE FUNCTION iasql_internal.numbered("table" text) RETURNS text[]
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT ARRAY['id'] || coalesce(array_agg(n.name ORDER BY n.name), '{}')
    FROM (SELECT a.attname::text AS name
          FROM pg_constraint c
          JOIN pg_class r ON r.oid = c.confrelid AND r.relnamespace = 'public'::regnamespace
          JOIN iasql_internal.managed_table m ON m.name = r.relname
          CROSS JOIN LATERAL unnest(c.conkey, c.confkey) k (ours, theirs)
          JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.ours
          JOIN pg_attribute f ON f.attrelid = c.confrelid AND f.attnum = k.theirs AND f.attname = 'id'
          WHERE c.contype = 'f' AND c.conrelid = to_regclass(format('public.%I', "table")) AND a.attname <> 'id'
          UNION SELECT l."column" FROM iasql_internal.lists_in("table") l) n;
END;
COMMENT ON FUNCTION iasql_internal.numbered(text) IS 'The columns of a managed table that hold ids of records: id, references, and lists of records.';

CREATE OR REPLACE FUNCTION iasql_internal.raised(number jsonb, by bigint) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN CASE jsonb_typeof(number)
        WHEN 'number' THEN to_jsonb((number #>> '{}')::bigint + by)
        WHEN 'string' THEN coalesce(to_jsonb(iasql_internal.raised(number #>> '{}', by)), number)
        WHEN 'array' THEN (SELECT coalesce(jsonb_agg(iasql_internal.raised(e.value, by) ORDER BY e.n), '[]') FROM jsonb_array_elements(number) WITH ORDINALITY e (value, n))
        ELSE number END;
END
$$;
COMMENT ON FUNCTION iasql_internal.raised(jsonb, bigint) IS 'The id of a record, or a list of them, raised. What is no id stays: NULL, and the cloud''s name of an object without a record.';

-- A reference to an object whose record goes is spelled replaced:ID (internal/modules/reference.go).
CREATE OR REPLACE FUNCTION iasql_internal.raised(number text, by bigint) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
RETURN CASE WHEN number ~ '^[0-9]+$' THEN (number::bigint + by)::text
            WHEN number ~ '^replaced:[0-9]+$' THEN 'replaced:' || (substr(number, 10)::bigint + by)
            ELSE number END;
COMMENT ON FUNCTION iasql_internal.raised(text, bigint) IS 'The id of a record in a key, raised.';

CREATE OR REPLACE FUNCTION iasql_internal.renumbered(image jsonb, numbers text[], by bigint, account text) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN image || coalesce((SELECT jsonb_object_agg(n.name, iasql_internal.raised(image -> n.name, by)) FROM unnest(numbers) n (name) WHERE image ? n.name), '{}')
                 || CASE WHEN image ->> 'account' IS NOT NULL THEN jsonb_build_object('account', account) ELSE '{}' END;
END
$$;
COMMENT ON FUNCTION iasql_internal.renumbered(jsonb, text[], bigint, text) IS 'A row, or some of its columns, with the numbers and the account''s name that it has where the account arrives.';

CREATE OR REPLACE FUNCTION iasql_internal.renumbered_change(change jsonb, numbers text[], by bigint, account text) RETURNS jsonb
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
RETURN change || (SELECT coalesce(jsonb_object_agg(k.name, iasql_internal.renumbered(change -> k.name, numbers, by, account)), '{}')
                  FROM unnest('{original,change}'::text[]) k (name) WHERE jsonb_typeof(change -> k.name) = 'object');
COMMENT ON FUNCTION iasql_internal.renumbered_change(jsonb, text[], bigint, text) IS 'The same of the column change of iasql_audit_log.';

CREATE OR REPLACE FUNCTION iasql_internal.renumbered_call(columns jsonb, numbers text[], by bigint) RETURNS jsonb
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
RETURN columns || (SELECT coalesce(jsonb_object_agg(n.name, iasql_internal.renumbered(columns -> n.name, '{from,to}', by, NULL)), '{}')
                   FROM unnest(numbers) n (name) WHERE jsonb_typeof(columns -> n.name) = 'object');
COMMENT ON FUNCTION iasql_internal.renumbered_call(jsonb, text[], bigint) IS 'The same of the column columns of iasql_operations.';

CREATE OR REPLACE FUNCTION iasql_internal.renumbered_key(key text, identity text[], numbers text[], by bigint) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    parts text[] := string_to_array(key, E'\x1f');
BEGIN
    IF NOT identity && numbers OR cardinality(parts) <> cardinality(identity) THEN
        RETURN key;
    END IF;
    RETURN (SELECT string_agg(CASE WHEN i.name = ANY (numbers) THEN iasql_internal.raised(parts[i.n], by) ELSE parts[i.n] END, E'\x1f' ORDER BY i.n)
            FROM unnest(identity) WITH ORDINALITY i (name, n));
END
$$;
COMMENT ON FUNCTION iasql_internal.renumbered_key(text, text[], text[], bigint) IS 'The same of a key (iasql_internal.key).';
