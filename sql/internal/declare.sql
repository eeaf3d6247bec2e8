-- A configuration is a set of records that somebody declares as a whole. While it is declared, what its batch writes or
-- names is mentioned. At the end, what the declaration in force mentions and the new one does not is deleted, unless
-- another configuration mentions it too. What no declaration has mentioned nobody prunes (R37).

CREATE OR REPLACE FUNCTION iasql_internal.open_declaration() RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT d.id FROM iasql_internal.declaration d
            WHERE d.batch = iasql_internal.session_batch() AND d.ended_at IS NULL);
END
$$;
COMMENT ON FUNCTION iasql_internal.open_declaration() IS 'The declaration that the calling session''s batch is in, NULL if there is none.';

CREATE OR REPLACE FUNCTION iasql_internal.declaration_text(declaration bigint) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT format('configuration %s is being declared in %s',
                          quote_literal(iasql_internal.plain(d.configuration)), iasql_internal.batch_text(d.batch))
            FROM iasql_internal.declaration d WHERE d.id = declaration_text.declaration);
END
$$;
COMMENT ON FUNCTION iasql_internal.declaration_text(bigint) IS 'What errors say of a declaration that is open.';

CREATE OR REPLACE FUNCTION iasql_internal.begin_declaration(configuration text, revision text, removes boolean,
                                                            local boolean) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
    batch iasql_internal.batch;
    other bigint;
    made  bigint;
BEGIN
    PERFORM iasql_internal.refuse_standby('iasql_declare');
    IF coalesce(configuration, '') = '' OR configuration <> iasql_internal.plain(configuration)
       OR revision <> iasql_internal.plain(revision) THEN
        RAISE EXCEPTION 'a configuration cannot be called %',
                coalesce(quote_literal(iasql_internal.plain(configuration)), 'NULL')
            USING ERRCODE = 'IA007',
                  HINT = 'Its name is any text, and its revision any or NULL. Neither has line feeds or other control characters.';
    END IF;
    SELECT * INTO batch FROM iasql_internal.batch b WHERE b.id = iasql_internal.session_batch();
    SELECT d.id INTO other FROM iasql_internal.declaration d
    WHERE d.configuration = begin_declaration.configuration AND d.closed_at IS NULL
       OR d.batch = batch.id AND d.ended_at IS NULL
    ORDER BY d.batch = batch.id DESC LIMIT 1;
    IF other IS NULL THEN
        IF batch.phase <> 'open' THEN
            RAISE EXCEPTION '% is being committed or rolled back', iasql_internal.batch_text(batch.id)
                USING ERRCODE = 'IA020', HINT = 'Wait until that has ended, or declare from another session.';
        END IF;
        INSERT INTO iasql_internal.declaration (configuration, batch, own, removes, revision, declared_by)
        VALUES (begin_declaration.configuration,
                coalesce(batch.id, iasql_internal.begin_batch('configuration ' || configuration, NULL, local)),
                batch.id IS NULL, removes, nullif(begin_declaration.revision, ''), iasql_internal.writer())
        ON CONFLICT DO NOTHING RETURNING id INTO made;
        SELECT d.id INTO other FROM iasql_internal.declaration d
        WHERE made IS NULL AND d.configuration = begin_declaration.configuration AND d.closed_at IS NULL;
    END IF;
    IF made IS NULL THEN
        RAISE EXCEPTION '%', iasql_internal.declaration_text(other)
            USING ERRCODE = 'IA031',
                  HINT = (SELECT CASE WHEN d.batch IS DISTINCT FROM batch.id
                                      THEN 'Wait until that batch is closed. SELECT * FROM iasql_batches shows it.'
                                      WHEN d.ended_at IS NULL THEN 'CALL iasql_declared() ends that, and a commit puts it in force.'
                                      ELSE 'CALL iasql_commit() puts that in force, iasql_rollback() takes it back.' END
                          FROM iasql_internal.declaration d WHERE d.id = other);
    END IF;
    UPDATE iasql_internal.batch b SET declares = array_append(b.declares, begin_declaration.configuration)
    FROM iasql_internal.declaration d WHERE d.id = made AND b.id = d.batch AND NOT begin_declaration.configuration = ANY (b.declares);
    RETURN made;
