package awsec2

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// volume is a volume and how it is attached.
type volume struct {
	ec2types.Volume
	Attachment ec2types.VolumeAttachment
}

// newVolume declares the table general_purpose_volume. The limits are those of
// the pages CreateVolume and ModifyVolume; what iops and throughput a size allows
// is left to AWS to check. While a volume is attached AWS refuses to delete it,
// which heals.
func newVolume(c *aws.Clients) *declare.Resource {
	return declare.New(c, declare.Table[volume]{
		Name: "general_purpose_volume",
		Doc: "General purpose volumes (EBS, gp2 and gp3): disks of instances. " +
			"The volumes that come with an instance are here too. A volume that AWS deletes with its instance loses " +
			"its row when it is gone.",
		Service:  declare.Service(ec2.NewFromConfig),
		Creation: modules.ByTag,
		Columns: []declare.Column{
			declare.ID("volume_id", "VolumeId", "The volume's id, such as vol-0a1b2c3d; NULL until it is created."),
			declare.Ref("availability_zone", "AvailabilityZone", "availability_zone", "name",
				"Its availability zone, such as us-east-1a: that of the instances it can be attached to.").
				ByKey().Required().CreateOnly(),
			declare.Text("volume_type", "VolumeType",
				"gp3, whose speed can be chosen, or gp2, whose speed depends on its size. Default gp3.").Default(
				"'gp3'").OneOf("gp2", "gp3"),
			declare.Integer("size", "Size",
				"How many GiB it holds. Can only grow. Default 8.").Default("8").Check("size > 0"),
			declare.Integer("iops", "Iops",
				"How many operations a second it does; of a gp3 volume 3000 if left out, of a gp2 volume for AWS "+
					"to say.").OptionalComputed().Check("iops > 0"),
			declare.Integer("throughput", "Throughput",
				"How many MiB a second a gp3 volume moves; 125 if left out.").OptionalComputed().Check(
				"throughput > 0"),
			declare.Text("snapshot_id", "SnapshotId",
				"The snapshot it was made from; empty at first if left out.").CreateOnly().OptionalComputed(),
			declare.Text("source_volume_id", "SourceVolumeId",
				"The id of the volume that it is made as a copy of, in the same availability zone, and at least as "+
					"large; NULL if it is none.").CreateOnly().Since(6),
			declare.Bool("auto_enable_io", "AutoEnableIO.Value",
				"Whether it is read and written on, at once, after AWS has found that its data may be "+
					"inconsistent; not if left out.").
				OptionalComputed().Born(modules.Bool(false)).Since(6).
				From(declare.Call((*ec2.Client).DescribeVolumeAttribute, declare.IfAllowed(), declare.Rarely(),
					declare.With(
						&ec2.DescribeVolumeAttributeInput{Attribute: ec2types.VolumeAttributeNameAutoEnableIO}))),
			declare.Bool("encrypted", "Encrypted",
				"Whether it is encrypted; as the region's setting is if left out.").CreateOnly().OptionalComputed(),
			declare.KMSKey("kms_key_id", "KmsKeyId",
				"it is encrypted with; the region's default key for EBS if left out."),
			declare.Text("state", "State",
				"creating, available, in-use, deleting or error.").Computed().OneOf("available", "creating", "deleted",
				"deleting", "error", "in-use"),
			declare.Text("instance_id", "Attachment.InstanceId",
				"The id of the instance it is attached to, such as i-0a1b2c3d; instance_block_device_mapping "+
					"attaches it.").Computed(),
			declare.Bool("delete_on_termination", "Attachment.DeleteOnTermination",
				"Whether AWS deletes it with that instance.").Computed().Usual(modules.Bool(false)),
			declare.Bool("is_root_device", "",
				"Whether it is that instance's root device, without which the instance cannot run.").Computed(),
			declare.EC2Tags(ec2types.ResourceTypeVolume),
		},
		Published: declare.Published{Type: "AWS::EC2::Volume", Since: 5,
			Columns: map[string]string{"AvailabilityZoneId": "availability_zone"},
			Fixed:   []string{"OutpostArn", "VolumeInitializationRate"},
			Docs: map[string]string{
				"OutpostArn": "The ARN of the Outpost that it is on.",
				"VolumeInitializationRate": "How many MiB a second are fetched from its snapshot, from 100 to 300; " +
					"as they are needed if left out.",
			},
		},
		EventMappings: modules.EventMappings("ec2.amazonaws.com",
			modules.Request("volumeId", "AttachVolume", "DetachVolume", "ModifyVolumeAttribute"),
			modules.Unnamed("RunInstances", "TerminateInstances", "CopyVolumes"),
		),
		List: declare.Pages(ec2.NewDescribeVolumesPaginator, "Volumes", declare.PageSize(aws.PageSize),
			declare.Expand(generalPurpose)),
		Get:  declare.EC2Filter("volume-id"),
		Rows: rootsAndChanges,
		Create: declare.Call((*ec2.Client).CreateVolume,
			declare.Fill(func(s *declare.Step, in *ec2.CreateVolumeInput) {
				in.ClientToken = &s.Token
				if in.VolumeType == ec2types.VolumeTypeGp2 { // which tells a speed, and takes none (page CreateVolume)
					in.Iops, in.Throughput = nil, nil
				}
			})),
		CreateFrom: []declare.Origin{{Column: "source_volume_id", Create: declare.Call((*ec2.Client).CopyVolumes,
			declare.Answer("Volumes[0]"), declare.Edit(copyOf))}},
		Updates: []declare.Update{
			declare.Modify(declare.Call((*ec2.Client).ModifyVolumeAttribute), "auto_enable_io"),
			declare.Modify(declare.Call((*ec2.Client).ModifyVolume)), // in use or not
		},
		Delete:    declare.Call((*ec2.Client).DeleteVolume),
		Going:     declare.In("state", string(ec2types.VolumeStateDeleting)),
		Forming:   declare.In("state", string(ec2types.VolumeStateCreating)),
		Failed:    declare.In("state", string(ec2types.VolumeStateError)).Because(""),
		HoldsData: true,
		Protected: keepRoot,
	})
}

