package awseks

import (
	"context"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newNodeGroup declares the table eks_node_group. The limits are those of the page
// CreateNodegroup of the Amazon EKS API Reference.
func newNodeGroup(c *aws.Clients) *declare.Resource {
	size := func(name, member, doc string) declare.Column {
		return declare.Integer(name, "ScalingConfig."+member, doc).Check(name + " >= 0")
	}
	return declare.New(c, declare.Table[ekstypes.Nodegroup]{
		Name: "eks_node_group",
		Doc: "Managed node groups: the instances on which a cluster runs what is given to it. EKS makes an Auto " +
			"Scaling group for each. Deleting one drains and terminates its nodes.",
		Service: declare.Service(eks.NewFromConfig),
		Columns: []declare.Column{
			declare.Ref("cluster_id", "ClusterName", "eks_cluster", "cluster_name",
				"The cluster.").Required().Identity().CreateOnly(),
			declare.Name("node_group_name", "NodegroupName",
				"The node group's name: up to 63 letters, digits, hyphens and underscores, a letter or digit first.").
				Matches("^[0-9A-Za-z][A-Za-z0-9_-]{0,62}$"),
			declare.Role("role_name", "NodeRole", "The role of its nodes.").Required().CreateOnly().WithARN(3),
			declare.Texts("subnets", "Subnets",
				"The ids of the subnets that nodes are in.").Required().CreateOnly().Unordered().
				Records("subnet", "subnet_id", 5),
			declare.Texts("instance_types", "InstanceTypes",
				"What nodes run on, up to 20; {t3.medium} if left out.").CreateOnly().OptionalComputed(),
			declare.Text("ami_type", "AmiType",
				"The kind of their image.").CreateOnly().OptionalComputed().OneOf(
				declare.Values(ekstypes.AMITypes("").Values())...),
			declare.Text("capacity_type", "CapacityType",
				"How nodes are paid: ON_DEMAND (if left out), SPOT or CAPACITY_BLOCK.").CreateOnly().OptionalComputed().
				OneOf(declare.Values(ekstypes.CapacityTypes("").Values())...),
			declare.Integer("disk_size", "DiskSize",
				"The size of their root volume in GiB; 20, or 50 for Windows, if left out.").CreateOnly().
				OptionalComputed().Check("disk_size >= 1"),
			declare.Text("key_pair_name", "RemoteAccess.Ec2SshKey",
				"The key pair with which people log in.").CreateOnly(),
			size("min_size", "MinSize", "The least number of nodes.").Required(),
			size("max_size", "MaxSize", "The most nodes.").Required().Check("max_size >= 1"),
			size("desired_size", "DesiredSize",
				"How many nodes there are to be. min_size if left out; a scaler in the cluster may change it.").
				OptionalComputed(),
			declare.Integer("max_unavailable", "UpdateConfig.MaxUnavailable",
				"How many nodes are updated at a time, 1 to 100.").OptionalComputed().Between(1, 100),
			declare.Integer("max_unavailable_percentage", "UpdateConfig.MaxUnavailablePercentage",
				"The same in percent.").OptionalComputed().Between(1, 100),
			declare.JSON("labels", "Labels", `Labels of Kubernetes that nodes have: {"kind": "web"}.`).EmptyIsNull(),
			declare.JSON("taints", "Taints",
				`Taints of Kubernetes that nodes have: [{"Key": "gpu", "Value": "true", "Effect": "NO_SCHEDULE"}].`).
				Check("jsonb_typeof(taints) = 'array'").EmptyIsNull().Unordered().Same(
				declare.Alike[[]ekstypes.Taint](nil)),
			declare.Ref("launch_template_id", "LaunchTemplate.Name", "launch_template", "launch_template_name",
				"The launch template that nodes are made from; EKS makes one if left out.").CreateOnly().Lasts(),
			declare.Text("launch_template_version", "LaunchTemplate.Version",
				"The version of the launch template, a number; its default one if left out. Another replaces the "+
					"nodes, one after the other.").OptionalComputed().Matches("^[0-9]+$"),
			declare.Text("version", "Version",
				"The version of Kubernetes, such as 1.33; the cluster's if left out. A later one replaces the nodes, "+
					"one after the other.").OptionalComputed(),
			declare.Text("release_version", "ReleaseVersion",
				"The version of their image, such as 1.33.0-20250704; the latest if left out.").OptionalComputed(),
			declare.Bool("force_update_enabled", "",
				"Whether nodes are replaced although a pod disruption budget keeps pods on them; not if left out.").
				Along().In("Force").Since(4),
			declare.Text("auto_scaling_group", "Resources.AutoScalingGroups[0].Name",
				"The Auto Scaling group that EKS made for it.").Computed(),
			declare.Text("status", "Status",
				"CREATING, ACTIVE, UPDATING, DELETING, CREATE_FAILED, DELETE_FAILED or DEGRADED.").Computed(),
			declare.Text("health_issue", "Health.Issues[0].Message",
				"What is wrong with it, such as why instances do not join the cluster; of several things the first.").
				Computed().Since(2),
			declare.ARN("arn", "NodegroupArn"),
			declare.Tags("Tags", (*eks.Client).TagResource, (*eks.Client).UntagResource),
		},
		Published: declare.Published{Type: "AWS::EKS::Nodegroup", Since: 4,
			Filled: map[string][]string{"WarmPoolConfig": {"MaxGroupPreparedCapacity", "MinSize", "PoolState",
				"ReuseOnScaleIn"}},
			Columns: map[string]string{"ForceUpdateEnabled": "force_update_enabled"},
			Docs: map[string]string{
				"NodeRepairConfig": `Whether nodes that are not healthy are replaced: {"Enabled": true}; not if left out.`,
				"WarmPoolConfig":   "The instances that are kept ready beside the nodes.",
			},
		},
		Checks: []string{"min_size <= max_size", "desired_size BETWEEN min_size AND max_size",
			"num_nonnulls(max_unavailable, max_unavailable_percentage) <= 1"},
		// One name is one node group of a cluster.
		DestroyBeforeCreate: true,

		Kind: "nodegroup/",
		EventMappings: modules.EventMappings("eks.amazonaws.com",
			modules.Request("clusterName", "UpdateNodegroupConfig"),
		),
		List: declare.Pages(eks.NewListNodegroupsPaginator, "Nodegroups", declare.PageSize(100)).
			Within(clusters(), "", "ClusterName").Names("node_group_name", ""),
		Get: declare.One(declare.Call((*eks.Client).DescribeNodegroup), "Nodegroup"),
		Create: declare.Call((*eks.Client).CreateNodegroup, declare.Answer("Nodegroup"),
			declare.Fill(func(s *declare.Step, in *eks.CreateNodegroupInput) {
				if in.ScalingConfig.DesiredSize == nil {
					in.ScalingConfig.DesiredSize = in.ScalingConfig.MinSize // AWS's own default is 2
				}
			})),
		Updates: []declare.Update{
			declare.By(configure, "min_size", "max_size", "desired_size", "max_unavailable",
				"max_unavailable_percentage", "labels", "taints"),
			declare.Modify(declare.Call((*eks.Client).UpdateNodegroupConfig), "node_repair_config", "warm_pool_config"),
			declare.Modify(declare.Call((*eks.Client).UpdateNodegroupVersion,
				declare.Fill(func(s *declare.Step, in *eks.UpdateNodegroupVersionInput) {
					if in.LaunchTemplate != nil { // name and version go together
						in.LaunchTemplate.Name = s.Have["launch_template_id"].Ptr()
					}
				})), "launch_template_version", "version", "release_version"),
		},
		Delete: declare.Call((*eks.Client).DeleteNodegroup),

		Going:   declare.In("status", string(ekstypes.NodegroupStatusDeleting)),
		Forming: declare.In("status", string(ekstypes.NodegroupStatusCreating)),
		Failed:  declare.In("status", string(ekstypes.NodegroupStatusCreateFailed)).Because("health_issue"),
	})
}

// configure changes what UpdateNodegroupConfig takes: sizes as a whole, and of
// labels and taints what differs.
func configure(ctx context.Context, s *declare.Step) error {
	in := &eks.UpdateNodegroupConfigInput{ClusterName: s.Have["cluster_id"].Ptr(),
		NodegroupName: s.Have["node_group_name"].Ptr()}
	number := func(column string) *int32 {
		v := s.Want[column]
		if v.IsNull() {
			v = s.Have[column]
		}
		return v.Int32Ptr()
	}
	sent := false
	if s.Changes("min_size", "max_size", "desired_size") {
		in.ScalingConfig, sent = &ekstypes.NodegroupScalingConfig{MinSize: number("min_size"),
			MaxSize: number("max_size"), DesiredSize: number("desired_size")}, true
	}
	for _, column := range []string{"max_unavailable", "max_unavailable_percentage"} {
		if v := s.Want[column]; s.Changes(column) && !v.IsNull() {
			in.UpdateConfig, sent = &ekstypes.NodegroupUpdateConfig{}, true
			if column == "max_unavailable" {
				in.UpdateConfig.MaxUnavailable = v.Int32Ptr()
			} else {
				in.UpdateConfig.MaxUnavailablePercentage = v.Int32Ptr()
			}
		}
	}
	if s.Changes("labels") {
		set, remove := aws.TagChanges(s.Have["labels"], s.Want["labels"])
		in.Labels, sent = &ekstypes.UpdateLabelsPayload{AddOrUpdateLabels: set, RemoveLabels: remove}, true
	}
	if s.Changes("taints") {
		var have, want []ekstypes.Taint
		if err := aws.ParseDocument("taints", s.Want["taints"], &want); err != nil {
			return err
		}
		if err := aws.ParseDocument("taints", s.Have["taints"], &have); err != nil {
			return err
		}
		gone := slices.DeleteFunc(have, func(old ekstypes.Taint) bool {
			return slices.ContainsFunc(want, func(t ekstypes.Taint) bool {
				return awssdk.ToString(t.Key) == awssdk.ToString(old.Key) && t.Effect == old.Effect
			})
		})
		in.Taints, sent = &ekstypes.UpdateTaintsPayload{AddOrUpdateTaints: want, RemoveTaints: gone}, true
	}
	if !sent {
		return nil
	}
	_, err := declare.ClientOf[*eks.Client](s).UpdateNodegroupConfig(ctx, in)
	return err
}
