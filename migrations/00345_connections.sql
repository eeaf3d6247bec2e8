-- +goose Up
ALTER TABLE iasql_internal.event_source DROP CONSTRAINT event_source_kind_check,
    ADD CONSTRAINT event_source_kind_check CHECK (kind IN ('queue', 'trail', 'connection'));
COMMENT ON COLUMN iasql_internal.event_source.place IS 'The queue or the trail''s folder: if another takes its place, nothing that was known of the first counts. Of a connection it is empty.';

-- +goose Down
DELETE FROM iasql_internal.event_source WHERE kind = 'connection';
ALTER TABLE iasql_internal.event_source DROP CONSTRAINT event_source_kind_check,
    ADD CONSTRAINT event_source_kind_check CHECK (kind IN ('queue', 'trail'));
COMMENT ON COLUMN iasql_internal.event_source.place IS 'The queue or the trail''s folder: if another takes its place, nothing that was known of the first counts.';
