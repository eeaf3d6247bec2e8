-- A host's containers. Here the host is made, and has none.
INSERT INTO host (name, address) VALUES ('example', '192.0.2.1');
INSERT INTO host_scope (account, kind, pattern)
VALUES ('example', 'image', 'postgres:*'), ('example', 'volume', 'pg*'), ('example', 'container_network', 'backend'), ('example', 'container', 'db');
BEGIN;
INSERT INTO host_container_network (account, name, subnet, internal) VALUES ('example', 'backend', '172.30.0.0/24', true);
INSERT INTO host_volume (account, name) VALUES ('example', 'pgdata');
INSERT INTO host_image (account, name) VALUES ('example', 'postgres:17');
INSERT INTO host_container (account, name, image, networks, mounts, secret_environment, ports, restart_policy, memory)
VALUES ('example', 'db', 'postgres:17', '{backend}', '{"/var/lib/postgresql/data": {"volume": "pgdata"}}', 'POSTGRES_PASSWORD=hush',
        '{127.0.0.1:5432:5432}', 'unless-stopped', 536870912);
SELECT name, image, volumes, networks, ports, state FROM host_container;
ROLLBACK;
DELETE FROM host WHERE name = 'example';
