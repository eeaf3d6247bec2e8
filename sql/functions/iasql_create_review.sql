-- With the caller's own rights, save for the numbers of the changes: repeat() prints those that the caller sees.
CREATE OR REPLACE FUNCTION iasql_internal.to_review(OUT ids bigint[], OUT what text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    batch iasql_internal.batch;
BEGIN
    SELECT * INTO batch FROM iasql_internal.batch b WHERE b.id = iasql_internal.session_batch();
    SELECT coalesce(array_agg(l.id ORDER BY l.id), '{}') INTO ids
    FROM public.iasql_audit_log l
    WHERE l.origin = 'user' AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE')
      AND CASE WHEN batch.id IS NOT NULL THEN l.transaction_id = batch.id ELSE NOT l.settled AND NOT iasql_internal.waits_in_batch(l.table_name, l.record_id) END;
    what := CASE WHEN batch.id IS NOT NULL THEN format('Batch %s, opened by %s at %s.', batch.id, iasql_internal.cell(batch.opened_by), date_trunc('second', batch.opened_at))
                 ELSE 'All changes that have not reached the cloud yet and are not staged in a batch.' END;
END
$$;
COMMENT ON FUNCTION iasql_internal.to_review(OUT bigint[], OUT text) IS 'The changes a review is about: of the session''s batch, or all that are not settled and not staged.';

CREATE OR REPLACE FUNCTION public.iasql_create_review(title text, description text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    review  record := iasql_internal.to_review();
    script  text := coalesce((SELECT string_agg(s, E'\n') FROM iasql_internal.repeat(review.ids) s), '-- nothing');
    fence   text;
    preview text;
BEGIN
    IF coalesce(title, '') = '' THEN
        RAISE EXCEPTION 'a review needs a title' USING ERRCODE = 'IA007', HINT = 'SELECT iasql_create_review(''What is done'', ''Why it is done'')';
    END IF;
    -- A fence must be longer than any in the text (CommonMark, section 4.5).
    fence := repeat('`', greatest(3, 1 + coalesce((SELECT max(length(m[1])) FROM regexp_matches(script, '(`+)', 'g') m), 0)));
    IF to_regprocedure('public.iasql_preview()') IS NULL THEN
        preview := 'There is no preview.';
    ELSE
        BEGIN
            EXECUTE $sql$
                SELECT string_agg(format('| %s | %s | %s | %s | %s |', c.action, c.direction,
                                         c.record, c.changes, c.reason), E'\n')
                FROM (SELECT p.action, p.direction, iasql_internal.cell(concat_ws(' ', p.table_name, p.id, p.description)) AS record,
                             iasql_internal.cell((SELECT string_agg(format('%s: %s → %s', e.key, coalesce(e.value -> 'from', 'null'), coalesce(e.value -> 'to', 'null')), '; ' ORDER BY e.key)
                                                  FROM jsonb_each(CASE WHEN jsonb_typeof(p.changes) = 'object' THEN p.changes ELSE '{}' END) e)) AS changes,
                             iasql_internal.cell(p.reason) AS reason
                      FROM public.iasql_preview() p) c
                $sql$ INTO preview;
            preview := coalesce(E'| action | direction | record | changes | reason |\n|---|---|---|---|---|\n' || preview, 'Nothing would be done.');
        EXCEPTION WHEN OTHERS THEN
            preview := format('The preview could not be made: %s', iasql_internal.cell(SQLERRM));
        END;
    END IF;
    RETURN format(E'# %s\n\n%s%s\n\n## SQL\n\n%ssql\n%s\n%s\n\n## Preview\n\n%s\n',
                  regexp_replace(title, '\s+', ' ', 'g'), description || E'\n\n', review.what, fence, script, fence, preview);
END
$$;
COMMENT ON FUNCTION public.iasql_create_review(text, text) IS
$$Markdown for a pull request: what is done, all the SQL of this session's batch (or of all that has not reached the cloud yet), and the preview, with who has changed it in the cloud meanwhile, where an event has told.
Sample: SELECT iasql_create_review('A network for the shop', 'It needs its own.')$$;

-- Escapes (CommonMark, section 2.4) for what would be markup. An escape does not keep a forge from linking @name, #1 or an
-- address, which it looks for in the text that comes out: a comment between its characters does.
CREATE OR REPLACE FUNCTION iasql_internal.cell(value text) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
        replace(replace(regexp_replace(iasql_internal.plain(regexp_replace(coalesce(value, ''), '\s+', ' ', 'g')),
            '([\\`*\[|~$])', '\\\1', 'g'), '&', '&amp;'), '<', '&lt;'),
        '(?<![[:alnum:]])_|_(?![[:alnum:]])', '\\_', 'g'),
        '(?<![[:alnum:]])@(?=[[:alnum:]])', '@<!-- -->', 'g'),
        '#(?=[0-9])', '#<!-- -->', 'g'),
        ':(?=//)', ':<!-- -->', 'g'),
        '(www)(?=\.)', '\1<!-- -->', 'gi');
END;
COMMENT ON FUNCTION iasql_internal.cell(text) IS 'A text as a cell of a Markdown table, in which it is no markup, link, mention or HTML: names and tags, and who has changed something in the cloud, are what anybody says.';
