package awsec2

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// volume is the table general_purpose_volume.
type volume struct {
	aws.EC2Objects[ec2types.Volume]
}

func newVolume(c *aws.Clients) *volume {
	return &volume{aws.EC2Objects[ec2types.Volume]{
		Clients:     c,
		Description: describeVolume(),
		IDFilter:    "volume-id",
		Describe: func(ctx context.Context, client *ec2.Client, filters []ec2types.Filter, page func([]ec2types.Volume) error) error {
			return aws.Pages(ctx, ec2.NewDescribeVolumesPaginator(client, &ec2.DescribeVolumesInput{
				Filters: filters, MaxResults: awssdk.Int32(aws.PageSize),
			}), func(out *ec2.DescribeVolumesOutput) error { return page(out.Volumes) })
		},
		Rows: volumeRows,
		Tags: func(v ec2types.Volume) []ec2types.Tag { return v.Tags },
	}}
}

// The limits are those of the pages CreateVolume and ModifyVolume; what iops and
// throughput a size allows is left to AWS to check.
func describeVolume() *modules.Table {
	return &modules.Table{
		Name: "general_purpose_volume",
		Doc: "General purpose volumes (EBS, gp2 and gp3): disks of instances. " +
			"The volumes that come with an instance are here too. A volume that AWS deletes with its instance loses its row when it is gone.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByTag,
		Columns: aws.Regional(
			modules.Column{Name: "volume_id", Type: modules.TypeText, Identity: true, Assigned: true,
				Doc: "The volume's id, such as vol-0a1b2c3d; NULL until it is created."},
			modules.Column{Name: "availability_zone", Type: modules.TypeText, Required: true, CreateOnly: true,
				References: &modules.Reference{Table: "availability_zone", Key: "name", ByKey: true},
				Doc:        "Its availability zone, such as us-east-1a: that of the instances it can be attached to."},
			modules.Column{Name: "volume_type", Type: modules.TypeText, Required: true, Default: "'gp3'", Enum: []string{"gp2", "gp3"},
				Doc: "gp3, whose speed can be chosen, or gp2, whose speed depends on its size. Default gp3."},
			modules.Column{Name: "size", Type: modules.TypeInteger, Required: true, Default: "8", Check: "size > 0",
				Doc: "How many GiB it holds. Can only grow. Default 8."},
			modules.Column{Name: "iops", Type: modules.TypeInteger, Chosen: true, Check: "iops > 0",
				Doc: "How many operations a second it does; of a gp3 volume 3000 if left out, of a gp2 volume for AWS to say."},
			modules.Column{Name: "throughput", Type: modules.TypeInteger, Chosen: true, Check: "throughput > 0",
				Doc: "How many MiB a second a gp3 volume moves; 125 if left out."},
			modules.Column{Name: "snapshot_id", Type: modules.TypeText, CreateOnly: true, Chosen: true,
				Doc: "The snapshot it was made from; empty at first if left out."},
			modules.Column{Name: "encrypted", Type: modules.TypeBool, CreateOnly: true, Chosen: true,
				Doc: "Whether it is encrypted; as the region's setting is if left out."},
			modules.Column{Name: "kms_key_id", Type: modules.TypeText, CreateOnly: true, Chosen: true,
				Doc: "The ARN of the key it is encrypted with; the region's default key for EBS if left out."},
			modules.Column{Name: "state", Type: modules.TypeText, Assigned: true, Enum: []string{"available", "creating", "deleted", "deleting", "error", "in-use"},
				Doc: "creating, available, in-use, deleting or error."},
			modules.Column{Name: "instance_id", Type: modules.TypeText, Assigned: true,
				Doc: "The id of the instance it is attached to, such as i-0a1b2c3d; instance_block_device_mapping attaches it."},
			modules.Column{Name: "delete_on_termination", Type: modules.TypeBool, Assigned: true,
				Doc: "Whether AWS deletes it with that instance."},
			modules.Column{Name: "is_root_device", Type: modules.TypeBool, Assigned: true,
				Doc: "Whether it is that instance's root device, without which the instance cannot run."},
			aws.TagsColumn(),
		),
	}
}

