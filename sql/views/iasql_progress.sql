CREATE OR REPLACE VIEW public.iasql_progress WITH (security_barrier) AS
SELECT b.id, b.name, b.owner, b.phase, p.total, p.done, p.retrying, iasql_internal.batch_message(b.id) AS message,
       h.carried_out, h.step, h.step_done, h.step_total, h.calls
FROM iasql_internal.batches() b CROSS JOIN LATERAL iasql_internal.batch_progress(b.id) p CROSS JOIN LATERAL iasql_internal.batch_headway(b.id) h
WHERE b.phase IN ('committing', 'reverting');
COMMENT ON VIEW public.iasql_progress IS 'The batches that the engine is committing or undoing, and how far it is.';
COMMENT ON COLUMN public.iasql_progress.phase IS 'committing, or reverting: being undone.';
COMMENT ON COLUMN public.iasql_progress.total IS 'How many records the batch has changed.';
COMMENT ON COLUMN public.iasql_progress.done IS 'How many of them are as they are to be, here and in the cloud: a read has confirmed it.';
COMMENT ON COLUMN public.iasql_progress.retrying IS 'How many have failed and are tried again.';
COMMENT ON COLUMN public.iasql_progress.message IS 'What the newest of those that are not done says, such as the cloud''s error; NULL if there is nothing, or the caller may not see the record.';
COMMENT ON COLUMN public.iasql_progress.carried_out IS 'How many the cloud has carried out: those that are done, and those that are yet to be confirmed by a read.';
COMMENT ON COLUMN public.iasql_progress.step IS 'What the engine is doing just now: looking at objects, before the changes or to confirm them, or making changes. NULL: it waits, such as for a next attempt, or for another cycle of the account.';
COMMENT ON COLUMN public.iasql_progress.step_done IS 'How many of step_total it has looked at, or changed.';
COMMENT ON COLUMN public.iasql_progress.step_total IS 'How many objects there are to look at, or changes to make, in this step.';
COMMENT ON COLUMN public.iasql_progress.calls IS 'How many calls the cloud has answered for the batch, reads included, since this engine began with it.';
