-- A group has no two equal rules: AWS answers InvalidPermission.Duplicate. Asking for the same rule in two records is
-- refused when it is written. What a rule names without a record of it here is not known, and not compared.
CREATE UNIQUE INDEX security_group_rule_same ON public.security_group_rule (
    security_group_id, is_egress, lower(ip_protocol), coalesce(from_port, -1), coalesce(to_port, -1),
    cidr_ipv4, cidr_ipv6, prefix_list_id, source_security_group
) NULLS NOT DISTINCT
WHERE num_nonnulls(cidr_ipv4, cidr_ipv6, prefix_list_id, source_security_group) = 1;