// volumeRows returns the volumes of the two kinds. Which of them are root
// devices their instances know, and what is being changed DescribeVolumes does
// not show at once: two calls more for a page of volumes.
func volumeRows(ctx context.Context, client *ec2.Client, volumes []ec2types.Volume) ([]modules.Row, error) {
	var (
		general   []ec2types.Volume
		instances []string
	)
	for _, v := range volumes {
		if v.VolumeType != ec2types.VolumeTypeGp2 && v.VolumeType != ec2types.VolumeTypeGp3 || v.State == ec2types.VolumeStateDeleted {
			continue
		}
		general = append(general, v)
		for _, a := range v.Attachments {
			instances = append(instances, awssdk.ToString(a.InstanceId))
		}
	}
	var (
		roots   map[string]string
		changes map[string]ec2types.VolumeModification
	)
	err := aws.Together(ctx,
		func(ctx context.Context) (err error) { roots, err = rootDevices(ctx, client, instances); return err },
		func(ctx context.Context) (err error) { changes, err = volumeChanges(ctx, client, general); return err },
	)
	if err != nil {
		return nil, err
	}
	rows := make([]modules.Row, len(general))
	for i, v := range general {
		row := modules.Row{
			"volume_id":             modules.TextPtr(v.VolumeId),
			"availability_zone":     modules.TextPtr(v.AvailabilityZone),
			"volume_type":           modules.NonEmpty(v.VolumeType),
			"size":                  modules.IntPtr(v.Size),
			"iops":                  modules.IntPtr(v.Iops),
			"throughput":            modules.IntPtr(v.Throughput),
			"snapshot_id":           modules.NonEmpty(awssdk.ToString(v.SnapshotId)),
			"encrypted":             modules.Bool(awssdk.ToBool(v.Encrypted)),
			"kms_key_id":            modules.NonEmpty(awssdk.ToString(v.KmsKeyId)),
			"state":                 modules.NonEmpty(v.State),
			"instance_id":           modules.Null,
			"delete_on_termination": modules.Bool(false),
			"is_root_device":        modules.Bool(false),
			"tags":                  aws.EC2Tags.Value(v.Tags),
		}
		for _, a := range v.Attachments { // one at most: only io1 and io2 can have more
			if a.State != ec2types.VolumeAttachmentStateDetached {
				root, ok := roots[awssdk.ToString(a.InstanceId)]
				row["instance_id"] = modules.TextPtr(a.InstanceId)
				row["delete_on_termination"] = modules.Bool(awssdk.ToBool(a.DeleteOnTermination))
				row["is_root_device"] = modules.Bool(ok && root == awssdk.ToString(a.Device))
			}
		}
		if change, ok := changes[awssdk.ToString(v.VolumeId)]; ok {
			row["volume_type"] = modules.NonEmpty(change.TargetVolumeType)
			row["size"], row["iops"] = modules.IntPtr(change.TargetSize), modules.IntPtr(change.TargetIops)
			row["throughput"] = modules.IntPtr(change.TargetThroughput)
		}
		rows[i] = row
	}
	return rows, nil
}

// volumeChanges returns, by volume, the changes under way that DescribeVolumes
// does not show yet: it shows what a volume becomes from the state optimizing on
// (EBS User Guide, "Monitor the progress of volume modifications").
func volumeChanges(ctx context.Context, client *ec2.Client, volumes []ec2types.Volume) (map[string]ec2types.VolumeModification, error) {
	found := map[string]ec2types.VolumeModification{}
	if len(volumes) == 0 {
		return found, nil
	}
	in := &ec2.DescribeVolumesModificationsInput{Filters: []ec2types.Filter{
		aws.EC2Filter("modification-state", string(ec2types.VolumeModificationStateModifying)),
	}}
	return found, aws.Pages(ctx, ec2.NewDescribeVolumesModificationsPaginator(client, in), func(out *ec2.DescribeVolumesModificationsOutput) error {
		for _, m := range out.VolumesModifications {
			found[awssdk.ToString(m.VolumeId)] = m
		}
		return nil
	})
}

// Create creates a volume.
func (r *volume) Create(ctx context.Context, scope modules.Scope, want modules.Row, token string) (modules.Row, error) {
	client, err := r.Clients.EC2(ctx, scope)
	if err != nil {
		return nil, err
	}
	out, err := client.CreateVolume(ctx, &ec2.CreateVolumeInput{
		AvailabilityZone:  want["availability_zone"].Ptr(),
		VolumeType:        ec2types.VolumeType(want["volume_type"].String()),
		Size:              want["size"].Int32Ptr(),
		Iops:              want["iops"].Int32Ptr(),
		Throughput:        want["throughput"].Int32Ptr(),
		SnapshotId:        want["snapshot_id"].Ptr(),
		Encrypted:         boolPtr(want["encrypted"]),
		KmsKeyId:          want["kms_key_id"].Ptr(),
		ClientToken:       &token,
		TagSpecifications: aws.EC2TagSpecification(ec2types.ResourceTypeVolume, want, token),
	})
	if err != nil {
		return nil, err
	}
	return modules.Row{"volume_id": modules.TextPtr(out.VolumeId)}, nil
}

// Update changes type, size, iops and throughput in one call, in use or not,
// and tags.
func (r *volume) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	client, err := r.Clients.EC2(ctx, scope)
	if err != nil {
		return err
	}
	in := &ec2.ModifyVolumeInput{VolumeId: have["volume_id"].Ptr()}
	modify := false
	for _, column := range columns {
		v := want[column]
		switch column {
		case "volume_type":
			in.VolumeType = ec2types.VolumeType(v.String())
		case "size":
			in.Size = v.Int32Ptr()
		case "iops":
			in.Iops = v.Int32Ptr()
		case "throughput":
			in.Throughput = v.Int32Ptr()
		default:
			continue
		}
		modify = true
	}
	if modify {
		if _, err := client.ModifyVolume(ctx, in); err != nil {
			return err
		}
	}
	return r.EC2Objects.Update(ctx, scope, have, want, columns)
}

// Delete deletes a volume; while it is attached AWS refuses, which heals.
func (r *volume) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	if have["state"].String() == string(ec2types.VolumeStateDeleting) {
		return nil
	}
	return r.Remove(ctx, scope, "", func(client *ec2.Client) error {
		_, err := client.DeleteVolume(ctx, &ec2.DeleteVolumeInput{VolumeId: have["volume_id"].Ptr()})
		return err
	})
}

// Protected keeps root devices, which came with their instances.
func (r *volume) Protected(have modules.Row) string {
	return protectedRoot(have)
}

func protectedRoot(have modules.Row) string {
	if have["is_root_device"].Bool() {
		return "it is the root device of an instance, with which it came"
	}
	return ""
}
