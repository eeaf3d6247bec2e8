-- A host's files. An engine that has been started with --host-root has such a host at once; here it is made, and has none.
INSERT INTO host (name, address) VALUES ('example', '192.0.2.1');
INSERT INTO host_scope (account, pattern) VALUES ('example', '/etc/myapp/**');
BEGIN;
INSERT INTO host_file (account, path, kind) VALUES ('example', '/etc/myapp/conf.d', 'directory');
INSERT INTO host_file (account, path, content, mode) VALUES ('example', '/etc/myapp/myapp.conf', E'workers = 4\n', '0640');
INSERT INTO host_file (account, path, kind, target) VALUES ('example', '/etc/myapp/current', 'link', 'myapp.conf');
SELECT path, kind, content, target, mode FROM host_file ORDER BY path;
-- A content that nobody is to read here.
INSERT INTO host_scope (account, pattern, secret) VALUES ('example', '/etc/myapp/secrets/*', true);
INSERT INTO host_file (account, path, secret_content) VALUES ('example', '/etc/myapp/secrets/token', 'abc');
SELECT path, content, secret_content, content_version IS NOT NULL AS has_version FROM host_file WHERE path LIKE '%token';
-- A marked part of a file whose rest is anybody's.
INSERT INTO host_scope (account, kind, pattern) VALUES ('example', 'block', '/etc/hosts');
INSERT INTO host_file_block (account, name, path, content) VALUES ('example', 'databases', '/etc/hosts', E'192.0.2.5 db-1\n');
SELECT path, name, content FROM host_file_block;
ROLLBACK;
DELETE FROM host WHERE name = 'example';
