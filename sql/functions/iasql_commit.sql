DROP PROCEDURE IF EXISTS public.iasql_commit(text, text, text);
CREATE OR REPLACE PROCEDURE public.iasql_commit(message text DEFAULT NULL, preview_hash text DEFAULT NULL, on_error text DEFAULT 'rollback', on_cancel text DEFAULT 'continue')
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM iasql_internal.permit_batch(iasql_internal.session_batch(), '{update,keep,delete,insert}');
    PERFORM iasql_internal.refuse_standby('iasql_commit');
    PERFORM iasql_internal.commit(message, preview_hash, on_error, on_cancel);
END
$$;
COMMENT ON PROCEDURE public.iasql_commit(text, text, text, text) IS
$$Applies this session's batch and waits until it is done. If something fails for good, on_error says what becomes of the rest: rollback undoes the batch in the cloud and in the tables and raises, keep keeps what worked and warns. Given a hash of iasql_preview_hash() it changes nothing if either side has moved since. While it waits it says in notices how far it is. If the wait is cancelled, on_cancel says what becomes of the batch: continue or rollback. It gives up what has made no progress for as long as the setting progress_timeout. In a transaction with edits of its own it takes effect when that commits.
Sample: CALL iasql_commit('why it was done')$$;

CREATE OR REPLACE FUNCTION iasql_internal.commit(message text, preview_hash text, on_error text, on_cancel text) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    batch  bigint := iasql_internal.batch_meant(false);
    answer jsonb;
    failed record;
BEGIN
    IF on_error IS NULL OR on_error NOT IN ('rollback', 'keep') THEN
        RAISE EXCEPTION 'on_error cannot be %', coalesce(quote_literal(on_error), 'NULL')
            USING ERRCODE = 'IA007', HINT = 'Use rollback (undo all of the batch if something fails) or keep (keep what worked).';
    END IF;
    IF on_cancel IS NULL OR on_cancel NOT IN ('continue', 'rollback') THEN
        RAISE EXCEPTION 'on_cancel cannot be %', coalesce(quote_literal(on_cancel), 'NULL')
            USING ERRCODE = 'IA007', HINT = 'Use continue (the engine goes on when the wait is cancelled) or rollback (it undoes the batch then).';
    END IF;
    PERFORM iasql_internal.check_batch(batch, 'commit');
    PERFORM iasql_internal.refuse_undeclared(batch);
    IF iasql_internal.has_own_edits() THEN
        IF preview_hash IS NOT NULL AND preview_hash <> public.iasql_preview_hash() THEN
            RAISE EXCEPTION 'batch % is not what was previewed: the database or the cloud has changed since', batch
                USING ERRCODE = 'IA023', HINT = 'Nothing was changed. Look at SELECT * FROM iasql_preview() again.';
        END IF;
        PERFORM iasql_internal.submit('commit', jsonb_build_object('batch', batch, 'preview_hash', preview_hash, 'on_error', on_error, 'message', message, 'deferred', true), iasql_internal.writer());
        UPDATE iasql_internal.batch b SET commit_asked = clock_timestamp() WHERE b.id = batch;
        RAISE NOTICE 'batch % will be applied when this transaction commits; SELECT iasql_wait_for_all() waits for it then', batch;
        RETURN;
    END IF;
    -- Nothing is written here: the engine has to write the same rows, while this transaction waits for it.
    answer := iasql_internal.ask('commit', jsonb_build_object('batch', batch, 'preview_hash', preview_hash, 'on_error', on_error, 'on_cancel', on_cancel, 'message', message));
    FOR failed IN SELECT f.* FROM jsonb_to_recordset(answer -> 'failed') AS f (table_name text, record_id bigint, message text) LOOP
        RAISE WARNING 'record % of % was not applied: %', failed.record_id, failed.table_name, iasql_internal.plain(failed.message, true)
            USING HINT = format('Change the record, or SELECT iasql_retry(%L, %s) once the cause is gone.', failed.table_name, failed.record_id);
    END LOOP;
    PERFORM set_config('iasql.batch', '', false);
    RAISE NOTICE 'batch % is committed: % pushed, % pulled', batch, answer ->> 'pushed', answer ->> 'pulled';
END
$$;
COMMENT ON FUNCTION iasql_internal.commit(text, text, text, text) IS 'What iasql_commit does; raises unless its caller may make every change of the batch now.';
