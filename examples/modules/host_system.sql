-- How a host's system is set up. Here the host is made, and has nothing.
INSERT INTO host (name, address) VALUES ('example', '192.0.2.1');
INSERT INTO host_scope (account, kind, pattern)
VALUES ('example', 'sysctl', 'net.ipv4.*'), ('example', 'sudoer', 'app'), ('example', 'cron', 'app'), ('example', 'mount', '/srv/**'),
    ('example', 'repository', 'app.sources');
BEGIN;
INSERT INTO host_sysctl (account, name, value) VALUES ('example', 'net.ipv4.ip_forward', '1');
INSERT INTO host_sudoer (account, name, content) VALUES ('example', 'app', E'%app ALL=(root) NOPASSWD: /usr/bin/systemctl restart app\n');
INSERT INTO host_cron (account, file, schedule, user_name, command, environment)
VALUES ('example', 'app', '5 4 * * mon-fri', 'app', '/usr/bin/app tidy', '{"MAILTO": "ops@example.com"}');
INSERT INTO host_mount (account, mount_point, device, file_system, options) VALUES ('example', '/srv/data', 'LABEL=data', 'ext4', 'noatime,nofail');
INSERT INTO host_repository (account, name, uris, suites, components, signed_by)
VALUES ('example', 'app.sources', '{https://apt.example.com/app}', '{bookworm}', '{main}', '/usr/share/keyrings/app.asc');
SELECT m.mount_point, m.options, c.schedule, c.environment FROM host_mount m JOIN host_cron c USING (account);
ROLLBACK;
DELETE FROM host WHERE name = 'example';
