package awsec2

import (
	"context"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// mapping is the table instance_block_device_mapping.
type mapping struct {
	clients     *aws.Clients
	description *modules.Table
}

func newMapping(c *aws.Clients) *mapping {
	return &mapping{clients: c, description: &modules.Table{
		Name:     "instance_block_device_mapping",
		Doc:      "Which volumes are attached to which instances, and as what. Deleting a row detaches the volume, which should not be mounted then.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByName,
		Columns: aws.Regional(
			modules.Column{Name: "instance_id", Type: modules.TypeBigint, Required: true, Identity: true, CreateOnly: true,
				References: &modules.Reference{Table: "instance", Key: "instance_id", Part: modules.PartAlong},
				Doc:        "The instance."},
			modules.Column{Name: "device_name", Type: modules.TypeText, Required: true, Identity: true, CreateOnly: true,
				Doc: "The device's name, such as /dev/sdf; the operating system may have another for it."},
			modules.Column{Name: "volume_id", Type: modules.TypeBigint, CreateOnly: true,
				References: &modules.Reference{Table: "general_purpose_volume", Key: "volume_id"},
				Doc:        "The volume. Needed to make a row; NULL for volumes of other kinds, which have no row here."},
			modules.Column{Name: "delete_on_termination", Type: modules.TypeBool, Required: true, Default: "true",
				Doc: "Whether the volume is deleted with the instance. Default true."},
			modules.Column{Name: "is_root_device", Type: modules.TypeBool, Assigned: true,
				Doc: "Whether the instance has its operating system from it."},
		),
		// A device has one volume, and a volume is attached to one instance.
		DestroyBeforeCreate: true,
	}}
}

// Table returns the description.
func (r *mapping) Table() *modules.Table { return r.description }

// List gives every mapping of the scope to page.
func (r *mapping) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	client, err := r.clients.EC2(ctx, scope)
	if err != nil {
		return err
	}
	return mappings(ctx, client, nil, page)
}

// Get reads these mappings, those of an instance together.
func (r *mapping) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	client, err := r.clients.EC2(ctx, scope)
	if err != nil {
		return nil, err
	}
	page, rows := aws.Collector()
	err = aws.EC2Chunks(aws.Column(identities, "instance_id"), "instance-id", func(filters []ec2types.Filter) error {
		return mappings(ctx, client, filters, page)
	})
	if err != nil {
		return nil, err
	}
	return aws.Wanted(r.description, rows(), identities), nil
}

func mappings(ctx context.Context, client *ec2.Client, filters []ec2types.Filter, page func([]modules.Row) error) error {
	return describeInstances(ctx, client, filters, func(instances []ec2types.Instance) error {
		var rows []modules.Row
		for _, i := range instances {
			for _, m := range i.BlockDeviceMappings {
				if m.Ebs == nil || m.Ebs.Status == ec2types.AttachmentStatusDetached {
					continue
				}
				rows = append(rows, modules.Row{
					"instance_id":           modules.TextPtr(i.InstanceId),
					"device_name":           modules.TextPtr(m.DeviceName),
					"volume_id":             modules.TextPtr(m.Ebs.VolumeId),
					"delete_on_termination": modules.Bool(awssdk.ToBool(m.Ebs.DeleteOnTermination)),
					"is_root_device":        modules.Bool(awssdk.ToString(m.DeviceName) == awssdk.ToString(i.RootDeviceName)),
				})
			}
		}
		return page(rows)
	})
}

// Create attaches a volume. delete_on_termination, which AttachVolume does not
// take, is left to Update. Until the instance runs, or the volume has been made,
// AWS refuses, which heals.
func (r *mapping) Create(ctx context.Context, scope modules.Scope, want modules.Row, _ string) (modules.Row, error) {
	if want["volume_id"].IsNull() {
		return nil, &modules.Error{Class: modules.Invalid, Code: "MissingVolume", Message: "volume_id is needed: a volume to attach"}
	}
	client, err := r.clients.EC2(ctx, scope)
	if err != nil {
		return nil, err
	}
	_, err = client.AttachVolume(ctx, &ec2.AttachVolumeInput{
		InstanceId: want["instance_id"].Ptr(), Device: want["device_name"].Ptr(), VolumeId: want["volume_id"].Ptr(),
	})
	if err != nil {
		return nil, err
	}
	return modules.Row{"instance_id": want["instance_id"], "device_name": want["device_name"]}, nil
}

// Update changes whether the volume is deleted with the instance.
func (r *mapping) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	if !slices.Contains(columns, "delete_on_termination") {
		return nil
	}
	client, err := r.clients.EC2(ctx, scope)
	if err != nil {
		return err
	}
	_, err = client.ModifyInstanceAttribute(ctx, &ec2.ModifyInstanceAttributeInput{
		InstanceId: have["instance_id"].Ptr(),
		BlockDeviceMappings: []ec2types.InstanceBlockDeviceMappingSpecification{{
			DeviceName: have["device_name"].Ptr(),
			Ebs: &ec2types.EbsInstanceBlockDeviceSpecification{
				DeleteOnTermination: awssdk.Bool(want["delete_on_termination"].Bool()), VolumeId: have["volume_id"].Ptr(),
			},
		}},
	})
	return err
}

// Delete detaches a volume. One that is on its way, or that has been detached,
// is no error.
func (r *mapping) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	if err := aws.Keep(r.Protected(have)); err != nil {
		return err
	}
	client, err := r.clients.EC2(ctx, scope)
	if err != nil {
		return err
	}
	_, err = client.DetachVolume(ctx, &ec2.DetachVolumeInput{
		InstanceId: have["instance_id"].Ptr(), Device: have["device_name"].Ptr(), VolumeId: have["volume_id"].Ptr(),
	})
	if aws.HasCode(err, "IncorrectState") { // what is not attached, or not any more (page DetachVolume)
		return r.detaching(ctx, client, have, err)
	}
	return aws.IfExists(err)
}

// detaching returns nil if the volume is being detached or has been, and else
// err.
func (r *mapping) detaching(ctx context.Context, client *ec2.Client, have modules.Row, err error) error {
	i, failed := one(ctx, client, have["instance_id"].String())
	if failed != nil {
		return aws.IfExists(failed)
	}
	for _, m := range i.BlockDeviceMappings {
		if awssdk.ToString(m.DeviceName) == have["device_name"].String() && m.Ebs != nil &&
			m.Ebs.Status != ec2types.AttachmentStatusDetaching && m.Ebs.Status != ec2types.AttachmentStatusDetached {
			return err
		}
	}
	return nil
}

// Protected keeps root devices, without which instances cannot run.
func (r *mapping) Protected(have modules.Row) string { return protectedRoot(have) }
