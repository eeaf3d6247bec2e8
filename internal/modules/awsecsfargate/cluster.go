package awsecsfargate

import (
	"context"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	ecstypes "github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// mostClusters is how many clusters DescribeClusters takes, and the most
// results ListClusters gives a page.
const mostClusters = 100

// cluster is the table cluster.
type cluster struct {
	clients     *aws.Clients
	description *modules.Table
}

func newCluster(c *aws.Clients) *cluster { return &cluster{clients: c, description: describeCluster()} }

func describeCluster() *modules.Table {
	return &modules.Table{
		Name:     "cluster",
		Doc:      "Clusters: what services and tasks run in.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByName,
		Columns: aws.Regional(
			modules.Column{Name: "cluster_name", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
				Check: `cluster_name ~ '^[A-Za-z0-9_-]{1,255}$'`,
				Doc:   "The cluster's name: up to 255 letters, digits, hyphens and underscores."},
			modules.Column{Name: "container_insights", Type: modules.TypeText, Chosen: true, Enum: []string{"enabled", "enhanced", "disabled"},
				Doc: "Whether CloudWatch gets metrics of its containers: enabled, enhanced or disabled. The account's setting if left out."},
			modules.Column{Name: "cluster_arn", Type: modules.TypeText, Assigned: true,
				Doc: "Its Amazon Resource Name (ARN)."},
			modules.Column{Name: "cluster_status", Type: modules.TypeText, Assigned: true,
				Doc: "PROVISIONING, ACTIVE, DEPROVISIONING or FAILED."},
			aws.TagsColumn(),
		),
		DestroyBeforeCreate: true,
	}
}

// Table returns the description.
func (r *cluster) Table() *modules.Table { return r.description }

// List gives every cluster of the scope to page.
func (r *cluster) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	return aws.Pages(ctx, ecs.NewListClustersPaginator(client, &ecs.ListClustersInput{MaxResults: awssdk.Int32(mostClusters)}),
		func(out *ecs.ListClustersOutput) error {
			if len(out.ClusterArns) == 0 {
				return nil // naming none would describe the one called default
			}
			rows, err := describeClusters(ctx, client, out.ClusterArns)
			if err != nil {
				return err
			}
			return page(rows)
		})
}

// Get reads the clusters with these names; those that do not exist are told of
// apart, as failures.
func (r *cluster) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	var all []modules.Row
	for names := range slices.Chunk(aws.Column(identities, "cluster_name"), mostClusters) {
		rows, err := describeClusters(ctx, client, names)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

func describeClusters(ctx context.Context, client *ecs.Client, names []string) ([]modules.Row, error) {
	out, err := client.DescribeClusters(ctx, &ecs.DescribeClustersInput{
		Clusters: names, Include: []ecstypes.ClusterField{ecstypes.ClusterFieldSettings, ecstypes.ClusterFieldTags},
	})
	if err != nil {
		return nil, err
	}
	for _, failure := range out.Failures {
		if reason := awssdk.ToString(failure.Reason); reason != "MISSING" {
			return nil, &modules.Error{Class: modules.Transient, Code: reason, Message: awssdk.ToString(failure.Detail)}
		}
	}
	var rows []modules.Row
	for _, c := range out.Clusters {
		if awssdk.ToString(c.Status) == inactive {
			continue
		}
		row := modules.Row{
			"cluster_name":       modules.TextPtr(c.ClusterName),
			"container_insights": modules.Null,
			"cluster_arn":        modules.TextPtr(c.ClusterArn),
			"cluster_status":     modules.TextPtr(c.Status),
			"tags":               ecsTags.Value(c.Tags),
		}
		for _, setting := range c.Settings {
			if setting.Name == ecstypes.ClusterSettingNameContainerInsights {
				row["container_insights"] = modules.TextPtr(setting.Value)
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func settings(want modules.Row) []ecstypes.ClusterSetting {
	if want["container_insights"].IsNull() {
		return nil
	}
	return []ecstypes.ClusterSetting{{Name: ecstypes.ClusterSettingNameContainerInsights, Value: want["container_insights"].Ptr()}}
}

// Create creates a cluster.
func (r *cluster) Create(ctx context.Context, scope modules.Scope, want modules.Row, _ string) (modules.Row, error) {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return nil, err
	}
	_, err = client.CreateCluster(ctx, &ecs.CreateClusterInput{
		ClusterName: want["cluster_name"].Ptr(), Settings: settings(want), Tags: ecsTags.List(aws.TagsOf(want, "")),
	})
	if err != nil {
		return nil, err
	}
	return modules.Row{"cluster_name": want["cluster_name"]}, nil
}

// Update changes container_insights and tags.
func (r *cluster) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	if slices.Contains(columns, "container_insights") {
		_, err := client.UpdateCluster(ctx, &ecs.UpdateClusterInput{Cluster: have["cluster_name"].Ptr(), Settings: settings(want)})
		if err != nil {
			return err
		}
	}
	if slices.Contains(columns, modules.ColumnTags) {
		return updateTags(ctx, client, have["cluster_arn"].Ptr(), have, want)
	}
	return nil
}

// Delete deletes a cluster, in which nothing may run.
func (r *cluster) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	client, err := client(ctx, r.clients, scope)
	if err != nil {
		return err
	}
	_, err = client.DeleteCluster(ctx, &ecs.DeleteClusterInput{Cluster: have["cluster_name"].Ptr()})
	return aws.IfExists(err)
}
