package awsvpc

import (
	"context"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"iasql/internal/aws"
	"iasql/internal/modules"
)

// endpoint is one of the tables endpoint_gateway and endpoint_interface.
type endpoint struct {
	aws.EC2Objects[ec2types.VpcEndpoint]
	kind ec2types.VpcEndpointType
}

func newGatewayEndpoint(c *aws.Clients) *endpoint {
	return newEndpoint(c, ec2types.VpcEndpointTypeGateway, &modules.Table{
		Name: "endpoint_gateway",
		Doc:  "Gateway endpoints, through which a VPC reaches S3 or DynamoDB by routes that AWS adds to its route tables.",
	}, modules.Column{Name: "route_table_ids", Type: modules.TypeTexts, Unordered: true, EmptyIsNull: true,
		Doc: "The ids (rtb-…) of the route tables that get a route to the service."})
}

func newInterfaceEndpoint(c *aws.Clients) *endpoint {
	return newEndpoint(c, ec2types.VpcEndpointTypeInterface, &modules.Table{
		Name: "endpoint_interface",
		Doc:  "Interface endpoints, through which a VPC reaches a service by network interfaces in its subnets, which are in endpoint_interface_subnets.",
	},
		modules.Column{Name: "private_dns_enabled", Type: modules.TypeBool, Required: true, Default: "false",
			Doc: "Whether the service's usual name leads to the endpoint inside the VPC."},
		modules.Column{Name: "dns_name_record_type", Type: modules.TypeText, Chosen: true,
			Enum: []string{"dualstack", "ipv4", "ipv6", "service-defined"},
			Doc:  "The kind of DNS records it gets; ipv4 if left out."})
}

func newEndpoint(c *aws.Clients, kind ec2types.VpcEndpointType, t *modules.Table, particular ...modules.Column) *endpoint {
	policy := aws.PolicyColumn("Who may do what through the endpoint: an endpoint policy document. Everybody everything if left out.")
	policy.Chosen = true
	t.Provider, t.Reach, t.Creation = aws.Provider, modules.PerRegion, modules.ByToken
	t.Columns = aws.Regional(append([]modules.Column{
		{Name: "vpc_endpoint_id", Type: modules.TypeText, Identity: true, Assigned: true,
			Doc: "The endpoint's id, such as vpce-0a1b2c3d; NULL until it is created."},
		{Name: "vpc_id", Type: modules.TypeBigint, Required: true, CreateOnly: true,
			References: &modules.Reference{Table: "vpc", Key: "vpc_id"},
			Doc:        "The VPC it is of."},
		{Name: "service", Type: modules.TypeText, Required: true, CreateOnly: true,
			Doc: "The service: AWS's own by the end of their names, such as s3 or ecr.api, others by their full names."},
		policy,
		{Name: "state", Type: modules.TypeText, Assigned: true,
			Doc: "pendingacceptance, pending, available, deleting, rejected, failed or expired."},
		aws.TagsColumn(),
	}, particular...)...)
	r := &endpoint{kind: kind}
	r.EC2Objects = aws.EC2Objects[ec2types.VpcEndpoint]{
		Clients:     c,
		Description: t,
		// By no filter for ids: there are few, and moto has none.
		Describe: func(ctx context.Context, client *ec2.Client, filters []ec2types.Filter, page func([]ec2types.VpcEndpoint) error) error {
			return endpoints(ctx, client, kind, filters, page)
		},
		Rows: r.rows,
		Tags: func(e ec2types.VpcEndpoint) []ec2types.Tag { return e.Tags },
	}
	return r
}

// endpoints gives the endpoints of a kind to page, without those that are listed
// after their deletion.
func endpoints(ctx context.Context, client *ec2.Client, kind ec2types.VpcEndpointType, filters []ec2types.Filter, page func([]ec2types.VpcEndpoint) error) error {
	filters = append(slices.Clone(filters), aws.EC2Filter("vpc-endpoint-type", string(kind)))
	return aws.Pages(ctx, ec2.NewDescribeVpcEndpointsPaginator(client, &ec2.DescribeVpcEndpointsInput{
		Filters: filters, MaxResults: awssdk.Int32(aws.PageSize),
	}), func(out *ec2.DescribeVpcEndpointsOutput) error {
		return page(slices.DeleteFunc(out.VpcEndpoints, func(e ec2types.VpcEndpoint) bool { return strings.EqualFold(string(e.State), "deleted") }))
	})
}

