-- A Kubernetes cluster and its nodes in a network of their own, in one transaction. It takes aws_eks.
BEGIN;
CALL iasql_declare('kube');
INSERT INTO vpc (cidr_block, enable_dns_hostnames, tags) VALUES ('10.61.0.0/16', true, '{"Name": "kube"}');
INSERT INTO subnet (vpc_id, cidr_block, availability_zone, map_public_ip_on_launch, tags)
SELECT v.id, s.network, default_aws_region() || s.zone, true, '{"Name": "kube", "kubernetes.io/role/elb": "1"}'
FROM vpc v, (VALUES ('10.61.0.0/20'::cidr, 'a'), ('10.61.16.0/20', 'b'), ('10.61.32.0/20', 'c')) s (network, zone) WHERE v.tags ->> 'Name' = 'kube';
INSERT INTO internet_gateway (vpc_id, tags) SELECT id, '{"Name": "kube"}' FROM vpc WHERE tags ->> 'Name' = 'kube';
INSERT INTO route_table (vpc_id, tags) SELECT id, '{"Name": "kube"}' FROM vpc WHERE tags ->> 'Name' = 'kube';
INSERT INTO route (route_table_id, destination, internet_gateway_id)
SELECT t.id, '0.0.0.0/0', i.id FROM route_table t, internet_gateway i WHERE t.tags ->> 'Name' = 'kube' AND i.tags ->> 'Name' = 'kube';
INSERT INTO route_table_association (subnet_id, route_table_id)
SELECT s.id, t.id FROM subnet s, route_table t WHERE s.tags ->> 'Name' = 'kube' AND t.tags ->> 'Name' = 'kube';
INSERT INTO security_group (group_name, description, vpc_id) SELECT 'kube-api', 'Who reaches the API', id FROM vpc WHERE tags ->> 'Name' = 'kube';
INSERT INTO security_group_rule (security_group_id, is_egress, ip_protocol, from_port, to_port, cidr_ipv4)
SELECT id, false, 'tcp', 443, 443, '10.61.0.0/16' FROM security_group WHERE group_name = 'kube-api';
INSERT INTO iam_role (role_name, assume_role_policy_document, attached_policies_arns) VALUES
('kube', '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "eks.amazonaws.com"}, "Action": "sts:AssumeRole"}]}',
 '{arn:aws:iam::aws:policy/AmazonEKSClusterPolicy}'),
('kube-nodes', '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}]}',
 '{arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy,arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy,arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryReadOnly}');
INSERT INTO eks_cluster (cluster_name, role_name, subnets_records, security_group_ids_records, endpoint_private_access, log_types)
SELECT 'kube', 'kube', (SELECT array_agg(id) FROM subnet WHERE tags ->> 'Name' = 'kube'), ARRAY[g.id], true, '{api,audit}'
FROM security_group g WHERE g.group_name = 'kube-api';
INSERT INTO eks_node_group (cluster_id, node_group_name, role_name, subnets_records, instance_types, min_size, max_size, labels)
SELECT id, 'web', 'kube-nodes', subnets_records, '{t3.large}', 2, 6, '{"kind": "web"}' FROM eks_cluster WHERE cluster_name = 'kube';
CALL iasql_declared();
COMMIT;
SELECT iasql_wait_for_all(300);
SELECT c.status AS cluster, g.status AS nodes, cardinality(c.subnets) AS subnets FROM eks_cluster c JOIN eks_node_group g ON g.cluster_id = c.id WHERE c.cluster_name = 'kube';

-- And away, by one DELETE.
DELETE FROM iasql_configurations WHERE name = 'kube';
SELECT iasql_wait_for_all(300);
