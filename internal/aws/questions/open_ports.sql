-- Which ports are open to the world?
-- Rules of security groups that let anybody in, by IPv4 or IPv6. Whether something listens there, they do not say.
-- needs: aws_security_group.security_group aws_security_group.security_group_rule
SELECT r.id, g.id AS security_group, g.group_name, r.account, r.region, r.ip_protocol, r.from_port, r.to_port,
       coalesce(r.cidr_ipv4, r.cidr_ipv6) AS open_to, r.description
FROM security_group_rule r
JOIN security_group g ON g.id = r.security_group_id
WHERE NOT r.is_egress AND (r.cidr_ipv4 = '0.0.0.0/0' OR r.cidr_ipv6 = '::/0')
ORDER BY r.from_port IN (80, 443), r.from_port NULLS FIRST, g.group_name, r.id;
