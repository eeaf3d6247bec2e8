package awsmemorydb

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/memorydb"
	mdbtypes "github.com/aws/aws-sdk-go-v2/service/memorydb/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newCluster declares the table memory_db_cluster. The limits are those of the
// page CreateCluster of the MemoryDB API Reference. A change of size takes a call
// of its own, and those that follow wait for it.
func newCluster(c *aws.Clients) *declare.Resource {
	update := declare.Call((*memorydb.Client).UpdateCluster)
	shards := declare.With(&memorydb.DescribeClustersInput{ShowShardDetails: awssdk.Bool(true)})
	return declare.New(c, declare.Table[mdbtypes.Cluster]{
		Name: "memory_db_cluster",
		Doc: "Clusters of MemoryDB. Deleting one deletes its data, after a final snapshot: the cluster's name, " +
			"-final- and the time (IaSQL took none). " +
			"The snapshot costs until it is deleted, by aws memorydb delete-snapshot; skip_final_snapshot does " +
			"without it.",
		Service: service,
		Columns: []declare.Column{
			name("cluster_name", "Name", "ClusterName",
				"The cluster's name: lowercase letters, digits and hyphens, a letter first."),
			declare.Text("description", "Description", "What it is for.").Unset(modules.Text("")),
			declare.Text("node_type", "NodeType",
				"What each node runs on. Default db.r6g.large.").Default("'db.r6g.large'").Matches(
				`^db\.[a-z0-9]+\.[a-z0-9]+$`),
			declare.Integer("num_shards", "NumberOfShards",
				"Over how many shards its data is spread. Default 1.").In("NumShards",
				"ShardConfiguration.ShardCount").Default("1").Between(1, 500),
			declare.Integer("num_replicas_per_shard", "Shards[0].NumberOfNodes",
				"How many replicas each shard has, up to 5. Default 1.").
				In("NumReplicasPerShard", "ReplicaConfiguration.ReplicaCount").As(replicas).Default("1").Between(0, 5),
			declare.Text("engine_version", "EngineVersion",
				"The engine's version, such as 7.1, which can only go up; AWS's default if left out.").
				OptionalComputed().Same(declare.SameVersion).OneWay(declare.Newer),
			declare.Text("acl_name", "ACLName",
				"The access control list that says who may do what. Default open-access: whoever reaches it.").Default(
				"'open-access'"),
			declare.Text("parameter_group_name", "ParameterGroupName",
				"The settings of its engine; AWS's own if left out.").OptionalComputed(),
			declare.Ref("subnet_group_id", "SubnetGroupName", "subnet_group", "subnet_group_name",
				"The subnets that it is put into; those of the default VPC if left out.").CreateOnly().
				OptionalComputed(),
			declare.Integer("port", "ClusterEndpoint.Port",
				"The port it listens on. Default 6379.").In("Port").Default("6379").Between(1, 65535).CreateOnly(),
			declare.Bool("tls_enabled", "TLSEnabled",
				"Whether connections are encrypted. Default true.").Default("true").CreateOnly(),
			declare.KMSKey("kms_key_id", "KmsKeyId", "that encrypts its data; AWS's own if left out."),
			declare.Bool("auto_minor_version_upgrade", "AutoMinorVersionUpgrade",
				"Whether AWS installs minor versions of the engine by itself. Default true.").Default(
				"true").CreateOnly(),
			declare.Text("maintenance_window", "MaintenanceWindow",
				"When in the week AWS may work on it, such as sun:23:00-mon:01:30 (UTC); AWS picks one if left out.").
				OptionalComputed(),
			declare.Integer("snapshot_retention_limit", "SnapshotRetentionLimit",
				"How many days daily snapshots are kept, up to 35; 0, the default, makes none.").Default("0").Between(0,
				35),
			declare.Text("snapshot_window", "SnapshotWindow",
				"When in the day they are made, such as 05:00-09:00 (UTC); AWS picks a time if left out.").
				OptionalComputed(),
			declare.Bool("data_tiering", "DataTiering",
				"Whether data that is used rarely is kept on disks, as nodes of the family r6gd do; they alone can.").
				CreateOnly().OptionalComputed().Absent(modules.Bool(false)).Since(3),
			declare.Text("address", "ClusterEndpoint.Address",
				"The name it is connected to by; NULL until it is available.").Computed(),
			declare.Text("status", "Status",
				"What it is doing, such as creating, available, updating or deleting.").Computed(),
			declare.SkipFinalSnapshot().Since(2),
			declare.ARN("arn", "ARN"),
			tags(),
		},
		Published: declare.Published{Type: "AWS::MemoryDB::Cluster", Since: 3,
			Columns: map[string]string{"SecurityGroupIds": "memory_db_cluster_security_groups"},
			Along:   []string{"FinalSnapshotName", "SnapshotArns", "SnapshotName"},
			Docs: map[string]string{
				"Engine": "The engine: redis or valkey, which redis can become and not the other way round.",
				"FinalSnapshotName": "The name of the snapshot that is taken when it is deleted. NULL: the " +
					"cluster's name, -final- and the time.",
				"SnapshotArns": "The ARNs of files in S3 that it is filled from. It matters when the row is " +
					"inserted, and never again.",
				"SnapshotName": "The snapshot that it is created from. It matters when the row is inserted, and " +
					"never again.",
				"SnsTopicArn":    "The ARN of the SNS topic that is told what happens to it.",
				"SnsTopicStatus": "Whether that topic is told: active or inactive.",
			},
		},
		DestroyBeforeCreate: true,

		Kind: "cluster/",
		EventMappings: modules.EventMappings("memorydb.amazonaws.com",
			modules.Request("clusterNames", "BatchUpdateCluster"),
			modules.Request("clusterName", "FailoverShard"),
		),
		List: declare.Pages(memorydb.NewDescribeClustersPaginator, "Clusters", shards),
		Get:  declare.One(declare.Call((*memorydb.Client).DescribeClusters, shards), "Clusters[0]"),
		Row: func(_ context.Context, _ *declare.Step, cluster *mdbtypes.Cluster, row modules.Row) error {
			if cluster.ClusterEndpoint == nil || cluster.ClusterEndpoint.Port == 0 { // it is being created
				delete(row, "port")
			}
			if row["num_replicas_per_shard"].IsNull() {
				delete(row, "num_replicas_per_shard")
			}
			return nil
		},
		Create: declare.Call((*memorydb.Client).CreateCluster),
		Updates: []declare.Update{
			declare.Modify(update, "description", "acl_name", "parameter_group_name", "maintenance_window",
				"snapshot_retention_limit", "snapshot_window", "ip_discovery", "sns_topic_arn", "sns_topic_status"),
			declare.ModifyEach(update, "engine", "engine_version", "node_type", "num_shards", "num_replicas_per_shard"),
		},
		Delete: declare.Call((*memorydb.Client).DeleteCluster, declare.Edit(finalSnapshot)),
		Reread: true, // for its state

		// As AWS's command line waits for them (page Cluster names examples alone).
		Going:     declare.In("status", "deleting"),
		Forming:   declare.In("status", "creating"),
		Failed:    declare.In("status", "create-failed").Because(""),
		HoldsData: true,
	})
}

