INSERT INTO iasql_internal.host_kind (table_name, kind, column_name) VALUES
    ('host_user', 'user', 'name'), ('host_group', 'group', 'name'), ('host_authorized_key', 'user', 'user_name')
ON CONFLICT DO NOTHING;

CREATE OR REPLACE TRIGGER host_user_in_scope
    BEFORE INSERT OR UPDATE OF account, name ON public.host_user
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_in_scope();

CREATE OR REPLACE TRIGGER host_group_in_scope
    BEFORE INSERT OR UPDATE OF account, name ON public.host_group
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_in_scope();

CREATE OR REPLACE TRIGGER host_authorized_key_in_scope
    BEFORE INSERT OR UPDATE OF account, user_name ON public.host_authorized_key
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_in_scope();