// serviceName returns the full name of a service of AWS's own.
func serviceName(region, service string) string {
	if strings.HasPrefix(service, "com.amazonaws.") || strings.HasPrefix(service, "aws.") || strings.HasPrefix(service, "cn.com.") {
		return service
	}
	return "com.amazonaws." + region + "." + service
}

func (r *endpoint) rows(_ context.Context, client *ec2.Client, list []ec2types.VpcEndpoint) ([]modules.Row, error) {
	rows := make([]modules.Row, len(list))
	for i, e := range list {
		rows[i] = modules.Row{
			"vpc_endpoint_id": modules.TextPtr(e.VpcEndpointId),
			"vpc_id":          modules.TextPtr(e.VpcId),
			"service":         modules.Text(strings.TrimPrefix(awssdk.ToString(e.ServiceName), "com.amazonaws."+client.Options().Region+".")),
			"policy":          aws.Policy(e.PolicyDocument),
			"state":           modules.NonEmpty(strings.ToLower(string(e.State))),
			"tags":            aws.EC2Tags.Value(e.Tags),
		}
		if r.kind == ec2types.VpcEndpointTypeGateway {
			rows[i]["route_table_ids"] = modules.Strings(e.RouteTableIds)
			continue
		}
		rows[i]["private_dns_enabled"] = modules.Bool(awssdk.ToBool(e.PrivateDnsEnabled))
		rows[i]["dns_name_record_type"] = modules.Null
		if e.DnsOptions != nil {
			rows[i]["dns_name_record_type"] = modules.NonEmpty(e.DnsOptions.DnsRecordIpType)
		}
	}
	return rows, nil
}

// Create creates an endpoint.
func (r *endpoint) Create(ctx context.Context, scope modules.Scope, want modules.Row, token string) (modules.Row, error) {
	client, err := r.Clients.EC2(ctx, scope)
	if err != nil {
		return nil, err
	}
	kind := ec2types.ResourceTypeVpcEndpoint
	in := &ec2.CreateVpcEndpointInput{
		VpcId:             want["vpc_id"].Ptr(),
		VpcEndpointType:   r.kind,
		ServiceName:       awssdk.String(serviceName(scope.Region, want["service"].String())),
		PolicyDocument:    want["policy"].Ptr(),
		ClientToken:       &token,
		TagSpecifications: aws.EC2TagSpecification(kind, want, ""),
	}
	if r.kind == ec2types.VpcEndpointTypeGateway {
		in.RouteTableIds = want["route_table_ids"].Strings()
	} else {
		in.PrivateDnsEnabled = awssdk.Bool(want["private_dns_enabled"].Bool()) // left out, it is true
		if record := want["dns_name_record_type"]; !record.IsNull() {
			in.DnsOptions = &ec2types.DnsOptionsSpecification{DnsRecordIpType: ec2types.DnsRecordIpType(record.String())}
		}
	}
	out, err := client.CreateVpcEndpoint(ctx, in)
	if err != nil {
		return nil, err
	}
	return modules.Row{"vpc_endpoint_id": modules.TextPtr(out.VpcEndpoint.VpcEndpointId)}, nil
}

