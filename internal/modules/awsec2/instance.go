package awsec2

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// The values of the column state.
const (
	running   = "running"
	stopped   = "stopped"
	hibernate = "hibernate"
)

// instance is the table instance.
type instance struct {
	aws.EC2Objects[ec2types.Instance]
	userData userData
}

func newInstance(c *aws.Clients) *instance {
	r := &instance{EC2Objects: aws.EC2Objects[ec2types.Instance]{
		Clients:     c,
		Description: describeInstance(),
		IDFilter:    "instance-id",
		Describe:    describeInstances,
		Tags:        func(i ec2types.Instance) []ec2types.Tag { return i.Tags },
	}}
	r.Rows, r.Complete = r.rows, r.roles
	return r
}

// The limits are those of the page RunInstances.
func describeInstance() *modules.Table {
	metadata := func(name, doc string, enum ...string) modules.Column {
		return modules.Column{Name: "metadata_" + name, Type: modules.TypeText, Chosen: true, Enum: enum, Doc: doc}
	}
	assigned := func(name string, t modules.Type, doc string) modules.Column {
		return modules.Column{Name: name, Type: t, Assigned: true, Doc: doc}
	}
	return &modules.Table{
		Name: "instance",
		Doc: "Instances: virtual machines. Deleting a row terminates the instance, and deletes the volumes that go with it. " +
			"An instance that is changed in instance_type or user_data is stopped and started again if it runs.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByTag,
		Columns: aws.Regional(
			modules.Column{Name: "instance_id", Type: modules.TypeText, Identity: true, Assigned: true,
				Doc: "The instance's id, such as i-0a1b2c3d; NULL until it is created."},
			modules.Column{Name: "ami", Type: modules.TypeText, Required: true, CreateOnly: true, Equal: sameImage,
				Doc: "The image it starts from, such as ami-0a1b2c3d, or resolve:ssm: and the name of a Systems Manager parameter that holds one, which is read when the instance is created and not followed afterwards."},
			modules.Column{Name: "instance_type", Type: modules.TypeText, Required: true,
				Doc: "What it runs on, such as t3.micro."},
			modules.Column{Name: "key_pair_name", Type: modules.TypeText, CreateOnly: true,
				Doc: "The key pair with which people log in. It may be deleted while the instance has it."},
			modules.Column{Name: "state", Type: modules.TypeText, Required: true, Default: "'running'", Enum: []string{hibernate, running, stopped}, Equal: sameState,
				Doc: "running, stopped, or hibernate: stopped with what is in memory kept, for which hibernation_enabled is needed. One that is stopped already has no memory left to keep."},
			modules.Column{Name: "user_data", Type: modules.TypeText, Check: "length(user_data) <= 16384",
				Doc: "What it is given at its first start, such as a shell script, as text and up to 16 KB. NULL for data that is no text."},
			modules.Column{Name: "hibernation_enabled", Type: modules.TypeBool, Required: true, Default: "false", CreateOnly: true,
				Doc: "Whether it can hibernate. Its root device is encrypted then, as hibernation asks for."},
			modules.Column{Name: "role_name", Type: modules.TypeText,
				References: &modules.Reference{Table: "iam_role", Key: "role_name", ByKey: true},
				Doc:        "The role of what runs in it. It is given by the instance profile of the role's name, which is made if there is none, and goes with the role."},
			modules.Column{Name: "subnet_id", Type: modules.TypeBigint, CreateOnly: true, Chosen: true,
				References: &modules.Reference{Table: "subnet", Key: "subnet_id"},
				Doc:        "The subnet it is in; one of the default VPC if left out."},
			modules.Column{Name: "monitoring", Type: modules.TypeBool, Required: true, Default: "false",
				Doc: "Whether CloudWatch gets its metrics every minute rather than every five."},
			modules.Column{Name: "source_dest_check", Type: modules.TypeBool, Required: true, Default: "true",
				Doc: "Whether traffic that is neither from nor to it is dropped; false for what routes or translates addresses."},
			metadata("http_endpoint", "Whether its metadata service answers: enabled or disabled.", "disabled", "enabled"),
			metadata("http_tokens", "Whether that service asks for a session token (IMDSv2): required or optional; as image and account have it if left out.", "optional", "required"),
			modules.Column{Name: "metadata_hop_limit", Type: modules.TypeInteger, Chosen: true, Check: "metadata_hop_limit BETWEEN 1 AND 64",
				Doc: "Over how many network hops that service is answered, from 1 to 64; containers need 2."},
			metadata("tags", "Whether that service tells the instance's tags: enabled or disabled.", "disabled", "enabled"),
			assigned("status", modules.TypeText, "What it is doing: pending, running, stopping, stopped or shutting-down."),
			assigned("auto_scaling_group", modules.TypeText, "The Auto Scaling group that made it, and would make another in its place."),
			assigned("availability_zone", modules.TypeText, "Its availability zone, such as us-east-1a."),
			assigned("private_ip_address", modules.TypeInet, "Its private IPv4 address."),
			assigned("public_ip_address", modules.TypeInet, "Its public IPv4 address, if it has one."),
			aws.TagsColumn(),
		),
	}
}