EXCEPTION WHEN lock_not_available THEN
    RAISE EXCEPTION 'somebody is just beginning to declare configuration %', quote_literal(configuration)
        USING ERRCODE = 'IA031', HINT = 'Try again once that transaction has ended.';
END
$$;
COMMENT ON FUNCTION iasql_internal.begin_declaration(text, text, boolean, boolean) IS 'Begins a declaration in the session''s batch, or in one of its own.';

---------------------------------------------------------------------------------------------------------------------
-- Mentions

-- For the audit trigger, of what a statement of a batch has written. The system's own triggers update records that follow
-- others, and a configuration is not to get those by it: what a trigger updates is mentioned only if it is in already.
CREATE OR REPLACE FUNCTION iasql_internal.mention_written("table" text, joined bigint, verb text, ids bigint[], depth integer)
RETURNS void LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    declared iasql_internal.declaration;
BEGIN
    SELECT * INTO declared FROM iasql_internal.declaration d WHERE d.batch = joined AND d.ended_at IS NULL;
    IF NOT FOUND THEN
        RETURN;
    ELSIF verb = 'DELETE' THEN
        DELETE FROM iasql_internal.mention m
        WHERE m.declaration = declared.id AND m.table_name = mention_written."table" AND m.record_id = ANY (ids);
        RETURN;
    END IF;
    INSERT INTO iasql_internal.mention (declaration, table_name, record_id)
    SELECT declared.id, "table", i.id FROM unnest(ids) i (id)
    WHERE verb = 'INSERT' OR depth = 1 OR EXISTS (
        SELECT FROM iasql_internal.configuration c JOIN iasql_internal.mention m ON m.declaration = c.declaration
        WHERE c.name = declared.configuration AND m.table_name = mention_written."table" AND m.record_id = i.id)
    ON CONFLICT DO NOTHING;
END
$$;
COMMENT ON FUNCTION iasql_internal.mention_written(text, bigint, text, bigint[], integer) IS 'Has the declaration of a batch mention what a statement has written, and no longer what it has deleted.';

-- Who inserts a record that is there already, ON CONFLICT DO NOTHING, names it. No statement trigger sees that row.
CREATE OR REPLACE FUNCTION iasql_internal.mention_conflicting() RETURNS trigger
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off AS $$
DECLARE
    declaration bigint := iasql_internal.open_declaration();
    conditions  text;
BEGIN
    IF declaration IS NULL THEN
        RETURN NEW;
    END IF;
    SELECT string_agg(format('(%s)', k.condition), ' OR ') INTO conditions
    FROM (SELECT string_agg(format('t.%1$I = ($1).%1$I', a.attname), ' AND ') AS condition
          FROM pg_index i
          JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
          WHERE i.indrelid = TG_RELID AND i.indisunique AND i.indexprs IS NULL AND i.indpred IS NULL
          GROUP BY i.indexrelid) k;
    EXECUTE format('INSERT INTO iasql_internal.mention (declaration, table_name, record_id)
                    SELECT $2, %1$L, t.id FROM public.%1$I t WHERE %2$s ON CONFLICT DO NOTHING',
                   TG_TABLE_NAME, conditions) USING NEW, declaration;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION iasql_internal.mention_conflicting() IS 'Row trigger, within batches: has the open declaration mention the record that is there already under the name of a row that is inserted.';

-- For tables that an earlier version has made. (modules.Table.CreateDDL makes it for new ones.)
DO $$
DECLARE
    class regclass;
