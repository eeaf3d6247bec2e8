package awseks

import (
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newCluster declares the table eks_cluster. The limits are those of the page
// CreateCluster of the Amazon EKS API Reference. UpdateClusterConfig takes one
// kind of change a call.
func newCluster(c *aws.Clients) *declare.Resource {
	config := func(columns ...string) declare.Update {
		return declare.Modify(declare.Call((*eks.Client).UpdateClusterConfig), columns...)
	}
	return declare.New(c, declare.Table[ekstypes.Cluster]{
		Name:    "eks_cluster",
		Doc:     "Kubernetes clusters of EKS. One that has node groups is not deleted: they have to go first.",
		Service: declare.Service(eks.NewFromConfig),
		Columns: []declare.Column{
			declare.Name("cluster_name", "Name",
				"The cluster's name: up to 100 letters, digits, hyphens and underscores, a letter or digit first.").
				Matches("^[0-9A-Za-z][A-Za-z0-9_-]{0,99}$"),
			declare.Role("role_name", "RoleArn",
				"The role as which the cluster acts.").Required().CreateOnly().WithARN(3),
			declare.Text("version", "Version",
				"The version of Kubernetes, such as 1.33; AWS's default if left out. A later version updates the "+
					"cluster.").OptionalComputed().OneWay(declare.Newer).Matches(`^[0-9]+\.[0-9]+$`),
			declare.Texts("subnets", "ResourcesVpcConfig.SubnetIds",
				"The ids of the subnets in which the cluster is reached, of two availability zones at least.").
				Required().Unordered().
				Records("subnet", "subnet_id", 5),
			declare.Texts("security_group_ids", "ResourcesVpcConfig.SecurityGroupIds",
				"The ids of security groups that it has besides its own, up to 5.").Unordered().EmptyIsNull().
				Records("security_group", "group_id", 5),
			declare.Bool("endpoint_public_access", "ResourcesVpcConfig.EndpointPublicAccess",
				"Whether it is reached from outside its VPC.").Default("true"),
			declare.Bool("endpoint_private_access", "ResourcesVpcConfig.EndpointPrivateAccess",
				"Whether it is reached within its VPC.").Default("false"),
			declare.Texts("public_access_cidrs", "ResourcesVpcConfig.PublicAccessCidrs",
				"From where outside, such as {203.0.113.0/24}; from everywhere if left out.").OptionalComputed().
				Unordered(),
			declare.CIDR("service_ipv4_cidr", "KubernetesNetworkConfig.ServiceIpv4Cidr",
				"The network of its services; one that AWS chooses if left out.").CreateOnly().OptionalComputed(),
			declare.Text("ip_family", "KubernetesNetworkConfig.IpFamily",
				"Of which kind addresses of pods and services are: ipv4 if left out.").CreateOnly().OptionalComputed().
				OneOf("ipv4", "ipv6"),
			declare.Text("authentication_mode", "AccessConfig.AuthenticationMode",
				"Where it is said who may use it. It cannot go back from API.").
				OptionalComputed().OneOf(declare.Values(ekstypes.AuthenticationMode("").Values())...),
			declare.Texts("log_types", "Logging",
				"What it logs to CloudWatch, of api, audit, authenticator, controllerManager and scheduler. NULL: "+
					"nothing.").
				Unordered().EmptyIsNull().As(logged).Check(
				"log_types <@ '{api,audit,authenticator,controllerManager,scheduler}'"),
			declare.Text("kms_key_arn", "EncryptionConfig[0].Provider.KeyArn",
				"The ARN of a KMS key of one's own that encrypts its secrets.").CreateOnly(),
			declare.Text("support_type", "UpgradePolicy.SupportType",
				"What happens at the end of its version's standard support: STANDARD (it is updated) or EXTENDED (it "+
					"costs more).").
				OptionalComputed().OneOf("EXTENDED", "STANDARD"),
			declare.Bool("deletion_protection", "DeletionProtection", "Whether it cannot be deleted.").Default("false"),
			declare.Bool("elastic_load_balancing", "KubernetesNetworkConfig.ElasticLoadBalancing.Enabled",
				"Whether EKS makes load balancers by itself; see compute_config.").
				OptionalComputed().Since(4),
			declare.Text("endpoint", "Endpoint", "Where its API is reached; NULL until it is active.").Computed(),
			declare.Text("certificate_authority", "CertificateAuthority.Data",
				"The certificate by which it is known, in base64.").Computed(),
			declare.Text("oidc_issuer", "Identity.Oidc.Issuer",
				"The address by which it issues identities.").Computed(),
			declare.Text("cluster_security_group_id", "ResourcesVpcConfig.ClusterSecurityGroupId",
				"The id of the security group that it has by itself.").Computed(),
			declare.Text("platform_version", "PlatformVersion", "The version of EKS itself.").Computed(),
			declare.Text("status", "Status", "CREATING, ACTIVE, UPDATING, DELETING, FAILED or PENDING.").Computed(),
			declare.Text("health_issue", "Health.Issues[0].Message",
				"What is wrong with it; of several things the first.").Computed().Since(2),
			declare.ARN("arn", "Arn"),
			declare.Tags("Tags", (*eks.Client).TagResource, (*eks.Client).UntagResource),
		},
		Published: declare.Published{Type: "AWS::EKS::Cluster", Since: 4,
			Along: []string{"BootstrapSelfManagedAddons", "Force", "RollbackConfig"},
			Docs: map[string]string{
				"BootstrapSelfManagedAddons": "Whether the usual add-ons for networking are put on a new cluster; " +
					"they are if left out. It matters when the row is inserted, and never again.",
				"ComputeConfig":             `Whether EKS makes nodes by itself (EKS Auto Mode): {"Enabled": true, "NodePools": ["system"], "NodeRoleArn": "arn:…"}. It is changed together with storage_config and elastic_load_balancing.`,
				"ControlPlaneScalingConfig": `How much the control plane is made for: {"Tier": "standard"}.`,
				"Force": "Whether version is raised although checks say that something would " +
					"not work any more.",
				"OutpostConfig":       "Where a cluster on Outposts has its control plane.",
				"RemoteNetworkConfig": "The networks outside AWS of hybrid nodes and their pods.",
				"RollbackConfig":      "What happens when a change of version fails.",
				"StorageConfig":       `Whether EKS makes volumes by itself: {"BlockStorage": {"Enabled": true}}.`,
				"ZonalShiftConfig":    `Whether traffic is led away from an impaired availability zone: {"Enabled": true}.`,
			},
		},
		DestroyBeforeCreate: true, // one name is one cluster

		Kind: "cluster/",
		EventMappings: modules.EventMappings("eks.amazonaws.com",
			modules.Request("clusterName", "AssociateEncryptionConfig"),
		),
		List: clusters().Names("cluster_name", ""),
		Get:  declare.One(declare.Call((*eks.Client).DescribeCluster), "Cluster"),
		Create: declare.Call((*eks.Client).CreateCluster, declare.Answer("Cluster"),
			declare.Fill(func(_ *declare.Step, in *eks.CreateClusterInput) {
				for i := range in.EncryptionConfig {
					//lint:ignore SA1019 AWS encrypts everything by now; to say so does no harm where it already does
					in.EncryptionConfig[i].Resources = []string{"secrets"} // the only ones there are
				}
			})),
		Updates: []declare.Update{
			config("subnets", "security_group_ids"),
			config("endpoint_public_access", "endpoint_private_access", "public_access_cidrs"),
			config("log_types"), config("authentication_mode"), config("support_type"), config("deletion_protection"),
			config("compute_config", "storage_config", "elastic_load_balancing"),
			config("control_plane_scaling_config"),
			config("remote_network_config"), config("zonal_shift_config"),
			declare.Modify(declare.Call((*eks.Client).UpdateClusterVersion), "version"),
		},
		Delete: declare.Call((*eks.Client).DeleteCluster),
		Going:  declare.In("status", string(ekstypes.ClusterStatusDeleting)),
		// PENDING is a cluster of another kind that waits for somebody to connect it.
		Forming: declare.In("status", string(ekstypes.ClusterStatusCreating)),
		Failed:  declare.In("status", string(ekstypes.ClusterStatusFailed)).Because("health_issue"),
	})
}

// clusters lists the names of clusters.
func clusters() *declare.Listing {
	return declare.Pages(eks.NewListClustersPaginator, "Clusters", declare.PageSize(100))
}

// logged are the kinds of logs that are on. All others are turned off.
var logged = declare.Codec{
	Decode: func(member any) (modules.Value, error) {
		var on []string
		for _, setup := range member.(ekstypes.Logging).ClusterLogging {
			for _, kind := range setup.Types {
				if awssdk.ToBool(setup.Enabled) {
					on = append(on, string(kind))
				}
			}
		}
		if len(on) == 0 {
			return modules.Null, nil
		}
		return modules.Strings(on), nil
	},
	Encode: func(v modules.Value) (any, error) {
		kinds := map[bool][]ekstypes.LogType{}
		for _, kind := range ekstypes.LogType("").Values() {
			on := slices.Contains(v.Strings(), string(kind))
			kinds[on] = append(kinds[on], kind)
		}
		var all ekstypes.Logging
		for _, on := range []bool{true, false} {
			if len(kinds[on]) > 0 {
				all.ClusterLogging = append(all.ClusterLogging,
					ekstypes.LogSetup{Enabled: awssdk.Bool(on), Types: kinds[on]})
			}
		}
		return all, nil
	},
}