// resolve is what an image begins with that a parameter names.
const resolve = "resolve:ssm:"

// sameImage reports whether two images are the same as far as can be said: what
// a parameter held when the instance was created is not known any more.
func sameImage(a, b string) bool {
	return a == b || strings.HasPrefix(a, resolve) || strings.HasPrefix(b, resolve)
}

// sameState reports whether two states are both of an instance that is stopped.
func sameState(a, b string) bool { return a == b || a != running && b != running }

// describeInstances gives the instances that meet the filters to page, without
// those that are gone, which are listed for an hour more.
func describeInstances(ctx context.Context, client *ec2.Client, filters []ec2types.Filter, page func([]ec2types.Instance) error) error {
	filters = append(slices.Clone(filters), aws.EC2Filter("instance-state-name", "pending", "running", "shutting-down", "stopping", "stopped"))
	return aws.Pages(ctx, ec2.NewDescribeInstancesPaginator(client, &ec2.DescribeInstancesInput{
		Filters: filters, MaxResults: awssdk.Int32(aws.PageSize),
	}), func(out *ec2.DescribeInstancesOutput) error {
		var instances []ec2types.Instance
		for _, reservation := range out.Reservations {
			instances = append(instances, reservation.Instances...)
		}
		return page(instances)
	})
}

// rootDevices returns the names of instances' root devices.
func rootDevices(ctx context.Context, client *ec2.Client, instances []string) (map[string]string, error) {
	found := map[string]string{}
	return found, aws.EC2Chunks(instances, "instance-id", func(filters []ec2types.Filter) error {
		return describeInstances(ctx, client, filters, func(list []ec2types.Instance) error {
			for _, i := range list {
				found[awssdk.ToString(i.InstanceId)] = awssdk.ToString(i.RootDeviceName)
			}
			return nil
		})
	})
}

// rows reads instances' user data, which DescribeInstances leaves out.
func (r *instance) rows(ctx context.Context, client *ec2.Client, instances []ec2types.Instance) ([]modules.Row, error) {
	return aws.Read(ctx, instances, func(ctx context.Context, i ec2types.Instance) (modules.Row, error) {
		row := instanceRow(i)
		if status(i) == ec2types.InstanceStateNameShuttingDown {
			return row, nil // of what is on its way out there is nothing to compare
		}
		data, err := r.userData.of(ctx, client, i)
		if err != nil {
			return nil, err
		}
		if utf8.ValidString(data) && !strings.Contains(data, "\x00") {
			row["user_data"] = modules.NonEmpty(data)
		} else {
			row["user_data"] = modules.Null
		}
		return row, nil
	})
}

