SELECT a.key, w.account, w.region, w.name || '-web-' || a.key AS alarm_name, a.description AS alarm_description, 'AWS/ECS' AS namespace,
       a.metric AS metric_name, jsonb_build_array(jsonb_build_object('Name', 'ClusterName', 'Value', w.name), jsonb_build_object('Name', 'ServiceName', 'Value', w.name)) AS dimensions,
       'Average' AS statistic, 60 AS period, 5 AS evaluation_periods, 'GreaterThanThreshold' AS comparison_operator,
       90::double precision AS threshold, to_jsonb(w.alarm_actions) AS alarm_actions, w.tags
FROM web_service w
CROSS JOIN (VALUES ('cpu', 'The processors of its tasks are busy.', 'CPUUtilization'), ('memory', 'The memory of its tasks is full.', 'MemoryUtilization')) a (key, description, metric)
