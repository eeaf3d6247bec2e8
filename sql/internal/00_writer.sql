-- Comes first: standard-SQL bodies (BEGIN ATOMIC) are bound when they are made.
--
-- In PL/pgSQL, as these are asked with every write: of a function in SQL every transaction would make the plan anew.

-- Who writes: the role that was set, else the one that logged in. (In a SECURITY DEFINER function current_user is the
-- function's owner.) What expires the engine deletes for the role that said so (expiry.sql).
CREATE OR REPLACE FUNCTION iasql_internal.writer() RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF current_setting('iasql.origin', true) = 'expiry' AND pg_has_role(session_user, 'iasql_engine', 'MEMBER') THEN
        RETURN current_setting('iasql.expires_for');
    END IF;
    RETURN CASE current_setting('role') WHEN 'none' THEN session_user::text ELSE current_setting('role') END;
END
$$;
COMMENT ON FUNCTION iasql_internal.writer() IS 'The role that makes the current change.';

-- The setting alone could be made by anybody; the role cannot, nor a row of iasql_internal.reverting.
CREATE OR REPLACE FUNCTION iasql_internal.writer_is_engine() RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN coalesce(current_setting('iasql.origin', true), '') = 'engine' AND pg_has_role(session_user, 'iasql_engine', 'MEMBER')
        OR EXISTS (SELECT FROM iasql_internal.reverting r WHERE r.xid = pg_current_xact_id_if_assigned());
END
$$;
COMMENT ON FUNCTION iasql_internal.writer_is_engine() IS 'Whether the current change is the engine''s own and no user''s intention (R4).';

CREATE OR REPLACE FUNCTION iasql_internal.setting(name text) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT s.value FROM public.iasql_settings s WHERE s.name = setting.name);
END
$$;
COMMENT ON FUNCTION iasql_internal.setting(text) IS 'Value of a setting.';

-- The row alone would leak to a pooler's next client, and the setting alone anybody could make. Nobody else knows the token.
CREATE OR REPLACE FUNCTION iasql_internal.session_batch() RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    proof text := current_setting('iasql.batch', true);
BEGIN
    IF coalesce(proof, '') = '' THEN
        RETURN NULL;
    END IF;
    RETURN (SELECT b.id FROM iasql_internal.batch_session s JOIN iasql_internal.batch b ON b.id = s.batch
            WHERE s.pid = pg_backend_pid() AND s.token::text = proof AND b.closed_at IS NULL);
END
$$;
COMMENT ON FUNCTION iasql_internal.session_batch() IS 'id of the batch that the calling session works in, whatever its phase; NULL if it works in none (R21).';

-- Modules ask this.
CREATE OR REPLACE FUNCTION iasql_internal.open_batch() RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT b.id FROM iasql_internal.batch b WHERE b.id = iasql_internal.session_batch() AND b.phase = 'open');
END
$$;
COMMENT ON FUNCTION iasql_internal.open_batch() IS 'id of the batch that the calling session''s changes belong to, NULL if they are pushed at once.';

-- psql prints notices and errors as they are: what is in a name or a message must be no command to the terminal, nor turn the
-- direction of a line.
CREATE OR REPLACE FUNCTION iasql_internal.plain(said text, lines boolean DEFAULT false) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
RETURN regexp_replace(said, CASE WHEN lines THEN '[\u0001-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]'
                                 ELSE '[\u0001-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]' END, '�', 'g');
COMMENT ON FUNCTION iasql_internal.plain(text, boolean) IS 'What somebody else says, without control characters; with lines, line feeds and tabs stay.';

CREATE OR REPLACE FUNCTION iasql_internal.batch_text(batch bigint) RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT iasql_internal.plain(concat('batch ', b.id, ' (' || b.name || ')', ' of ', b.opened_by)) FROM iasql_internal.batch b WHERE b.id = batch_text.batch);
END
$$;
COMMENT ON FUNCTION iasql_internal.batch_text(bigint) IS 'What errors call a batch: its number, name and owner.';

CREATE OR REPLACE FUNCTION iasql_internal.open_batch_text() RETURNS text
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT concat(initcap(left(t.what, 1)), substr(t.what, 2), ' is open: what was changed in it waits until it is committed. ')
            FROM (SELECT iasql_internal.batch_text(iasql_internal.session_batch()) AS what) t WHERE t.what IS NOT NULL);
END
$$;
COMMENT ON FUNCTION iasql_internal.open_batch_text() IS 'What a hint says of the session''s batch, NULL if it works in none.';

CREATE OR REPLACE FUNCTION iasql_internal.waits_in_batch("table" text, record bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN EXISTS (SELECT FROM iasql_internal.staged s JOIN iasql_internal.batch b ON b.id = s.batch
                   WHERE s.table_name = waits_in_batch."table" AND s.record_id = waits_in_batch.record
                     AND b.commit_asked IS NULL AND (b.phase = 'open' OR b.id IS DISTINCT FROM iasql_internal.session_batch()));
END
$$;
COMMENT ON FUNCTION iasql_internal.waits_in_batch(text, bigint) IS 'Whether a record is staged in a batch that is somebody else''s to wait for, or that nobody has asked to commit.';
