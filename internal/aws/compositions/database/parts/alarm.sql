SELECT a.key, d.account, d.region, d.name || '-database-' || a.key AS alarm_name, a.description AS alarm_description, 'AWS/RDS' AS namespace,
       a.metric AS metric_name, jsonb_build_array(jsonb_build_object('Name', 'DBInstanceIdentifier', 'Value', d.name)) AS dimensions,
       'Average' AS statistic, 300 AS period, 3 AS evaluation_periods, a.comparison AS comparison_operator,
       a.threshold, to_jsonb(d.alarm_actions) AS alarm_actions, d.tags
FROM database d
CROSS JOIN LATERAL (VALUES
    ('cpu', 'Its processor is busy.', 'CPUUtilization', 'GreaterThanThreshold', 90::double precision),
    ('storage', 'A tenth of its storage is left.', 'FreeStorageSpace', 'LessThanThreshold', d.storage * 1073741824::double precision / 10)
) a (key, description, metric, comparison, threshold)
