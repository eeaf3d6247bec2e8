INSERT INTO general_purpose_volume (availability_zone, size, tags) VALUES ('us-east-1a', 60, '{"Name": "hold"}');
