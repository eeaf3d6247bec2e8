INSERT INTO internet_gateway (vpc_id) SELECT id FROM vpc WHERE tags ->> 'Name' = 'quay';
INSERT INTO route_table (vpc_id, tags) SELECT id, '{"Name": "fairway"}' FROM vpc WHERE tags ->> 'Name' = 'quay';
INSERT INTO route (route_table_id, destination, internet_gateway_id)
SELECT t.id, '0.0.0.0/0', g.id FROM route_table t JOIN internet_gateway g ON g.vpc_id = t.vpc_id WHERE t.tags ->> 'Name' = 'fairway';
INSERT INTO route (route_table_id, destination, egress_only_internet_gateway_id)
SELECT id, '::/0', 'eigw-0a1b2c3d4e5f60718' FROM route_table WHERE tags ->> 'Name' = 'fairway';
INSERT INTO route (route_table_id, destination, network_interface_id)
SELECT id, '10.70.0.0/16', 'eni-0a1b2c3d4e5f60718' FROM route_table WHERE tags ->> 'Name' = 'fairway';
