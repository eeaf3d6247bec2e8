INSERT INTO eks_cluster (cluster_name, role_name, subnets_records, log_types) SELECT 'lighthouses', 'eks-of-the-quay', array_agg(id), '{api,audit}'
FROM subnet WHERE tags ->> 'Name' = 'quay';
INSERT INTO eks_cluster (cluster_name, role_name, subnets_records, endpoint_private_access, endpoint_public_access, outpost_config)
SELECT 'islands', 'eks-of-the-quay', array_agg(id), true, false,
    '{"ControlPlaneInstanceType": "m5d.large", "OutpostArns": ["arn:aws:outposts:us-east-1:123456789012:outpost/op-0a1b2c3d4e5f60718"]}'
FROM subnet WHERE tags ->> 'Name' = 'quay';
INSERT INTO eks_cluster (cluster_name, role_name, subnets_records, authentication_mode) SELECT 'beacons', 'eks-of-the-quay', array_agg(id), 'CONFIG_MAP'
FROM subnet WHERE tags ->> 'Name' = 'quay';
