-- +goose Up
ALTER TABLE iasql_internal.managed_table ADD COLUMN chosen text[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN iasql_internal.managed_table.chosen IS 'The columns in which NULL leaves the choice to the cloud.';

-- +goose Down
ALTER TABLE iasql_internal.managed_table DROP COLUMN chosen CASCADE;
