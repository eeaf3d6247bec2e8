package awsefs

import (
	"github.com/aws/aws-sdk-go-v2/service/efs"
	efstypes "github.com/aws/aws-sdk-go-v2/service/efs/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newMountTarget declares the table efs_mount_target. AWS makes no two for a file
// system and a subnet, so that creations are found again by these.
func newMountTarget(c *aws.Clients) *declare.Resource {
	// Before it has its network interface AWS does not tell its groups (page
	// DescribeMountTargetSecurityGroups, IncorrectMountTargetState).
	made := declare.Only(func(row modules.Row) bool {
		return row["life_cycle_state"].String() != string(efstypes.LifeCycleStateCreating)
	})
	return declare.New(c, declare.Table[efstypes.MountTargetDescription]{
		Name: "efs_mount_target",
		Doc: "Mount targets: addresses at which file systems are mounted, one in an availability zone. Deleting " +
			"one breaks off what has mounted the file system there.",
		Service: declare.Service(efs.NewFromConfig),
		Columns: []declare.Column{
			declare.Ref("file_system_id", "FileSystemId", "efs_file_system", "file_system_id",
				"The file system that it is of.").
				Part(modules.PartFirst, "").Required().Identity().CreateOnly(),
			declare.Ref("subnet_id", "SubnetId", "subnet", "subnet_id",
				"The subnet that it is in. All of a file system are in one VPC.").Required().Identity().CreateOnly(),
			declare.Text("ip_address", "IpAddress",
				"Its IPv4 address in the subnet; one that is free if left out. With a new subnet_id, set it to "+
					"another one, or to NULL.").CreateOnly().OptionalComputed().Length(7, 15),
			declare.Texts("security_groups", "SecurityGroups",
				"The ids of its security groups; the default group of its VPC if left out.").
				Unordered().OptionalComputed().Check("cardinality(security_groups) > 0").From(
				declare.Call((*efs.Client).DescribeMountTargetSecurityGroups, made)).
				Records("security_group", "group_id", 3),
			declare.Text("mount_target_id", "MountTargetId",
				"The mount target's id, such as fsmt-0a1b2c3d; NULL until it is created.").Computed().Key(),
			declare.Text("life_cycle_state", "LifeCycleState",
				"creating, available, updating, deleting or error.").Computed(),
			declare.Text("network_interface_id", "NetworkInterfaceId", "Its network interface.").Computed(),
		},
		Published: declare.Published{Type: "AWS::EFS::MountTarget", Since: 2,
			Along: []string{"IpAddressType"},
			Docs: map[string]string{
				"IpAddressType": "Which addresses it gets: IPV4_ONLY, as of NULL, IPV6_ONLY or DUAL_STACK. It " +
					"matters when the row is inserted, and never again.",
				"Ipv6Address": "Its IPv6 address in the subnet; one that is free if left out and it has one.",
			},
		},
		DestroyBeforeCreate: true,

		List: declare.Pages(efs.NewDescribeMountTargetsPaginator, "MountTargets").Within(fileSystems(), "FileSystemId",
			"FileSystemId"),
		Get: declare.Search(),
		Gone: func(m *efstypes.MountTargetDescription) bool {
			return m.LifeCycleState == efstypes.LifeCycleStateDeleted
		},
		Create:  declare.Call((*efs.Client).CreateMountTarget),
		Updates: []declare.Update{declare.Modify(declare.Call((*efs.Client).ModifyMountTargetSecurityGroups))},
		Delete:  declare.Call((*efs.Client).DeleteMountTarget),
		Going:   going,
		Forming: forming,
		Failed:  failed,
	})
}
