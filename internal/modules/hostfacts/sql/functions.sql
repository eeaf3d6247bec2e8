INSERT INTO iasql_internal.host_kind (table_name, kind) VALUES
    ('host_process', 'facts'), ('host_port', 'facts'), ('host_disk', 'facts'), ('host_address', 'facts'),
    ('host_system', 'facts')
ON CONFLICT DO NOTHING;
