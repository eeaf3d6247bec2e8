INSERT INTO iasql_internal.host_kind (table_name, kind, column_name) VALUES ('host_file', 'file', 'path'), ('host_file_block', 'block', 'path') ON CONFLICT DO NOTHING;

CREATE OR REPLACE TRIGGER host_file_in_scope
    BEFORE INSERT OR UPDATE OF account, path ON public.host_file
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_in_scope();

CREATE OR REPLACE TRIGGER host_file_block_in_scope
    BEFORE INSERT OR UPDATE OF account, path ON public.host_file_block
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_in_scope();

-- Until version 2.
DROP FUNCTION IF EXISTS iasql_internal.host_file_in_scope();

-- A secret content leaves its row before that is stored (R16). The row has a version in its place, under which the
-- content is kept; so versions are what is audited, compared, undone and pushed, and the content is read by the engine
-- alone when it is sent. A version is random: it tells nothing of the content, and each that is written is another.
CREATE OR REPLACE FUNCTION iasql_internal.host_file_content() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off SET standard_conforming_strings = on
AS $$
DECLARE
    moved  boolean := TG_OP = 'UPDATE' AND (NEW.account, NEW.path) IS DISTINCT FROM (OLD.account, OLD.path);
    was    text;
    wanted text := nullif(NEW.secret_content, '********');
    staged text;
BEGIN
    IF iasql_internal.writer_is_engine() THEN
        RETURN NEW;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        was := OLD.content_version;
    END IF;
    NEW.secret_content := NULL;
    IF NOT iasql_internal.host_secret(NEW.account, NEW.path) THEN
        IF wanted IS NOT NULL OR NEW.content_version IS NOT NULL AND (moved OR NEW.content_version IS DISTINCT FROM was) THEN
            RAISE EXCEPTION 'host_file %: no scope of host % says that its content is secret, so that it would be read into the table', NEW.path, NEW.account
                USING ERRCODE = '23514', SCHEMA = 'public', TABLE = TG_TABLE_NAME, COLUMN = CASE WHEN wanted IS NOT NULL THEN 'secret_content' ELSE 'content_version' END,
                      HINT = format('INSERT INTO host_scope (account, pattern, secret) VALUES (%L, %L, true).', NEW.account, NEW.path);
        END IF;
        RETURN NEW;
    END IF;
    IF NEW.content IS NOT NULL AND (TG_OP = 'INSERT' OR moved OR NEW.content IS DISTINCT FROM OLD.content) THEN
        RAISE EXCEPTION 'host_file %: its content is secret, as a scope of host % says', NEW.path, NEW.account
            USING ERRCODE = '23514', SCHEMA = 'public', TABLE = TG_TABLE_NAME, COLUMN = 'content',
                  HINT = 'Leave content at NULL, and set secret_content.';
    END IF;
    IF wanted IS NULL AND moved AND was IS NOT NULL AND NEW.content_version IS NOT NULL THEN
        RAISE EXCEPTION 'host_file %: its content is secret, and nobody can read it to make the file anew at % of host %', OLD.path, NEW.path, NEW.account
            USING ERRCODE = '23514', SCHEMA = 'public', TABLE = TG_TABLE_NAME, COLUMN = 'secret_content',
                  HINT = 'Set secret_content as well.';
    END IF;
    IF wanted IS NULL THEN
        -- INSERT … ON CONFLICT DO UPDATE SET secret_content = EXCLUDED.secret_content: the INSERT has taken it.
        SELECT s.version INTO staged FROM iasql_internal.kept_secret AS s
        WHERE TG_OP = 'UPDATE' AND s.table_name = 'host_file' AND s.account = NEW.account AND s.key = NEW.path AND s.sent IS NULL AND s.version IS DISTINCT FROM was
          AND NOT EXISTS (SELECT FROM public.iasql_audit_log AS l WHERE l.table_name = 'host_file' AND l.record_id = NEW.id AND NOT l.settled AND strpos(l.change::text, s.version) > 0);
        NEW.content_version := coalesce(staged, NEW.content_version);
        RETURN NEW;
    END IF;
    IF NEW.kind <> 'file' OR octet_length(wanted) > 262144 THEN
        RAISE EXCEPTION 'host_file %: secret_content is of a file, and of 256 KiB at most', NEW.path
            USING ERRCODE = '23514', SCHEMA = 'public', TABLE = TG_TABLE_NAME, COLUMN = 'secret_content';
    END IF;
    NEW.content_version := gen_random_uuid();
    INSERT INTO iasql_internal.kept_secret (table_name, account, key, version, value, sha256)
    VALUES ('host_file', NEW.account, NEW.path, NEW.content_version, wanted, encode(sha256(convert_to(wanted, 'UTF8')), 'hex'));
    RETURN NEW;
