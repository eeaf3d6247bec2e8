-- +goose Up
CREATE TABLE iasql_internal.kept_secret (
    table_name text NOT NULL,
    account    text NOT NULL,
    key        text NOT NULL,
    version    text NOT NULL,
    value      text NOT NULL,
    sha256     text NOT NULL,
    sent       bigint,
    PRIMARY KEY (table_name, account, key, version)
);
COMMENT ON TABLE iasql_internal.kept_secret IS 'Secrets that a record names by a version, and that are kept so that they can be sent again: by account and key of the record. sent is the order in which they went out; NULL: not yet. The engine alone reads them.';
ALTER TABLE iasql_internal.kept_secret ALTER COLUMN value SET STATISTICS 0, ALTER COLUMN sha256 SET STATISTICS 0;
CREATE INDEX kept_secret_unsent ON iasql_internal.kept_secret (table_name, account, key) WHERE sent IS NULL;

-- +goose Down
DROP TABLE iasql_internal.kept_secret;
