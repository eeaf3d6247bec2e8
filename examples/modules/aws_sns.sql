-- A topic and who hears of it, in one transaction.
BEGIN;
INSERT INTO topic (name, display_name) VALUES ('example-news', 'News');
INSERT INTO subscription (topic, protocol, endpoint, filter_policy)
VALUES ('example-news', 'sqs', 'arn:aws:sqs:us-east-1:123456789012:example', '{"kind": ["sports"]}');
COMMIT;
SELECT iasql_wait_for_all(60);
UPDATE subscription SET raw_message_delivery = true WHERE topic = 'example-news';
SELECT iasql_wait_for_all(60);
SELECT protocol, endpoint, raw_message_delivery, filter_policy FROM subscription WHERE topic = 'example-news';
-- A message that this subscription does not want.
SELECT message_id IS NOT NULL AS published FROM sns_publish('example-news', 'Rain', message_attributes => '{"kind": "weather"}');
-- The subscription goes with its topic.
DELETE FROM topic WHERE name = 'example-news';
SELECT iasql_wait_for_all(60);
