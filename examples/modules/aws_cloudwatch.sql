-- A log group whose logs are kept for a week, then for a month.
INSERT INTO log_group (log_group_name, retention_in_days) VALUES ('/example/web', 7);
SELECT iasql_wait_for_all(60);
UPDATE log_group SET retention_in_days = 30, tags = '{"team": "web"}' WHERE log_group_name = '/example/web';
SELECT iasql_wait_for_all(60);
SELECT log_group_name, retention_in_days, log_group_arn FROM log_group WHERE log_group_name = '/example/web';
DELETE FROM log_group WHERE log_group_name = '/example/web';
SELECT iasql_wait_for_all(60);
