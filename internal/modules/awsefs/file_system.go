package awsefs

import (
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/efs"
	efstypes "github.com/aws/aws-sdk-go-v2/service/efs/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newFileSystem declares the table efs_file_system. The limits are those of the
// page CreateFileSystem of the EFS API Reference. A creation is found again by its
// token, with which AWS makes one file system.
func newFileSystem(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[efstypes.FileSystemDescription]{
		Name: "efs_file_system",
		Doc: "File systems. Deleting one deletes all files that are in it, for good, and its mount targets first. " +
			"What it has been replicated to stays.",
		Service:  declare.Service(efs.NewFromConfig),
		Creation: modules.ByTag,
		Token:    "CreationToken",
		Columns: []declare.Column{
			declare.ID("file_system_id", "FileSystemId",
				"The file system's id, such as fs-0a1b2c3d4e5f60718; NULL until it is created.").In("FileSystemId",
				"ResourceId"),
			declare.Text("availability_zone_name", "AvailabilityZoneName",
				"The one availability zone that it is in, such as us-east-1a. NULL: all of the region's.").CreateOnly().
				Length(1, 64),
			declare.Text("performance_mode", "PerformanceMode",
				"generalPurpose (the default) or maxIO, which is an older kind.").Default(
				"'generalPurpose'").CreateOnly().
				OneOf(declare.Values(efstypes.PerformanceMode("").Values())...),
			declare.Bool("encrypted", "Encrypted",
				"Whether it is encrypted. Default true, as in AWS's console; that of the API is false.").Default(
				"true").CreateOnly(),
			declare.KMSKey("kms_key_id", "KmsKeyId", "that encrypts it; AWS's for EFS if left out.").Length(1, 2048),
			declare.Text("throughput_mode", "ThroughputMode",
				"How much it can read and write: as its size allows (bursting, the default), what is needed "+
					"(elastic), or what is paid for (provisioned). It can be changed once in 24 hours.").
				Default("'bursting'").OneOf(declare.Values(efstypes.ThroughputMode("").Values())...),
			declare.Double("provisioned_throughput_in_mibps", "ProvisionedThroughputInMibps",
				"How many MiB a second are paid for, at least 1, with throughput_mode provisioned alone.").
				Check("provisioned_throughput_in_mibps >= 1"),
			declare.Bool("automatic_backups", "BackupPolicy.Status",
				"Whether AWS Backup makes backups. Left out, it does so of file systems of one availability zone.").
				OptionalComputed().Absent(modules.Bool(false)).As(backups).From(
				declare.Call((*efs.Client).DescribeBackupPolicy, declare.None("PolicyNotFound"))),
			declare.JSON("lifecycle_policies", "LifecyclePolicies",
				`When files are moved to other storage: [{"TransitionToIA": "AFTER_30_DAYS"}, {"TransitionToArchive": "AFTER_90_DAYS"}]. NULL: never.`).
				Unordered().EmptyIsNull().Check("jsonb_typeof(lifecycle_policies) = 'array'").Unset(
				modules.Text("[]")).From(declare.Call((*efs.Client).DescribeLifecycleConfiguration)),
			declare.Policy("Policy", "Who may do what with the file system: an access policy document. NULL: whoever "+
				"can reach it may mount it.").
				From(declare.Call((*efs.Client).DescribeFileSystemPolicy, declare.None("PolicyNotFound"))),
			declare.Text("replication_overwrite_protection", "FileSystemProtection.ReplicationOverwriteProtection",
				"Whether no other file system can be replicated into it: ENABLED, if left out, or DISABLED; "+
					"REPLICATING while one is.").In("ReplicationOverwriteProtection").OptionalComputed().Since(2),
			replicationColumn(),
			declare.Text("life_cycle_state", "LifeCycleState",
				"creating, available, updating, deleting or error.").Computed(),
			declare.ARN("arn", "FileSystemArn"),
			declare.Time("creation_time", "CreationTime", "When it was created."),
			declare.Tags("Tags", (*efs.Client).TagResource, (*efs.Client).UntagResource),
		},
		Published: declare.Published{Type: "AWS::EFS::FileSystem", Since: 2,
			Columns: map[string]string{"FileSystemPolicy": "policy", "FileSystemTags": "tags"},
			Along:   []string{"BypassPolicyLockoutSafetyCheck"},
			Docs: map[string]string{
				"BypassPolicyLockoutSafetyCheck": "Whether a policy is set although it keeps out who sets it.",
			},
		},
		Checks: []string{
			`kms_key_id IS NULL OR encrypted`,
			`(throughput_mode = 'provisioned') = (provisioned_throughput_in_mibps IS NOT NULL)`,
			`performance_mode <> 'maxIO' OR availability_zone_name IS NULL AND throughput_mode <> 'elastic'`,
		},

		EventMappings: modules.EventMappings("elasticfilesystem.amazonaws.com",
			modules.Request("fileSystemId", "UpdateFileSystemProtection", "CreateTags", "DeleteTags"),
			modules.Request("sourceFileSystemId", "CreateReplicationConfiguration", "DeleteReplicationConfiguration"),
		),
		List: fileSystems(),
		Get:  declare.One(declare.Call((*efs.Client).DescribeFileSystems), "FileSystems[0]"),
		Gone: func(f *efstypes.FileSystemDescription) bool {
			return f.LifeCycleState == efstypes.LifeCycleStateDeleted
		},
		Create: declare.Call((*efs.Client).CreateFileSystem),
		Updates: []declare.Update{
			declare.Replace(declare.Call((*efs.Client).UpdateFileSystem), "throughput_mode",
				"provisioned_throughput_in_mibps"),
			declare.Modify(declare.Call((*efs.Client).PutBackupPolicy), "automatic_backups"),
			declare.Modify(declare.Call((*efs.Client).PutLifecycleConfiguration), "lifecycle_policies"),
			declare.Modify(declare.Call((*efs.Client).UpdateFileSystemProtection), "replication_overwrite_protection"),
			declare.By(setReplication, "replication_configuration"),
			declare.Put("policy", declare.Call((*efs.Client).PutFileSystemPolicy),
				declare.Call((*efs.Client).DeleteFileSystemPolicy)),
		},
		Delete:   declare.Call((*efs.Client).DeleteFileSystem),
		DeleteBy: deleteFileSystem,

		Going:     going,
		Forming:   forming,
		Failed:    failed,
		HoldsData: true,
	})
}

// What the life cycles of file systems and mount targets have in common (page
// FileSystemDescription).
var (
	going   = declare.In("life_cycle_state", string(efstypes.LifeCycleStateDeleting))
	forming = declare.In("life_cycle_state", string(efstypes.LifeCycleStateCreating))
	failed  = declare.In("life_cycle_state", string(efstypes.LifeCycleStateError)).Because("")
)

// backups are on as soon as they are being turned on.
var backups = declare.Codec{
	Decode: func(member any) (modules.Value, error) {
		status := efstypes.Status(reflect.ValueOf(member).String())
		return modules.Bool(status == efstypes.StatusEnabled || status == efstypes.StatusEnabling), nil
	},
	Encode: func(v modules.Value) (any, error) {
		if v.Bool() {
			return efstypes.StatusEnabled, nil
		}
		return efstypes.StatusDisabled, nil
	},
}
