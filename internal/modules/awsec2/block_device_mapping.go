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

// mapping is a mapping with what its instance says.
type mapping struct {
	ec2types.InstanceBlockDeviceMapping
	InstanceId *string
	Root       bool
}

// newMapping declares the table instance_block_device_mapping. Until the instance
// runs, or the volume has been made, AWS refuses to attach it, which heals.
// delete_on_termination, which AttachVolume does not take, is left to the update.
func newMapping(c *aws.Clients) *declare.Resource {
	const changed = "BlockDeviceMappings[0]." // where ModifyInstanceAttribute has it
	return declare.New(c, declare.Table[mapping]{
		Name: "instance_block_device_mapping",
		Doc: "Which volumes are attached to which instances, and as what. Deleting a row detaches the volume, " +
			"which should not be mounted then.",
		Service: declare.Service(ec2.NewFromConfig),
		Columns: []declare.Column{
			declare.Ref("instance_id", "InstanceId", "instance", "instance_id",
				"The instance.").Required().Identity().CreateOnly().Part(modules.PartAlong, ""),
			declare.Name("device_name", "DeviceName",
				"The device's name, such as /dev/sdf; the operating system may have another for it.").In("Device",
				changed+"DeviceName"),
			declare.Ref("volume_id", "Ebs.VolumeId", "general_purpose_volume", "volume_id",
				"The volume. Needed to make a row; NULL for volumes of other kinds, which have no row here.").
				CreateOnly().Key().In("VolumeId", changed+"Ebs.VolumeId"),
			declare.Bool("delete_on_termination", "Ebs.DeleteOnTermination",
				"Whether the volume is deleted with the instance. Default true.").
				Default("true").In(changed + "Ebs.DeleteOnTermination"),
			declare.Bool("is_root_device", "Root", "Whether the instance has its operating system from it.").Computed(),
			declare.Text("status", "Ebs.Status", "attaching, attached or detaching.").Computed().Since(2),
		},
		Published: declare.Published{Type: "AWS::EC2::VolumeAttachment", Since: 5,
			Read: map[string]string{"EbsCardIndex": "Ebs.EbsCardIndex"},
			Docs: map[string]string{"EbsCardIndex": "Which of the instance's EBS cards it is attached to; the first, " +
				"0, if left out."},
		},
		// A device has one volume, and a volume is attached to one instance.
		DestroyBeforeCreate: true,

		List: reservations(declare.Expand(mappingsOf)),
		Get:  declare.EC2Filter("instance-id").Of("instance_id"), // those of an instance together
		Create: declare.Call((*ec2.Client).AttachVolume,
			declare.Edit(func(_ context.Context, _ *declare.Step, in *ec2.AttachVolumeInput) error {
				if in.VolumeId == nil {
					return &modules.Error{Class: modules.Invalid, Code: "MissingVolume",
						Message: "volume_id is needed: a volume to attach"}
				}
				return nil
			})),
		Updates: []declare.Update{declare.Modify(declare.Call((*ec2.Client).ModifyInstanceAttribute),
			"delete_on_termination")},
		Delete:    declare.Call((*ec2.Client).DetachVolume, declare.Failed(detaching)),
		Going:     declare.In("status", string(ec2types.AttachmentStatusDetaching)),
		Forming:   declare.In("status", string(ec2types.AttachmentStatusAttaching)),
		Protected: keepRoot,
	})
}

func mappingsOf(r ec2types.Reservation) []mapping {
	var all []mapping
	for _, i := range r.Instances {
		for _, m := range i.BlockDeviceMappings {
			if m.Ebs != nil && m.Ebs.Status != ec2types.AttachmentStatusDetached {
				all = append(all, mapping{m, i.InstanceId,
					awssdk.ToString(m.DeviceName) == awssdk.ToString(i.RootDeviceName)})
			}
		}
	}
	return all
}

// detaching looks at the refusal to detach a volume. One that is on its way, or
// that has been detached, is no error.
func detaching(ctx context.Context, s *declare.Step, err error) error {
	if !aws.HasCode(err, "IncorrectState") { // what is not attached, or not any more (page DetachVolume)
		return err
	}
	i, failed := one(ctx, declare.ClientOf[*ec2.Client](s), s.Have["instance_id"].String())
	if failed != nil {
		return aws.IfExists(failed)
	}
	for _, m := range i.BlockDeviceMappings {
		if awssdk.ToString(m.DeviceName) == s.Have["device_name"].String() && m.Ebs != nil &&
			m.Ebs.Status != ec2types.AttachmentStatusDetaching && m.Ebs.Status != ec2types.AttachmentStatusDetached {
			return err
		}
	}
	return nil
}
