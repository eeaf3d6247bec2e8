-- +goose Up
-- A full cycle that nobody waits for does not list every table: what an earlier one could not write is still so.
ALTER TABLE iasql_internal.listing ADD COLUMN cycle bigint;
COMMENT ON COLUMN iasql_internal.listing.cycle IS 'Cycle that listed last, complete or denied (iasql_cycles).';

-- +goose Down
ALTER TABLE iasql_internal.listing DROP COLUMN cycle CASCADE;
