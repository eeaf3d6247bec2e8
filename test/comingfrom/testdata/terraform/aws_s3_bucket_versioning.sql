INSERT INTO bucket (name, versioning_enabled) VALUES ('charts-7c1d', true);
