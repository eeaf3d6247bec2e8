INSERT INTO instance (ami, instance_type, subnet_id, tags)
SELECT 'ami-0a1b2c3d4e5f60718', 't3.micro', id, '{"Name": "crane"}' FROM subnet WHERE cidr_block = '10.60.1.0/24';
INSERT INTO elastic_ip (domain, tags) VALUES ('vpc', '{"Name": "of the crane"}'), ('vpc', '{"Name": "of a card"}');
INSERT INTO elastic_ip (domain, public_ipv4_pool) VALUES ('vpc', 'ipv4pool-ec2-0a1b2c3d4e5f60718');
INSERT INTO elastic_ip (domain, ipam_pool_id) VALUES ('vpc', 'ipam-pool-0a1b2c3d4e5f60718');
INSERT INTO elastic_ip_association (elastic_ip_id, instance_id)
SELECT a.id, i.id FROM elastic_ip a, instance i WHERE a.tags ->> 'Name' = 'of the crane' AND i.tags ->> 'Name' = 'crane';
INSERT INTO elastic_ip_association (elastic_ip_id, network_interface_id, private_ip_address)
SELECT id, 'eni-0a1b2c3d4e5f60718', '10.60.1.12' FROM elastic_ip WHERE tags ->> 'Name' = 'of a card';
