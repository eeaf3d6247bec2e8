package awsec2

import (
	"context"
	"encoding/base64"
	"strings"
	"unicode/utf8"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// The values of the column state.
const (
	running   = "running"
	stopped   = "stopped"
	hibernate = "hibernate"
)

// newInstance declares the table instance. The limits are those of the page
// RunInstances. source_dest_check, which that takes for network interfaces alone,
// and another state than running are left to the update, security groups to their
// own table. Terminating an instance that is on its way out is no error (page
// TerminateInstances).
func newInstance(c *aws.Clients) *declare.Resource {
	data := &userData{}
	metadata := func(c declare.Column, member string) declare.Column {
		// of RunInstances, of ModifyInstanceMetadataOptions
		return c.OptionalComputed().In("MetadataOptions."+member, member)
	}
	// DescribeInstanceAttribute tells one attribute of one instance.
	attribute := func(c declare.Column, name ec2types.InstanceAttributeName) declare.Column {
		return c.In(c.Member(), strings.TrimSuffix(c.Member(), ".Value")).Since(5).
			From(declare.Call((*ec2.Client).DescribeInstanceAttribute,
				declare.With(&ec2.DescribeInstanceAttributeInput{Attribute: name}), declare.Proves()))
	}
	return declare.New(c, declare.Table[ec2types.Instance]{
		Name: "instance",
		Doc: "Instances: virtual machines. Deleting a row terminates the instance, and deletes the volumes that go " +
			"with it. An instance that is changed in " + strings.Join(whileStopped, ", ") +
			" is stopped and started again if it runs.",
		Service:  declare.Service(ec2.NewFromConfig),
		Creation: modules.ByTag,
		Columns: []declare.Column{
			declare.ID("instance_id", "InstanceId",
				"The instance's id, such as i-0a1b2c3d; NULL until it is created.").In("InstanceId", "InstanceIds[0]"),
			declare.Text("ami", "ImageId",
				"The image it starts from, such as ami-0a1b2c3d, or resolve:ssm: and the name of a Systems Manager "+
					"parameter that holds one, which is read when the instance is created and not followed "+
					"afterwards.").
				Required().CreateOnly().Same(sameImage),
			declare.Text("instance_type", "InstanceType", "What it runs on, such as t3.micro.").Required(),
			declare.Text("key_pair_name", "KeyName",
				"The key pair with which people log in. It may be deleted while the instance has it.").CreateOnly(),
			declare.Text("state", "", "running, stopped, or hibernate: stopped with what is in memory kept, for "+
				"which hibernation_enabled is needed. One that is stopped already has no memory left to keep.").
				Default("'running'").OneOf(hibernate, running, stopped).Same(sameState),
			declare.Text("user_data", "", "What it is given at its first start, such as a shell script, as text and "+
				"up to 16 KB. NULL for data that is no text.").
				Check("length(user_data) <= 16384").In("UserData").As(encoded),
			declare.Bool("hibernation_enabled", "HibernationOptions.Configured",
				"Whether it can hibernate. Its root device is encrypted then, as hibernation asks for.").
				Default("false").CreateOnly().Usual(modules.Bool(false)),
			declare.Ref("role_name", "IamInstanceProfile.Arn", "iam_role", "role_name",
				"The role of what runs in it. It is given by the instance profile of the role's name, which is made "+
					"if there is none, and goes with the role.").
				ByKey().In("IamInstanceProfile.Name").
				NameColumn("instance_profile_arn", 3,
					"The ARN of its instance profile. Where there is no record of the role that it gives, role_name "+
						"is NULL."),
			declare.Ref("subnet_id", "SubnetId", "subnet", "subnet_id",
				"The subnet it is in; one of the default VPC if left out.").CreateOnly().OptionalComputed(),
			declare.Bool("monitoring", "Monitoring.State",
				"Whether CloudWatch gets its metrics every minute rather than every five.").
				Default("false").In("Monitoring.Enabled").As(declare.Is("enabled", "pending")),
			declare.Bool("source_dest_check", "SourceDestCheck",
				"Whether traffic that is neither from nor to it is dropped; false for what routes or translates "+
					"addresses.").
				Default("true").In("SourceDestCheck.Value").Usual(modules.Bool(true)),
			metadata(declare.Text("metadata_http_endpoint", "MetadataOptions.HttpEndpoint",
				"Whether its metadata service answers: enabled or disabled.").
				OneOf("disabled", "enabled"), "HttpEndpoint"),
			metadata(declare.Text("metadata_http_tokens", "MetadataOptions.HttpTokens",
				"Whether that service asks for a session token (IMDSv2): required or optional; as image and account "+
					"have it if left out.").
				OneOf("optional", "required"), "HttpTokens"),
			metadata(declare.Integer("metadata_hop_limit", "MetadataOptions.HttpPutResponseHopLimit",
				"Over how many network hops that service is answered, from 1 to 64; containers need 2.").
				Between(1, 64), "HttpPutResponseHopLimit"),
			metadata(declare.Text("metadata_tags", "MetadataOptions.InstanceMetadataTags",
				"Whether that service tells the instance's tags: enabled or disabled.").
				OneOf("disabled", "enabled"), "InstanceMetadataTags"),
			declare.Text("cpu_credits", "",
				"Whether a burstable instance may use more than the credits that it has: standard or unlimited; "+
					"as its type has it if left out. NULL of other types.").
				In("CreditSpecification.CpuCredits").OptionalComputed().OneOf("standard", "unlimited").Since(5),
			attribute(declare.Bool("disable_api_termination", "DisableApiTermination.Value",
				"Whether AWS refuses to terminate it; not if left out.").OptionalComputed().Born(modules.Bool(false)),
				ec2types.InstanceAttributeNameDisableApiTermination),
			attribute(declare.Text("instance_initiated_shutdown_behavior", "InstanceInitiatedShutdownBehavior.Value",
				"What happens when its operating system shuts it down: stop (if left out) or terminate.").
				OptionalComputed().OneOf("stop", "terminate").Born(modules.Text("stop")),
				ec2types.InstanceAttributeNameInstanceInitiatedShutdownBehavior),
			declare.Bool("propagate_tags_to_volume_on_creation", "",
				"Whether the volumes that are made with it get its tags. It matters when the instance is created, and "+
					"never again.").Local().Since(6),
			declare.Text("status", "State.Name",
				"What it is doing: pending, running, stopping, stopped or shutting-down.").Computed(),
			// The tag is of the Amazon EC2 Auto Scaling User Guide, "Tag Auto Scaling
			// groups and instances".
			declare.Text("auto_scaling_group", "Tags[aws:autoscaling:groupName]",
				"The Auto Scaling group that made it, and would make another in its place.").Computed(),
			declare.Text("availability_zone", "Placement.AvailabilityZone",
				"Its availability zone, such as us-east-1a.").Computed(),
			// "AMI billing information fields" of the EC2 User Guide: what it is billed as, by the name that the price
			// list has for it in operation.
			declare.Text("usage_operation", "UsageOperation",
				"What it is billed as, by what its image says of operating system and licence, such as RunInstances "+
					"(Linux) or RunInstances:0002 (Windows).").Computed().Since(8),
			declare.Text("instance_lifecycle", "InstanceLifecycle",
				"How it was bought: spot, scheduled, capacity-block or interruptible-capacity-reservation; NULL: on "+
					"demand.").
				Computed().Since(8),
			declare.Of(modules.TypeInet, "private_ip_address", "PrivateIpAddress",
				"Its private IPv4 address.").Computed(),
			declare.Of(modules.TypeInet, "public_ip_address", "PublicIpAddress",
				"Its public IPv4 address, if it has one.").Computed(),
			declare.EC2Tags(ec2types.ResourceTypeInstance),
		},
		Published: declare.Published{Type: "AWS::EC2::Instance", Since: 5,
			Columns: map[string]string{
				"BlockDeviceMappings": "instance_block_device_mapping", "SecurityGroupIds": "instance_security_groups",
				"SecurityGroups": "instance_security_groups", "Volumes": "instance_block_device_mapping",
			},
			Read: map[string]string{
				"Affinity":              "Placement.Affinity",
				"HostId":                "Placement.HostId",
				"HostResourceGroupArn":  "Placement.HostResourceGroupArn",
				"LicenseSpecifications": "Licenses",
				"PlacementGroupName":    "Placement.GroupName",
				"Tenancy":               "Placement.Tenancy",
			},
			Along: []string{"AdditionalInfo", "Ipv6AddressCount", "Ipv6Addresses", "LaunchTemplate",
				"NetworkInterfaces"},
			Filled: map[string][]string{
				"CpuOptions": {"AmdSevSnp", "CoreCount", "NestedVirtualization", "ThreadsPerCore"},
				"PrivateDnsNameOptions": {"EnableResourceNameDnsAAAARecord", "EnableResourceNameDnsARecord",
					"HostnameType"},
			},
			Docs: map[string]string{
				"AdditionalInfo": "Reserved by AWS. It matters when the instance is created, and never again.",
				"CpuOptions":     `Its cores and the threads of each: {"CoreCount": 2, "ThreadsPerCore": 1}; as its type has them if left out.`,
				"EbsOptimized": "Whether it has bandwidth of its own for volumes, where its type leaves " +
					"that open.",
				"EnclaveOptions": `Whether it can have Nitro Enclaves: {"Enabled": true}; not if left out.`,
				"Ipv6AddressCount": "How many IPv6 addresses of its subnet it begins with. It matters when the " +
					"instance is created.",
				"Ipv6Addresses":  `The IPv6 addresses that it begins with: [{"Ipv6Address": "2001:db8::1"}]. They matter when the instance is created.`,
				"LaunchTemplate": `A launch template that says what the row does not: {"LaunchTemplateName": "web", "Version": "$Default"}. It matters when the instance is created.`,
				"NetworkInterfaces": "Its network interfaces, as RunInstances takes them, in the place of " +
					"subnet_id. They matter when the instance is created.",
				"PlacementGroupName":    "The placement group that it is in.",
				"PrivateDnsNameOptions": `What its private name is made of: {"HostnameType": "resource-name", "EnableResourceNameDnsARecord": true}; as its subnet says if left out.`,
				"Tenancy": "Whether it shares its host: default, dedicated or host; as its VPC says if " +
					"left out.",
			},
			Without: map[string]string{
				"AvailabilityZone": "subnet_id says it: a subnet is in one zone",
				"PrivateIpAddress": "network_interfaces asks for it when the row is inserted: an instance in the " +
					"place of another cannot have its address while that is there",
				"ElasticGpuSpecifications": declare.Deprecated, "ElasticInferenceAccelerators": declare.Deprecated,
				"SsmAssociations": "an association of Systems Manager is an object of its own: AWS::SSM::Association",
			},
		},
		EventMappings: declare.InstanceEventMappings(),
		List:          instances(),
		Get:           declare.EC2Filter("instance-id"),
		Row:           data.fill,
		Rows: func(ctx context.Context, s *declare.Step, _ []*ec2types.Instance, rows []modules.Row) error {
			// One after the other: both write the rows.
			if err := roles(ctx, s, rows); err != nil {
				return err
			}
			return credits(ctx, s, rows)
		},
		Create: declare.Call((*ec2.Client).RunInstances,
			declare.With(&ec2.RunInstancesInput{MinCount: awssdk.Int32(1), MaxCount: awssdk.Int32(1)}),
			declare.Answer("Instances[0]"),
			declare.Edit(prepare), declare.Failed(func(_ context.Context, _ *declare.Step, err error) error {
				return profileError(err)
			})),
		// What may have to wait for the instance to stop comes last.
		Updates: []declare.Update{
			declare.Modify(declare.Call((*ec2.Client).ModifyInstanceAttribute,
				declare.Failed(func(ctx context.Context, s *declare.Step, err error) error {
					return ofPrimary(ctx, declare.ClientOf[*ec2.Client](s), err, s.Have["instance_id"].Ptr(),
						&ec2.ModifyNetworkInterfaceAttributeInput{SourceDestCheck: &ec2types.AttributeBooleanValue{
							Value: awssdk.Bool(s.Want["source_dest_check"].Bool())}})
				})), "source_dest_check"),
			declare.ModifyEach(declare.Call((*ec2.Client).ModifyInstanceAttribute), "disable_api_termination",
				"instance_initiated_shutdown_behavior"),
			declare.By(setCredits, "cpu_credits"),
			declare.By(setNames, "private_dns_name_options"),
			declare.By(setMonitoring, "monitoring"),
			declare.Restate(declare.Call((*ec2.Client).ModifyInstanceMetadataOptions), "metadata_http_endpoint",
				"metadata_http_tokens", "metadata_hop_limit", "metadata_tags"),
			declare.By(setRole, "role_name"),
			declare.By(func(ctx context.Context, s *declare.Step) error {
				return s.UpdateTags(ctx)
			}, modules.ColumnTags),
			declare.By(data.change, append([]string{"state"}, whileStopped...)...),
		},
		Delete: declare.Call((*ec2.Client).TerminateInstances),
		// One that could not be started goes to terminated, and is gone.
		Going:   declare.In("status", string(ec2types.InstanceStateNameShuttingDown)),
		Forming: declare.In("status", string(ec2types.InstanceStateNamePending)),
		// An Auto Scaling group would start others without end.
		Protected: declare.IfSet("auto_scaling_group", "the Auto Scaling group %s made it, and would make another"),
	})
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

// reservations lists what instances have, without those that are gone, which are
// listed for an hour more.
func reservations(of declare.Option) *declare.Listing {
	return declare.Pages(ec2.NewDescribeInstancesPaginator, "Reservations", of,
		declare.With(&ec2.DescribeInstancesInput{
			MaxResults: awssdk.Int32(aws.PageSize),
			Filters: []ec2types.Filter{aws.EC2Filter("instance-state-name", "pending", "running", "shutting-down",
				"stopping", "stopped")},
		}))
}

// instances lists the instances.
func instances() *declare.Listing {
	return reservations(declare.Expand(func(r ec2types.Reservation) []ec2types.Instance {
		return r.Instances
	})).FilterAt("instance-id", "InstanceId")
}

func status(i ec2types.Instance) ec2types.InstanceStateName {
	if i.State == nil {
		return ""
	}
	return i.State.Name
}

// fill reads an instance's user data, which DescribeInstances leaves out, and says
// which state it is in.
func (u *userData) fill(ctx context.Context, s *declare.Step, i *ec2types.Instance, row modules.Row) error {
	switch status(*i) {
	case ec2types.InstanceStateNamePending, ec2types.InstanceStateNameRunning:
		row["state"] = modules.Text(running)
	default:
		row["state"] = modules.Text(stopped)
		// The code is of the page StateReason.
		if i.StateReason != nil && awssdk.ToString(i.StateReason.Code) == "Client.UserInitiatedHibernate" {
			row["state"] = modules.Text(hibernate)
		}
		if before, ok := restarting(*i); ok { // is as it was, until it is started again
			row["state"], row["instance_type"] = modules.Text(running), modules.Text(before)
		}
	}
	if status(*i) == ec2types.InstanceStateNameShuttingDown {
		return nil // of what is on its way out there is nothing to compare
	}
	data, err := u.of(ctx, declare.ClientOf[*ec2.Client](s), *i)
	row["user_data"] = modules.Null
	if utf8.ValidString(data) && !strings.Contains(data, "\x00") {
		row["user_data"] = modules.NonEmpty(data)
	}
	return err
}

// encoded is user data as RunInstances takes it.
var encoded = declare.Codec{Encode: func(v modules.Value) (any, error) {
	return base64.StdEncoding.EncodeToString([]byte(v.String())), nil
}}

// prepare completes what an instance is started with.
func prepare(ctx context.Context, s *declare.Step, in *ec2.RunInstancesInput) error {
	in.ClientToken = &s.Token
	if s.Want["propagate_tags_to_volume_on_creation"].Bool() {
		in.TagSpecifications = append(in.TagSpecifications,
			aws.EC2TagSpecification(ec2types.ResourceTypeVolume, s.Want, "")...)
	}
	if len(in.NetworkInterfaces) > 0 {
		in.SubnetId = nil // which they say
	}
	if !burstable(string(in.InstanceType)) {
		in.CreditSpecification = nil // what another type had, that is replaced
	}
	if err := usualCores(ctx, declare.ClientOf[*ec2.Client](s), in); err != nil {
		return err
	}
	if name, ok := strings.CutPrefix(awssdk.ToString(in.ImageId), resolve); ok {
		client, err := declare.Client(ctx, s.Clients, s.Scope, ssm.NewFromConfig)
		if err != nil {
			return err
		}
		out, err := client.GetParameter(ctx, &ssm.GetParameterInput{Name: &name})
		if err != nil {
			return err
		}
		in.ImageId = out.Parameter.Value
	}
	if in.HibernationOptions != nil {
		var err error
		if in.BlockDeviceMappings, err = encryptedRoot(ctx, declare.ClientOf[*ec2.Client](s),
			awssdk.ToString(in.ImageId)); err != nil {
			return err
		}
	}
	if role := s.Want["role_name"]; !role.IsNull() {
		client, err := iamOf(ctx, s)
		if err != nil {
			return err
		}
		return ensureProfile(ctx, client, role.String())
	}
	return nil
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
				Encrypted: awssdk.Bool(true), DeleteOnTermination: m.Ebs.DeleteOnTermination,
				SnapshotId: m.Ebs.SnapshotId,
				VolumeSize: m.Ebs.VolumeSize, VolumeType: m.Ebs.VolumeType,
			}}}, nil
		}
	}
	return nil, nil
}
