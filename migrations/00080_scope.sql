-- +goose Up
CREATE TABLE iasql_internal.scoped_reference (
    table_name  text NOT NULL,
    column_name text NOT NULL,
    target      text NOT NULL,
    PRIMARY KEY (table_name, column_name)
);
CREATE INDEX scoped_reference_target ON iasql_internal.scoped_reference (target);
COMMENT ON TABLE iasql_internal.scoped_reference IS 'The references that must be to a record of the same account and region: column_name of table_name to target.id.';

CREATE TABLE iasql_internal.scope_doubt (
    table_name  text NOT NULL,
    record_id   bigint NOT NULL,
    column_name text NOT NULL
);
COMMENT ON TABLE iasql_internal.scope_doubt IS 'References that must be to the record''s own account and region when the transaction ends, and are not yet. A row lives no longer than its transaction.';

-- +goose Down
DROP TABLE iasql_internal.scope_doubt, iasql_internal.scoped_reference;
