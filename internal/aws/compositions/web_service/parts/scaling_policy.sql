SELECT m.key, w.account, w.region, t.id AS service_scaling_target_id, w.name || '-' || m.key AS policy_name,
       jsonb_build_object('TargetValue', m.target, 'PredefinedMetricSpecification', jsonb_build_object('PredefinedMetricType', m.metric)) AS target_tracking_scaling_policy_configuration
FROM web_service w JOIN part t ON t.part = 'scaling_target'
CROSS JOIN LATERAL (VALUES ('cpu', w.target_cpu, 'ECSServiceAverageCPUUtilization'), ('memory', w.target_memory, 'ECSServiceAverageMemoryUtilization')) m (key, target, metric)
WHERE m.target IS NOT NULL
