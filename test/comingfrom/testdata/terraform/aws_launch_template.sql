INSERT INTO launch_template (launch_template_name, image_id, instance_type, key_pair_name, security_group_ids_records, user_data, data)
SELECT 'hoist', 'ami-0a1b2c3d4e5f60718', 't3.micro', 'keeper', ARRAY[id], '#!/bin/sh', '{
    "BlockDeviceMappings": [{"DeviceName": "/dev/sdf", "Ebs": {"VolumeSize": 30}}],
    "CapacityReservationSpecification": {"CapacityReservationPreference": "open"},
    "CpuOptions": {"CoreCount": 2, "ThreadsPerCore": 1},
    "CreditSpecification": {"CpuCredits": "standard"},
    "DisableApiStop": true, "DisableApiTermination": true, "EbsOptimized": true,
    "IamInstanceProfile": {"Name": "hoist"},
    "InstanceInitiatedShutdownBehavior": "terminate",
    "InstanceMarketOptions": {"MarketType": "spot"},
    "KernelId": "aki-0a1b2c3d", "RamDiskId": "ari-0a1b2c3d",
    "LicenseSpecifications": [{"LicenseConfigurationArn": "arn:aws:license-manager:us-east-1:123456789012:license-configuration:lic-0a1b2c3d"}],
    "MetadataOptions": {"HttpEndpoint": "enabled", "HttpTokens": "required", "HttpPutResponseHopLimit": 2, "InstanceMetadataTags": "enabled"},
    "Monitoring": {"Enabled": true},
    "NetworkPerformanceOptions": {"BandwidthWeighting": "vpc-1"},
    "NetworkInterfaces": [{"DeviceIndex": 0, "AssociatePublicIpAddress": false}],
    "Placement": {"AvailabilityZone": "us-east-1b"},
    "TagSpecifications": [{"ResourceType": "instance", "Tags": [{"Key": "Name", "Value": "hoist"}]}]}'
FROM security_group WHERE group_name = 'quay';
