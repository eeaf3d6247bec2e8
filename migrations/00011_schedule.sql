-- +goose Up
CREATE TABLE iasql_internal.schedule (
    one       boolean PRIMARY KEY DEFAULT true CHECK (one),
    last_tick timestamptz NOT NULL DEFAULT '-infinity'
);
COMMENT ON TABLE iasql_internal.schedule IS 'When full cycles were last asked for by the schedule, by which a scheduler that has fallen silent is noticed.';
INSERT INTO iasql_internal.schedule DEFAULT VALUES;

-- +goose Down
DROP TABLE iasql_internal.schedule;
