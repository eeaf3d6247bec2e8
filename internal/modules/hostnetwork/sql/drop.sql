-- Run after the tables have been dropped.
DELETE FROM iasql_internal.host_kind WHERE table_name IN ('host_interface', 'host_route', 'host_firewall_rule');
