-- +goose Up
CREATE SEQUENCE iasql_internal.resource_type_change;
CREATE TABLE iasql_internal.resource_type (
    name     text PRIMARY KEY,
    version  text NOT NULL,
    schema   text NOT NULL,
    layout   jsonb NOT NULL,
    revision integer NOT NULL,
    learnt   text[] NOT NULL DEFAULT '{}',
    read     timestamptz NOT NULL DEFAULT clock_timestamp(),
    changed  bigint NOT NULL DEFAULT nextval('iasql_internal.resource_type_change')
);
ALTER SEQUENCE iasql_internal.resource_type_change OWNED BY iasql_internal.resource_type.changed;
CREATE INDEX resource_type_changed ON iasql_internal.resource_type (changed);
COMMENT ON TABLE iasql_internal.resource_type IS 'The resource types that are tables: how the account''s registry describes them.';
COMMENT ON COLUMN iasql_internal.resource_type.version IS 'Which version of the schema it is, as its publisher counts, and a sum of it.';
COMMENT ON COLUMN iasql_internal.resource_type.layout IS 'What the table and its columns are called, which stays so.';
COMMENT ON COLUMN iasql_internal.resource_type.revision IS 'How many schemas there have been: the version of the module.';
COMMENT ON COLUMN iasql_internal.resource_type.learnt IS 'Columns of which AWS has said that they cannot be changed in place, although the schema does not say so.';
COMMENT ON COLUMN iasql_internal.resource_type.changed IS 'Grows with every change, so that engines notice.';
COMMENT ON SEQUENCE iasql_internal.resource_type_change IS 'Counts the changes of iasql_internal.resource_type.';
ALTER TABLE iasql_internal.request ADD COLUMN progress text;
COMMENT ON COLUMN iasql_internal.request.progress IS 'How far it is, for who waits; NULL: it does not say.';
ALTER TABLE iasql_internal.managed_table ADD COLUMN fixed_within jsonb NOT NULL DEFAULT '{}';
COMMENT ON COLUMN iasql_internal.managed_table.fixed_within IS 'By column of type jsonb, the paths of what is fixed in it when an object is created.';
ALTER TABLE public.iasql_operations ADD COLUMN request text;
COMMENT ON COLUMN public.iasql_operations.request IS 'What the cloud calls the request, where it goes on after the call was answered: how it ends is asked by this name.';

-- +goose Down
ALTER TABLE iasql_internal.managed_table DROP COLUMN fixed_within CASCADE;
ALTER TABLE public.iasql_operations DROP COLUMN request CASCADE;
ALTER TABLE iasql_internal.request DROP COLUMN progress CASCADE;
DROP TABLE iasql_internal.resource_type CASCADE;