// finalSnapshot has a deletion take a snapshot, unless there is no data yet.
func finalSnapshot(_ context.Context, s *declare.Step, in *memorydb.DeleteClusterInput) error {
	switch s.Have["status"].String() {
	case "creating", "create-failed":
		in.FinalSnapshotName = nil
	default:
		if name := s.FinalSnapshot(*in.ClusterName); name == nil || in.FinalSnapshotName == nil {
			in.FinalSnapshotName = name
		}
	}
	return nil
}

// replicas are the nodes of a shard but one.
var replicas = declare.Codec{
	Decode: func(nodes any) (modules.Value, error) { return modules.Int(max(0, nodes.(int32)-1)), nil },
	Encode: func(v modules.Value) (any, error) { return int32(v.Int()), nil },
}

// newGroups makes the table memory_db_cluster_security_groups.
func newGroups(c *aws.Clients) *aws.Memberships {
	return &aws.Memberships{
		Clients: c,
		Description: aws.DescribeGroups("memory_db_cluster_security_groups",
			"The security groups of clusters. One that has no other has the default group of its VPC.",
			modules.Column{Name: "memory_db_cluster_id",
				References: &modules.Reference{Table: "memory_db_cluster", Key: "cluster_name"}, Doc: "The cluster."},
			modules.EventMappings("memorydb.amazonaws.com",
				modules.Request("clusterName", "UpdateCluster"),
				modules.Request("clusterNames", "BatchUpdateCluster"))...),
		Owner:  "memory_db_cluster_id",
		Member: aws.GroupColumn,
		Lists: declare.Lists(newCluster(c), declare.Identity("cluster_name"),
			func(cluster *mdbtypes.Cluster) aws.MemberList {
				list := aws.MemberList{Owner: awssdk.ToString(cluster.Name)}
				for _, group := range cluster.SecurityGroups {
					if awssdk.ToString(group.Status) != "removing" {
						list.Members = append(list.Members, awssdk.ToString(group.SecurityGroupId))
					}
				}
				return list
			}),
		Set: func(ctx context.Context, c *aws.Clients, scope modules.Scope, have aws.MemberList, want []string) error {
			client, err := declare.Client(ctx, c, scope, memorydb.NewFromConfig)
			if err != nil {
				return err
			}
			_, err = client.UpdateCluster(ctx,
				&memorydb.UpdateClusterInput{ClusterName: &have.Owner, SecurityGroupIds: want})
			return err
		},
		Standard: func(ctx context.Context, scope modules.Scope, list aws.MemberList) (string, error) {
			return c.DefaultGroupLike(ctx, scope, list.Members[0])
		},
	}
}
