-- +goose Up
CREATE TABLE iasql_internal.provider (
    name               text PRIMARY KEY,
    consistency_window interval
);
COMMENT ON TABLE iasql_internal.provider IS 'The worlds whose accounts an installed module defines, as that module describes them.';
COMMENT ON COLUMN iasql_internal.provider.consistency_window IS 'How long a read of such a world may lag behind a write at the most; NULL where only the setting of that name says it.';

-- +goose Down
DROP TABLE iasql_internal.provider CASCADE;
