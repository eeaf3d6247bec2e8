-- +goose Up
-- What an engine is doing for a batch just now. It says so every second; what is older is of an engine that has ended.
CREATE TABLE iasql_internal.batch_headway (
    batch bigint PRIMARY KEY REFERENCES iasql_internal.batch ON DELETE CASCADE,
    step  text NOT NULL,
    done  bigint NOT NULL,
    total bigint NOT NULL,
    calls bigint NOT NULL,
    at    timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE iasql_internal.batch_headway IS 'What an engine is doing just now for a batch that it commits or undoes, and how far it is with that.';

-- +goose Down
DROP TABLE iasql_internal.batch_headway CASCADE;
