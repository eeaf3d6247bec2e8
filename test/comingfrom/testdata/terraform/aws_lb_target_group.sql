INSERT INTO target_group (target_group_name, port, protocol, vpc) SELECT 'hands', 8080, 'HTTP', id FROM vpc WHERE tags ->> 'Name' = 'quay';
INSERT INTO target_group (target_group_name, target_type) VALUES ('hand-made', 'lambda');
INSERT INTO target_group (target_group_name, target_type, port, protocol, vpc, attributes)
SELECT 'many-hands', 'ip', 25, 'TCP', id, '{"target_health_state.unhealthy.connection_termination.enabled": "false",
    "target_group_health.dns_failover.minimum_healthy_targets.count": "1",
    "target_group_health.dns_failover.minimum_healthy_targets.percentage": "off",
    "target_group_health.unhealthy_state_routing.minimum_healthy_targets.count": "2",
    "target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage": "off"}' FROM vpc WHERE tags ->> 'Name' = 'quay';
