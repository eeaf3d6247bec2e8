-- A state machine, and the role that it runs as.
INSERT INTO iam_role (role_name, assume_role_policy_document) VALUES ('example-states',
  '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "states.amazonaws.com"}, "Action": "sts:AssumeRole"}]}');
INSERT INTO state_machine (name, role_name, definition) VALUES ('example', 'example-states',
  '{"StartAt": "Wait", "States": {"Wait": {"Type": "Wait", "Seconds": 10, "Next": "Done"}, "Done": {"Type": "Succeed"}}}');
SELECT iasql_wait_for_all(60);
UPDATE state_machine SET definition = jsonb_set(definition, '{States,Wait,Seconds}', '20'), tracing_enabled = true WHERE name = 'example';
SELECT iasql_wait_for_all(60);
SELECT name, definition, tracing_enabled, status FROM state_machine WHERE name = 'example';
DELETE FROM state_machine WHERE name = 'example';
DELETE FROM iam_role WHERE role_name = 'example-states';
SELECT iasql_wait_for_all(60);
