INSERT INTO iasql_internal.host_kind (table_name, kind, column_name) VALUES
    ('host_interface', 'interface', 'name'),
    ('host_route', 'route', 'destination'),
    ('host_firewall_rule', 'firewall', 'name')
ON CONFLICT DO NOTHING;

CREATE OR REPLACE TRIGGER host_interface_in_scope
    BEFORE INSERT OR UPDATE OF account, name ON public.host_interface
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_in_scope();

CREATE OR REPLACE TRIGGER host_route_in_scope
    BEFORE INSERT OR UPDATE OF account, destination ON public.host_route
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_in_scope();

CREATE OR REPLACE TRIGGER host_firewall_rule_in_scope
    BEFORE INSERT OR UPDATE OF account, name ON public.host_firewall_rule
    FOR EACH ROW EXECUTE FUNCTION iasql_internal.host_in_scope();
