-- +goose Up
-- The consistency window is read by this and by iasql_operations_elapsed: calls that ended well once, the few others by every cycle.
CREATE INDEX iasql_operations_unsure ON public.iasql_operations (account, elapsed) WHERE result IN ('unknown', 'abandoned');

-- +goose Down
DROP INDEX public.iasql_operations_unsure;