// copyOf completes the copy of a volume. CopyVolumes makes it in the zone of its source: a row that names another is
// not what it would make.
func copyOf(ctx context.Context, s *declare.Step, in *ec2.CopyVolumesInput) error {
	in.ClientToken = &s.Token
	out, err := declare.ClientOf[*ec2.Client](s).DescribeVolumes(ctx,
		&ec2.DescribeVolumesInput{VolumeIds: []string{awssdk.ToString(in.SourceVolumeId)}})
	if err != nil {
		return err
	}
	for _, source := range out.Volumes {
		if zone := awssdk.ToString(source.AvailabilityZone); zone != s.Want["availability_zone"].String() {
			return &modules.Error{Class: modules.Invalid, Code: "InvalidParameterValue",
				Message: "availability_zone: " +
					"a copy is in the availability zone of its source, " + zone}
		}
	}
	return nil
}

// generalPurpose returns the volume if it is of the two kinds.
func generalPurpose(v ec2types.Volume) []volume {
	if v.VolumeType != ec2types.VolumeTypeGp2 && v.VolumeType != ec2types.VolumeTypeGp3 ||
		v.State == ec2types.VolumeStateDeleted {
		return nil
	}
	general := volume{Volume: v}
	for _, a := range v.Attachments { // one at most: only io1 and io2 can have more
		if a.State != ec2types.VolumeAttachmentStateDetached {
			general.Attachment = a
		}
	}
	return []volume{general}
}

// rootsAndChanges fills in which volumes are root devices, which their instances
// know, and what is being changed: DescribeVolumes shows what a volume becomes
// only from the state optimizing on (EBS User Guide, "Monitor the progress of
// volume modifications"). Two calls more for a page of volumes.
func rootsAndChanges(ctx context.Context, s *declare.Step, volumes []*volume, rows []modules.Row) error {
	var (
		attached []ec2types.Instance
		changes  []ec2types.VolumeModification
	)
	err := aws.Together(ctx,
		func(ctx context.Context) (err error) {
			attached, err = declare.Find[ec2types.Instance](ctx, s.Source(), instances(), "instance-id",
				aws.Column(rows, "instance_id")...)
			return err
		},
		func(ctx context.Context) (err error) {
			changes, err = declare.Find[ec2types.VolumeModification](ctx, s.Source(),
				declare.Pages(ec2.NewDescribeVolumesModificationsPaginator, "VolumesModifications"),
				"modification-state", string(ec2types.VolumeModificationStateModifying))
			return err
		},
	)
	if err != nil {
		return err
	}
	for i, v := range volumes {
		row := rows[i]
		row["is_root_device"] = modules.Bool(false)
		for _, instance := range attached {
			if row["instance_id"] == modules.TextPtr(instance.InstanceId) {
				row["is_root_device"] = modules.Bool(
					awssdk.ToString(instance.RootDeviceName) == awssdk.ToString(v.Attachment.Device))
			}
		}
		for _, change := range changes {
			if row["volume_id"] == modules.TextPtr(change.VolumeId) {
				row["volume_type"], row["size"] = modules.NonEmpty(change.TargetVolumeType),
					modules.IntPtr(change.TargetSize)
				row["iops"], row["throughput"] = modules.IntPtr(change.TargetIops),
					modules.IntPtr(change.TargetThroughput)
			}
		}
	}
	return nil
}

// keepRoot keeps root devices, which came with their instances.
var keepRoot = declare.IfTrue("is_root_device", "it is the root device of an instance, with which it came")
