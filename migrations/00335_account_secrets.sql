-- +goose Up
CREATE TABLE iasql_internal.account_secret (
    table_name  text NOT NULL,
    account     text NOT NULL,
    column_name text NOT NULL,
    value       text NOT NULL,
    PRIMARY KEY (table_name, account, column_name)
);
COMMENT ON TABLE iasql_internal.account_secret IS 'The secrets that the engine logs in to accounts with, by the table that defines the account. Read by the engine alone.';
CREATE TABLE iasql_internal.account_secret_staged (
    table_name  text NOT NULL,
    account     text NOT NULL,
    column_name text NOT NULL,
    value       text,
    PRIMARY KEY (table_name, account, column_name)
);
COMMENT ON TABLE iasql_internal.account_secret_staged IS 'Secrets of accounts within the statement that writes them. Empty at all other times.';

-- +goose Down
DROP TABLE iasql_internal.account_secret, iasql_internal.account_secret_staged CASCADE;
