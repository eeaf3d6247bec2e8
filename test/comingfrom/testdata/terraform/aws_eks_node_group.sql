INSERT INTO eks_cluster (cluster_name, role_name, version, subnets_records) SELECT 'lamps', 'eks-of-the-quay', '1.33', array_agg(id)
FROM subnet WHERE tags ->> 'Name' = 'quay';
INSERT INTO eks_node_group (cluster_id, node_group_name, role_name, subnets_records, desired_size, max_size, min_size, max_unavailable, version, release_version)
SELECT id, 'lamps', 'ec2-of-the-quay', subnets_records, 2, 3, 1, 1, '1.33', '1.33.0-20250704' FROM eks_cluster WHERE cluster_name = 'lamps';
