package awsec2metadata

import (
	"context"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// metadata is the table instance_metadata.
type metadata struct {
	objects aws.EC2Objects[ec2types.Instance]
}

func newMetadata(c *aws.Clients) *metadata {
	return &metadata{aws.EC2Objects[ec2types.Instance]{
		Clients:     c,
		Description: describeMetadata(),
		IDFilter:    "instance-id",
		// Without instances that are gone, which are listed for an hour more.
		Describe: func(ctx context.Context, client *ec2.Client, filters []ec2types.Filter, page func([]ec2types.Instance) error) error {
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
		},
		Rows: metadataRows,
	}}
}

func describeMetadata() *modules.Table {
	column := func(name string, t modules.Type, doc string, enum ...string) modules.Column {
		return modules.Column{Name: name, Type: t, Assigned: true, Enum: enum, Doc: doc}
	}
	id := column("instance_id", modules.TypeText, "The instance's id, such as i-0a1b2c3d, as in instance.")
	id.Identity = true
	return &modules.Table{
		Name: "instance_metadata",
		Doc: "What there is to know of instances that nobody sets. Only read. " +
			"Its id is its own, and not that of the row of instance, with which instance_id joins it; addresses are inet and not cidr.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Columns: aws.Regional(
			id,
			column("architecture", modules.TypeText, "The kind of its processors.", "arm64", "arm64_mac", "i386", "x86_64", "x86_64_mac"),
			column("private_ip_address", modules.TypeInet, "Its private IPv4 address."),
			column("public_ip_address", modules.TypeInet, "Its public IPv4 address, if it has one."),
			column("public_dns_name", modules.TypeText, "The name of that address."),
			column("private_dns_name", modules.TypeText, "The name of its private address."),
			column("launch_time", modules.TypeTime, "When it was last started."),
			column("cpu_cores", modules.TypeInteger, "How many processor cores it has."),
			column("mem_size_mb", modules.TypeInteger, "How much memory it has, in MiB."),
			column("ebs_optimized", modules.TypeBool, "Whether it has network bandwidth of its own for its volumes."),
			column("root_device_type", modules.TypeText, "What its root device is: ebs or instance-store.", "ebs", "instance-store"),
			column("root_device_name", modules.TypeText, "That device's name, such as /dev/xvda."),
			column("image_id", modules.TypeText, "The image it was started from, also where instance.ami names a parameter."),
		),
	}
}

// Table returns the description.
func (r *metadata) Table() *modules.Table { return r.objects.Description }

// List gives every instance of the scope to page.
func (r *metadata) List(ctx context.Context, scope modules.Scope, page func([]modules.Row) error) error {
	return r.objects.List(ctx, scope, page)
}

// Get reads the instances with these ids.
func (r *metadata) Get(ctx context.Context, scope modules.Scope, identities []modules.Row) ([]modules.Row, error) {
	return r.objects.Get(ctx, scope, identities)
}

// metadataRows reads what instances have by their types: one call for all types
// of a page.
func metadataRows(ctx context.Context, client *ec2.Client, instances []ec2types.Instance) ([]modules.Row, error) {
	var names []string
	for _, i := range instances {
		names = append(names, string(i.InstanceType))
	}
	types := map[string]ec2types.InstanceTypeInfo{}
	err := aws.EC2Chunks(names, "instance-type", func(filters []ec2types.Filter) error {
		return aws.Pages(ctx, ec2.NewDescribeInstanceTypesPaginator(client, &ec2.DescribeInstanceTypesInput{Filters: filters}),
			func(out *ec2.DescribeInstanceTypesOutput) error {
				for _, info := range out.InstanceTypes {
					types[string(info.InstanceType)] = info
				}
				return nil
			})
	})
	if err != nil {
		return nil, err
	}
	rows := make([]modules.Row, len(instances))
	for n, i := range instances {
		row := modules.Row{
			"instance_id":        modules.TextPtr(i.InstanceId),
			"architecture":       modules.NonEmpty(i.Architecture),
			"private_ip_address": modules.NonEmpty(awssdk.ToString(i.PrivateIpAddress)),
			"public_ip_address":  modules.NonEmpty(awssdk.ToString(i.PublicIpAddress)),
			"public_dns_name":    modules.NonEmpty(awssdk.ToString(i.PublicDnsName)),
			"private_dns_name":   modules.NonEmpty(awssdk.ToString(i.PrivateDnsName)),
			"launch_time":        modules.TimePtr(i.LaunchTime),
			"cpu_cores":          modules.Null,
			"mem_size_mb":        modules.Null,
			"ebs_optimized":      modules.Bool(awssdk.ToBool(i.EbsOptimized)),
			"root_device_type":   modules.NonEmpty(i.RootDeviceType),
			"root_device_name":   modules.NonEmpty(awssdk.ToString(i.RootDeviceName)),
			"image_id":           modules.TextPtr(i.ImageId),
		}
		info := types[string(i.InstanceType)]
		if info.VCpuInfo != nil {
			row["cpu_cores"] = modules.IntPtr(info.VCpuInfo.DefaultCores)
		}
		if i.CpuOptions != nil && i.CpuOptions.CoreCount != nil { // fewer can be asked for
			row["cpu_cores"] = modules.IntPtr(i.CpuOptions.CoreCount)
		}
		if info.MemoryInfo != nil {
			row["mem_size_mb"] = modules.IntPtr(info.MemoryInfo.SizeInMiB)
		}
		rows[n] = row
	}
	return rows, nil
}
