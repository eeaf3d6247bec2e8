INSERT INTO iasql_internal.host_kind (table_name, kind, column_name) VALUES ('host_package', 'package', 'name') ON CONFLICT DO NOTHING;

CREATE OR REPLACE TRIGGER host_package_in_scope
    BEFORE INSERT OR UPDATE OF account, name ON public.host_package
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_in_scope();
