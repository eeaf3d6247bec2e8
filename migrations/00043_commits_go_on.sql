-- +goose Up
ALTER TABLE iasql_internal.batch
    ADD COLUMN begun_at timestamptz,
    ADD COLUMN failure text;
COMMENT ON COLUMN iasql_internal.batch.begun_at IS 'When its commit passed what has to be so before it may begin; NULL: it has not.';
COMMENT ON COLUMN iasql_internal.batch.failure IS 'Why its commit undoes it, or has undone it; NULL: it does not.';
CREATE INDEX request_open ON iasql_internal.request (id) WHERE ended IS NULL;
COMMENT ON INDEX iasql_internal.request_open IS 'The requests that engines may have left behind.';

-- +goose Down
DROP INDEX iasql_internal.request_open;
ALTER TABLE iasql_internal.batch DROP COLUMN begun_at CASCADE, DROP COLUMN failure CASCADE;
