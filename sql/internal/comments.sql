-- Who may see batches (iasql_batches) reads what is said of them: a comment is for everybody, as the batch's name is. Nobody changes
-- one, and who has written it deletes it.
DROP POLICY IF EXISTS iasql_select ON public.iasql_batch_comments;
CREATE POLICY iasql_select ON public.iasql_batch_comments FOR SELECT USING (true);
DROP POLICY IF EXISTS iasql_insert ON public.iasql_batch_comments;
CREATE POLICY iasql_insert ON public.iasql_batch_comments FOR INSERT WITH CHECK (author = (SELECT iasql_internal.writer()));
DROP POLICY IF EXISTS iasql_delete ON public.iasql_batch_comments;
CREATE POLICY iasql_delete ON public.iasql_batch_comments FOR DELETE USING (author = (SELECT iasql_internal.writer()));

CREATE OR REPLACE FUNCTION iasql_internal.check_comment() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.comment IS NULL OR NEW.comment !~ '\S' THEN
        RAISE EXCEPTION 'the comment is empty' USING ERRCODE = 'IA007', TABLE = TG_TABLE_NAME, COLUMN = 'comment', HINT = 'Write what you have to say of the batch.';
    ELSIF length(NEW.comment) > 10000 THEN
        RAISE EXCEPTION 'the comment has % characters, and may have 10000', length(NEW.comment)
            USING ERRCODE = 'IA007', TABLE = TG_TABLE_NAME, COLUMN = 'comment', HINT = 'Shorten it, or put the text elsewhere and say where.';
    ELSIF regexp_replace(NEW.comment, E'[\n\r\t]', '', 'g') ~ '[[:cntrl:]]' THEN
        RAISE EXCEPTION 'there are control characters in the comment'
            USING ERRCODE = 'IA007', TABLE = TG_TABLE_NAME, COLUMN = 'comment', HINT = 'It is shown in terminals. Leave out escapes and the like; line feeds and tabs are fine.';
    ELSIF NOT EXISTS (SELECT FROM iasql_internal.batch b WHERE b.id = NEW.batch) THEN
        RAISE EXCEPTION 'there is no batch %', coalesce(NEW.batch::text, 'NULL')
            USING ERRCODE = 'IA022', TABLE = TG_TABLE_NAME, COLUMN = 'batch', HINT = 'SELECT id, name, owner FROM iasql_batches lists the batches.';
    ELSIF (SELECT count(*) FROM public.iasql_batch_comments c WHERE c.batch = NEW.batch) >= 1000 THEN
        RAISE EXCEPTION 'batch % has 1,000 comments', NEW.batch
            USING ERRCODE = 'IA060', TABLE = TG_TABLE_NAME, HINT = 'DELETE FROM iasql_batch_comments those of yours that are not needed any more.';
    END IF;
    PERFORM iasql_internal.notify('batch comment', jsonb_build_object('batch', NEW.batch));
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION iasql_internal.check_comment() IS 'Checks a comment on a batch, and tells those who listen that there is one.';
CREATE OR REPLACE TRIGGER iasql_check BEFORE INSERT ON public.iasql_batch_comments
FOR EACH ROW EXECUTE FUNCTION iasql_internal.check_comment();
