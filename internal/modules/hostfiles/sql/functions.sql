INSERT INTO iasql_internal.host_kind (table_name, kind, column_name) VALUES ('host_file', 'file', 'path'), ('host_file_block', 'block', 'path') ON CONFLICT DO NOTHING;

CREATE OR REPLACE TRIGGER host_file_in_scope
    BEFORE INSERT OR UPDATE OF account, path ON public.host_file
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_in_scope();

CREATE OR REPLACE TRIGGER host_file_block_in_scope
    BEFORE INSERT OR UPDATE OF account, path ON public.host_file_block
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_in_scope();

-- Until version 2.
DROP FUNCTION IF EXISTS iasql_internal.host_file_in_scope();
