-- +goose Up
CREATE TABLE iasql_internal.last_number (
    table_name text PRIMARY KEY,
    last       bigint NOT NULL
);
COMMENT ON TABLE iasql_internal.last_number IS 'The last number that a record of a table had that was dropped. If the table is made again, its records get other numbers: the audit log and the log of calls tell of the old ones.';

-- +goose Down
DROP TABLE iasql_internal.last_number;
