package awsrds

import (
	"context"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/rds"
	rdstypes "github.com/aws/aws-sdk-go-v2/service/rds/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newCluster declares the table db_cluster. What is for which kind of cluster is
// said by the pages CreateDBCluster and ModifyDBCluster of the Amazon RDS API
// Reference; it is left to AWS to check.
func newCluster(c *aws.Clients) *declare.Resource {
	nothing := declare.In("status", "creating", "cloning-failed", "migration-failed") // of which there is no data
	return declare.New(c, declare.Table[rdstypes.DBCluster]{
		Name: "db_cluster",
		Doc: "Database clusters. A Multi-AZ DB cluster (mysql, postgres) needs db_cluster_instance_class, " +
			"allocated_storage, iops and subnet_group_id; " +
			"AWS makes its instances, and they are deleted with it. An Aurora cluster needs none of these, and gets " +
			"its instances as rows of rds. " +
			"Clusters of Neptune and DocumentDB are listed too. Changes are applied at once, not in the next " +
			"maintenance window. " +
			finalSnapshots,
		Service: declare.Service(rds.NewFromConfig),
		Columns: []declare.Column{
			name("db_cluster_identifier", "DBClusterIdentifier",
				"The cluster's name: up to 63 lowercase letters, digits and hyphens, and up to 52 of a Multi-AZ DB "+
					"cluster."),
			declare.Text("engine", "Engine",
				"The database engine: mysql or postgres for a Multi-AZ DB cluster, aurora-mysql or aurora-postgresql "+
					"for Aurora.").Required().CreateOnly(),
			underWay(declare.Text("engine_version", "EngineVersion",
				"The engine's version, such as 16.4; 16 means the latest of them. The engine's default if left out.").
				OptionalComputed().Same(declare.SameVersion).OneWay(declare.Newer)),
			declare.Text("db_cluster_instance_class", "DBClusterInstanceClass",
				"What each instance of a Multi-AZ DB cluster runs on, such as db.m6gd.large. NULL for Aurora, where "+
					"instances have classes of their own.").OptionalComputed(),
			underWay(declare.Integer("allocated_storage", "AllocatedStorage",
				"How many GiB of storage each instance of a Multi-AZ DB cluster has. NULL for Aurora, whose storage "+
					"grows by itself.").OptionalComputed().OneWay(declare.Larger).Check("allocated_storage > 0")),
			underWay(declare.Integer("iops", "Iops",
				"How many input and output operations a second the storage of each instance of a Multi-AZ DB cluster "+
					"is made for. NULL for Aurora.").OptionalComputed()),
			underWay(declare.Text("storage_type", "StorageType",
				"The kind of storage: io1, io2 or gp3 for a Multi-AZ DB cluster, aurora or aurora-iopt1 for Aurora. "+
					"The first of them if left out.").OptionalComputed()),
			declare.Double("serverless_min_capacity", "ServerlessV2ScalingConfiguration.MinCapacity",
				"The least capacity of an Aurora cluster's instances of class db.serverless, in Aurora capacity "+
					"units (2 GiB of memory each), in steps of a half.").OptionalComputed().Between(0, 256),
			declare.Double("serverless_max_capacity", "ServerlessV2ScalingConfiguration.MaxCapacity",
				"The most capacity of these instances, in the same units. Once set, AWS has no way to take the two "+
					"away: NULL leaves what there is.").OptionalComputed().Between(1, 256),
			declare.Bool("storage_encrypted", "StorageEncrypted",
				"Whether its storage is encrypted.").Default("false").CreateOnly(),
			declare.Text("database_name", "DatabaseName",
				"The database that is made with it.").CreateOnly().OptionalComputed(),
			declare.Text("master_username", "MasterUsername",
				"The name of its first user. Needed to create one.").CreateOnly().OptionalComputed(),
			declare.Text("master_user_password", "",
				"The password of that user. Needed to create or replace one.").WriteOnly().In("MasterUserPassword"),
			managed().Since(5), managedKey().Since(5), managedSecret().Since(5),
			exports().Since(5),
			roles().Since(5),
			declare.Bool("performance_insights_enabled", "PerformanceInsightsEnabled",
				"Whether Performance Insights looks into what a Multi-AZ DB cluster does; not if left out.").
				In("EnablePerformanceInsights").OptionalComputed().Absent(modules.Bool(false)).Since(5),
			declare.Bool("enable_local_write_forwarding", "LocalWriteForwardingStatus",
				"Whether readers of an Aurora cluster pass writes on to its writer; not if left out.").
				As(declare.Is("enabled", "enabling")).In("EnableLocalWriteForwarding").OptionalComputed().
				Absent(modules.Bool(false)).Since(5),
			declare.Integer("port", "Port",
				"The port it listens on; the engine's own if left out. AWS can change that of an existing Aurora "+
					"cluster, and of no other.").OptionalComputed().Between(1, 65535),
			declare.Ref("subnet_group_id", "DBSubnetGroup", "db_subnet_group", "name",
				"The subnets that its instances are put into; those of the default VPC if left out.").In(
				"DBSubnetGroupName").CreateOnly().OptionalComputed(),
			declare.Bool("publicly_accessible", "PubliclyAccessible",
				"Whether the names of a Multi-AZ DB cluster resolve to public addresses; false for Aurora, where "+
					"instances have the setting.").Default("false").CreateOnly(),
			underWay(declare.Integer("backup_retention_period", "BackupRetentionPeriod",
				"How many days backups are kept, from 1 to 35. Default 1.").Default("1").Between(1,
				35).Absent(modules.Int(0))),
			declare.Bool("deletion_protection", "DeletionProtection", "Whether it cannot be deleted.").Default("false"),
			declare.Text("status", "Status",
				"What it is doing, such as creating, available, modifying or deleting.").Computed(),
			declare.Text("endpoint_addr", "Endpoint", "The name by which its writer is connected to.").Computed(),
			declare.Text("reader_endpoint_addr", "ReaderEndpoint",
				"The name by which its readers are connected to, in turn.").Computed(),
			declare.Text("endpoint_hosted_zone_id", "HostedZoneId",
				"The id of the DNS zone that both names are in, for aliases.").Computed(),
			declare.SkipFinalSnapshot().Since(3),
			arn("DBClusterArn"),
			tagList("TagList"),
		},
		Published: declare.Published{Type: "AWS::RDS::DBCluster", Since: 5, Pending: "PendingModifiedValues",
			Columns: map[string]string{
				"DBSubnetGroupName": "subnet_group_id", "MasterUserSecret": "master_user_secret_kms_key_id",
				"VpcSecurityGroupIds": "db_cluster_security_groups",
			},
			Read: map[string]string{
				"DBClusterParameterGroupName":     "DBClusterParameterGroup",
				"Domain":                          "DomainMemberships[0].Domain",
				"DomainIAMRoleName":               "DomainMemberships[0].IAMRoleName",
				"EnableGlobalWriteForwarding":     "GlobalWriteForwardingRequested",
				"EnableHttpEndpoint":              "HttpEndpointEnabled",
				"EnableIAMDatabaseAuthentication": "IAMDatabaseAuthenticationEnabled",
				"ScalingConfiguration":            "ScalingConfigurationInfo",
			},
			Along: []string{"AvailabilityZones", "DBInstanceParameterGroupName", "DeleteAutomatedBackups",
				"GlobalClusterIdentifier", "MasterUserAuthenticationType", "ReplicationSourceIdentifier",
				"RestoreToTime",
				"RestoreType", "SnapshotIdentifier", "SourceDBClusterIdentifier", "SourceDbClusterResourceId",
				"SourceRegion", "UseLatestRestorableTime"},
			Docs: map[string]string{
				"AvailabilityZones": "The availability zones that its instances can be made in. It matters when the " +
					"row is inserted, and never again: AWS adds zones of its own until there are three.",
				"DBInstanceParameterGroupName": "The settings of its instances for a change of engine_version to " +
					"another major version.",
				"DeleteAutomatedBackups": "Whether its automated backups go with it. NULL: yes.",
				"GlobalClusterIdentifier": "The global cluster that it is created in. It matters when the row is " +
					"inserted, and never again.",
				"MasterUserAuthenticationType": "How the first user signs in: password or iam-db-auth. AWS does not " +
					"tell it.",
				"ReplicationSourceIdentifier": "The ARN of the instance or cluster that it is created as a read " +
					"replica of. It matters when the row is inserted, and never again.",
				"RestoreToTime": "The moment of another cluster's backups that it is created from: see " +
					"source_db_cluster_identifier. It matters when the row is inserted, and never again.",
				"RestoreType": "How it is restored: full-copy, as of NULL, or copy-on-write, which is a clone.",
				"SnapshotIdentifier": "The snapshot that it is created from: its name or ARN. It matters when the " +
					"row is inserted, and never again. The snapshot decides users and passwords where the row " +
					"does not.",
				"SourceDBClusterIdentifier": "The cluster whose backups it is created from, with restore_to_time or " +
					"use_latest_restorable_time.",
				"SourceDbClusterResourceId": "The id of that cluster instead of its name.",
				"SourceRegion":              "The region of replication_source_identifier, if it is another.",
				"UseLatestRestorableTime": "Whether it is created from the latest backups of another cluster: see " +
					"source_db_cluster_identifier.",
			},
		},
		Checks: []string{
			"db_cluster_instance_class IS NOT NULL OR NOT publicly_accessible",
			"db_cluster_instance_class IS NULL OR serverless_max_capacity IS NULL",
			"(serverless_min_capacity IS NULL) = (serverless_max_capacity IS NULL)",
			"serverless_min_capacity <= serverless_max_capacity",
		},
		DestroyBeforeCreate: true,

		Kind: "cluster:",
		EventMappings: modules.EventMappings("rds.amazonaws.com",
			modules.Request("dBClusterIdentifier", "ModifyDBCluster").Or("requestParameters.newDBClusterIdentifier"),
			modules.Request("dBClusterIdentifier", "StartDBCluster", "StopDBCluster", "RebootDBCluster",
				"FailoverDBCluster", "PromoteReadReplicaDBCluster", "AddRoleToDBCluster", "RemoveRoleFromDBCluster",
				"RestoreDBClusterFromSnapshot", "RestoreDBClusterToPointInTime", "RestoreDBClusterFromS3",
				"ModifyCurrentDBClusterCapacity"),
			modules.Request("resourceArn", "EnableHttpEndpoint", "DisableHttpEndpoint"),
			modules.Unnamed("CreateDBInstance", "DeleteDBInstance"),
		),
		List: declare.Pages(rds.NewDescribeDBClustersPaginator, "DBClusters", declare.PageSize(pageSize)),
		Get:  declare.Filter("db-cluster-id", pageSize), // which, unlike a name, does not fail when there is none
		Row: func(_ context.Context, _ *declare.Step, c *rdstypes.DBCluster, row modules.Row) error {
			if c.DBClusterInstanceClass == nil {
				// No Multi-AZ DB cluster: what AWS says of its storage, 1 or what it has
				// grown to, is nobody's setting.
				row["allocated_storage"] = modules.Null
			}
			if strings.HasPrefix(row["engine"].String(), auroraPrefix) && row["storage_type"].IsNull() {
				row["storage_type"] = modules.Text("aurora") // which is not returned (page CreateDBCluster)
			}
			return nil
		},
		Create: declare.Call((*rds.Client).CreateDBCluster,
			declare.Fill(func(s *declare.Step, in *rds.CreateDBClusterInput) {
				// Aurora knows no such setting, and the default of others depends on the
				// subnet group.
				if !s.Want["publicly_accessible"].Bool() && in.DBClusterInstanceClass == nil {
					in.PubliclyAccessible = nil
				}
			})),
		CreateFrom: []declare.Origin{
			{Column: "snapshot_identifier", Create: declare.Call((*rds.Client).RestoreDBClusterFromSnapshot,
				declare.Fill(func(s *declare.Step, in *rds.RestoreDBClusterFromSnapshotInput) {
					if !s.Want["publicly_accessible"].Bool() && in.DBClusterInstanceClass == nil {
						in.PubliclyAccessible = nil
					}
				}))},
			{Column: "restore_to_time", Create: restoreCluster()},
			{Column: "use_latest_restorable_time", Create: restoreCluster()},
		},
		Updates: []declare.Update{declare.Modify(declare.Call((*rds.Client).ModifyDBCluster,
			declare.With(&rds.ModifyDBClusterInput{ApplyImmediately: awssdk.Bool(true)}),
			declare.Fill(func(s *declare.Step, in *rds.ModifyDBClusterInput) {
				if in.EngineVersion != nil {
					in.AllowMajorVersionUpgrade = awssdk.Bool(true) // the new version has been asked for by name
				}
				if s.Changes("enable_cloudwatch_logs_exports") {
					in.CloudwatchLogsExportConfiguration = exported(s)
				}
				if in.StorageType != nil {
					in.Iops = s.Want["iops"].Int32Ptr() // required with it (page ModifyDBCluster)
				}
				if in.ServerlessV2ScalingConfiguration != nil { // both are set together
					in.ServerlessV2ScalingConfiguration = &rdstypes.ServerlessV2ScalingConfiguration{
						MinCapacity: s.Want["serverless_min_capacity"].Float64Ptr(),
						MaxCapacity: s.Want["serverless_max_capacity"].Float64Ptr(),
					}
				}
			}))),
			declare.By(func(ctx context.Context, s *declare.Step) error {
				return changeRoles(ctx, s, declare.Call((*rds.Client).AddRoleToDBCluster),
					declare.Call((*rds.Client).RemoveRoleFromDBCluster))
			}, "associated_roles")},
		// The instances of an Aurora cluster have to be deleted before, those of a
		// Multi-AZ DB cluster go with it.
		Delete: declare.Call((*rds.Client).DeleteDBCluster,
			declare.Fill(func(s *declare.Step, in *rds.DeleteDBClusterInput) {
				if !nothing.Holds(s.Have) {
					in.FinalDBSnapshotIdentifier = s.FinalSnapshot(*in.DBClusterIdentifier)
				}
				in.SkipFinalSnapshot = awssdk.Bool(in.FinalDBSnapshotIdentifier == nil)
			})),
		Reread: true, // for its state
		// The states are those of the Aurora User Guide, "Viewing DB cluster status".
		Going:     declare.In("status", "deleting"),
		Forming:   declare.In("status", "creating"),
		Failed:    declare.In("status", "cloning-failed", "migration-failed").Because(""),
		HoldsData: true,
	})
}

func restoreCluster() *declare.Op {
	return declare.Call((*rds.Client).RestoreDBClusterToPointInTime,
		declare.Fill(func(s *declare.Step, in *rds.RestoreDBClusterToPointInTimeInput) {
			if !s.Want["publicly_accessible"].Bool() && in.DBClusterInstanceClass == nil {
				in.PubliclyAccessible = nil
			}
		}))
}