BEGIN
    FOR class IN
        SELECT c.oid FROM iasql_internal.managed_table m
        JOIN pg_class c ON c.relname = m.name AND c.relnamespace = 'public'::regnamespace
        WHERE NOT m.settings AND NOT EXISTS (
            SELECT FROM pg_trigger g WHERE g.tgrelid = c.oid AND g.tgname = 'iasql_mention' AND NOT g.tgisinternal)
    LOOP
        EXECUTE format('CREATE TRIGGER iasql_mention BEFORE INSERT ON %s FOR EACH ROW
                        WHEN (current_setting(''iasql.batch'', true) <> '''')
                        EXECUTE FUNCTION iasql_internal.mention_conflicting()', class);
    END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION iasql_internal.mention_named("table" text, id bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    declaration bigint := iasql_internal.require_declaration();
BEGIN
    IF (SELECT m.settings AND NOT m.composition FROM iasql_internal.managed_table m WHERE m.name = "table") THEN
        RAISE EXCEPTION 'records of % are settings, which no configuration has', "table"
            USING ERRCODE = 'IA031', TABLE = "table", HINT = 'A configuration has records that stand for something in the cloud.';
    ELSIF NOT iasql_internal.permitted('see', "table", id) THEN
        RAISE EXCEPTION 'permission denied: table % has no record % that you may see', "table", id
            USING ERRCODE = '42501', TABLE = "table", HINT = format('SELECT id FROM %I lists those that you may.', "table");
    END IF;
    PERFORM iasql_internal.image_of("table", id);
    INSERT INTO iasql_internal.mention (declaration, table_name, record_id)
    VALUES (declaration, "table", mention_named.id) ON CONFLICT DO NOTHING;
    RETURN FOUND;
END
$$;
COMMENT ON FUNCTION iasql_internal.mention_named(text, bigint) IS 'What iasql_mention does once it is on record that its caller may see the record.';

-- For functions of modules by which the engine makes a record for another one, such as a certificate's in the DNS: files do
-- not name it. Every configuration that has the other one has it.
CREATE OR REPLACE FUNCTION iasql_internal.mention_with("table" text, id bigint, with_table text, with_record bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO iasql_internal.mention (declaration, table_name, record_id, with_table, with_record)
    SELECT m.declaration, mention_with."table", mention_with.id, mention_with.with_table, mention_with.with_record
    FROM iasql_internal.mention m
    WHERE m.table_name = mention_with.with_table AND m.record_id = mention_with.with_record
    ON CONFLICT DO NOTHING;
END
$$;
COMMENT ON FUNCTION iasql_internal.mention_with(text, bigint, text, bigint) IS 'Has the configurations that have one record have another one too, which was made for it.';

CREATE OR REPLACE FUNCTION iasql_internal.require_declaration() RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    declaration bigint := iasql_internal.open_declaration();
BEGIN
    PERFORM iasql_internal.refuse_standby('iasql_declared');
    IF declaration IS NULL THEN
        RAISE EXCEPTION 'no configuration is being declared in this session'
            USING ERRCODE = 'IA031', HINT = 'CALL iasql_declare(''name'') first.';
    END IF;
    RETURN declaration;
END
$$;
COMMENT ON FUNCTION iasql_internal.require_declaration() IS 'The declaration that the session''s batch is in; raises if there is none.';

---------------------------------------------------------------------------------------------------------------------
-- Pruning

CREATE OR REPLACE FUNCTION iasql_internal.heights() RETURNS TABLE (name text, height integer)
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH RECURSIVE above (name, height) AS (
        SELECT m.name, 0 FROM iasql_internal.managed_table m
        UNION
        SELECT c.name, a.height + 1 FROM above a
        JOIN pg_class p ON p.relname = a.name AND p.relnamespace = 'public'::regnamespace
        JOIN pg_constraint k ON k.confrelid = p.oid AND k.contype = 'f' AND k.conrelid <> p.oid
        JOIN pg_class r ON r.oid = k.conrelid JOIN iasql_internal.managed_table c ON c.name = r.relname
        WHERE a.height < 16 -- tables may refer to each other
    )
    SELECT a.name, max(a.height) FROM above a GROUP BY a.name
$$;
COMMENT ON FUNCTION iasql_internal.heights() IS 'How far the managed tables stand above those that they refer to: what is higher is deleted first, and written last.';

-- Which records a declaration lets go of (NULL: of all that the configuration has), in the order in which they can be
-- deleted: first what refers to others. A record that only an open declaration still mentions is neither kept nor
-- deleted: it is not known yet whose it will be.
CREATE OR REPLACE FUNCTION iasql_internal.let_go(configuration text, declaration bigint)
RETURNS TABLE (table_name text, ids bigint[])
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET row_security = off
SET lock_timeout = '10s' AS $$
#variable_conflict use_column
DECLARE
    old      bigint;
    ours     bigint := (SELECT d.batch FROM iasql_internal.declaration d WHERE d.id = let_go.declaration);
    doubt    jsonb;
    "table"  record;
    left_    bigint[];
BEGIN
    IF declaration IS NOT NULL AND ours IS DISTINCT FROM iasql_internal.session_batch() THEN
        RAISE EXCEPTION 'declaration % is not one of this session', declaration USING ERRCODE = 'IA031';
    END IF;
    -- Two configurations that let go of a record at the same time would each leave it to the other: whoever has something
    -- of this one waits until this transaction has ended.
    PERFORM FROM iasql_internal.configuration c
    WHERE c.name = let_go.configuration OR c.declaration IN (
        SELECT o.declaration FROM iasql_internal.configuration k
        JOIN iasql_internal.mention m ON m.declaration = k.declaration
        JOIN iasql_internal.mention o ON o.record_id = m.record_id AND o.table_name = m.table_name
        WHERE k.name = let_go.configuration)
    ORDER BY c.name FOR UPDATE;
    old := (SELECT c.declaration FROM iasql_internal.configuration c WHERE c.name = let_go.configuration);
    INSERT INTO iasql_internal.mention (declaration, table_name, record_id, with_table, with_record)
    SELECT let_go.declaration, m.table_name, m.record_id, m.with_table, m.with_record
    FROM iasql_internal.mention m
    JOIN iasql_internal.mention w ON w.declaration = let_go.declaration AND w.table_name = m.with_table AND w.record_id = m.with_record
    WHERE m.declaration = old
    ON CONFLICT DO NOTHING;
    FOR "table" IN
        WITH h AS MATERIALIZED (SELECT * FROM iasql_internal.heights())
        SELECT m.table_name AS name, array_agg(m.record_id) AS mentioned
        FROM iasql_internal.mention m
        JOIN iasql_internal.managed_table t ON t.name = m.table_name AND t.can_delete AND (t.composition OR NOT t.settings)
        WHERE m.declaration = old
          AND NOT EXISTS (SELECT FROM iasql_internal.mention n
                          WHERE n.declaration = let_go.declaration AND n.table_name = m.table_name
                            AND n.record_id = m.record_id)
        GROUP BY m.table_name
        ORDER BY (SELECT h.height FROM h WHERE h.name = m.table_name) DESC, m.table_name
    LOOP
        EXECUTE format('SELECT array_agg(t.id ORDER BY t.id) FROM public.%I t WHERE t.id = ANY ($1)', "table".name)
        INTO left_ USING "table".mentioned;
        -- Others that have it: the declarations in force, but for those that one of this batch replaces and that lets go of
        -- it, and those that are open.
        WITH others AS MATERIALIZED (
            SELECT m.record_id AS id, d.closed_at IS NULL AS open, d.batch IS NOT DISTINCT FROM ours AS in_batch, d.id AS declaration, n.id AS leaving
            FROM iasql_internal.mention m
            JOIN iasql_internal.declaration d ON d.id = m.declaration AND d.configuration <> let_go.configuration
            LEFT JOIN iasql_internal.configuration c ON c.declaration = d.id
            LEFT JOIN iasql_internal.declaration n ON c.declaration IS NOT NULL AND n.configuration = d.configuration
                AND n.closed_at IS NULL AND n.ended_at IS NOT NULL AND NOT EXISTS (
                    SELECT FROM iasql_internal.mention x
                    WHERE x.declaration = n.id AND x.table_name = m.table_name AND x.record_id = m.record_id)
            WHERE m.table_name = "table".name AND m.record_id = ANY (left_)
              AND (d.closed_at IS NULL OR c.declaration IS NOT NULL AND (n.id IS NULL OR n.batch IS DISTINCT FROM ours))
        ), answer AS MATERIALIZED (
            SELECT i.id, bool_or(CASE WHEN o.open THEN o.in_batch ELSE o.leaving IS NULL END) FILTER (WHERE o.id IS NOT NULL) AS kept,
                   min(coalesce(o.leaving, o.declaration)) AS declaration
            FROM unnest(left_) i (id) LEFT JOIN others o ON o.id = i.id GROUP BY i.id
        )
        SELECT (SELECT jsonb_build_object('id', a.id, 'declaration', a.declaration) FROM answer a
                WHERE NOT a.kept ORDER BY a.id LIMIT 1),
               (SELECT coalesce(array_agg(a.id ORDER BY a.id), '{}') FROM answer a WHERE a.kept IS NULL) INTO doubt, ids;
        IF doubt IS NOT NULL THEN
            RAISE EXCEPTION 'record % of % cannot be let go of by configuration % yet: %', doubt -> 'id', "table".name,
                    quote_literal(configuration), iasql_internal.declaration_text((doubt ->> 'declaration')::bigint)
                USING ERRCODE = 'IA031', TABLE = "table".name,
                      HINT = 'That mentions the record, or is about to let go of it too. Try again once its batch is closed.';
        END IF;
        table_name := "table".name;
        CONTINUE WHEN ids = '{}';
        RETURN NEXT;
    END LOOP;
EXCEPTION WHEN lock_not_available THEN
    RAISE EXCEPTION 'another transaction is just ending the declaration of a configuration'
        USING ERRCODE = 'IA031', HINT = 'Try again once it has ended.';
END
$$;
COMMENT ON FUNCTION iasql_internal.let_go(text, bigint) IS 'The records that the declaration in force mentions, this one does not, and no other configuration has; raises while that is in doubt.';

-- Of tables whose rows are hidden from some, the caller gets those that it is on record that he may delete.
CREATE OR REPLACE FUNCTION iasql_internal.may_go(configuration text, declaration bigint)
RETURNS TABLE (table_name text, ids bigint[])
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT g.table_name, CASE WHEN NOT has_table_privilege(iasql_internal.writer(), format('public.%I', g.table_name), 'DELETE') THEN '{}'
                         WHEN iasql_internal.is_subject(iasql_internal.writer(), format('public.%I', g.table_name)::regclass)
                         THEN ARRAY(SELECT p.record_id FROM iasql_internal.permit p
                                    WHERE p.xid = pg_current_xact_id_if_assigned() AND p.table_name = g.table_name
                                      AND p.may = 'delete' AND p.record_id = ANY (g.ids))
                         ELSE g.ids END
    FROM iasql_internal.let_go(configuration, declaration) g;
END
$$;
COMMENT ON FUNCTION iasql_internal.may_go(text, bigint) IS 'Of the records that a declaration lets go of, those that the caller may delete.';

CREATE OR REPLACE FUNCTION iasql_internal.refuse_left(configuration text, declaration bigint) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    "table" text := (SELECT g.table_name FROM iasql_internal.let_go(configuration, declaration) g LIMIT 1);
BEGIN
    IF "table" IS NOT NULL THEN
        RAISE EXCEPTION 'configuration % lets go of records of % that you may not delete', quote_literal(configuration), "table"
            USING ERRCODE = '42501', TABLE = "table",
                  HINT = 'Grants or row-level security of the table say so. Mention them, or let somebody declare it who may delete them.';
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_left(text, bigint) IS 'Raises if records are still there that a declaration lets go of.';

-- With the caller's rights, by statements that the caller could make.
CREATE OR REPLACE FUNCTION iasql_internal.prune_let_go(configuration text, declaration bigint) RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    gone    record;
    names   text := iasql_internal.constraint_names();
    n       bigint;
    total   bigint := 0;
    "table" text;
    what    text;
BEGIN
    EXECUTE 'SET CONSTRAINTS ' || names || ' DEFERRED';
    IF declaration IS NOT NULL THEN
        PERFORM iasql_internal.fold_again(configuration, declaration);
    END IF;
    PERFORM iasql_internal.permit('delete', m.table_name, array_agg(m.record_id))
    FROM iasql_internal.mentioned m
    WHERE m.configuration = prune_let_go.configuration AND to_regclass(format('public.%I', m.table_name)) IS NOT NULL
      AND row_security_active(to_regclass(format('public.%I', m.table_name)))
    GROUP BY m.table_name;
    FOR gone IN SELECT g.table_name, g.ids FROM iasql_internal.may_go(configuration, declaration) g LOOP
        CONTINUE WHEN gone.ids = '{}';
        EXECUTE format('DELETE FROM public.%I t WHERE t.id = ANY ($1)', gone.table_name) USING gone.ids;
        GET DIAGNOSTICS n = ROW_COUNT;
        total := total + n;
    END LOOP;
    EXECUTE 'SET CONSTRAINTS ' || names || ' IMMEDIATE';
    PERFORM iasql_internal.refuse_left(configuration, declaration);
    RETURN total;
EXCEPTION WHEN foreign_key_violation THEN
    GET STACKED DIAGNOSTICS "table" = TABLE_NAME, what = PG_EXCEPTION_DETAIL;
    RAISE EXCEPTION 'configuration % cannot let go of what others refer to: % (%)', quote_literal(configuration), SQLERRM, what
        USING ERRCODE = '23503', TABLE = "table",
              HINT = 'Mention it in the configuration, or change what refers to it first. Nothing was changed.';
END
$$;
COMMENT ON FUNCTION iasql_internal.prune_let_go(text, bigint) IS 'Deletes what a configuration lets go of, as its caller; returns how many records.';

-- The engine shows what a commit would do. What the end of an open declaration will delete is deleted for that, and
-- comes back: the caller's own edits are handed to the engine.
CREATE OR REPLACE FUNCTION iasql_internal.preview_declared() RETURNS bigint
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    declaration bigint := iasql_internal.open_declaration();
    made        bigint;
BEGIN
    IF declaration IS NULL THEN
        RETURN iasql_internal.preview();
    END IF;
    BEGIN
        PERFORM iasql_internal.prune_let_go(iasql_internal.declared_name(declaration), declaration);
        made := iasql_internal.preview();
        RAISE EXCEPTION 'taken back' USING ERRCODE = 'IA099';
    EXCEPTION WHEN SQLSTATE 'IA099' THEN -- (a code that ends in 000 would stand for all of its class: manual, section 43.6.8)
        RETURN made;
    END;
END
$$;
COMMENT ON FUNCTION iasql_internal.preview_declared() IS 'Has the engine make a preview, within a declaration of what its end will make of it; returns the request that has it.';

CREATE OR REPLACE FUNCTION iasql_internal.declared_name(declaration bigint) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT d.configuration FROM iasql_internal.declaration d WHERE d.id = declared_name.declaration);
END
$$;
COMMENT ON FUNCTION iasql_internal.declared_name(bigint) IS 'The configuration that a declaration is of.';

---------------------------------------------------------------------------------------------------------------------
-- The end

-- What is in force is changed when the batch is closed (close_declarations), by whoever does that.
CREATE OR REPLACE FUNCTION iasql_internal.end_declaration(OUT own boolean, OUT batch bigint,
                                                          OUT changes boolean, OUT mentioned bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    ended iasql_internal.declaration;
BEGIN
    PERFORM iasql_internal.refuse_left(iasql_internal.declared_name(iasql_internal.require_declaration()),
                                       iasql_internal.require_declaration());
    UPDATE iasql_internal.declaration d SET ended_at = clock_timestamp(), ended_xid = pg_current_xact_id()
    WHERE d.id = iasql_internal.require_declaration() RETURNING * INTO ended;
    own := ended.own;
    batch := ended.batch;
    changes := EXISTS (SELECT FROM iasql_internal.staged s WHERE s.batch = ended.batch);
    mentioned := (SELECT count(*) FROM iasql_internal.mention m WHERE m.declaration = ended.id);
    IF own AND NOT changes THEN
        PERFORM iasql_internal.close_batch(ended.batch, 'open', 'committed');
        PERFORM set_config('iasql.batch', '', false);
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.end_declaration() IS 'Ends a declaration once it has been pruned. A batch of its own that has changed nothing is closed, and the declaration is in force.';

CREATE OR REPLACE FUNCTION iasql_internal.close_declarations(batch bigint, outcome text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    closed iasql_internal.declaration;
BEGIN
    FOR closed IN
        UPDATE iasql_internal.declaration d SET closed_at = clock_timestamp(),
            previous = (SELECT c.declaration FROM iasql_internal.configuration c WHERE c.name = d.configuration)
        WHERE d.batch = close_declarations.batch AND d.closed_at IS NULL RETURNING *
    LOOP
        IF outcome <> 'committed' OR closed.ended_at IS NULL THEN
            DELETE FROM iasql_internal.declaration d WHERE d.id = closed.id;
        ELSIF closed.removes THEN
            DELETE FROM iasql_internal.configuration c WHERE c.name = closed.configuration;
        ELSE
            INSERT INTO iasql_internal.configuration (name, declaration) VALUES (closed.configuration, closed.id)
            ON CONFLICT (name) DO UPDATE SET declaration = excluded.declaration, declared_at = excluded.declared_at;
        END IF;
    END LOOP;
    -- A batch that undoes another puts back what was in force before that.
    FOR closed IN
        SELECT d.* FROM iasql_internal.declaration d JOIN iasql_internal.batch b ON b.undoes = d.batch
        WHERE b.id = close_declarations.batch AND outcome = 'committed' AND d.closed_at IS NOT NULL
    LOOP
        IF closed.removes THEN
            INSERT INTO iasql_internal.configuration (name, declaration)
            SELECT closed.configuration, d.id FROM iasql_internal.declaration d WHERE d.id = closed.previous ON CONFLICT DO NOTHING;
        ELSIF closed.previous IS NULL THEN
            DELETE FROM iasql_internal.configuration c WHERE c.declaration = closed.id;
        ELSE
            UPDATE iasql_internal.configuration c SET declaration = d.id FROM iasql_internal.declaration d
            WHERE c.declaration = closed.id AND d.id = closed.previous;
        END IF;
    END LOOP;
    -- The one before the one in force is kept for an undoing.
    DELETE FROM iasql_internal.declaration d
    WHERE d.closed_at IS NOT NULL
      AND d.configuration IN (SELECT n.configuration FROM iasql_internal.declaration n WHERE n.batch = close_declarations.batch)
      AND d.id NOT IN (SELECT n.id FROM iasql_internal.declaration n
                       WHERE n.configuration = d.configuration ORDER BY n.closed_at DESC LIMIT 2)
      AND NOT EXISTS (SELECT FROM iasql_internal.configuration c WHERE c.declaration = d.id);
END
$$;
COMMENT ON FUNCTION iasql_internal.close_declarations(bigint, text) IS 'Puts the declarations of a batch in force that is committed, and forgets those of one that is not.';

CREATE OR REPLACE FUNCTION iasql_internal.refuse_undeclared(batch bigint) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    declaration bigint := (SELECT d.id FROM iasql_internal.declaration d
                           WHERE d.batch = refuse_undeclared.batch AND d.ended_at IS NULL);
BEGIN
    IF declaration IS NOT NULL THEN
        RAISE EXCEPTION '%', iasql_internal.declaration_text(declaration)
            USING ERRCODE = 'IA031', HINT = 'CALL iasql_declared() ends the declaration, and a commit puts it in force.';
    END IF;
END
$$;
COMMENT ON FUNCTION iasql_internal.refuse_undeclared(bigint) IS 'Raises if a declaration of a batch has not ended.';

CREATE OR REPLACE FUNCTION iasql_internal.drop_configuration(name text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    other bigint := (SELECT d.id FROM iasql_internal.declaration d
                     WHERE d.configuration = drop_configuration.name AND d.closed_at IS NULL);
BEGIN
    IF other IS NOT NULL THEN
        RAISE EXCEPTION '%', iasql_internal.declaration_text(other)
            USING ERRCODE = 'IA031', HINT = 'Wait until that batch is closed. SELECT * FROM iasql_batches shows it.';
    END IF;
    PERFORM iasql_internal.refuse_left(name, NULL);
    DELETE FROM iasql_internal.configuration c WHERE c.name = drop_configuration.name;
    DELETE FROM iasql_internal.declaration d WHERE d.configuration = drop_configuration.name;
END
$$;
COMMENT ON FUNCTION iasql_internal.drop_configuration(text) IS 'Forgets a configuration whose records are gone.';

-- In a batch it is a declaration that mentions nothing; outside it is a deletion like any other.
CREATE OR REPLACE FUNCTION iasql_internal.delete_configuration() RETURNS trigger
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    declaration bigint;
BEGIN
    IF iasql_internal.session_batch() IS NULL THEN
        PERFORM iasql_internal.prune_let_go(OLD.name, NULL);
        PERFORM iasql_internal.drop_configuration(OLD.name);
    ELSE
        declaration := iasql_internal.begin_declaration(OLD.name, NULL, true, false);
        PERFORM iasql_internal.prune_let_go(OLD.name, declaration);
        PERFORM iasql_internal.end_declaration();
    END IF;
    RETURN OLD;
END
$$;
COMMENT ON FUNCTION iasql_internal.delete_configuration() IS 'Trigger of iasql_configurations: deletes what only this configuration mentions, as the caller, and forgets it.';