// Update changes everything but tags in one call, and tags.
func (r *endpoint) Update(ctx context.Context, scope modules.Scope, have, want modules.Row, columns []string) error {
	client, err := r.Clients.EC2(ctx, scope)
	if err != nil {
		return err
	}
	in := &ec2.ModifyVpcEndpointInput{VpcEndpointId: have["vpc_endpoint_id"].Ptr()}
	modify := false
	for _, column := range columns {
		switch column {
		case "policy":
			in.PolicyDocument = want["policy"].Ptr()
		case "route_table_ids":
			in.AddRouteTableIds = without(want["route_table_ids"].Strings(), have["route_table_ids"].Strings())
			in.RemoveRouteTableIds = without(have["route_table_ids"].Strings(), want["route_table_ids"].Strings())
		case "private_dns_enabled":
			in.PrivateDnsEnabled = awssdk.Bool(want["private_dns_enabled"].Bool())
		case "dns_name_record_type":
			in.DnsOptions = &ec2types.DnsOptionsSpecification{DnsRecordIpType: ec2types.DnsRecordIpType(want["dns_name_record_type"].String())}
		default:
			continue
		}
		modify = true
	}
	if modify {
		if _, err := client.ModifyVpcEndpoint(ctx, in); err != nil {
			return err
		}
	}
	return r.EC2Objects.Update(ctx, scope, have, want, columns)
}

// without returns the members of list that are not in other.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}

// Delete deletes an endpoint. DeleteVpcEndpoints succeeds as a whole and says of
// each endpoint why it was not deleted.
func (r *endpoint) Delete(ctx context.Context, scope modules.Scope, have modules.Row) error {
	return r.Remove(ctx, scope, "", func(client *ec2.Client) error {
		out, err := client.DeleteVpcEndpoints(ctx, &ec2.DeleteVpcEndpointsInput{VpcEndpointIds: []string{have["vpc_endpoint_id"].String()}})
		if err != nil {
			return err
		}
		for _, u := range out.Unsuccessful {
			if u.Error != nil {
				return aws.ErrorOf(awssdk.ToString(u.Error.Code), awssdk.ToString(u.Error.Message))
			}
		}
		return nil
	})
}

// newEndpointSubnets makes the table endpoint_interface_subnets.
func newEndpointSubnets(c *aws.Clients) *aws.Memberships {
	return &aws.Memberships{
		Description: &modules.Table{
			Name:     "endpoint_interface_subnets",
			Doc:      "The subnets in which interface endpoints have a network interface, one for each availability zone at most.",
			Provider: aws.Provider,
			Reach:    modules.PerRegion,
			Creation: modules.ByName,
			Columns: aws.Regional(
				modules.Column{Name: "endpoint_interface_id", Type: modules.TypeBigint, Required: true, Identity: true, CreateOnly: true,
					References: &modules.Reference{Table: "endpoint_interface", Key: "vpc_endpoint_id", Part: modules.PartAlong},
					Doc:        "The endpoint."},
				modules.Column{Name: "subnet_id", Type: modules.TypeBigint, Required: true, Identity: true, CreateOnly: true,
					References: &modules.Reference{Table: "subnet", Key: "subnet_id"},
					Doc:        "The subnet."},
			),
		},
		Owner:  "endpoint_interface_id",
		Member: "subnet_id",
		Lists: func(ctx context.Context, scope modules.Scope, owners []string, page func([]aws.MemberList) error) error {
			client, err := c.EC2(ctx, scope)
			if err != nil {
				return err
			}
			return endpoints(ctx, client, ec2types.VpcEndpointTypeInterface, nil, func(list []ec2types.VpcEndpoint) error {
				var lists []aws.MemberList
				for _, e := range list {
					if id := awssdk.ToString(e.VpcEndpointId); owners == nil || slices.Contains(owners, id) {
						lists = append(lists, aws.MemberList{Owner: id, Members: e.SubnetIds})
					}
				}
				return page(lists)
			})
		},
		Set: func(ctx context.Context, scope modules.Scope, have aws.MemberList, want []string) error {
			client, err := c.EC2(ctx, scope)
			if err != nil {
				return err
			}
			_, err = client.ModifyVpcEndpoint(ctx, &ec2.ModifyVpcEndpointInput{
				VpcEndpointId: &have.Owner, AddSubnetIds: without(want, have.Members), RemoveSubnetIds: without(have.Members, want),
			})
			return err
		},
	}
}
