-- +goose Up
ALTER TABLE iasql_internal.managed_table ADD COLUMN contents jsonb NOT NULL DEFAULT '{}';
COMMENT ON COLUMN iasql_internal.managed_table.contents IS 'The columns by which a record is among the contents of another, which is deleted only when it is empty or that is meant; each with the column that says which records do not count, or an empty text.';

-- +goose Down
ALTER TABLE iasql_internal.managed_table DROP COLUMN contents CASCADE;
