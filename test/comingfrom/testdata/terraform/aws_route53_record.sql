INSERT INTO hosted_zone (domain_name) VALUES ('sea.example.com');
INSERT INTO resource_record_set (parent_hosted_zone_id, name, record_type, ttl, record)
SELECT id, 'www.sea.example.com', 'A', 300, '192.0.2.10' FROM hosted_zone WHERE domain_name IN ('sea.example.com', 'sea.example.com.');
INSERT INTO resource_record_set (parent_hosted_zone_id, name, record_type, ttl, record, weight, set_identifier)
SELECT id, 'new.sea.example.com', 'CNAME', 5, 'new.example.com', 15, 'new' FROM hosted_zone WHERE domain_name IN ('sea.example.com', 'sea.example.com.');
INSERT INTO resource_record_set (parent_hosted_zone_id, name, record_type, ttl, record, geo_proximity_location, set_identifier)
SELECT id, 'near.sea.example.com', 'CNAME', 300, 'near.example.com', '{"Coordinates": {"Latitude": "49.22", "Longitude": "-74.01"}}', 'near'
FROM hosted_zone WHERE domain_name IN ('sea.example.com', 'sea.example.com.');
INSERT INTO resource_record_set (parent_hosted_zone_id, name, record_type, alias_dns_name, alias_hosted_zone_id, alias_evaluate_target_health)
SELECT id, 'front.sea.example.com', 'A', 'dualstack.gangway-123.us-east-1.elb.amazonaws.com', 'Z35SXDOTRQ7X7K', true
FROM hosted_zone WHERE domain_name IN ('sea.example.com', 'sea.example.com.');
