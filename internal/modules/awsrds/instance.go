package awsrds

import (
	"context"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/rds"
	rdstypes "github.com/aws/aws-sdk-go-v2/service/rds/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// ofCluster are the columns of what a member's cluster decides ("managed by the
// DB cluster", page CreateDBInstance of the Amazon RDS API Reference).
var ofCluster = []string{
	"engine_version", "allocated_storage", "storage_type", "storage_encrypted", "db_name", "master_username",
	"master_user_password",
	"multi_az", "backup_retention_period", "deletion_protection",
	"manage_master_user_password", "master_user_secret_kms_key_id", "port", "enable_cloudwatch_logs_exports",
	"associated_roles", "copy_tags_to_snapshot", "database_insights_mode", "domain", "domain_iam_role_name",
	"enable_iam_database_authentication", "engine_lifecycle_support", "iops", "kms_key_id", "network_type",
	"preferred_backup_window", "storage_throughput",
}

// newInstance declares the table rds. The limits are those of the page
// CreateDBInstance; what depends on the engine is left to AWS to check.
func newInstance(c *aws.Clients) *declare.Resource {
	no := modules.Bool(false)
	return declare.New(c, declare.Table[rdstypes.DBInstance]{
		Name: "rds",
		Doc: "Database instances. Changes are applied at once, not in the next maintenance window. " +
			finalSnapshots + " None is taken of a read replica, or of what is in a cluster. " +
			"What a cluster decides for its members is NULL in their rows: " + strings.Join(ofCluster, ", ") + ".",
		Service: declare.Service(rds.NewFromConfig),
		Columns: []declare.Column{
			name("db_instance_identifier", "DBInstanceIdentifier",
				"The instance's name: up to 63 lowercase letters, digits and hyphens.").
				In("DBInstanceIdentifier", "TargetDBInstanceIdentifier"),
			declare.Text("engine", "Engine",
				"The database engine, such as postgres, mysql or mariadb; that of its cluster for a member.").
				Required().CreateOnly(),
			declare.Ref("db_cluster_id", "DBClusterIdentifier", "db_cluster", "db_cluster_identifier",
				"The Aurora cluster that it is made in, or the Multi-AZ DB cluster that AWS made it with; NULL for "+
					"all others.").
				Part(modules.PartAlong, "made_by_cluster").CreateOnly().OptionalComputed(),
			declare.Bool("made_by_cluster", "",
				"Whether AWS made it with its Multi-AZ DB cluster, with which alone it is deleted.").Computed(),
			underWay(declare.Text("engine_version", "EngineVersion",
				"The engine's version, such as 16.4; 16 means the latest of them. The engine's default if left out.").
				OptionalComputed().Same(declare.SameVersion).OneWay(declare.Newer)),
			underWay(declare.Text("db_instance_class", "DBInstanceClass",
				"What it runs on, such as db.t4g.micro.").Required()),
			underWay(declare.Integer("allocated_storage", "AllocatedStorage",
				"How many GiB of storage it has. Needed to create one that is not in a cluster. Can only grow.").
				OptionalComputed().OneWay(declare.Larger).Check("allocated_storage > 0")),
			underWay(declare.Text("storage_type", "StorageType",
				"The kind of storage: gp2, gp3, io1, io2 or standard. The engine's default if left out.").
				OptionalComputed()),
			declare.Bool("storage_encrypted", "StorageEncrypted",
				"Whether its storage is encrypted; it is not if left out.").CreateOnly().OptionalComputed().Absent(no),
			declare.Text("db_name", "DBName", "The database that is made with it.").CreateOnly().OptionalComputed(),
			declare.Text("master_username", "MasterUsername",
				"The name of its first user. Needed to create one that is not in a cluster.").CreateOnly().
				OptionalComputed(),
			declare.Text("master_user_password", "",
				"The password of that user. Needed to create or replace one that is not in a cluster.").WriteOnly().In(
				"MasterUserPassword"),
			managed().Since(4), managedKey().Since(4), managedSecret().Since(4),
			declare.Text("tde_credential_password", "",
				"The password of the key store of tde_credential_arn.").WriteOnly().In("TdeCredentialPassword").Since(
				4),
			declare.Integer("port", "Endpoint.Port",
				"The port it listens on; the engine's own if left out.").First("PendingModifiedValues.Port").
				In("Port", "DBPortNumber").OptionalComputed().Since(4),
			exports().Since(4),
			optionGroup("OptionGroupMemberships[0].OptionGroupName").Since(4),
			roles().Since(4),
			declare.Text("availability_zone", "AvailabilityZone",
				"Its availability zone, such as us-east-1a; AWS picks one if left out.").CreateOnly().
				OptionalComputed(),
			underWay(declare.Bool("multi_az", "MultiAZ",
				"Whether a standby is kept in another availability zone; none is if left out.").OptionalComputed().
				Absent(no)),
			declare.Ref("db_subnet_group_id", "DBSubnetGroup.DBSubnetGroupName", "db_subnet_group", "name",
				"The subnets that it is put into; those of its cluster or of the default VPC if left out.").In(
				"DBSubnetGroupName").CreateOnly().OptionalComputed(),
			declare.Bool("publicly_accessible", "PubliclyAccessible",
				"Whether its name resolves to a public address. Default false, as nobody should have one by mistake.").
				Default("false"),
			declare.Ref("parameter_group_id", "DBParameterGroups[0].DBParameterGroupName", "parameter_group", "name",
				"The settings of its engine; AWS's own group if left out.").In(
				"DBParameterGroupName").OptionalComputed(),
			underWay(declare.Integer("backup_retention_period", "BackupRetentionPeriod",
				"How many days backups are kept, up to 35; 0 makes none. 1 if left out.").OptionalComputed().Between(0,
				35).Absent(modules.Int(0))),
			declare.Bool("auto_minor_version_upgrade", "AutoMinorVersionUpgrade",
				"Whether AWS installs minor versions of the engine by itself.").Default("true"),
			declare.Bool("deletion_protection", "DeletionProtection",
				"Whether it cannot be deleted; it can be if left out.").OptionalComputed().Absent(no),
			declare.Text("db_instance_status", "DBInstanceStatus",
				"What it is doing, such as creating, available, modifying or deleting.").Computed(),
			declare.Text("endpoint_addr", "Endpoint.Address",
				"The name it is connected to by; NULL until it is available.").Computed(),
			declare.Integer("endpoint_port", "Endpoint.Port", "The port it listens on.").Computed(),
			declare.Text("endpoint_hosted_zone_id", "Endpoint.HostedZoneId",
				"The id of the DNS zone that endpoint_addr is in, for aliases.").Computed(),
			declare.Text("read_replica_source", "ReadReplicaSourceDBClusterIdentifier",
				"What it is a read replica of, an instance or a cluster; NULL if it is none.").
				First("ReadReplicaSourceDBInstanceIdentifier").Computed().Since(3),
			declare.SkipFinalSnapshot().Since(3),
			arn("DBInstanceArn"),
			tagList("TagList"),
		},
		Published: declare.Published{Type: "AWS::RDS::DBInstance", Since: 4, Pending: "PendingModifiedValues",
			Columns: map[string]string{
				"DBParameterGroupName": "parameter_group_id", "DBSubnetGroupName": "db_subnet_group_id",
				"MasterUserSecret": "master_user_secret_kms_key_id", "VPCSecurityGroups": "rds_security_groups",
			},
			Read: map[string]string{
				"EnableIAMDatabaseAuthentication": "IAMDatabaseAuthenticationEnabled",
				"EnablePerformanceInsights":       "PerformanceInsightsEnabled",
				"Domain":                          "DomainMemberships[0].Domain",
				"DomainAuthSecretArn":             "DomainMemberships[0].AuthSecretArn",
				"DomainDnsIps":                    "DomainMemberships[0].DnsIps",
				"DomainFqdn":                      "DomainMemberships[0].FQDN",
				"DomainIAMRoleName":               "DomainMemberships[0].IAMRoleName",
				"DomainOu":                        "DomainMemberships[0].OU",
			},
			Along: []string{"AllowMajorVersionUpgrade", "ApplyImmediately", "CertificateRotationRestart",
				"DBClusterSnapshotIdentifier", "DBSnapshotIdentifier", "DeleteAutomatedBackups",
				"MasterUserAuthenticationType", "RestoreTime", "SourceDBClusterIdentifier",
				"SourceDBInstanceAutomatedBackupsArn", "SourceDBInstanceIdentifier", "SourceDbiResourceId",
				"SourceRegion", "UseDefaultProcessorFeatures", "UseLatestRestorableTime"},
			Docs: map[string]string{
				"AllowMajorVersionUpgrade": "Whether engine_version may be another major version. NULL: yes, as " +
					"it has been asked for by name.",
				"ApplyImmediately": "Whether changes are made at once; false: in the next maintenance window, " +
					"until when they count as made. NULL: at once.",
				"CertificateRotationRestart": "Whether a change of ca_certificate_identifier restarts it.",
				"DBClusterSnapshotIdentifier": "The snapshot of a Multi-AZ DB cluster that it is created from. It " +
					"matters when the row is inserted, and never again.",
				"DBSnapshotIdentifier": "The snapshot that it is created from: its name or ARN. It matters when " +
					"the row is inserted, and never again. The snapshot decides engine, user and size where the row " +
					"does not.",
				"DeleteAutomatedBackups": "Whether its automated backups go with it. NULL: yes.",
				"MasterUserAuthenticationType": "How the first user signs in: password or iam-db-auth. AWS does not " +
					"tell it.",
				"RestoreTime": "The moment of another instance's backups that it is created from, as of: see " +
					"source_db_instance_identifier. It matters when the row is inserted, and never again.",
				"SourceDBClusterIdentifier": "The Multi-AZ DB cluster that it is created as a read replica of. It " +
					"matters when the row is inserted, and never again: read_replica_source says what it is one of.",
				"SourceDBInstanceAutomatedBackupsArn": "The backups kept of an instance that are restored: see " +
					"restore_time.",
				"SourceDBInstanceIdentifier": "The instance that it is created as a read replica of or, with " +
					"restore_time or use_latest_restorable_time, as a copy of. It matters when the row is inserted, " +
					"and never again: read_replica_source says what it is a replica of.",
				"SourceDbiResourceId":         "The id of the instance whose backups are restored: see restore_time.",
				"SourceRegion":                "The region of source_db_instance_identifier, if it is another.",
				"UseDefaultProcessorFeatures": "Whether a change takes back processor_features.",
				"UseLatestRestorableTime": "Whether it is created from the latest backups of another instance: see " +
					"source_db_instance_identifier.",
				"MonitoringInterval": "How many seconds lie between the metrics of Enhanced Monitoring: 1, 5, 10, " +
					"15, 30 or 60; 0 collects none.",
				"MonitoringRoleArn": "The ARN of the role by which RDS sends those metrics to CloudWatch Logs.",
			},
			Without: map[string]string{
				"AutomaticBackupReplicationKmsKeyId":        replicated,
				"AutomaticBackupReplicationRegion":          replicated,
				"AutomaticBackupReplicationRetentionPeriod": replicated,
				"DBSecurityGroups":                          declare.Deprecated,
			},
		},
		Checks: []string{"db_cluster_id IS NULL OR num_nonnulls(" +
			strings.Join(ofCluster, ", ") + ") = 0"},
		DestroyBeforeCreate: true,

		Kind: "db:",
		EventMappings: modules.EventMappings("rds.amazonaws.com",
			modules.Request("dBInstanceIdentifier", "ModifyDBInstance").Or("requestParameters.newDBInstanceIdentifier"),
			modules.Request("dBInstanceIdentifier", "StartDBInstance", "StopDBInstance", "RebootDBInstance",
				"PromoteReadReplica", "CreateDBInstanceReadReplica", "RestoreDBInstanceFromDBSnapshot",
				"RestoreDBInstanceFromS3", "AddRoleToDBInstance", "RemoveRoleFromDBInstance", "SwitchoverReadReplica"),
			modules.Request("targetDBInstanceIdentifier", "RestoreDBInstanceToPointInTime"),
		),
		List: declare.Pages(rds.NewDescribeDBInstancesPaginator, "DBInstances", declare.PageSize(pageSize)),
		Get:  declare.Filter("db-instance-id", pageSize), // which, unlike a name, does not fail when there is none
		Row: func(_ context.Context, _ *declare.Step, db *rdstypes.DBInstance, row modules.Row) error {
			member := !row["db_cluster_id"].IsNull()
			row["made_by_cluster"] = modules.Bool(member && !hasOwnInstances(awssdk.ToString(db.Engine)))
			for _, column := range ofCluster {
				if _, told := row[column]; told && member {
					row[column] = modules.Null
				}
			}
			return nil
		},
		Create: declare.Call((*rds.Client).CreateDBInstance, declare.Answer("DBInstance"),
			declare.Fill(func(_ *declare.Step, in *rds.CreateDBInstanceInput) {
				if awssdk.ToString(in.StorageType) == "gp3" && awssdk.ToInt32(in.Iops) == baselineIOPS &&
					awssdk.ToInt32(in.StorageThroughput) <= baselineThroughput {
					in.Iops, in.StorageThroughput = nil, nil // what all have, and small ones are refused
				}
			})),
		CreateFrom: []declare.Origin{
			{Column: "db_snapshot_identifier", Create: restore()}, {Column: "db_cluster_snapshot_identifier",
				Create: restore()},
			{Column: "restore_time", Create: restoreTo()}, {Column: "use_latest_restorable_time", Create: restoreTo()},
			{Column: "source_db_instance_identifier", Create: replicate()},
			{Column: "source_db_cluster_identifier", Create: replicate()},
		},
		Updates: []declare.Update{
			declare.Modify(declare.Call((*rds.Client).ModifyDBInstance,
				declare.With(&rds.ModifyDBInstanceInput{ApplyImmediately: awssdk.Bool(true)}),
				declare.Edit(func(_ context.Context, s *declare.Step, in *rds.ModifyDBInstanceInput) error {
					if in.EngineVersion != nil && in.AllowMajorVersionUpgrade == nil {
						in.AllowMajorVersionUpgrade = awssdk.Bool(true) // the new version has been asked for by name
					}
					if s.Changes("enable_cloudwatch_logs_exports") {
						in.CloudwatchLogsExportConfiguration = exported(s)
					}
					together(s, in)
					if s.Changes(volumes) {
						return removeVolumes(s, in)
					}
					return nil
				}))),
			declare.By(func(ctx context.Context, s *declare.Step) error {
				return changeRoles(ctx, s, declare.Call((*rds.Client).AddRoleToDBInstance),
					declare.Call((*rds.Client).RemoveRoleFromDBInstance))
			}, "associated_roles"),
		},
		Delete: declare.Call((*rds.Client).DeleteDBInstance, declare.Edit(finalSnapshot)),
		Reread: true, // for its state, and whether it is in a cluster
		// The states are those of the Amazon RDS User Guide, "Viewing Amazon RDS DB
		// instance status". delete-precheck comes before deleting.
		Going:     declare.In("db_instance_status", "deleting", "delete-precheck"),
		Forming:   declare.In("db_instance_status", "creating"),
		Failed:    lost.Because(""),
		HoldsData: true,
		// What AWS made with a Multi-AZ DB cluster is kept.
		Protected: func(have modules.Row) string {
			if have["made_by_cluster"].Bool() {
				return "it is a part of the Multi-AZ DB cluster " + have["db_cluster_id"].String() +
					", and deleted with that"
			}
			return ""
		},
	})
}

// What storage of the kind gp3 has without being asked, in operations and MiB a second. To ask for it is an error below
// a certain size (Amazon RDS User Guide, "gp3 storage").
const (
	baselineIOPS       = 3000
	baselineThroughput = 125
)

func restore() *declare.Op {
	return declare.Call((*rds.Client).RestoreDBInstanceFromDBSnapshot, declare.Answer("DBInstance"))
}

func restoreTo() *declare.Op {
	return declare.Call((*rds.Client).RestoreDBInstanceToPointInTime, declare.Answer("DBInstance"))
}

func replicate() *declare.Op {
	return declare.Call((*rds.Client).CreateDBInstanceReadReplica, declare.Answer("DBInstance"))
}

// together says the size of storage with its speed, as AWS wants to hear them of what has a speed of its own (page
// ModifyDBInstance, AllocatedStorage and Iops): both as they are, but for what changes.
func together(s *declare.Step, in *rds.ModifyDBInstanceInput) {
	if in.AllocatedStorage == nil && in.Iops == nil && in.StorageThroughput == nil {
		return
	}
	is := func(column string) modules.Value {
		if v := s.Want[column]; !v.IsNull() {
			return v
		}
		return s.Have[column]
	}
	kind, speed := is("storage_type").String(), is("iops")
	usual := kind == "gp3" && speed.Int() == baselineIOPS && is("storage_throughput").Int() <= baselineThroughput
	if in.Iops == nil && !usual && slices.Contains([]string{"gp3", "io1", "io2"}, kind) {
		in.Iops = speed.Int32Ptr()
	}
	if in.AllocatedStorage == nil && in.Iops != nil {
		in.AllocatedStorage = is("allocated_storage").Int32Ptr()
	}
}

// volumes is the column with the volumes that an instance has besides its first.
const volumes = "additional_storage_volumes"

// removeVolumes says of each volume that is not wanted any more that it goes: what the call leaves out stays (page
// ModifyAdditionalStorageVolume).
func removeVolumes(s *declare.Step, in *rds.ModifyDBInstanceInput) error {
	var have []rdstypes.AdditionalStorageVolume
	if s.Have[volumes].IsNull() {
		return nil
	}
	if err := aws.ParseDocument(volumes, s.Have[volumes], &have); err != nil {
		return err
	}
	for _, volume := range have {
		name := awssdk.ToString(volume.VolumeName)
		if !slices.ContainsFunc(in.AdditionalStorageVolumes, func(v rdstypes.ModifyAdditionalStorageVolume) bool {
			return awssdk.ToString(v.VolumeName) == name
		}) {
			in.AdditionalStorageVolumes = append(in.AdditionalStorageVolumes, rdstypes.ModifyAdditionalStorageVolume{
				VolumeName: volume.VolumeName, SetForDelete: awssdk.Bool(true)})
		}
	}
	return nil
}

// lost are the states of instances that could not be made, or are lost. (Those with
// incompatible parameters or options can be mended.)
var lost = declare.In("db_instance_status", "failed", "incompatible-create", "incompatible-network",
	"incompatible-restore", "insufficient-capacity", "restore-error")

// finalSnapshot has a deletion take a snapshot, unless AWS refuses one (page
// DeleteDBInstance: of a read replica, of an RDS Custom instance, and in some
// states), the data is the cluster's, or there is none yet.
func finalSnapshot(_ context.Context, s *declare.Step, in *rds.DeleteDBInstanceInput) error {
	have := s.Have
	switch {
	case !have["db_cluster_id"].IsNull(), !have["read_replica_source"].IsNull(),
		strings.HasPrefix(have["engine"].String(), "custom-"):
	case lost.Holds(have), have["db_instance_status"].String() == "creating":
	default:
		in.FinalDBSnapshotIdentifier = s.FinalSnapshot(*in.DBInstanceIdentifier)
	}
	in.SkipFinalSnapshot = awssdk.Bool(in.FinalDBSnapshotIdentifier == nil)
	return nil
}

// hasOwnInstances reports whether instances are made one by one in the clusters
// of an engine. In those of other engines, Multi-AZ DB clusters, AWS makes them
// (Amazon RDS User Guide, "Multi-AZ DB cluster deployments").
func hasOwnInstances(engine string) bool {
	return strings.HasPrefix(engine, auroraPrefix) || engine == "neptune" || engine == "docdb"
}
