-- A log group whose logs are kept for a week, then for a month.
INSERT INTO log_group (log_group_name, retention_in_days) VALUES ('/example/web', 7);
SELECT iasql_wait_for_all(60);
UPDATE log_group SET retention_in_days = 30, tags = '{"team": "web"}' WHERE log_group_name = '/example/web';
SELECT iasql_wait_for_all(60);
SELECT log_group_name, retention_in_days, log_group_arn FROM log_group WHERE log_group_name = '/example/web';
SELECT count(*) AS lines FROM log_group_tail('/example/web');
DELETE FROM log_group WHERE log_group_name = '/example/web';
SELECT iasql_wait_for_all(60);
-- An alarm on a metric of one's own.
INSERT INTO metric_alarm (alarm_name, namespace, metric_name, statistic, period, evaluation_periods, comparison_operator, threshold)
VALUES ('example-errors', 'Example', 'Errors', 'Sum', 60, 5, 'GreaterThanThreshold', 10);
SELECT iasql_wait_for_all(60);
UPDATE metric_alarm SET threshold = 20, treat_missing_data = 'notBreaching' WHERE alarm_name = 'example-errors';
SELECT iasql_wait_for_all(60);
SELECT alarm_name, threshold, state_value FROM metric_alarm WHERE alarm_name = 'example-errors';
DELETE FROM metric_alarm WHERE alarm_name = 'example-errors';
SELECT iasql_wait_for_all(60);
