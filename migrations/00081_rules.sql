-- +goose Up
CREATE TABLE iasql_internal.rules_change (
    id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    delta numeric NOT NULL
);
COMMENT ON TABLE iasql_internal.rules_change IS 'By how much the version of the rules was changed, a row for each statement that changed rules. Only the sum counts, so that several rows may become one.';

-- +goose Down
DROP TABLE iasql_internal.rules_change;
