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

// subnet is the table subnet.
type subnet struct {
	aws.EC2Objects[ec2types.Subnet]
}

func newSubnet(c *aws.Clients) *subnet {
	return &subnet{aws.EC2Objects[ec2types.Subnet]{
		Clients:     c,
		Description: describeSubnet(),
		IDFilter:    "subnet-id",
		Describe: func(ctx context.Context, client *ec2.Client, filters []ec2types.Filter, page func([]ec2types.Subnet) error) error {
			return aws.Pages(ctx, ec2.NewDescribeSubnetsPaginator(client, &ec2.DescribeSubnetsInput{
				Filters: filters, MaxResults: awssdk.Int32(aws.PageSize),
			}), func(out *ec2.DescribeSubnetsOutput) error { return page(out.Subnets) })
		},
		Rows: subnetRows,
		Tags: func(s ec2types.Subnet) []ec2types.Tag { return s.Tags },
	}}
}

func describeSubnet() *modules.Table {
	return &modules.Table{
		Name:     "subnet",
		Doc:      "Subnets: ranges of a VPC's addresses, each in one availability zone.",
		Provider: aws.Provider,
		Reach:    modules.PerRegion,
		Creation: modules.ByTag,
		Columns: aws.Regional(
			modules.Column{Name: "subnet_id", Type: modules.TypeText, Identity: true, Assigned: true,
				Doc: "The subnet's id, such as subnet-0a1b2c3d; NULL until it is created."},
			modules.Column{Name: "vpc_id", Type: modules.TypeBigint, Required: true, CreateOnly: true,
				References: &modules.Reference{Table: "vpc", Key: "vpc_id"},
				Doc:        "The VPC it is part of."},
			modules.Column{Name: "cidr_block", Type: modules.TypeCIDR, CreateOnly: true,
				Check: "family(cidr_block) = 4 AND masklen(cidr_block) BETWEEN 16 AND 28",
				Doc:   "Its IPv4 network, from /16 to /28, a part of the VPC's. NULL only for subnets with IPv6 alone, which are not created here."},
			modules.Column{Name: "availability_zone", Type: modules.TypeText, CreateOnly: true, Chosen: true,
				Doc: "Its availability zone, such as us-east-1a; AWS picks one if left out."},
			modules.Column{Name: "map_public_ip_on_launch", Type: modules.TypeBool, Required: true, Default: "false",
				Doc: "Whether instances started in it get a public IPv4 address."},
			modules.Column{Name: "network_acl_id", Type: modules.TypeBigint, Chosen: true, Since: 2,
				References: &modules.Reference{Table: "network_acl", Key: "network_acl_id"},
				Doc:        "Its network access control list; the VPC's default one if left out."},
			modules.Column{Name: "state", Type: modules.TypeText, Assigned: true,
				Doc: "pending, available, unavailable, failed or failed-insufficient-capacity."},
			modules.Column{Name: "available_ip_address_count", Type: modules.TypeInteger, Assigned: true,
				Doc: "How many of its IPv4 addresses are not in use."},
			modules.Column{Name: "default_for_az", Type: modules.TypeBool, Assigned: true,
				Doc: "Whether it is the availability zone's default subnet, which AWS makes by itself."},
			modules.Column{Name: "owner_id", Type: modules.TypeText, Assigned: true,
				Doc: "The twelve digits of the account that owns it; another than account where it is shared."},
			modules.Column{Name: "subnet_arn", Type: modules.TypeText, Assigned: true,
				Doc: "Its Amazon Resource Name (ARN)."},
			aws.TagsColumn(),
		),
		// Two subnets of a VPC cannot have the same network.
		DestroyBeforeCreate: true,
	}
}

// subnetRows reads which network ACL each subnet has, which the lists know: one
// call for a page of subnets.
func subnetRows(ctx context.Context, client *ec2.Client, subnets []ec2types.Subnet) ([]modules.Row, error) {
	ids := make([]string, len(subnets))
	for i, s := range subnets {
		ids[i] = awssdk.ToString(s.SubnetId)
	}
	lists, err := networkACLsOf(ctx, client, ids)
	if err != nil {
		return nil, err
	}
	rows := make([]modules.Row, len(subnets))
	for i, s := range subnets {
		if rows[i], err = subnetRow(s); err != nil {
			return nil, err
		}
		rows[i]["network_acl_id"] = nonEmpty(lists[ids[i]].NetworkAclId)
	}
	return rows, nil
}

