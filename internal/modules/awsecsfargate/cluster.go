package awsecsfargate

import (
	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// mostClusters is how many clusters DescribeClusters takes, and the most
// results ListClusters gives a page.
const mostClusters = 100

// newCluster declares the table cluster.
func newCluster(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[ecstypes.Cluster]{
		Name:    "cluster",
		Doc:     "Clusters: what services and tasks run in.",
		Service: declare.Service(ecs.NewFromConfig),
		Columns: []declare.Column{
			declare.Name("cluster_name", "ClusterName",
				"The cluster's name: up to 255 letters, digits, hyphens and underscores.").
				In("ClusterName", "Cluster").Matches("^[A-Za-z0-9_-]{1,255}$").As(declare.LastPart("/")),
			declare.Text("container_insights", "Settings",
				"Whether CloudWatch gets metrics of its containers: enabled, enhanced or disabled. The account's "+
					"setting if left out.").
				OptionalComputed().OneOf("enabled", "enhanced", "disabled").As(insights),
			declare.Text("service_connect_namespace", "ServiceConnectDefaults.Namespace",
				"The ARN of the namespace of Cloud Map in which services find each other if they do not say another. "+
					"NULL: none.").
				Check("service_connect_namespace LIKE 'arn:%'").Unset(modules.Text("")).Since(5),
			declare.ARN("cluster_arn", "ClusterArn"),
			declare.Text("cluster_status", "Status", "PROVISIONING, ACTIVE, DEPROVISIONING or FAILED.").Computed(),
			declare.Tags("Tags", (*ecs.Client).TagResource, (*ecs.Client).UntagResource),
		},
		Published: declare.Published{Type: "AWS::ECS::Cluster", Since: 5,
			Columns: map[string]string{"ClusterSettings": "container_insights"},
			Sets:    []string{"CapacityProviders", "DefaultCapacityProviderStrategy"},
			Filled:  map[string][]string{"Configuration": {"Logging"}},
			Docs: map[string]string{
				"CapacityProviders": "The capacity providers that its services and tasks can use, such " +
					"as {FARGATE,FARGATE_SPOT}.",
				"Configuration":                   `How commands are run in containers, and what Fargate's storage is encrypted with: {"ExecuteCommandConfiguration": {"Logging": "DEFAULT"}}.`,
				"DefaultCapacityProviderStrategy": `How tasks are spread over them if nothing else is said: [{"CapacityProvider": "FARGATE", "Weight": 1}].`,
			},
		},
		DestroyBeforeCreate: true,

		Kind: "cluster/",
		EventMappings: modules.EventMappings("ecs.amazonaws.com",
			modules.Request("cluster", "PutClusterCapacityProviders", "UpdateClusterSettings"),
		),
		List: clusters().Names("cluster_name", ""),
		Get: declare.Batch(declare.Call((*ecs.Client).DescribeClusters,
			declare.With(&ecs.DescribeClustersInput{Include: []ecstypes.ClusterField{
				ecstypes.ClusterFieldSettings, ecstypes.ClusterFieldConfigurations,
				ecstypes.ClusterFieldTags}}),
			declare.Checked(func(out *ecs.DescribeClustersOutput) error { return unlessMissing(out.Failures) })),
			"Clusters", "cluster_name", mostClusters, "Clusters"),
		// DescribeClusters shows it for some time; its name is free.
		Gone:   func(c *ecstypes.Cluster) bool { return awssdk.ToString(c.Status) == inactive },
		Create: declare.Call((*ecs.Client).CreateCluster),
		Updates: []declare.Update{
			declare.Restate(declare.Call((*ecs.Client).PutClusterCapacityProviders,
				declare.Fill(func(_ *declare.Step, in *ecs.PutClusterCapacityProvidersInput) {
					if in.CapacityProviders == nil {
						in.CapacityProviders = []string{}
					}
					if in.DefaultCapacityProviderStrategy == nil {
						in.DefaultCapacityProviderStrategy = []ecstypes.CapacityProviderStrategyItem{}
					}
				})), "capacity_providers", "default_capacity_provider_strategy"),
			declare.Modify(declare.Call((*ecs.Client).UpdateCluster)),
		},
		Delete:  declare.Call((*ecs.Client).DeleteCluster), // in which nothing may run
		Going:   declare.In("cluster_status", "DEPROVISIONING"),
		Forming: declare.In("cluster_status", "PROVISIONING"),
		Failed:  declare.In("cluster_status", "FAILED").Because(""),
	})
}

// clusters lists the ARNs of clusters.
func clusters() *declare.Listing {
	return declare.Pages(ecs.NewListClustersPaginator, "ClusterArns", declare.PageSize(mostClusters))
}

// unlessMissing returns the error of what could not be described for another
// reason than that it does not exist.
func unlessMissing(failures []ecstypes.Failure) error {
	for _, failure := range failures {
		if reason := awssdk.ToString(failure.Reason); reason != "MISSING" {
			return &modules.Error{Class: modules.Transient, Code: reason, Message: awssdk.ToString(failure.Detail)}
		}
	}
	return nil
}

// insights is one of a cluster's settings.
var insights = declare.Codec{
	Decode: func(member any) (modules.Value, error) {
		for _, setting := range member.([]ecstypes.ClusterSetting) {
			if setting.Name == ecstypes.ClusterSettingNameContainerInsights {
				return modules.TextPtr(setting.Value), nil
			}
		}
		return modules.Null, nil
	},
	Encode: func(v modules.Value) (any, error) {
		return []ecstypes.ClusterSetting{{Name: ecstypes.ClusterSettingNameContainerInsights, Value: v.Ptr()}}, nil
	},
}
