-- +goose Up
ALTER TABLE iasql_internal.managed_table
    ADD COLUMN local text[] NOT NULL DEFAULT '{}',
    ADD COLUMN natural_key text[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN iasql_internal.managed_table.local IS 'The described columns that belong to the database alone.';
COMMENT ON COLUMN iasql_internal.managed_table.natural_key IS 'Columns that tell which record is meant in another account too: the identity where users choose it, else what cannot change without a replacement.';

CREATE TABLE iasql_internal.pruning (
    one       boolean PRIMARY KEY DEFAULT true CHECK (one),
    last_run  timestamptz NOT NULL DEFAULT '-infinity',
    log_since timestamptz NOT NULL DEFAULT '-infinity'
);
COMMENT ON TABLE iasql_internal.pruning IS 'When old rows were last deleted, and since when the audit log is whole.';
INSERT INTO iasql_internal.pruning DEFAULT VALUES;
CREATE INDEX iasql_cycles_ended ON public.iasql_cycles (account, ended) WHERE kind = 'full';

-- +goose Down
DROP INDEX public.iasql_cycles_ended;
DROP TABLE iasql_internal.pruning;
ALTER TABLE iasql_internal.managed_table DROP COLUMN local, DROP COLUMN natural_key;
