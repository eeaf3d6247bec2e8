-- +goose Up
ALTER TABLE iasql_internal.hint ADD COLUMN of_tags boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN iasql_internal.hint.of_tags IS 'The call has changed tags and nothing else: nothing else has to be read.';

-- +goose Down
ALTER TABLE iasql_internal.hint DROP COLUMN of_tags;
