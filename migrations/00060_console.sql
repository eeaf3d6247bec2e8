-- +goose Up
CREATE TABLE iasql_internal.console_token (
    hash bytea PRIMARY KEY,
    role oid NOT NULL,
    made timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE iasql_internal.console_token IS 'Tokens by which roles sign in to the console, each once, by their SHA-256.';

-- +goose Down
DROP TABLE iasql_internal.console_token;
