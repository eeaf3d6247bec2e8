// Package awselasticache is the module aws_elasticache: caches.
//
// It promises what the contract in package modules asks of its table. A
// cluster's name is its identity and unique in the account and region. Clusters
// take minutes to come, to change and to go; what has been asked of one and is
// under way counts as what it has.
//
// It is long because nodes are removed by their ids, log delivery is ended by a call that names what is gone, and
// versions are asked for by a part and told whole.
package awselasticache

import (
	"context"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/elasticache"
	ectypes "github.com/aws/aws-sdk-go-v2/service/elasticache/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

const (
	// pageSize is the most clusters DescribeCacheClusters gives a page.
	pageSize = 100
	redis    = "redis"
)

// Module returns the module aws_elasticache, whose calls go through c.
func Module(c *aws.Clients) *modules.Module {
	return &modules.Module{
		Name: "aws_elasticache", Version: 4, Doc: "Caches in memory (ElastiCache).",
		Dependencies: []string{"aws_account", "aws_security_group"}, Resources: []modules.Resource{newCluster(c)},
	}
}

// newCluster declares the table cache_cluster. The limits are those of the page
// CreateCacheCluster of the Amazon ElastiCache API Reference.
func newCluster(c *aws.Clients) *declare.Resource {
	nodes := awssdk.Bool(true)
	return declare.New(c, declare.Table[ectypes.CacheCluster]{
		Name: "cache_cluster",
		Doc: "Clusters of ElastiCache. Changes are applied at once, not in the next maintenance window. Deleting one " +
			"deletes its data: of Redis, after a final snapshot, " +
			"the cluster's name, -final- and the time (IaSQL took none), which costs until it is deleted by aws " +
			"elasticache delete-snapshot, and which skip_final_snapshot does without; Memcached has no snapshots. " +
			"Members of replication groups are not shown: the group makes, changes and deletes them.",
		Service: declare.Service(elasticache.NewFromConfig),
		Columns: []declare.Column{
			declare.Name("cluster_id", "CacheClusterId",
				"The cluster's name: up to 50 lowercase letters, digits and single hyphens.").Matches(
				`^[a-z]([a-z0-9]|-[a-z0-9])*$`).Length(1, 50),
			declare.Text("engine", "Engine", "redis, the default, or memcached.").Default("'redis'").OneOf("memcached",
				redis).CreateOnly(),
			declare.Text("node_type", "CacheNodeType",
				"What each node runs on, such as cache.t4g.micro. AWS changes that of Redis alone.").
				First("PendingModifiedValues.CacheNodeType").Required().Matches(`^cache\.`),
			declare.Integer("num_nodes", "NumCacheNodes",
				"How many nodes it has: 1, the default, for Redis, several for Memcached. The nodes made last are "+
					"the first to go.").
				First("PendingModifiedValues.NumCacheNodes").Default("1").Check("num_nodes >= 1"),
			declare.Text("engine_version", "EngineVersion",
				"The engine's version, such as 7.1, which can only go up; AWS's default if left out.").
				First("PendingModifiedValues.EngineVersion").OptionalComputed().Same(declare.SameVersion).
				OneWay(declare.Newer),
			declare.Integer("port", "",
				"The port it listens on; 6379 for Redis and 11211 for Memcached if left out.").In("Port").Between(1,
				65535).CreateOnly().OptionalComputed(),
			declare.Text("cache_subnet_group_name", "CacheSubnetGroupName",
				"The subnets that it is put into; those of the default VPC if left out.").CreateOnly().
				OptionalComputed(),
			declare.Text("cache_parameter_group_name", "CacheParameterGroup.CacheParameterGroupName",
				"The settings of its engine; AWS's own if left out.").
				In("CacheParameterGroupName").OptionalComputed(),
			declare.Texts("security_group_ids", "SecurityGroups[].SecurityGroupId",
				"The ids of its security groups; the default group of its VPC if left out.").
				In("SecurityGroupIds").Unordered().EmptyIsNull().OptionalComputed().
				Records("security_group", "group_id", 4),
			declare.Text("availability_zone", "PreferredAvailabilityZone",
				"Its availability zone, such as us-east-1a; AWS picks one if left out. Multiple if its nodes are in "+
					"several.").CreateOnly().OptionalComputed(),
			declare.Bool("transit_encryption_enabled", "TransitEncryptionEnabled",
				"Whether connections are encrypted. Default false.").Default("false").CreateOnly(),
			declare.Bool("auto_minor_version_upgrade", "AutoMinorVersionUpgrade",
				"Whether AWS installs minor versions of the engine by itself. Default true.").Default("true"),
			declare.Text("maintenance_window", "PreferredMaintenanceWindow",
				"When in the week AWS may work on it, such as sun:23:00-mon:01:30 (UTC); AWS picks one if left out.").
				OptionalComputed(),
			declare.Integer("snapshot_retention_limit", "SnapshotRetentionLimit",
				"How many days daily snapshots are kept, up to 35, for Redis; 0, the default, makes none.").
				Default("0").Between(0, 35).Usual(modules.Int(0)),
			declare.JSON("log_delivery_configurations", "LogDeliveryConfigurations",
				`Which logs of Redis go to CloudWatch Logs or Firehose: [{"LogType": "slow-log", "LogFormat": "json", "DestinationType": "cloudwatch-logs", "DestinationDetails": {"CloudWatchLogsDetails": {"LogGroup": "logs"}}}].`).
				As(delivered).Unordered().EmptyIsNull().OptionalComputed().Same(sameDelivery).Since(3),
			declare.Text("address", "", "The name it is connected to by; NULL until it is available.").Computed(),
			declare.Text("status", "CacheClusterStatus",
				"What it is doing, such as creating, available, modifying or deleting.").Computed(),
			declare.SkipFinalSnapshot().Since(2),
			declare.ARN("arn", "ARN").In("ResourceName"),
			declare.Tags("TagList", (*elasticache.Client).AddTagsToResource,
				(*elasticache.Client).RemoveTagsFromResource).
				From(declare.Call((*elasticache.Client).ListTagsForResource)),
		},
		Checks: []string{"engine = 'memcached' OR num_nodes = 1",
			"engine = 'redis' OR snapshot_retention_limit = 0"},
		Published: declare.Published{Type: "AWS::ElastiCache::CacheCluster", Since: 3,
			Columns: map[string]string{"ClusterName": "cluster_id", "PreferredAvailabilityZone": "availability_zone",
				"VpcSecurityGroupIds": "security_group_ids"},
			Read:  map[string]string{"NotificationTopicArn": "NotificationConfiguration.TopicArn"},
			Along: []string{"AZMode", "PreferredAvailabilityZones", "SnapshotArns", "SnapshotName"},
			Docs: map[string]string{
				"AZMode": "Whether the nodes of Memcached are in one availability zone (single-az, as of NULL) or in " +
					"several (cross-az).",
				"NotificationTopicArn": "The ARN of the SNS topic that is told what happens to it.",
				"PreferredAvailabilityZones": "The availability zones that nodes are made in, one for each. It " +
					"matters when the row is inserted, and never again.",
				"SnapshotArns": "The ARN of a file in S3 that it is filled from. It matters when the row is " +
					"inserted, and never again.",
				"SnapshotName": "The snapshot that it is created from. It matters when the row is inserted, and " +
					"never again.",
			},
			Without: map[string]string{"CacheSecurityGroupNames": declare.Deprecated}, // of EC2-Classic
		},
		DestroyBeforeCreate: true,

		Kind: "cluster:",
		EventMappings: modules.EventMappings("elasticache.amazonaws.com",
			modules.Request("cacheClusterId", "RebootCacheCluster"),
			modules.Unnamed("CreateReplicationGroup", "ModifyReplicationGroup",
				"ModifyReplicationGroupShardConfiguration", "DeleteReplicationGroup", "IncreaseReplicaCount",
				"DecreaseReplicaCount"),
		),
		List: declare.Pages(elasticache.NewDescribeCacheClustersPaginator, "CacheClusters",
			declare.With(&elasticache.DescribeCacheClustersInput{ShowCacheNodeInfo: nodes,
				ShowCacheClustersNotInReplicationGroups: nodes, MaxRecords: awssdk.Int32(pageSize)})),
		Get: declare.One(declare.Call((*elasticache.Client).DescribeCacheClusters,
			declare.With(&elasticache.DescribeCacheClustersInput{ShowCacheNodeInfo: nodes})), "CacheClusters[0]"),
		Gone: func(cluster *ectypes.CacheCluster) bool {
			return awssdk.ToString(cluster.ReplicationGroupId) != "" ||
				awssdk.ToString(cluster.CacheClusterStatus) == "deleted"
		},
		Row: func(_ context.Context, _ *declare.Step, cluster *ectypes.CacheCluster, row modules.Row) error {
			at := cluster.ConfigurationEndpoint // of Memcached
			if at == nil && len(cluster.CacheNodes) > 0 {
				at = cluster.CacheNodes[0].Endpoint
			}
			row["address"] = modules.Null
			if at != nil {
				row["address"] = modules.TextPtr(at.Address)
			}
			if at != nil && awssdk.ToInt32(at.Port) > 0 { // it is unknown until it is available
				row["port"] = modules.Int(*at.Port)
			}
			return nil
		},
		Create: declare.Call((*elasticache.Client).CreateCacheCluster),
		Updates: []declare.Update{declare.Modify(declare.Call((*elasticache.Client).ModifyCacheCluster,
			declare.With(&elasticache.ModifyCacheClusterInput{ApplyImmediately: awssdk.Bool(true)}),
			declare.Edit(removeNodes)))},
		Delete: declare.Call((*elasticache.Client).DeleteCacheCluster, declare.Edit(finalSnapshot)),
		Reread: true, // for its engine and its state
		// The states are those of the page CacheCluster; create-failed is of groups.
		Going:     declare.In("status", "deleting"),
		Forming:   declare.In("status", "creating"),
		Failed:    declare.In("status", "create-failed", "incompatible-network", "restore-failed").Because(""),
		HoldsData: true,
	})
}

// removeNodes names the nodes that are to go, as AWS wants it: those with the
// highest ids.
func removeNodes(ctx context.Context, s *declare.Step, in *elasticache.ModifyCacheClusterInput) error {
	if s.Changes("log_delivery_configurations") {
		if err := endDelivery(s, in); err != nil {
			return err
		}
	}
	if in.NumCacheNodes == nil || int(*in.NumCacheNodes) >= int(s.Have["num_nodes"].Int()) {
		return nil
	}
	out, err := declare.ClientOf[*elasticache.Client](s).DescribeCacheClusters(ctx,
		&elasticache.DescribeCacheClustersInput{
			CacheClusterId: in.CacheClusterId, ShowCacheNodeInfo: awssdk.Bool(true),
		})
	if err != nil || len(out.CacheClusters) == 0 {
		return err
	}
	nodes := out.CacheClusters[0].CacheNodes // in the order of their ids
	for i := int(*in.NumCacheNodes); i < len(nodes); i++ {
		in.CacheNodeIdsToRemove = append(in.CacheNodeIdsToRemove, awssdk.ToString(nodes[i].CacheNodeId))
	}
	return nil
}

// finalSnapshot has the deletion of a Redis cluster take a snapshot, unless there
// is no data yet, or the nodes are of the kind that has no snapshots.
func finalSnapshot(_ context.Context, s *declare.Step, in *elasticache.DeleteCacheClusterInput) error {
	none := s.Have["engine"].String() != redis || strings.HasPrefix(s.Have["node_type"].String(), "cache.t1.")
	switch status := s.Have["status"].String(); {
	case none, status == "creating", status == "restore-failed", status == "incompatible-network":
	default:
		in.FinalSnapshotIdentifier = s.FinalSnapshot(*in.CacheClusterId)
	}
	return nil
}

// delivered are the logs that are delivered, in the shape in which they are set: without their state.
var delivered = declare.Shaped("log_delivery_configurations", byLogType)

func byLogType(list []ectypes.LogDeliveryConfigurationRequest) {
	slices.SortFunc(list, func(a, b ectypes.LogDeliveryConfigurationRequest) int {
		return strings.Compare(string(a.LogType), string(b.LogType))
	})
}

// sameDelivery reports whether the same logs are delivered alike. AWS does not tell Enabled: what it lists is.
var sameDelivery = declare.Alike(func(list *[]ectypes.LogDeliveryConfigurationRequest) {
	byLogType(*list)
	for i := range *list {
		if awssdk.ToBool((*list)[i].Enabled) {
			(*list)[i].Enabled = nil
		}
	}
})

// endDelivery says of logs which are not wanted any more that they end: what is left out goes on.
func endDelivery(s *declare.Step, in *elasticache.ModifyCacheClusterInput) error {
	have, _, err := declare.Both(s, "log_delivery_configurations",
		func(list *[]ectypes.LogDeliveryConfigurationRequest) { byLogType(*list) })
	if err != nil {
		return err
	}
	for _, log := range have {
		if !slices.ContainsFunc(in.LogDeliveryConfigurations, func(other ectypes.LogDeliveryConfigurationRequest) bool {
			return other.LogType == log.LogType
		}) {
			in.LogDeliveryConfigurations = append(in.LogDeliveryConfigurations,
				ectypes.LogDeliveryConfigurationRequest{LogType: log.LogType, Enabled: awssdk.Bool(false)})
		}
	}
	return nil
}
