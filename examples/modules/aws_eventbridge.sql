-- Events of orders go to a bus of their own, and those of large orders to a queue; something else is done every night.
INSERT INTO event_bus (name, description) VALUES ('orders', 'What happens to orders');
INSERT INTO event_rule (event_bus_name, name, event_pattern) VALUES ('orders', 'large', '{"detail": {"amount": [{"numeric": [">", 1000]}]}}');
INSERT INTO event_rule (name, schedule_expression) VALUES ('nightly', 'cron(0 2 * * ? *)');
INSERT INTO event_target (rule_id, target_id, arn, input_path)
  SELECT id, 'queue', 'arn:aws:sqs:us-east-1:123456789012:large-orders', '$.detail' FROM event_rule WHERE name = 'large';
SELECT iasql_wait_for_all(60);
UPDATE event_rule SET state = 'DISABLED' WHERE name = 'nightly';
UPDATE event_target SET maximum_retry_attempts = 3 WHERE target_id = 'queue';
SELECT iasql_wait_for_all(60);
SELECT r.event_bus_name, r.name, r.event_pattern, r.schedule_expression, r.state, t.target_id, t.arn FROM event_rule r LEFT JOIN event_target t ON t.rule_id = r.id ORDER BY r.name;
DELETE FROM event_bus WHERE name = 'orders';
DELETE FROM event_rule WHERE name = 'nightly';
SELECT iasql_wait_for_all(60);
