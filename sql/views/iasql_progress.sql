CREATE OR REPLACE VIEW public.iasql_progress WITH (security_barrier) AS
SELECT b.id, b.name, b.owner, b.phase, p.total, p.done, p.retrying, iasql_internal.batch_message(b.id) AS message
FROM iasql_internal.batches() b CROSS JOIN LATERAL iasql_internal.batch_progress(b.id) p
WHERE b.phase IN ('committing', 'reverting');
COMMENT ON VIEW public.iasql_progress IS 'The batches that the engine is committing or undoing, and how far it is.';
COMMENT ON COLUMN public.iasql_progress.phase IS 'committing, or reverting: being undone.';
COMMENT ON COLUMN public.iasql_progress.total IS 'How many records the batch has changed.';
COMMENT ON COLUMN public.iasql_progress.done IS 'How many of them are as they are to be, here and in the cloud.';
COMMENT ON COLUMN public.iasql_progress.retrying IS 'How many have failed and are tried again.';
COMMENT ON COLUMN public.iasql_progress.message IS 'What the newest of those that are not done says, such as AWS''s error; NULL if there is nothing, or the caller may not see the record.';
