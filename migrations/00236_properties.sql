-- +goose Up
CREATE TABLE iasql_internal.property (
    type        text NOT NULL,
    property    text NOT NULL,
    of          text NOT NULL,
    table_name  text,
    column_name text,
    reason      text,
    PRIMARY KEY (type, property, of),
    CHECK ((table_name IS NULL) = (reason IS NOT NULL))
);
COMMENT ON TABLE iasql_internal.property IS 'Where what the publisher of a type lets one write is a column, from the descriptions of the tables, whether they are installed or not.';
COMMENT ON COLUMN iasql_internal.property.of IS 'The table whose description says so.';

-- +goose Down
DROP TABLE iasql_internal.property CASCADE;
