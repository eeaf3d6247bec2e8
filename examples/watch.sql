-- A watch: what others change in this account is in the tables seconds after AWS tells of it,
-- with who it was. docs/watch.md says more, and has the forms for several regions and accounts.
--
-- Needs a trail of CloudTrail that records management events: without one, EventBridge gets none.
-- Needs the modules aws_sqs and aws_eventbridge:
--   SELECT * FROM iasql_install('aws_sqs'), iasql_install('aws_eventbridge');

-- The queue that the engine reads. What it has not read for four days is gone; listings find it.
INSERT INTO queue (name, message_retention_period, receive_message_wait_time_seconds) VALUES ('iasql-events', 345600, 20);
SELECT iasql_wait_for_all(60);

-- Management events, other than of calls that only read. Sign-ins are not among them.
INSERT INTO event_rule (name, description, event_pattern) VALUES
    ('iasql-watch', 'Tells the engine what others change', '{"detail-type": ["AWS API Call via CloudTrail", "AWS Service Event via CloudTrail"]}');
SELECT iasql_wait_for_all(60);

-- EventBridge may send to the queue, for this rule alone: whoever else could would be believed
-- about who made a change, and nothing else.
UPDATE queue q SET policy = jsonb_build_object('Version', '2012-10-17', 'Statement', jsonb_build_array(jsonb_build_object(
    'Sid', 'EventBridge', 'Effect', 'Allow', 'Principal', jsonb_build_object('Service', 'events.amazonaws.com'),
    'Action', 'sqs:SendMessage', 'Resource', q.arn, 'Condition', jsonb_build_object('ArnEquals', jsonb_build_object('aws:SourceArn', r.arn)))))
FROM event_rule r
WHERE q.name = 'iasql-events' AND r.name = 'iasql-watch' AND r.region = q.region AND r.account = q.account;
SELECT iasql_wait_for_all(60);

-- An event that cannot be delivered within five minutes tells nothing that a listing has not.
INSERT INTO event_target (rule_id, target_id, arn, maximum_event_age_in_seconds)
    SELECT r.id, 'iasql', q.arn, 300
    FROM event_rule r JOIN queue q USING (account, region)
    WHERE r.name = 'iasql-watch' AND q.name = 'iasql-events';
SELECT iasql_wait_for_all(60);

-- The engine reads it from now on.
INSERT INTO aws_event_source (name, queue, region)
    SELECT q.region, q.arn, q.region FROM queue q WHERE q.name = 'iasql-events';

SELECT name, state, last_event, behind, events FROM iasql_event_sources;