func instanceRow(i ec2types.Instance) modules.Row {
	row := modules.Row{
		"instance_id":            modules.TextPtr(i.InstanceId),
		"ami":                    modules.TextPtr(i.ImageId),
		"instance_type":          modules.NonEmpty(i.InstanceType),
		"key_pair_name":          modules.NonEmpty(awssdk.ToString(i.KeyName)),
		"state":                  modules.Text(running),
		"hibernation_enabled":    modules.Bool(i.HibernationOptions != nil && awssdk.ToBool(i.HibernationOptions.Configured)),
		"role_name":              modules.Null, // see roles
		"subnet_id":              modules.NonEmpty(awssdk.ToString(i.SubnetId)),
		"monitoring":             modules.Bool(i.Monitoring != nil && (i.Monitoring.State == ec2types.MonitoringStateEnabled || i.Monitoring.State == ec2types.MonitoringStatePending)),
		"source_dest_check":      modules.Bool(i.SourceDestCheck == nil || *i.SourceDestCheck),
		"metadata_http_endpoint": modules.Null,
		"metadata_http_tokens":   modules.Null,
		"metadata_hop_limit":     modules.Null,
		"metadata_tags":          modules.Null,
		"status":                 modules.NonEmpty(status(i)),
		"auto_scaling_group":     modules.NonEmpty(aws.EC2Tags.Map(i.Tags)["aws:autoscaling:groupName"]),
		"availability_zone":      modules.Null,
		"private_ip_address":     modules.NonEmpty(awssdk.ToString(i.PrivateIpAddress)),
		"public_ip_address":      modules.NonEmpty(awssdk.ToString(i.PublicIpAddress)),
		"tags":                   aws.EC2Tags.Value(i.Tags),
	}
	if i.Placement != nil {
		row["availability_zone"] = modules.TextPtr(i.Placement.AvailabilityZone)
	}
	if m := i.MetadataOptions; m != nil {
		row["metadata_http_endpoint"], row["metadata_http_tokens"] = modules.NonEmpty(m.HttpEndpoint), modules.NonEmpty(m.HttpTokens)
		row["metadata_hop_limit"], row["metadata_tags"] = modules.IntPtr(m.HttpPutResponseHopLimit), modules.NonEmpty(m.InstanceMetadataTags)
	}
	if i.IamInstanceProfile != nil {
		row["role_name"] = modules.TextPtr(i.IamInstanceProfile.Arn)
	}
	switch status(i) {
	case ec2types.InstanceStateNamePending, ec2types.InstanceStateNameRunning:
	default:
		row["state"] = modules.Text(stopped)
		// The code is of the page StateReason.
		if i.StateReason != nil && awssdk.ToString(i.StateReason.Code) == "Client.UserInitiatedHibernate" {
			row["state"] = modules.Text(hibernate)
		}
		if before, ok := restarting(i); ok { // is as it was, until it is started again
			row["state"], row["instance_type"] = modules.Text(running), modules.Text(before)
		}
	}
	return row
}

func status(i ec2types.Instance) ec2types.InstanceStateName {
	if i.State == nil {
		return ""
	}
	return i.State.Name
}

func boolPtr(v modules.Value) *bool {
	if v.IsNull() {
		return nil
	}
	return awssdk.Bool(v.Bool())
}

func encoded(userData modules.Value) *string {
	if userData.IsNull() {
		return nil
	}
	return awssdk.String(base64.StdEncoding.EncodeToString([]byte(userData.String())))
}

