INSERT INTO metric_alarm (alarm_name, comparison_operator, evaluation_periods, metric_name, namespace, period, statistic, threshold, alarm_description,
    insufficient_data_actions, alarm_actions, ok_actions, actions_enabled, dimensions)
VALUES ('busy', 'GreaterThanOrEqualToThreshold', 3, 'CPUUtilization', 'AWS/EC2', 300, 'Average', 75, 'The cranes are busy', '[]',
    '["arn:aws:sns:us-east-1:123456789012:tides"]', '["arn:aws:sns:us-east-1:123456789012:tides"]', true,
    '[{"Name": "AutoScalingGroupName", "Value": "davit-old"}]');
INSERT INTO metric_alarm (alarm_name, comparison_operator, evaluation_periods, threshold, metrics)
VALUES ('errors', 'GreaterThanOrEqualToThreshold', 2, 8, '[
    {"Id": "e1", "Expression": "m2/m1*100", "Label": "Share of errors", "ReturnData": true},
    {"Id": "m1", "ReturnData": false, "MetricStat": {"Metric": {"MetricName": "RequestCount", "Namespace": "AWS/ApplicationELB",
      "Dimensions": [{"Name": "LoadBalancer", "Value": "app/gangway/0a1b2c3d"}]}, "Period": 60, "Stat": "Sum", "Unit": "Count"}},
    {"Id": "m2", "ReturnData": false, "MetricStat": {"Metric": {"MetricName": "HTTPCode_ELB_5XX_Count", "Namespace": "AWS/ApplicationELB",
      "Dimensions": [{"Name": "LoadBalancer", "Value": "app/gangway/0a1b2c3d"}]}, "Period": 60, "Stat": "Sum", "Unit": "Count"}}]');
INSERT INTO metric_alarm (alarm_name, comparison_operator, evaluation_periods, threshold_metric_id, metrics)
VALUES ('unusual', 'GreaterThanUpperThreshold', 2, 'e1', '[
    {"Id": "e1", "Expression": "ANOMALY_DETECTION_BAND(m1)", "Label": "Expected", "ReturnData": true},
    {"Id": "m1", "ReturnData": true, "MetricStat": {"Metric": {"MetricName": "CPUUtilization", "Namespace": "AWS/EC2"}, "Period": 120, "Stat": "Average"}}]');
