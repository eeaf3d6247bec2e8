INSERT INTO dynamo_table (table_name, throughput, primary_key, attribute_definitions, time_to_live_attribute, stream_view_type, global_secondary_indexes, tags)
VALUES ('soundings', '{"ReadCapacityUnits": 12, "WriteCapacityUnits": 9}', '{"gauge": "S", "day": "S", "range": "day"}', '{"deepest": "N"}', 'forget_at',
    'NEW_AND_OLD_IMAGES', '[{"IndexName": "deepest-of-the-day", "KeySchema": [{"AttributeName": "day", "KeyType": "HASH"},
      {"AttributeName": "deepest", "KeyType": "RANGE"}], "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["unit"]},
      "ProvisionedThroughput": {"ReadCapacityUnits": 8, "WriteCapacityUnits": 4}}]', '{"Name": "Soundings", "stage": "trial"}');
