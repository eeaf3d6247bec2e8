-- A host's units. Here the host is made, and has none.
INSERT INTO host (name, address) VALUES ('example', '192.0.2.1');
INSERT INTO host_scope (account, kind, pattern) VALUES ('example', 'unit', 'myapp*');
BEGIN;
INSERT INTO host_unit (account, name, unit_file, enabled, active, restart_on)
VALUES ('example', 'myapp.service', E'[Service]\nExecStart=/usr/bin/myapp\n[Install]\nWantedBy=multi-user.target\n', 'enabled', 'running', '{/etc/myapp/**,package:myapp}');
INSERT INTO host_unit (account, name, drop_ins)
VALUES ('example', 'myapp-worker.service', '{"limits.conf": "[Service]\nLimitNOFILE=65536\n"}');
SELECT name, enabled, active, restart_on, drop_ins FROM host_unit ORDER BY name;
ROLLBACK;
DELETE FROM host WHERE name = 'example';
