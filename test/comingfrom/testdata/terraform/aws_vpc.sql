INSERT INTO vpc (cidr_block, instance_tenancy, tags) VALUES ('10.61.0.0/16', 'dedicated', '{"Name": "shoal"}');
INSERT INTO vpc (cidr_block, ipv4_ipam_pool_id) VALUES ('10.62.0.0/20', 'ipam-pool-0a1b2c3d4e5f60718');
