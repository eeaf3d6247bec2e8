-- +goose Up
ALTER TABLE iasql_internal.scoped_reference ADD part_if text;
COMMENT ON COLUMN iasql_internal.scoped_reference.part_if IS 'A column of table_name of type boolean: a record in which it is true is of an object that the cloud makes and removes along with its whole, so that it stays where it is while the whole moves to another region. NULL: there are none.';
-- Those there are were made by an earlier version: the engine makes them anew, with their triggers.
ALTER TABLE iasql_internal.scoped_reference ADD stale boolean NOT NULL DEFAULT true;
ALTER TABLE iasql_internal.scoped_reference ALTER stale SET DEFAULT false;
COMMENT ON COLUMN iasql_internal.scoped_reference.stale IS 'The row and the triggers of table_name are of an earlier version, until the next upgrade of the modules.';

-- +goose Down
ALTER TABLE iasql_internal.scoped_reference DROP part_if, DROP stale;
