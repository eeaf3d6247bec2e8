-- +goose Up
DROP INDEX iasql_internal.batch_open;
ALTER TABLE iasql_internal.batch DROP COLUMN bound,
    ADD COLUMN name text,
    ADD COLUMN commit_asked timestamptz,
    ADD COLUMN restored_at timestamptz;
COMMENT ON TABLE iasql_internal.batch IS 'Batches. Each belongs to the sessions that work in it, and many may be open.';
COMMENT ON COLUMN iasql_internal.batch.name IS 'What people call the batch; no two open ones have the same name.';
COMMENT ON COLUMN iasql_internal.batch.opened_xid IS 'Transaction that opened the batch; while it has not ended no engine can see the batch.';
COMMENT ON COLUMN iasql_internal.batch.commit_asked IS 'When a transaction asked for the commit that takes effect when it ends itself; NULL: none has.';
COMMENT ON COLUMN iasql_internal.batch.restored_at IS 'When the rows of a batch that is being undone were put back; what is left is for the engine to undo in the cloud.';
CREATE INDEX batch_open ON iasql_internal.batch (id) WHERE closed_at IS NULL;
CREATE UNIQUE INDEX batch_open_name ON iasql_internal.batch (name) WHERE closed_at IS NULL;

-- The session proves with the setting iasql.batch that it is the one that wrote the row: DISCARD ALL and RESET ALL, by which
-- a pooler hands a session on, clear it. A setting by itself anybody could make.
CREATE TABLE iasql_internal.batch_session (
    pid   integer PRIMARY KEY DEFAULT pg_backend_pid(),
    role  oid NOT NULL,
    token uuid NOT NULL DEFAULT gen_random_uuid(),
    batch bigint NOT NULL REFERENCES iasql_internal.batch ON DELETE CASCADE,
    since timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE iasql_internal.batch_session IS 'Which sessions work in which batch.';
CREATE INDEX batch_session_batch ON iasql_internal.batch_session (batch);

CREATE TABLE iasql_internal.staged (
    table_name text NOT NULL,
    record_id  bigint NOT NULL,
    batch      bigint NOT NULL,
    account    text,
    inserted   boolean NOT NULL,
    PRIMARY KEY (record_id, table_name)
);
COMMENT ON TABLE iasql_internal.staged IS 'The records that a batch has changed, until it is closed: others may not change them, and cycles that are not the batch''s leave them alone.';
COMMENT ON COLUMN iasql_internal.staged.inserted IS 'There was no such record before the batch: nobody else may refer to it.';
CREATE INDEX staged_batch ON iasql_internal.staged (batch, account);

CREATE TABLE iasql_internal.staged_key (
    table_name text NOT NULL,
    key        text NOT NULL,
    account    text NOT NULL,
    region     text NOT NULL,
    batch      bigint NOT NULL,
    record_id  bigint NOT NULL,
    PRIMARY KEY (key, table_name, account, region, batch)
);
COMMENT ON TABLE iasql_internal.staged_key IS 'The identities that the staged records have, or had before.';
CREATE INDEX staged_key_batch ON iasql_internal.staged_key (batch);

CREATE TABLE iasql_internal.needed (
    table_name text NOT NULL,
    record_id  bigint NOT NULL,
    batch      bigint NOT NULL,
    by_table   text NOT NULL,
    by_record  bigint NOT NULL,
    PRIMARY KEY (record_id, table_name, batch)
);
COMMENT ON TABLE iasql_internal.needed IS 'The records that staged ones referred to before: a rollback needs them.';
CREATE INDEX needed_batch ON iasql_internal.needed (batch);

ALTER TABLE iasql_internal.reverting ADD COLUMN batch bigint;

INSERT INTO iasql_internal.staged (table_name, record_id, batch, account, inserted)
SELECT DISTINCT ON (l.record_id, l.table_name) l.table_name, l.record_id, l.transaction_id, l.account, l.change_type = 'INSERT'
FROM public.iasql_audit_log l JOIN iasql_internal.batch b ON b.id = l.transaction_id AND b.closed_at IS NULL
WHERE l.origin = 'user' AND l.change_type IN ('INSERT', 'UPDATE', 'DELETE')
ORDER BY l.record_id, l.table_name, l.id;

-- +goose Down
-- The earlier version knows of one open batch only.
UPDATE iasql_internal.batch SET closed_at = clock_timestamp(), phase = 'closed', outcome = 'given up' WHERE closed_at IS NULL;
ALTER TABLE iasql_internal.reverting DROP COLUMN batch;
-- Views and functions that speak of these go with them; the earlier version has none.
DROP TABLE iasql_internal.needed, iasql_internal.staged_key, iasql_internal.staged, iasql_internal.batch_session CASCADE;
ALTER TABLE iasql_internal.batch DROP COLUMN name CASCADE, DROP COLUMN commit_asked CASCADE, DROP COLUMN restored_at CASCADE, ADD COLUMN bound pg_snapshot;
DROP INDEX iasql_internal.batch_open;
CREATE UNIQUE INDEX batch_open ON iasql_internal.batch ((true)) WHERE closed_at IS NULL;
