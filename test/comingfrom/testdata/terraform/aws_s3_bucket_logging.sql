INSERT INTO bucket (name) VALUES ('watch-7c1d');
INSERT INTO bucket (name, logging_configuration) VALUES ('cargo-7c1d', '{"TargetBucket": "watch-7c1d", "TargetPrefix": "cargo/",
    "TargetObjectKeyFormat": {"PartitionedPrefix": {"PartitionDateSource": "EventTime"}}}');