END;
$$;

COMMENT ON FUNCTION iasql_internal.host_file_content() IS
    'Row trigger: puts the version of a secret content in its place before the row of a file is stored.';
REVOKE EXECUTE ON FUNCTION iasql_internal.host_file_content() FROM PUBLIC;

-- Its name has it fire before the vault's, which then has nothing to hide.
CREATE OR REPLACE TRIGGER host_file_content
    BEFORE INSERT OR UPDATE OF account, path, kind, content, secret_content, content_version ON public.host_file
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_file_content();

-- A file has one content: in content, in bytes, or where source says, and sha256 is always of that. So whoever writes one of
-- them gives up the others.
CREATE OR REPLACE FUNCTION iasql_internal.host_file_one_content() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off SET standard_conforming_strings = on
AS $$
DECLARE
    moved       boolean := TG_OP = 'UPDATE' AND (NEW.account, NEW.path) IS DISTINCT FROM (OLD.account, OLD.path);
    -- (OLD is NULL for INSERT.)
    says_text   boolean := NEW.content IS NOT NULL AND NEW.content IS DISTINCT FROM OLD.content;
    says_bytes  boolean := NEW.bytes IS NOT NULL AND NEW.bytes IS DISTINCT FROM OLD.bytes;
    says_sum    boolean := NEW.sha256 IS NOT NULL AND NEW.sha256 IS DISTINCT FROM OLD.sha256;
    says_source boolean := NEW.source IS NOT NULL AND NEW.source IS DISTINCT FROM OLD.source;
    sum         text;
    bad         text;
    hint        text;
BEGIN
    IF iasql_internal.writer_is_engine() THEN
        RETURN NEW;
    END IF;
    IF iasql_internal.host_secret(NEW.account, NEW.path) THEN
        IF says_bytes OR says_sum OR says_source OR moved AND num_nonnulls(NEW.bytes, NEW.source) > 0 THEN
            bad := format('its content is secret, as a scope of host %s says', NEW.account);
            hint := 'Leave bytes, source and sha256 at NULL, and set secret_content, which is a text.';
        END IF;
        NEW.bytes := NULL;
        NEW.source := NULL;
        NEW.sha256 := NULL;
    ELSIF NEW.kind <> 'file' AND NOT says_sum THEN
        NEW.sha256 := NULL;
    ELSIF says_text OR says_bytes THEN
        IF NOT says_bytes THEN
            NEW.bytes := NULL;
        ELSIF NOT says_text THEN
            NEW.content := NULL;
        END IF;
        IF NOT says_source THEN
            NEW.source := NULL;
        END IF;
        sum := encode(sha256(coalesce(convert_to(NEW.content, 'UTF8'), NEW.bytes)), 'hex');
        IF says_sum AND NEW.sha256 <> sum OR says_source AND NOT says_sum THEN
            bad := format('it says one content in %s, whose SHA-256 is %s, and another in %s', CASE WHEN says_text THEN 'content' ELSE 'bytes' END, sum,
                          CASE WHEN says_source THEN 'source' ELSE 'sha256' END);
            hint := 'Give content, or bytes, or source and sha256.';
        ELSIF says_bytes AND iasql_internal.host_file_is_text(NEW.bytes) THEN
            bad := 'bytes is a text, which would be read into content';
            hint := 'Set content instead: convert_from(…, ''UTF8'').';
        END IF;
        NEW.sha256 := sum;
    ELSIF says_source AND NEW.sha256 IS NULL THEN
        bad := 'source says where its content is, and sha256 does not say which it is';
        hint := 'Set sha256 as well: sha256sum prints it. What the source has is used only if it is that.';
    ELSIF says_sum THEN
        IF encode(sha256(convert_to(NEW.content, 'UTF8')), 'hex') <> NEW.sha256 THEN
            NEW.content := NULL;
        END IF;
        IF encode(sha256(NEW.bytes), 'hex') <> NEW.sha256 THEN
            NEW.bytes := NULL;
        END IF;
    ELSIF says_source AND TG_OP = 'UPDATE' THEN
        RAISE WARNING 'host_file %: source is another, and sha256 is not: the file stays as it is', NEW.path
            USING HINT = 'Set sha256 to that of the content that it is to have.';
    END IF;
    IF bad IS NULL AND moved AND OLD.size > 0 AND OLD.content_version IS NULL AND num_nonnulls(NEW.content, NEW.bytes, NEW.source) = 0 THEN
        bad := format('its content is not in the table, and it cannot be made anew at %s of host %s without it', NEW.path, NEW.account);
        hint := 'Move the file on the host, or give its content.';
    END IF;
    IF bad IS NOT NULL THEN
        RAISE EXCEPTION 'host_file %: %', CASE WHEN moved THEN OLD.path ELSE NEW.path END, bad
            USING ERRCODE = '23514', SCHEMA = 'public', TABLE = TG_TABLE_NAME, HINT = hint;
    END IF;
    RETURN NEW;
