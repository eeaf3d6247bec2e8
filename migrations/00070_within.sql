-- +goose Up
ALTER TABLE iasql_internal.listing ADD COLUMN within text NOT NULL DEFAULT '';
COMMENT ON COLUMN iasql_internal.listing.within IS 'Which records the last listing looked into, as a digest; empty for tables that are listed within all.';

-- +goose Down
ALTER TABLE iasql_internal.listing DROP COLUMN within;
