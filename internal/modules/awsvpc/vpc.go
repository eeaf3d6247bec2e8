package awsvpc

import (
	"context"
	"fmt"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// vpc is the table vpc.
type vpc struct {
	aws.EC2Objects[ec2types.Vpc]
}

func newVPC(c *aws.Clients) *vpc {
	return &vpc{aws.EC2Objects[ec2types.Vpc]{
		Clients:     c,
		Description: describeVPC(),
		IDFilter:    "vpc-id",
		Describe:    describeVPCs,
		Rows:        vpcRows,
		Tags:        func(v ec2types.Vpc) []ec2types.Tag { return v.Tags },
	}}
}

func describeVPCs(ctx context.Context, client *ec2.Client, filters []ec2types.Filter, page func([]ec2types.Vpc) error) error {
	// EC2 takes no page size together with ids, but does with filters.
	return aws.Pages(ctx, ec2.NewDescribeVpcsPaginator(client, &ec2.DescribeVpcsInput{
		Filters: filters, MaxResults: awssdk.Int32(aws.PageSize),
	}), func(out *ec2.DescribeVpcsOutput) error { return page(out.Vpcs) })
}

func describeVPC() *modules.Table {
	return &modules.Table{
		Name:     "vpc",
		Doc:      "Virtual private clouds: isolated networks of an account in a region.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByTag,
		Columns: aws.Regional(
			modules.Column{Name: "vpc_id", Type: modules.TypeText, Identity: true, Assigned: true,
				Doc: "The VPC's id, such as vpc-0a1b2c3d; NULL until it is created."},
			modules.Column{Name: "cidr_block", Type: modules.TypeCIDR, Required: true, CreateOnly: true,
				Check: "family(cidr_block) = 4 AND masklen(cidr_block) BETWEEN 16 AND 28",
				Doc:   "Its IPv4 network, from /16 to /28, such as 10.0.0.0/16."},
			modules.Column{Name: "state", Type: modules.TypeText, Assigned: true,
				Doc: "pending or available."},
			modules.Column{Name: "is_default", Type: modules.TypeBool, Assigned: true,
				Doc: "Whether it is the region's default VPC, which AWS makes by itself."},
			modules.Column{Name: "enable_dns_hostnames", Type: modules.TypeBool, Required: true, Default: "false",
				Doc: "Whether instances with public addresses get public DNS names; needs enable_dns_support."},
			modules.Column{Name: "enable_dns_support", Type: modules.TypeBool, Required: true, Default: "true",
				Doc: "Whether Amazon's DNS server answers inside the VPC. Default true, as in AWS (IaSQL's was false)."},
			modules.Column{Name: "enable_network_address_usage_metrics", Type: modules.TypeBool, Required: true, Default: "false",
				Doc: "Whether CloudWatch gets metrics of the network addresses in use."},
			modules.Column{Name: "dhcp_options_id", Type: modules.TypeBigint, Chosen: true, Since: 2,
				References: &modules.Reference{Table: "dhcp_options", Key: "dhcp_options_id"},
				Doc:        "The DHCP options its instances are told; AWS's own if left out."},
			aws.TagsColumn(),
		),
	}
}

// vpcRows reads what DescribeVpcs leaves out.
func vpcRows(ctx context.Context, client *ec2.Client, vpcs []ec2types.Vpc) ([]modules.Row, error) {
	return aws.Read(ctx, vpcs, func(ctx context.Context, v ec2types.Vpc) (modules.Row, error) {
		row, err := vpcRow(v)
		if err != nil {
			return nil, err
		}
		return row, readAttributes(ctx, client, v.VpcId, row)
	})
}

func vpcRow(v ec2types.Vpc) (modules.Row, error) {
	block, err := aws.CIDR(v.CidrBlock)
	if err != nil {
		return nil, fmt.Errorf("vpc %s: %w", awssdk.ToString(v.VpcId), err)
	}
	options := nonEmpty(v.DhcpOptionsId)
	if options.String() == "default" { // is what AWS calls none
		options = modules.Null
	}
	return modules.Row{
		"vpc_id":          modules.TextPtr(v.VpcId),
		"cidr_block":      block,
		"state":           modules.NonEmpty(v.State),
		"is_default":      modules.Bool(awssdk.ToBool(v.IsDefault)),
		"dhcp_options_id": options,
		"tags":            aws.EC2Tags.Value(v.Tags),
	}, nil
}

// attributes are the columns that DescribeVpcAttribute reads and
// ModifyVpcAttribute changes: "only one attribute at a time", says the page of
// each.
var attributes = []struct {
	column string
	name   ec2types.VpcAttributeName
	value  func(*ec2.DescribeVpcAttributeOutput) *ec2types.AttributeBooleanValue
	set    func(*ec2.ModifyVpcAttributeInput, *ec2types.AttributeBooleanValue)
}{
	// DNS support first: host names can be enabled only while it is.
	{
		"enable_dns_support", ec2types.VpcAttributeNameEnableDnsSupport,
		func(out *ec2.DescribeVpcAttributeOutput) *ec2types.AttributeBooleanValue { return out.EnableDnsSupport },
		func(in *ec2.ModifyVpcAttributeInput, v *ec2types.AttributeBooleanValue) { in.EnableDnsSupport = v },
	},
	{
		"enable_dns_hostnames", ec2types.VpcAttributeNameEnableDnsHostnames,
		func(out *ec2.DescribeVpcAttributeOutput) *ec2types.AttributeBooleanValue {
			return out.EnableDnsHostnames
		},
		func(in *ec2.ModifyVpcAttributeInput, v *ec2types.AttributeBooleanValue) { in.EnableDnsHostnames = v },
	},
	{
		"enable_network_address_usage_metrics", ec2types.VpcAttributeNameEnableNetworkAddressUsageMetrics,
		func(out *ec2.DescribeVpcAttributeOutput) *ec2types.AttributeBooleanValue {
			return out.EnableNetworkAddressUsageMetrics
		},
		func(in *ec2.ModifyVpcAttributeInput, v *ec2types.AttributeBooleanValue) {
			in.EnableNetworkAddressUsageMetrics = v
		},
	},
}

// readAttributes adds a VPC's attributes to its row: one call each, since no
// call reads several, nor those of several VPCs.
func readAttributes(ctx context.Context, client *ec2.Client, id *string, row modules.Row) error {
	values := make([]modules.Value, len(attributes))
	calls := make([]func(context.Context) error, len(attributes))
	for i, a := range attributes {
		calls[i] = func(ctx context.Context) error {
			out, err := client.DescribeVpcAttribute(ctx, &ec2.DescribeVpcAttributeInput{VpcId: id, Attribute: a.name})
			if err != nil {
				return err
			}
			v := a.value(out)
			values[i] = modules.Bool(v != nil && awssdk.ToBool(v.Value))
			return nil
		}
	}
	if err := aws.Together(ctx, calls...); err != nil {
		return err
	}
	for i, a := range attributes {
		row[a.column] = values[i]
	}
	return nil
}

// Create creates a VPC. Its attributes and DHCP options, which CreateVpc does
// not take, are left to Update.
func (r *vpc) Create(ctx context.Context, scope modules.Scope, want modules.Row, token string) (modules.Row, error) {
	client, err := r.Clients.EC2(ctx, scope)
	if err != nil {
		return nil, err
	}
	out, err := client.CreateVpc(ctx, &ec2.CreateVpcInput{
		CidrBlock:         want["cidr_block"].Ptr(),
		TagSpecifications: aws.EC2TagSpecification(ec2types.ResourceTypeVpc, want, token),
	})
	if err != nil {
		return nil, err
	}
	return vpcRow(*out.Vpc)
}

// Update changes attributes, DHCP options and tags.
func (r *vpc) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	client, err := r.Clients.EC2(ctx, scope)
	if err != nil {
		return err
	}
	change := slices.Clone(attributes)
	if !want["enable_dns_support"].Bool() {
		slices.Reverse(change) // what needs DNS support goes before it does
	}
	for _, a := range change {
		if !slices.Contains(columns, a.column) {
			continue
		}
		in := &ec2.ModifyVpcAttributeInput{VpcId: have["vpc_id"].Ptr()}
		a.set(in, &ec2types.AttributeBooleanValue{Value: awssdk.Bool(want[a.column].Bool())})
		if _, err := client.ModifyVpcAttribute(ctx, in); err != nil {
			return err
		}
	}
	if slices.Contains(columns, "dhcp_options_id") {
		_, err := client.AssociateDhcpOptions(ctx, &ec2.AssociateDhcpOptionsInput{
			VpcId: have["vpc_id"].Ptr(), DhcpOptionsId: want["dhcp_options_id"].Ptr(),
		})
		if err != nil {
			return err
		}
	}
	return r.EC2Objects.Update(ctx, scope, have, want, columns)
}

// Delete deletes a VPC.
func (r *vpc) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	return r.Remove(ctx, scope, r.Protected(have), func(client *ec2.Client) error {
		_, err := client.DeleteVpc(ctx, &ec2.DeleteVpcInput{VpcId: have["vpc_id"].Ptr()})
		return err
	})
}

// Protected keeps the default VPC, on which services rely that are told of no
// other.
func (r *vpc) Protected(have modules.Row) string {
	if have["is_default"].Bool() {
		return "it is the region's default VPC, which AWS made by itself"
	}
	return ""
}
