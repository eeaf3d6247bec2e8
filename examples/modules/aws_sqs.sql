-- A queue, changed in place.
INSERT INTO queue (name, visibility_timeout) VALUES ('example', 60);
SELECT iasql_wait_for('queue', (SELECT id FROM queue WHERE name = 'example'), 'url IS NOT NULL', 60);
UPDATE queue SET delay_seconds = 5, tags = '{"team": "orders"}' WHERE name = 'example';
SELECT iasql_wait_for_all(60);
SELECT name, visibility_timeout, delay_seconds, tags FROM queue WHERE name = 'example';
SELECT message_id IS NOT NULL AS sent FROM sqs_send_message('example', '{"order": 1}');
DELETE FROM queue WHERE name = 'example';
SELECT iasql_wait_for_all(60);