// Create starts an instance. source_dest_check, which RunInstances takes for
// network interfaces alone, and another state than running are left to Update,
// security groups to their own table.
func (r *instance) Create(ctx context.Context, scope modules.Scope, want modules.Row, token string) (modules.Row, error) {
	client, err := r.Clients.EC2(ctx, scope)
	if err != nil {
		return nil, err
	}
	in := &ec2.RunInstancesInput{
		MinCount: awssdk.Int32(1), MaxCount: awssdk.Int32(1),
		InstanceType:      ec2types.InstanceType(want["instance_type"].String()),
		KeyName:           want["key_pair_name"].Ptr(),
		SubnetId:          want["subnet_id"].Ptr(),
		UserData:          encoded(want["user_data"]),
		Monitoring:        &ec2types.RunInstancesMonitoringEnabled{Enabled: awssdk.Bool(want["monitoring"].Bool())},
		ClientToken:       &token,
		TagSpecifications: aws.EC2TagSpecification(ec2types.ResourceTypeInstance, want, token),
		MetadataOptions: &ec2types.InstanceMetadataOptionsRequest{
			HttpEndpoint:            ec2types.InstanceMetadataEndpointState(want["metadata_http_endpoint"].String()),
			HttpTokens:              ec2types.HttpTokensState(want["metadata_http_tokens"].String()),
			HttpPutResponseHopLimit: want["metadata_hop_limit"].Int32Ptr(),
			InstanceMetadataTags:    ec2types.InstanceMetadataTagsState(want["metadata_tags"].String()),
		},
	}
	if in.ImageId, err = r.image(ctx, scope, want["ami"].String()); err != nil {
		return nil, err
	}
	if want["hibernation_enabled"].Bool() {
		in.HibernationOptions = &ec2types.HibernationOptionsRequest{Configured: awssdk.Bool(true)}
		if in.BlockDeviceMappings, err = encryptedRoot(ctx, client, *in.ImageId); err != nil {
			return nil, err
		}
	}
	if !want["role_name"].IsNull() {
		if err := r.ensureProfile(ctx, scope, want["role_name"].String()); err != nil {
			return nil, err
		}
		in.IamInstanceProfile = &ec2types.IamInstanceProfileSpecification{Name: want["role_name"].Ptr()}
	}
	out, err := client.RunInstances(ctx, in)
	if err != nil {
		return nil, profileError(err)
	}
	return modules.Row{"instance_id": modules.TextPtr(out.Instances[0].InstanceId)}, nil
}

// image returns the image's id.
func (r *instance) image(ctx context.Context, scope modules.Scope, ami string) (*string, error) {
	name, ok := strings.CutPrefix(ami, resolve)
	if !ok {
		return &ami, nil
	}
	client, err := aws.Client(ctx, r.Clients, scope, func(cfg awssdk.Config) *ssm.Client { return ssm.NewFromConfig(cfg) })
	if err != nil {
		return nil, err
	}
	out, err := client.GetParameter(ctx, &ssm.GetParameterInput{Name: &name})
	if err != nil {
		return nil, err
	}
	return out.Parameter.Value, nil
}

// encryptedRoot returns a mapping by which the image's root device is encrypted,
// in all else as the image has it: what is in memory is written to it, and
// hibernation needs it encrypted (EC2 User Guide, "Prerequisites for EC2 instance
// hibernation").
func encryptedRoot(ctx context.Context, client *ec2.Client, image string) ([]ec2types.BlockDeviceMapping, error) {
	out, err := client.DescribeImages(ctx, &ec2.DescribeImagesInput{ImageIds: []string{image}})
	if err != nil || len(out.Images) == 0 {
		return nil, err
	}
	for _, m := range out.Images[0].BlockDeviceMappings {
		if m.Ebs != nil && awssdk.ToString(m.DeviceName) == awssdk.ToString(out.Images[0].RootDeviceName) {
			return []ec2types.BlockDeviceMapping{{DeviceName: m.DeviceName, Ebs: &ec2types.EbsBlockDevice{
				Encrypted: awssdk.Bool(true), DeleteOnTermination: m.Ebs.DeleteOnTermination, SnapshotId: m.Ebs.SnapshotId,
				VolumeSize: m.Ebs.VolumeSize, VolumeType: m.Ebs.VolumeType,
			}}}, nil
		}
	}
	return nil, nil
}

// Delete terminates an instance; one that is on its way out is no error (page
// TerminateInstances).
func (r *instance) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	return r.Remove(ctx, scope, r.Protected(have), func(client *ec2.Client) error {
		_, err := client.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{have["instance_id"].String()}})
		return err
	})
}

// Protected keeps the instances of Auto Scaling groups, which would start others
// without end. The tag is of the Amazon EC2 Auto Scaling User Guide, "Tag Auto
// Scaling groups and instances".
func (r *instance) Protected(have modules.Row) string {
	if group := have["auto_scaling_group"]; !group.IsNull() {
		return "the Auto Scaling group " + group.String() + " made it, and would make another"
	}
	return ""
}
