-- A Kubernetes cluster in the default VPC, with a group of up to three nodes.
BEGIN;
INSERT INTO iam_role (role_name, assume_role_policy_document, attached_policies_arns) VALUES
('example-eks', '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "eks.amazonaws.com"}, "Action": "sts:AssumeRole"}]}',
 '{arn:aws:iam::aws:policy/AmazonEKSClusterPolicy}'),
('example-nodes', '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]}',
 '{arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy,arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy,arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryReadOnly}');
INSERT INTO eks_cluster (cluster_name, role_name, subnets, log_types)
SELECT 'example', 'example-eks', array_agg(subnet_id), '{audit}' FROM subnet WHERE default_for_az AND region = default_aws_region();
INSERT INTO eks_node_group (cluster_id, node_group_name, role_name, subnets, instance_types, min_size, max_size, labels)
SELECT id, 'web', 'example-nodes', subnets, '{t3.large}', 1, 3, '{"kind": "web"}' FROM eks_cluster WHERE cluster_name = 'example';
COMMIT;
SELECT iasql_wait_for_all(120);
UPDATE eks_node_group SET desired_size = 2 WHERE node_group_name = 'web';
SELECT iasql_wait_for_all(60);
SELECT c.cluster_name, c.status, g.node_group_name, g.desired_size FROM eks_cluster c JOIN eks_node_group g ON g.cluster_id = c.id WHERE c.cluster_name = 'example';
BEGIN;
DELETE FROM eks_node_group WHERE node_group_name = 'web';
DELETE FROM eks_cluster WHERE cluster_name = 'example';
DELETE FROM iam_role WHERE role_name IN ('example-eks', 'example-nodes');
COMMIT;
SELECT iasql_wait_for_all(60);