END;
$$;

COMMENT ON FUNCTION iasql_internal.host_file_one_content() IS
    'Row trigger: keeps content, bytes, source and sha256 of a file in step, and its content where the file is made anew.';
REVOKE EXECUTE ON FUNCTION iasql_internal.host_file_one_content() FROM PUBLIC;

CREATE OR REPLACE TRIGGER host_file_one_content
    BEFORE INSERT OR UPDATE OF account, path, kind, content, bytes, source, sha256 ON public.host_file
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_file_one_content();

-- As the runner tells texts: UTF-8, and no NUL.
CREATE OR REPLACE FUNCTION iasql_internal.host_file_is_text(content bytea) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
BEGIN
    PERFORM convert_from(content, 'UTF8');
    RETURN true;
EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
    RETURN false;
END;
$$;

COMMENT ON FUNCTION iasql_internal.host_file_is_text(bytea) IS 'Whether a content of a file is a text, which column content has.';
REVOKE EXECUTE ON FUNCTION iasql_internal.host_file_is_text(bytea) FROM PUBLIC;

CREATE OR REPLACE FUNCTION iasql_internal.host_file_forget() RETURNS void
    LANGUAGE plpgsql VOLATILE SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off SET standard_conforming_strings = on
AS $$
BEGIN
    -- What another transaction has locked is its own to forget.
    DELETE FROM iasql_internal.kept_secret AS s
    USING (SELECT u.account, u.key, u.version FROM iasql_internal.kept_secret AS u WHERE u.table_name = 'host_file' AND u.sent IS NULL FOR UPDATE SKIP LOCKED) AS unsent
    WHERE s.table_name = 'host_file' AND (s.account, s.key, s.version) = (unsent.account, unsent.key, unsent.version)
      AND NOT EXISTS (SELECT FROM public.host_file AS f WHERE f.account = s.account AND f.path = s.key AND f.content_version = s.version)
      AND NOT EXISTS (SELECT FROM public.iasql_audit_log AS l WHERE l.table_name = 'host_file' AND l.account = s.account AND NOT l.settled AND strpos(l.change::text, s.version) > 0);
END;
$$;

COMMENT ON FUNCTION iasql_internal.host_file_forget() IS
    'Deletes secret contents that have not gone out and that neither a record nor a pending change asks for: of rows that were not stored, replaced or rolled back.';
REVOKE EXECUTE ON FUNCTION iasql_internal.host_file_forget() FROM PUBLIC;

CREATE OR REPLACE FUNCTION iasql_internal.host_file_forgets() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET standard_conforming_strings = on
AS $$
BEGIN
    PERFORM iasql_internal.host_file_forget();
    RETURN NULL;
END;
$$;

COMMENT ON FUNCTION iasql_internal.host_file_forgets() IS
    'Statement trigger: forgets the secret contents that nobody asks for any more.';
REVOKE EXECUTE ON FUNCTION iasql_internal.host_file_forgets() FROM PUBLIC;

-- Its name has it fire after what writes the audit log.
CREATE OR REPLACE TRIGGER zz_host_file_forgets
    AFTER INSERT OR UPDATE OR DELETE ON public.host_file
    FOR EACH STATEMENT EXECUTE FUNCTION iasql_internal.host_file_forgets();

-- What has been read before cannot be taken back.
CREATE OR REPLACE FUNCTION iasql_internal.host_scope_becomes_secret() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog, pg_temp SET row_security = off SET standard_conforming_strings = on
AS $$
DECLARE
    held bigint;
BEGIN
    SELECT count(*) INTO held FROM public.host_file AS f
    WHERE f.account = NEW.account AND num_nonnulls(f.content, f.bytes) > 0 AND f.path ~ iasql_internal.host_pattern(NEW.pattern);
    IF held > 0 THEN
        RAISE WARNING 'the contents of % files of % that % names have been read before, and stay in iasql_audit_log: give these files other secrets', held, NEW.account, NEW.pattern;
    END IF;
    RETURN NULL;
END;
$$;

COMMENT ON FUNCTION iasql_internal.host_scope_becomes_secret() IS
    'Row trigger: warns of contents that were read before a scope said that they are secret.';
REVOKE EXECUTE ON FUNCTION iasql_internal.host_scope_becomes_secret() FROM PUBLIC;

CREATE OR REPLACE TRIGGER host_scope_becomes_secret
    AFTER INSERT OR UPDATE OF account, pattern, secret ON public.host_scope
    FOR EACH ROW WHEN (NEW.secret) EXECUTE FUNCTION iasql_internal.host_scope_becomes_secret();
