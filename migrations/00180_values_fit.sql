-- +goose Up
-- What values a column may have binds what users write, and nobody else (R34): statement triggers check it, in place of
-- CHECK constraints and NOT NULL, which bound what the engine finds in the cloud, too.
CREATE TABLE iasql_internal.value_rule (
    table_name text    NOT NULL,
    name       text    NOT NULL,
    columns    text[]  NOT NULL,
    condition  text    NOT NULL,
    hint       text    NOT NULL,
    of_null    boolean NOT NULL,
    active     boolean NOT NULL DEFAULT true,
    PRIMARY KEY (table_name, name)
);
COMMENT ON TABLE iasql_internal.value_rule IS 'What users'' values must meet, from the descriptions of the tables. What the engine finds in the cloud need not.';
COMMENT ON COLUMN iasql_internal.value_rule.columns IS 'The columns that it is about: it is checked where one of them is written anew.';
COMMENT ON COLUMN iasql_internal.value_rule.condition IS 'An SQL expression of the columns; NULL meets it.';
COMMENT ON COLUMN iasql_internal.value_rule.hint IS 'What may be written, in words.';
COMMENT ON COLUMN iasql_internal.value_rule.of_null IS 'Only NULL breaks it.';
COMMENT ON COLUMN iasql_internal.value_rule.active IS 'False where an administrator does without it, or had dropped the constraint that was in its place.';
ALTER TABLE iasql_internal.managed_table ADD rules_of text NOT NULL DEFAULT '', ADD required text[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN iasql_internal.managed_table.rules_of IS 'A sum of the rules for users'' values that the table''s triggers have.';
COMMENT ON COLUMN iasql_internal.managed_table.required IS 'The columns that users have to give a value, besides those that cannot be NULL.';

-- +goose Down
ALTER TABLE iasql_internal.managed_table DROP COLUMN rules_of, DROP COLUMN required;
DROP TABLE iasql_internal.value_rule;
