-- +goose Up
CREATE TABLE iasql_internal.type_name (
    name text PRIMARY KEY,
    type text NOT NULL UNIQUE,
    doc  text NOT NULL
);
COMMENT ON TABLE iasql_internal.type_name IS 'The names that people know resource types by, from the engine''s file of them: each type can be installed by its name as a module is.';

-- +goose Down
DROP TABLE iasql_internal.type_name CASCADE;
