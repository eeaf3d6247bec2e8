CREATE OR REPLACE PROCEDURE public.iasql_declare(name text, revision text DEFAULT NULL, local boolean DEFAULT false)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    declaration bigint := iasql_internal.begin_declaration(name, revision, false, coalesce(local, false));
BEGIN
    RAISE NOTICE '%: all that is written or named from now until iasql_declared() is the whole of it',
        iasql_internal.declaration_text(declaration);
END
$$;
COMMENT ON PROCEDURE public.iasql_declare(text, text, boolean) IS
$$Begins to declare a configuration: what the session inserts, updates or names with iasql_mention() until iasql_declared() is the whole of it. Within a batch it is part of that, else it has one of its own. Until it is committed the declaration before it stays in force. revision says which state of a repository it is; local is as in iasql_begin.
Sample: CALL iasql_declare('shop')$$;

-- The engine waits for this transaction, which deletes, so that the call does not wait for the engine.
CREATE OR REPLACE PROCEDURE public.iasql_declared(message text DEFAULT NULL, preview_hash text DEFAULT NULL, on_error text DEFAULT 'rollback')
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    declaration bigint := iasql_internal.require_declaration();
    name        text := iasql_internal.declared_name(declaration);
    deleted     bigint;
    ended       record;
BEGIN
    IF preview_hash IS NOT NULL THEN -- without one nothing is asked of the engine
        IF preview_hash <> public.iasql_preview_hash() THEN
            RAISE EXCEPTION 'configuration % is not what was previewed: the database or the cloud has changed since',
                    quote_literal(name)
                USING ERRCODE = 'IA023', HINT = 'Nothing was changed. Look at SELECT * FROM iasql_preview() again.';
        END IF;
    END IF;
    deleted := iasql_internal.prune_let_go(name, declaration);
    SELECT * INTO ended FROM iasql_internal.end_declaration();
    RAISE NOTICE 'configuration % mentions % records; % that it no longer mentions % deleted', quote_literal(name),
        ended.mentioned, deleted, CASE deleted WHEN 1 THEN 'is' ELSE 'are' END;
    IF NOT ended.own THEN
        RETURN;
    ELSIF NOT ended.changes THEN
        RAISE NOTICE 'configuration % has not changed', quote_literal(name);
        RETURN;
    END IF;
    PERFORM iasql_internal.permit_batch(ended.batch, '{update,keep,delete,insert}');
    PERFORM iasql_internal.commit(message, preview_hash, on_error, 'continue');
END
$$;
COMMENT ON PROCEDURE public.iasql_declared(text, text, text) IS
$$Ends the declaration of a configuration, and deletes the records that the declaration in force mentions and this one does not, unless another configuration has them too. A batch of its own is committed when the transaction commits, with message, preview_hash and on_error as in iasql_commit; iasql_wait_for_all() waits for it.
Sample: CALL iasql_declared()$$;

CREATE OR REPLACE FUNCTION public.iasql_mention("table" text, id bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM iasql_internal.check_table("table");
    IF id IS NULL THEN
        PERFORM iasql_internal.refuse_null('iasql_mention', 'id', format('Name a record: SELECT iasql_mention(%L, id) FROM %I WHERE …', "table", "table"));
    END IF;
    PERFORM iasql_internal.permit('see', "table", ARRAY[id]);
    RETURN iasql_internal.mention_named("table", id);
END
$$;
COMMENT ON FUNCTION public.iasql_mention(text, bigint) IS
$$Names a record in the configuration that is being declared, without writing it: it belongs to the configuration, and is not deleted at the end. False if it was mentioned already.
Sample: SELECT iasql_mention('vpc', 1)$$;
