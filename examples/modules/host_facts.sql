-- What is read of a host. Here the host is made, and does not answer.
INSERT INTO host (name, address) VALUES ('example', '192.0.2.1');
INSERT INTO host_scope (account, kind, pattern) VALUES ('example', 'facts', 'process:nginx*'), ('example', 'facts', 'port:tcp:*'), ('example', 'facts', 'system:*');
SELECT host_name, os_name, kernel, architecture, booted FROM host_system;
SELECT p.port, p.address, p.process, r.executable, r.user_name FROM host_port p LEFT JOIN host_process r ON r.account = p.account AND r.pid = p.pid;
SELECT mount_point, size, used_percent FROM host_disk WHERE used_percent >= 80;
SELECT interface, address FROM host_address;
DELETE FROM host WHERE name = 'example';
