-- +goose Up
-- What a function has made is there since after the listing that a cycle may be in the middle of, whose end must not pass for having seen it.
ALTER TABLE iasql_internal.listing ADD COLUMN expected timestamptz;
COMMENT ON COLUMN iasql_internal.listing.expected IS 'Since when there is something to be found: a listing that began before does not show it. NULL: nothing is known of.';

-- +goose Down
ALTER TABLE iasql_internal.listing DROP COLUMN expected CASCADE;
