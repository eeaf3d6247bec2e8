-- +goose Up
ALTER TABLE iasql_internal.batch
    ADD COLUMN phase text NOT NULL DEFAULT 'open' CHECK (phase IN ('open', 'committing', 'reverting', 'closed')),
    ADD COLUMN opened_xid xid8,
    ADD COLUMN on_error text;
COMMENT ON COLUMN iasql_internal.batch.phase IS 'open: being edited. committing, reverting: the engine has begun to change the cloud. closed.';
COMMENT ON COLUMN iasql_internal.batch.opened_xid IS 'Transaction that opened the batch; if it was rolled back before anything was edited the batch is void.';

CREATE TABLE iasql_internal.reverting (
    xid xid8 PRIMARY KEY DEFAULT pg_current_xact_id()
);
COMMENT ON TABLE iasql_internal.reverting IS 'Marks transactions that undo a batch: what they write is nobody''s intention. A row lives no longer than its transaction.';

-- +goose Down
DROP TABLE iasql_internal.reverting;
ALTER TABLE iasql_internal.batch DROP COLUMN phase, DROP COLUMN opened_xid, DROP COLUMN on_error;
