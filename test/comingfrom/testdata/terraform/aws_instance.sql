INSERT INTO instance (ami, instance_type, subnet_id, cpu_options, tags)
SELECT 'ami-0a1b2c3d4e5f60718', 'c6a.2xlarge', id, '{"CoreCount": 2, "ThreadsPerCore": 2}', '{"Name": "winch"}' FROM subnet WHERE cidr_block = '10.60.1.0/24';
INSERT INTO instance (ami, instance_type, network_interfaces, cpu_credits)
VALUES ('ami-0a1b2c3d4e5f60718', 't3.micro', '[{"DeviceIndex": 0, "NetworkInterfaceId": "eni-0a1b2c3d4e5f60718"}]', 'unlimited');
INSERT INTO instance (ami, instance_type, host_resource_group_arn, tenancy)
VALUES ('ami-0a1b2c3d4e5f60718', 'm5.large', 'arn:aws:resource-groups:us-east-1:123456789012:group/hosts', 'host');
