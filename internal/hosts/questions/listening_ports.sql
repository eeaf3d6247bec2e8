-- What listens to the network on the hosts?
-- Sockets that are bound to another address than the host's own loopback. A firewall may keep others from them all the same.
-- needs: host_facts.host_port
SELECT p.id, p.account AS host, p.protocol, p.address, p.port, p.process, p.user_name
FROM host_port p
WHERE p.address NOT LIKE '127.%' AND p.address NOT IN ('::1', '::ffff:127.0.0.1')
ORDER BY p.port, p.protocol, p.account;
