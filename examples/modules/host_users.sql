-- A host's users. Here the host is made, and has none.
INSERT INTO host (name, address) VALUES ('example', '192.0.2.1');
INSERT INTO host_scope (account, kind, pattern) VALUES ('example', 'user', 'anna'), ('example', 'group', 'apps');
BEGIN;
INSERT INTO host_group (account, name, members) VALUES ('example', 'apps', '{anna}');
INSERT INTO host_user (account, name, shell, gecos) VALUES ('example', 'anna', '/bin/bash', 'Anna A.');
INSERT INTO host_authorized_key (account, user_name, key, comment, options)
VALUES ('example', 'anna', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGmUVhYXq2vEoGJ1e6oQn8yVb0qZ4hXQwK3sD7nT5uRc', 'anna@laptop', 'restrict,pty');
SELECT u.name, u.shell, k.comment, k.options FROM host_user u JOIN host_authorized_key k ON k.account = u.account AND k.user_name = u.name;
ROLLBACK;
DELETE FROM host WHERE name = 'example';
