INSERT INTO bucket (name, versioning_enabled, lifecycle_configuration) VALUES
  ('wrecks-7c1d', false, '[
    {"ID": "logs", "Status": "Enabled", "Filter": {"And": {"Prefix": "logs/", "Tags": [{"Key": "kind", "Value": "log"}, {"Key": "tidy", "Value": "yes"}]}},
     "Expiration": {"Days": 80}, "Transitions": [{"Days": 30, "StorageClass": "STANDARD_IA"}, {"Days": 50, "StorageClass": "GLACIER"}]},
    {"ID": "scraps", "Status": "Enabled", "Filter": {"Prefix": "scraps/"}, "Expiration": {"Date": "2031-01-13T00:00:00Z"}},
    {"ID": "tagged", "Status": "Enabled", "Filter": {"Tag": {"Key": "Name", "Value": "Draft"}}, "Expiration": {"Days": 9}},
    {"ID": "large", "Status": "Enabled", "Filter": {"ObjectSizeGreaterThan": 600}, "Expiration": {"Days": 99}},
    {"ID": "middling", "Status": "Enabled", "Filter": {"And": {"Prefix": "m/", "ObjectSizeGreaterThan": 600, "ObjectSizeLessThan": 70000}}, "Expiration": {"Days": 99}}]'),
  ('versions-7c1d', true, '[
    {"ID": "settings", "Status": "Enabled", "Filter": {"Prefix": "settings/"}, "NoncurrentVersionExpiration": {"NoncurrentDays": 80},
     "NoncurrentVersionTransitions": [{"NoncurrentDays": 30, "StorageClass": "STANDARD_IA"}, {"NoncurrentDays": 50, "StorageClass": "GLACIER"}]}]');
