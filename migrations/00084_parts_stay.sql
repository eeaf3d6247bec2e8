-- +goose Up
ALTER TABLE iasql_internal.scoped_reference ADD part_if text;
COMMENT ON COLUMN iasql_internal.scoped_reference.part_if IS 'A column of table_name of type boolean: a record in which it is true is of an object that the cloud makes and removes along with its whole, so that it stays where it is while the whole moves to another region. NULL: there are none.';

-- +goose Down
ALTER TABLE iasql_internal.scoped_reference DROP part_if;
