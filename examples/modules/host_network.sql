-- The network of a host: a bridge with an end of a veth as its member, a route, and a firewall that lets SSH in.
INSERT INTO host (name, address, undo_after) VALUES ('example', '192.0.2.1', 30);
INSERT INTO host_scope (account, kind, pattern) VALUES ('example', 'interface', 'lab*'), ('example', 'route', '198.51.100.*'), ('example', 'firewall', '*');
BEGIN;
INSERT INTO host_interface (account, name, addresses) VALUES ('example', 'lab0', '{198.51.100.1/25}');
INSERT INTO host_interface (account, name, kind, peer, master) VALUES ('example', 'lab1', 'veth', 'lab2', 'lab0');
INSERT INTO host_route (account, destination, gateway) VALUES ('example', '198.51.100.128/25', '198.51.100.2');
INSERT INTO host_firewall_rule (account, name, position, states, action) VALUES ('example', 'known', 10, '{established,related}', 'accept');
INSERT INTO host_firewall_rule (account, name, position, source, protocol, port, action) VALUES ('example', 'ssh', 20, '192.0.2.0/24', 'tcp', '22', 'accept');
INSERT INTO host_firewall_rule (account, name, position, interface, protocol, port, action) VALUES ('example', 'lab', 30, 'lab0', 'tcp', '1-1023', 'reject');
SELECT name, kind, peer, master, addresses FROM host_interface ORDER BY name;
SELECT destination, gateway FROM host_route;
SELECT name, chain, position, states, source, protocol, port, action FROM host_firewall_rule ORDER BY chain, position;
ROLLBACK;
DELETE FROM host WHERE name = 'example';
