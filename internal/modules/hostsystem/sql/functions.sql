INSERT INTO iasql_internal.host_kind (table_name, kind, column_name) VALUES
    ('host_sysctl', 'sysctl', 'name'), ('host_sudoer', 'sudoer', 'name'), ('host_cron', 'cron', 'file'),
    ('host_mount', 'mount', 'mount_point'), ('host_repository', 'repository', 'name')
ON CONFLICT DO NOTHING;

CREATE OR REPLACE TRIGGER host_sysctl_in_scope
    BEFORE INSERT OR UPDATE OF account, name ON public.host_sysctl
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_in_scope();

CREATE OR REPLACE TRIGGER host_sudoer_in_scope
    BEFORE INSERT OR UPDATE OF account, name ON public.host_sudoer
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_in_scope();

CREATE OR REPLACE TRIGGER host_cron_in_scope
    BEFORE INSERT OR UPDATE OF account, file ON public.host_cron
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_in_scope();

CREATE OR REPLACE TRIGGER host_mount_in_scope
    BEFORE INSERT OR UPDATE OF account, mount_point ON public.host_mount
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_in_scope();

CREATE OR REPLACE TRIGGER host_repository_in_scope
    BEFORE INSERT OR UPDATE OF account, name ON public.host_repository
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_in_scope();
