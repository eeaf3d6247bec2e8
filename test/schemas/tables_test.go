package schemas

import (
	"reflect"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// types are the resource types of tables.
var types = map[string][]string{
	"bucket":                        {"AWS::S3::Bucket"},
	"bucket_website":                {"AWS::S3::Bucket"},
	"certificate":                   {"AWS::CertificateManager::Certificate"},
	"cluster":                       {"AWS::ECS::Cluster"},
	"db_cluster":                    {"AWS::RDS::DBCluster"},
	"db_subnet_group":               {"AWS::RDS::DBSubnetGroup"},
	"dhcp_options":                  {"AWS::EC2::DHCPOptions"},
	"dynamo_table":                  {"AWS::DynamoDB::Table"},
	"elastic_ip":                    {"AWS::EC2::EIP"},
	"endpoint_gateway":              {"AWS::EC2::VPCEndpoint"},
	"endpoint_interface":            {"AWS::EC2::VPCEndpoint"},
	"general_purpose_volume":        {"AWS::EC2::Volume"},
	"hosted_zone":                   {"AWS::Route53::HostedZone"},
	"iam_role":                      {"AWS::IAM::Role"},
	"iam_user":                      {"AWS::IAM::User"},
	"instance":                      {"AWS::EC2::Instance"},
	"instance_block_device_mapping": {"AWS::EC2::VolumeAttachment"},
	"internet_gateway":              {"AWS::EC2::InternetGateway"},
	"key_pair":                      {"AWS::EC2::KeyPair"},
	"lambda_function":               {"AWS::Lambda::Function"},
	"listener":                      {"AWS::ElasticLoadBalancingV2::Listener"},
	"load_balancer":                 {"AWS::ElasticLoadBalancingV2::LoadBalancer"},
	"log_group":                     {"AWS::Logs::LogGroup"},
	"metric_alarm":                  {"AWS::CloudWatch::Alarm"},
	"nat_gateway":                   {"AWS::EC2::NatGateway"},
	"network_acl":                   {"AWS::EC2::NetworkAcl"},
	"parameter_group":               {"AWS::RDS::DBParameterGroup"},
	"peering_connection":            {"AWS::EC2::VPCPeeringConnection"},
	"public_access_block":           {"AWS::S3::Bucket"},
	"public_repository":             {"AWS::ECR::PublicRepository"},
	"rds":                           {"AWS::RDS::DBInstance"},
	"repository":                    {"AWS::ECR::Repository"},
	"resource_record_set":           {"AWS::Route53::RecordSet"},
	"route":                         {"AWS::EC2::Route"},
	"route_table":                   {"AWS::EC2::RouteTable"},
	"route_table_association":       {"AWS::EC2::SubnetRouteTableAssociation"},
	"registered_instance":           {"AWS::ElasticLoadBalancingV2::TargetGroup"},
	"repository_policy":             {"AWS::ECR::Repository"},
	"secret":                        {"AWS::SecretsManager::Secret"},
	"security_group":                {"AWS::EC2::SecurityGroup"},
	"security_group_rule":           {"AWS::EC2::SecurityGroupIngress", "AWS::EC2::SecurityGroupEgress"},
	"service":                       {"AWS::ECS::Service"},
	"subnet":                        {"AWS::EC2::Subnet"},
	"subscription":                  {"AWS::SNS::Subscription"},
	"queue":                         {"AWS::SQS::Queue"},
	"target_group":                  {"AWS::ElasticLoadBalancingV2::TargetGroup"},
	"task_definition":               {"AWS::ECS::TaskDefinition"},
	"topic":                         {"AWS::SNS::Topic"},
	"vpc":                           {"AWS::EC2::VPC"},
}

// parts are the tables whose objects are a part of their type's: what they are
// known by is not compared.
var parts = []string{"bucket_website", "public_access_block", "registered_instance", "repository_policy"}

// properties are the properties of columns that are called otherwise than where
// they live in the API: "A|B" where each of a table's types calls it otherwise, and
// "" for none.
var properties = map[string]string{
	"bucket.name":                                        "BucketName",
	"bucket_website.error_document":                      "WebsiteConfiguration/ErrorDocument",
	"bucket_website.index_document":                      "WebsiteConfiguration/IndexDocument",
	"certificate.certificate_id":                         "", // a part of the ARN
	"cluster.container_insights":                         "ClusterSettings/Value",
	"db_cluster.endpoint_addr":                           "Endpoint/Address",
	"db_cluster.reader_endpoint_addr":                    "ReadEndpoint/Address",
	"dynamo_table.primary_key":                           "KeySchema",
	"dynamo_table.stream_arn":                            "StreamArn",
	"dynamo_table.throughput":                            "BillingMode",
	"dynamo_table.time_to_live_attribute":                "TimeToLiveSpecification/AttributeName",
	"endpoint_gateway.vpc_endpoint_id":                   "Id",
	"endpoint_interface.vpc_endpoint_id":                 "Id",
	"hosted_zone.name_servers":                           "NameServers",
	"iam_role.attached_policies_arns":                    "ManagedPolicyArns",
	"iam_role.inline_policies":                           "Policies",
	"iam_user.attached_policies_arns":                    "ManagedPolicyArns",
	"iam_user.inline_policies":                           "Policies",
	"instance.availability_zone":                         "AvailabilityZone",
	"instance.monitoring":                                "Monitoring",
	"instance.public_ip_address":                         "PublicIp",
	"instance.role_name":                                 "IamInstanceProfile",
	"listener.action_type":                               "DefaultActions/Type",
	"listener.default_actions":                           "DefaultActions",
	"listener.target_group_id":                           "DefaultActions/TargetGroupArn",
	"load_balancer.attributes":                           "LoadBalancerAttributes",
	"load_balancer.load_balancer_name":                   "Name",
	"nat_gateway.private_ip":                             "PrivateIpAddress",
	"network_acl.network_acl_id":                         "Id",
	"parameter_group.family":                             "Family",
	"peering_connection.accepter_id":                     "PeerVpcId",
	"peering_connection.peering_connection_id":           "Id",
	"public_repository.about_text":                       "RepositoryCatalogData/AboutText",
	"public_repository.architectures":                    "RepositoryCatalogData/Architectures",
	"public_repository.description":                      "RepositoryCatalogData/RepositoryDescription",
	"public_repository.operating_systems":                "RepositoryCatalogData/OperatingSystems",
	"public_repository.usage_text":                       "RepositoryCatalogData/UsageText",
	"queue.arn":                                          "Arn",
	"queue.name":                                         "QueueName",
	"registered_instance.instance":                       "Targets/Id",
	"registered_instance.port":                           "Targets/Port",
	"repository.lifecycle_policy":                        "LifecyclePolicy/LifecyclePolicyText",
	"repository_policy.repository_id":                    "RepositoryName",
	"repository_policy.policy":                           "RepositoryPolicyText",
	"route.destination":                                  "CidrBlock",
	"route_table_association.route_table_association_id": "Id",
	"secret.arn":                                         "Id",
	"security_group.description":                         "GroupDescription",
	"security_group.group_id":                            "Id",
	"security_group.is_default":                          "", // read from the name
	"security_group_rule.cidr_ipv4":                      "CidrIp",
	"security_group_rule.security_group_rule_id":         "Id",
	"security_group_rule.source_security_group":          "SourceSecurityGroupId|DestinationSecurityGroupId",
	"security_group_rule.prefix_list_id":                 "SourcePrefixListId|DestinationPrefixListId",
	"service.container_name":                             "LoadBalancers/ContainerName",
	"service.container_port":                             "LoadBalancers/ContainerPort",
	"service.load_balancers":                             "LoadBalancers",
	"service.target_group_id":                            "LoadBalancers/TargetGroupArn",
	"target_group.attributes":                            "TargetGroupAttributes",
	"target_group.target_group_name":                     "Name",
	"topic.name":                                         "TopicName",
	"vpc.enable_dns_hostnames":                           "EnableDnsHostnames",
	"vpc.enable_dns_support":                             "EnableDnsSupport",
}

// enumerations are the SDK's enumerations of columns that do not live where the
// SDK has them.
var enumerations = map[string]reflect.Type{
	"instance_metadata.architecture":     reflect.TypeFor[ec2types.ArchitectureValues](),
	"instance_metadata.root_device_type": reflect.TypeFor[ec2types.DeviceType](),
	"listener.action_type":               reflect.TypeFor[elbtypes.ActionTypeEnum](),
}
