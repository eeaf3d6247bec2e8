-- +goose Up
ALTER TABLE iasql_internal.lease ADD COLUMN elapsed double precision NOT NULL DEFAULT 0;
COMMENT ON COLUMN iasql_internal.lease.elapsed IS 'The account''s own time: seconds during which engines have looked after it. Stands still while none does; does not jump with the server''s clock.';

ALTER TABLE public.iasql_operations ADD COLUMN elapsed double precision;
COMMENT ON COLUMN public.iasql_operations.elapsed IS 'The account''s own time, in seconds, when the call was answered or its answer was lost, otherwise when it was about to be made; the consistency_window is measured by it.';
CREATE INDEX iasql_operations_elapsed ON public.iasql_operations (account, elapsed);
DROP INDEX public.iasql_operations_recent;
-- Of engines of an earlier version, which may still be running.
CREATE INDEX iasql_operations_recent ON public.iasql_operations (account, ended) WHERE elapsed IS NULL;

-- +goose Down
DROP INDEX public.iasql_operations_recent;
CREATE INDEX iasql_operations_recent ON public.iasql_operations (account, ended);
ALTER TABLE public.iasql_operations DROP COLUMN elapsed;
ALTER TABLE iasql_internal.lease DROP COLUMN elapsed;
