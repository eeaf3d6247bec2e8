package awsec2metadata

import (
	"context"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/aws/declare"
	"iasql/internal/modules"
)

// newMetadata declares the table instance_metadata.
func newMetadata(c *aws.Clients) *declare.Resource {
	text := func(name, member, doc string) declare.Column { return declare.Text(name, member, doc).Computed() }
	address := func(name, member, doc string) declare.Column {
		return declare.Of(modules.TypeInet, name, member, doc).Computed()
	}
	return declare.New(c, declare.Table[ec2types.Instance]{
		Name: "instance_metadata",
		Doc: "What there is to know of instances that nobody sets. Only read. " +
			"Its id is its own, and not that of the row of instance, with which instance_id joins it; addresses are " +
			"inet and not cidr.",
		Service: declare.Service(ec2.NewFromConfig),
		Columns: []declare.Column{
			declare.ID("instance_id", "InstanceId", "The instance's id, such as i-0a1b2c3d, as in instance."),
			text("architecture", "Architecture", "The kind of its processors.").OneOf("arm64", "arm64_mac", "i386",
				"x86_64", "x86_64_mac"),
			address("private_ip_address", "PrivateIpAddress", "Its private IPv4 address."),
			address("public_ip_address", "PublicIpAddress", "Its public IPv4 address, if it has one."),
			text("public_dns_name", "PublicDnsName", "The name of that address."),
			text("private_dns_name", "PrivateDnsName", "The name of its private address."),
			declare.Time("launch_time", "LaunchTime", "When it was last started."),
			declare.Integer("cpu_cores", "CpuOptions.CoreCount", "How many processor cores it has.").Computed(),
			declare.Integer("mem_size_mb", "", "How much memory it has, in MiB.").Computed(),
			declare.Bool("ebs_optimized", "EbsOptimized",
				"Whether it has network bandwidth of its own for its volumes.").Computed().Usual(modules.Bool(false)),
			text("root_device_type", "RootDeviceType", "What its root device is: ebs or instance-store.").OneOf("ebs",
				"instance-store"),
			text("root_device_name", "RootDeviceName", "That device's name, such as /dev/xvda."),
			text("image_id", "ImageId", "The image it was started from, also where instance.ami names a parameter."),
		},
		EventMappings: declare.InstanceEventMappings(),
		// Without instances that are gone, which are listed for an hour more.
		List: declare.Pages(ec2.NewDescribeInstancesPaginator, "Reservations[].Instances",
			declare.With(&ec2.DescribeInstancesInput{
				MaxResults: awssdk.Int32(aws.PageSize),
				Filters: []ec2types.Filter{aws.EC2Filter("instance-state-name", "pending", "running", "shutting-down",
					"stopping", "stopped")},
			}), declare.Expand(func(instances []ec2types.Instance) []ec2types.Instance { return instances })),
		Get:  declare.EC2Filter("instance-id"),
		Rows: byType,
	})
}

// byType reads what instances have by their types: one call for all types of a
// page. An instance can be asked for with fewer cores than its type has.
func byType(ctx context.Context, s *declare.Step, instances []*ec2types.Instance, rows []modules.Row) error {
	names := make([]string, len(instances))
	for n, i := range instances {
		names[n] = string(i.InstanceType)
	}
	infos, err := declare.Find[ec2types.InstanceTypeInfo](ctx, s.Source(),
		declare.Pages(ec2.NewDescribeInstanceTypesPaginator, "InstanceTypes"), "instance-type", names...)
	if err != nil {
		return err
	}
	types := map[ec2types.InstanceType]ec2types.InstanceTypeInfo{}
	for _, info := range infos {
		types[info.InstanceType] = info
	}
	for n, i := range instances {
		info := types[i.InstanceType]
		if info.VCpuInfo != nil && rows[n]["cpu_cores"].IsNull() {
			rows[n]["cpu_cores"] = modules.IntPtr(info.VCpuInfo.DefaultCores)
		}
		rows[n]["mem_size_mb"] = modules.Null
		if info.MemoryInfo != nil {
			rows[n]["mem_size_mb"] = modules.IntPtr(info.MemoryInfo.SizeInMiB)
		}
	}
	return nil
}
