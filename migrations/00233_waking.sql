-- +goose Up
-- Of transactions that end at once one tells the engines: PostgreSQL commits those that NOTIFY one after the other (async.c, PreCommit_Notify).
CREATE TABLE iasql_internal.waking (
    one      boolean PRIMARY KEY DEFAULT true CHECK (one),
    woken_at timestamptz NOT NULL DEFAULT '-infinity'
);
COMMENT ON TABLE iasql_internal.waking IS 'One row, locked by the transaction that is about to tell the engines of changes.';
COMMENT ON COLUMN iasql_internal.waking.woken_at IS 'When they were told last, or up to a tenth of a second before.';
INSERT INTO iasql_internal.waking DEFAULT VALUES;

-- +goose Down
DROP TABLE iasql_internal.waking CASCADE;
