-- A table that is paid by the request, then by capacity.
INSERT INTO dynamo_table (table_name, primary_key, time_to_live_attribute)
VALUES ('example-events', '{"user": "S", "at": "N", "range": "at"}', 'expires');
SELECT iasql_wait_for_all(60);
UPDATE dynamo_table SET throughput = '{"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}' WHERE table_name = 'example-events';
SELECT iasql_wait_for_all(60);
SELECT primary_key, throughput, status FROM dynamo_table WHERE table_name = 'example-events';
DELETE FROM dynamo_table WHERE table_name = 'example-events';
SELECT iasql_wait_for_all(60);
