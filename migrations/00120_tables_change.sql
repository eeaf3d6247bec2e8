-- +goose Up
CREATE TABLE iasql_internal.tables_change (
    id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    delta numeric NOT NULL
);
COMMENT ON TABLE iasql_internal.tables_change IS 'As rules_change, of which tables are installed and which were imported.';

-- +goose Down
DROP TABLE iasql_internal.tables_change;
