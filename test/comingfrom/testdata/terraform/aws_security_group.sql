INSERT INTO security_group (group_name, description, vpc_id, tags)
SELECT 'outward', 'Out to everywhere, and nothing in', id, '{"Name": "outward"}' FROM vpc WHERE tags ->> 'Name' = 'quay';
INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, from_port, to_port, cidr_ipv4)
SELECT id, true, 'tcp', 1024, 2048, '10.60.0.0/16' FROM security_group WHERE group_name = 'outward';
INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, cidr_ipv6)
SELECT id, true, '-1', '::/0' FROM security_group WHERE group_name = 'outward';
INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, prefix_list_id)
SELECT id, true, '-1', 'pl-0a1b2c3d' FROM security_group WHERE group_name = 'outward';
