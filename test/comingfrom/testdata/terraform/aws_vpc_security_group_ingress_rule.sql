INSERT INTO security_group_rule (security_group_id, is_egress, cidr_ipv4, from_port, ip_protocol, to_port)
SELECT id, false, '10.0.0.0/8', 8080, 'tcp', 8081 FROM security_group WHERE group_name = 'quay';
