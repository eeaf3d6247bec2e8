-- It says nothing of anybody's account: what the modules are made for, installed or not.
CREATE OR REPLACE VIEW public.iasql_properties WITH (security_barrier) AS
SELECT type, property, table_name, column_name, reason FROM iasql_internal.property;
COMMENT ON VIEW public.iasql_properties IS 'Every property that the cloud''s publisher lets one write of the resource types that tables name as theirs, and where it is: SELECT * FROM iasql_properties WHERE property ~* ''kms''.';
COMMENT ON COLUMN public.iasql_properties.type IS 'The resource type, as its publisher calls it.';
COMMENT ON COLUMN public.iasql_properties.property IS 'The property, as its publisher calls it.';
COMMENT ON COLUMN public.iasql_properties.table_name IS 'The table that has it; NULL if none does.';
COMMENT ON COLUMN public.iasql_properties.column_name IS 'The column that it is; NULL if it is a table of its own, or none.';
COMMENT ON COLUMN public.iasql_properties.reason IS 'Why no column is it; NULL if one is.';