// networkACLsOf returns, by subnet, its association with a network ACL.
func networkACLsOf(ctx context.Context, client *ec2.Client, subnets []string) (map[string]ec2types.NetworkAclAssociation, error) {
	found := map[string]ec2types.NetworkAclAssociation{}
	return found, aws.EC2Chunks(subnets, "association.subnet-id", func(filters []ec2types.Filter) error {
		return networkACLs(ctx, client, filters, func(lists []ec2types.NetworkAcl) error {
			for _, l := range lists {
				for _, a := range l.Associations {
					found[awssdk.ToString(a.SubnetId)] = a
				}
			}
			return nil
		})
	})
}

func subnetRow(s ec2types.Subnet) (modules.Row, error) {
	block, err := aws.CIDR(s.CidrBlock)
	if err != nil {
		return nil, fmt.Errorf("subnet %s: %w", awssdk.ToString(s.SubnetId), err)
	}
	return modules.Row{
		"subnet_id":                  modules.TextPtr(s.SubnetId),
		"vpc_id":                     modules.TextPtr(s.VpcId),
		"cidr_block":                 block,
		"availability_zone":          modules.TextPtr(s.AvailabilityZone),
		"map_public_ip_on_launch":    modules.Bool(awssdk.ToBool(s.MapPublicIpOnLaunch)),
		"state":                      modules.NonEmpty(s.State),
		"available_ip_address_count": modules.IntPtr(s.AvailableIpAddressCount),
		"default_for_az":             modules.Bool(awssdk.ToBool(s.DefaultForAz)),
		"owner_id":                   modules.TextPtr(s.OwnerId),
		"subnet_arn":                 modules.TextPtr(s.SubnetArn),
		"tags":                       aws.EC2Tags.Value(s.Tags),
	}, nil
}

// Create creates a subnet. map_public_ip_on_launch and the network ACL, which
// CreateSubnet does not take, are left to Update.
func (r *subnet) Create(ctx context.Context, scope modules.Scope, want modules.Row, token string) (modules.Row, error) {
	client, err := r.Clients.EC2(ctx, scope)
	if err != nil {
		return nil, err
	}
	out, err := client.CreateSubnet(ctx, &ec2.CreateSubnetInput{
		VpcId:             want["vpc_id"].Ptr(),
		CidrBlock:         want["cidr_block"].Ptr(),
		AvailabilityZone:  want["availability_zone"].Ptr(),
		TagSpecifications: aws.EC2TagSpecification(ec2types.ResourceTypeSubnet, want, token),
	})
	if err != nil {
		return nil, err
	}
	return subnetRow(*out.Subnet)
}

// Update changes map_public_ip_on_launch, the network ACL and tags.
func (r *subnet) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	client, err := r.Clients.EC2(ctx, scope)
	if err != nil {
		return err
	}
	if slices.Contains(columns, "map_public_ip_on_launch") {
		_, err := client.ModifySubnetAttribute(ctx, &ec2.ModifySubnetAttributeInput{
			SubnetId:            have["subnet_id"].Ptr(),
			MapPublicIpOnLaunch: &ec2types.AttributeBooleanValue{Value: awssdk.Bool(want["map_public_ip_on_launch"].Bool())},
		})
		if err != nil {
			return err
		}
	}
	if slices.Contains(columns, "network_acl_id") {
		id := have["subnet_id"].String()
		lists, err := networkACLsOf(ctx, client, []string{id})
		if err != nil {
			return err
		}
		_, err = client.ReplaceNetworkAclAssociation(ctx, &ec2.ReplaceNetworkAclAssociationInput{
			AssociationId: lists[id].NetworkAclAssociationId, NetworkAclId: want["network_acl_id"].Ptr(),
		})
		if err != nil {
			return err
		}
	}
	return r.EC2Objects.Update(ctx, scope, have, want, columns)
}

// Delete deletes a subnet.
func (r *subnet) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	return r.Remove(ctx, scope, r.Protected(have), func(client *ec2.Client) error {
		_, err := client.DeleteSubnet(ctx, &ec2.DeleteSubnetInput{SubnetId: have["subnet_id"].Ptr()})
		return err
	})
}

// Protected keeps default subnets, as it does the default VPC.
func (r *subnet) Protected(have modules.Row) string {
	if have["default_for_az"].Bool() {
		return "it is the availability zone's default subnet, which AWS made by itself"
	}
	return ""
}
